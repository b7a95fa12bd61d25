"""Signals and actions of review."""

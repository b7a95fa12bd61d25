"""Requests, turns, sessions, and how far extractors have read."""

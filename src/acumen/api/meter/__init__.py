"""Endpoints of usage, cost and outcomes."""

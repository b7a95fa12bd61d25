"""Durable jobs, and runs with their items."""

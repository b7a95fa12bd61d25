"""Orgs, their configuration, their API keys, and the erasure of a user."""

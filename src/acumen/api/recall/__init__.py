"""Endpoints of search and of experiments on it."""

"""Endpoints that record what agents do."""

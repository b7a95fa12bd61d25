"""Scopes that are too large for memory: the database finds candidates, and the same formulas score them."""

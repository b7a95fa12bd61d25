"""Meter: what showing memories costs, and what comes of it."""

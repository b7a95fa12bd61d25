"""Endpoints of runs, aggregation and evaluation."""

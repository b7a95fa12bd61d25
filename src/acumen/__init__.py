"""Acumen: the learning layer for AI agents. Observe, learn, recall, meter, review."""

__version__ = "0.1.0"

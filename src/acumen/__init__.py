"""Acumen: the learning layer beside AI agents. Observe, learn, recall, meter, review."""

__version__ = "0.1.0"

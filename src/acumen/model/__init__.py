"""Nouns: plain values that every step may hold. No I/O."""

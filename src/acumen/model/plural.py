"""Counts in sentences."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 memory`, `2,000 memories`; the plural has an s unless it is given."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"

"""The words and patterns of vocabulary.toml."""

import tomllib
from pathlib import Path

TABLES = tomllib.loads((Path(__file__).parent / "vocabulary.toml").read_text("utf-8"))


def listed(name: str) -> frozenset[str]:
    return frozenset(TABLES[name].split())


def filed(name: str) -> dict[str, str]:
    """Each word with the key of its row."""
    return {word: key for key, words in TABLES[name].items() for word in words.split()}

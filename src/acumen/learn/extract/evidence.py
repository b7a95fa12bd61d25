"""Where in a turn the words stand that somebody claims to have read there. Pure."""

import re

from acumen.model.conversation import Turn
from acumen.model.memory import Evidence
from acumen.model.secrets import redact

# How much of a quote must be found in one sentence for it to be meant, when it was not copied exactly.
NEARLY = 0.6
# A quote longer than this is no quote.
MOST_CHARACTERS = 2_000

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def evidence(quote: str, turn: Turn) -> Evidence | None:
    """The quote's place in the turn. Not copied exactly, it is the sentence that says nearly that; else None."""
    quote = quote[:MOST_CHARACTERS]
    found = span(quote, turn.text)
    if found is not None:
        start, end = found
        return Evidence(turn.id, start, end, redact(turn.text[start:end]))
    if any(span(quote, said) for said in _beside(turn)):
        return Evidence(turn.id, 0, len(turn.text), redact(quote))
    return None


def _beside(turn: Turn) -> list[str]:
    """What belongs to a turn without being its text."""
    return [turn.expert_text, *(str(tool) for tool in turn.tools_used)]


def span(quote: str, text: str) -> tuple[int, int] | None:
    """First and last character of the quote in the text, whatever its spaces and capitals."""
    words = quote.split()
    if not words:
        return None
    exact = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
    return exact.span() if exact else _nearest(quote, text)


def _nearest(quote: str, text: str) -> tuple[int, int] | None:
    said = set(_words(quote))
    if len(said) < 2:
        return None
    shares = [(len(said & set(_words(found[0]))) / len(said), found) for found in _SENTENCE.finditer(text)]
    share, found = max(shares, key=lambda one: one[0], default=(0.0, None))
    return _trimmed(found) if found is not None and share >= NEARLY else None


def _trimmed(found: re.Match[str]) -> tuple[int, int]:
    start, text = found.start(), found[0]
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())

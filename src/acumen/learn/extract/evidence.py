"""The place in a turn of the words that a note claims to rest on. Pure."""

import re
import unicodedata

from acumen.model.conversation import Turn
from acumen.model.memories.base import EvidenceSpan
from acumen.model.secrets import redact

# How much of a quote one sentence must contain to be the sentence that was meant, when it was not copied exactly.
NEARLY = 0.6
# A quote longer than this is no quote.
MOST_CHARACTERS = 2_000

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
# Scripts whose words are short or have no spaces between them; each character counts as a word there.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
# Letters by which two forms of a word are the same word ("sister", "sisters"); shorter words name nothing.
_STEM = 5
_SHORTEST = 4
# "The user" in the languages that memories are written in most: every memory is about them.
_USER = frozenset("user users nutze benut usuar utili utent польз gebru 用户 用戶 ユー ーザ ザー 사용 용자".split())


def evidence(quote: str, turn: Turn, *, exact: bool = False) -> EvidenceSpan | None:
    """The quote's place in the turn. Not copied exactly, it is the sentence that says nearly that; else None."""
    quote = quote[:MOST_CHARACTERS]
    place = _exact(quote, turn.text) if exact else span(quote, turn.text)
    if place is not None:
        start, end = place
        return EvidenceSpan(turn.id, start, end, redact(turn.text[start:end]))
    if not exact and any(span(quote, text) for text in _attached(turn)):
        return EvidenceSpan(turn.id, 0, len(turn.text), redact(quote))
    return None


def sentence_about(content: str, turn: Turn) -> EvidenceSpan | None:
    """The sentence of the turn that has most of the names in the content; None when no sentence has enough of them."""
    wanted = names(content)
    if len(wanted) < 2:
        return None
    shares = [(len(wanted & names(match[0])) / len(wanted), match) for match in _SENTENCE.finditer(turn.text)]
    share, nearest = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if nearest is None or share < NEARLY:
        return None
    start, end = _trimmed(nearest)
    return EvidenceSpan(turn.id, start, end, redact(turn.text[start:end]))


def _attached(turn: Turn) -> list[str]:
    """Texts that belong to a turn without being its text."""
    return [turn.expert_text, *(str(tool) for tool in turn.tools_used)]


def span(quote: str, text: str) -> tuple[int, int] | None:
    """First and last character of the quote in the text, ignoring spaces and capitals."""
    return _exact(quote, text) or _nearest(quote, text)


def _exact(quote: str, text: str) -> tuple[int, int] | None:
    words = quote.split()
    match = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE) if words else None
    return match.span() if match else None


def _nearest(quote: str, text: str) -> tuple[int, int] | None:
    words = set(_words(quote))
    if len(words) < 2:
        return None
    shares = [(len(words & set(_words(match[0]))) / len(words), match) for match in _SENTENCE.finditer(text)]
    share, nearest = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    return _trimmed(nearest) if nearest is not None and share >= NEARLY else None


def _trimmed(match: re.Match[str]) -> tuple[int, int]:
    start, text = match.start(), match[0]
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def names(text: str) -> set[str]:
    """What two texts about the same thing share: beginnings of long words, numbers, pairs of unspaced characters."""
    runs = _RUN.findall(unicodedata.normalize("NFKC", text).casefold())
    return {part for run in runs for part in _names(run)} - _USER


def _names(run: str) -> list[str]:
    if re.match(f"[{_UNSPACED}]", run):
        return [run[place : place + 2] for place in range(len(run) - 1)] or [run]
    return [run[:_STEM]] if len(run) >= _SHORTEST or run.isdigit() else []

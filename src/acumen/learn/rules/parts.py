"""A sentence, cut where it turns from telling to asking or bidding, or from a wish to forget to what holds instead."""

import re
from collections.abc import Iterator

from acumen.learn.rules import verbs
from acumen.learn.rules.sentences import Sentence
from acumen.learn.rules.words import words
from acumen.model.patterns import later

# "My mother had it, is that a risk for me?"
_ASKS = later(
    r",\s+(?=(?:(?:is|are|do|does|did|can|could|would|will|should|what|how|which|why|where)\s+"
    r"(?:i|we|it|this|that|there|you|the|my|a|about|much|many|is|are|do|does)\b[^,]*"
    r"|(?:which|what|how|where|who)\s+\w+[^,]*"
    r"|(?:any (?:ideas?|thoughts?|tips|suggestions?|advice|chance)|thoughts|ideas)\b[^,]{0,20})\?\s*$)",
    re.IGNORECASE,
)
# "npm broke the lockfile, so always use pnpm"
_SO = later(r",?(?<!be)(?<!is)(?<!not)(?<!are)(?<!was)(?<!were)\s+so\s+(?=\w)", re.IGNORECASE)
# "Forget about nix, we are back to plain venvs"; "drop that rule, widget tests only"
_FORGETS = later(
    r"(?:(?:and|also|so|ok|oh|please|pls|then|but|you can|just)\s+)*(?:forget|scrap|scratch|drop|ditch|lose|strike)\b"
    r"(?P<back> (?:that|this|it)(?: \w+)?)?(?(back)|[^,;:–—]{2,60})(?P<cut>[,;:–—]\s+)",
    re.IGNORECASE,
)
_BIDS = frozenset("please pls plz always never no do don't dont only just".split())
# A topic put before its question is part of it: "the trimester after this, is it better?"
_TELLS = later(r"\b(?:i|we|is|are|am|was|were|has|have|had|does|did|\w+ed|\w+['’](?:s|m|re|ve))\b", re.IGNORECASE)
# Fewer words are no saying of their own: "I'm colorblind" is one.
LEAST_TOLD, LEAST = 2, 3


def segments(sentence: Sentence) -> list[Sentence]:
    """Mostly one: most sentences do only one of these."""
    text = sentence.text
    cuts = [(start, end) for start, end in _cuts(text) if _are_two(text[:start], text[end:])]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    spans = list(zip(starts, ends, strict=True))
    return [Sentence(sentence.start + start, sentence.start + end, text[start:end]) for start, end in spans]


def _are_two(told: str, then: str) -> bool:
    return len(told.split()) >= LEAST_TOLD and len(then.split()) >= LEAST


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    """From where to where, in order."""
    bids = next((so for so in _SO.finditer(text) if _is_bidding(text[so.end() :])), None)
    asks = _ASKS.search(text)
    asks = asks if asks and _TELLS.search(text[: asks.start()]) else None
    end = asks.start() if asks else len(text)
    if bids and bids.end() <= end:
        yield bids.span()
    forgets = _FORGETS.match(text, bids.end() if bids else 0)
    if forgets and (forgets["back"] or _TELLS.search(text[forgets.end() : end])):
        yield forgets.span("cut")
    if asks:
        yield asks.span()


def _is_bidding(text: str) -> bool:
    first = words(text)[0].low
    return first in _BIDS or verbs.is_base(first)

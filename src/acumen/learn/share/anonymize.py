"""Anonymize a text before it is shared: remove secrets, addresses, numbers and names. Pure.

A name that at least two users wrote is not personal, so it stays.
"""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from msgspec import Struct

from acumen.learn.share.stance import is_value
from acumen.learn.share.vocabulary import TABLES, listed
from acumen.model.lazy_regex import lazy_regex
from acumen.model.secrets import redact
from acumen.model.text import STOPWORDS

_PERSONAL = [(kind, lazy_regex(pattern)) for kind, patterns in TABLES["personal"].items() for pattern in patterns]
# Replaced before secrets, whose patterns would take its digits for a card number.
_ACCOUNT = lazy_regex(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
_WORD = lazy_regex(r"[^\W\d_][\w'’-]*")
_NO_NAMES, _NO_PERSONS = STOPWORDS | listed("no_names"), listed("no_persons")


class Anonymized(Struct, frozen=True):
    text: str
    removed: int  # number of personal details


def anonymize(text: str, names: Collection[str] = (), shared: Collection[str] = ()) -> Anonymized:
    """`names` are those of the users who taught it; `shared` are the lower-case words that several of them used."""
    if not text:
        return Anonymized("", 0)
    text, removed = _ACCOUNT.subn("[account]", text)
    redacted = redact(text)
    removed += redacted.count("[redacted") - text.count("[redacted")
    for kind, pattern in _PERSONAL:
        redacted, count = pattern.subn(f"[{kind}]", redacted)
        removed += count
    if names:
        redacted, count = _any_of(frozenset(names)).subn("[name]", redacted)
        removed += count
    cleaned = _WORD.sub(lambda match: "[name]" if _is_person(redacted, match, shared) else match[0], redacted)
    removed += cleaned.count("[name]") - redacted.count("[name]")
    return Anonymized(re.sub(r"\[name\](?: \[name\])+", "[name]", cleaned), removed)


@lru_cache(maxsize=256)
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(map(re.escape, names), key=len, reverse=True)
    return lazy_regex(rf"(?<![\w-])(?:{'|'.join(longest_first)})(?![\w-])", re.IGNORECASE)


def without_case_numbers(text: str) -> str:
    """The text without addresses and numbers of persons and cases, which are no part of what a lesson asks for."""
    for _, pattern in _PERSONAL:
        text = pattern.sub(" ", text)
    return text


def names_of(user_id: str, profiles: Iterable[str] = ()) -> set[str]:
    """What a user may be called: their id, its parts, and capitalised words of their profiles about their name."""
    parts = {part for part in re.split(r"[^\w]+|_", user_id.partition("@")[0]) if len(part) > 2}
    stated = {
        match[0] for text in profiles for match in _WORD.finditer(text) if match[0][:1].isupper() and match.start()
    }
    names = {name for name in {user_id, *parts, *stated} if len(name) > 1 and not name.isdigit()}
    return {name for name in names if name.lower() not in _NO_NAMES and not is_value(name.lower())}


def words_in(text: str) -> set[str]:
    """The words and numbers of a text, in lower case."""
    return {match[0].lower() for match in re.finditer(r"\w[\w'’-]*", text)}


def _is_person(text: str, match: re.Match[str], shared: Collection[str]) -> bool:
    """A capital inside a sentence begins a name, unless it is commonly known or several users used it."""
    word = match[0].removesuffix("'s")
    before = text[: match.start()].rstrip(" \"'(")
    starts = not before or before[-1] in ".!?:;\n[-•"
    capitalised = word[:1].isupper() and word[1:].islower() and len(word) > 1
    low = word.lower()
    return capitalised and not starts and not (low in _NO_PERSONS or low in shared or is_value(low))

"""Takes out of a text what tells whom it came from, before it is shared: secrets, addresses, numbers, names. Pure.

What several users said alike is not personal; so a name or number that at least two of them used may stay.
"""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from msgspec import Struct

from acumen.learn.rules import verbs
from acumen.learn.rules.kinds import kind_of
from acumen.model.patterns import later
from acumen.model.secrets import redact

_MARKS = [
    ("email", later(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")),
    ("name", later(r"(?<![\w@])@\w[\w.-]{1,38}")),
    ("name", later(r"\b(?:Mr|Mrs|Ms|Dr|Prof)\.? [A-Z][\w'-]{1,40}(?: [A-Z][\w'-]{1,40})?")),
    ("id", later(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")),
    ("id", later(r"\b[a-z]{2,8}[_-](?=[\w-]*\d)[A-Za-z0-9]{8,64}\b")),
    ("address", later(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b")),
    ("date", later(r"\b(?:19\d\d|200\d|201\d)-\d{1,2}-\d{1,2}\b|\b\d{1,2}[./]\d{1,2}[./](?:19|20)\d\d\b")),
    (
        "phone",
        later(
            r"(?<![\w.-])(?:\+\d{1,3}[ ./-]?|\(?0\d{1,4}\)?[ ./-]|\(\d{3}\) ?|\d{3}[-. ]\d{3}[-. ])"
            r"\d[\d ./-]{2,14}\d(?![\w-])"
        ),
    ),
    ("number", later(r"(?<![\w.,:-])#?\d{5,}(?![\w:-])")),
    ("number", later(r"(?i)(?:(?<=\bticket )|(?<=\border )|(?<=\baccount ))#?\d{3,}\b|(?<![\w&])#\d{3,}\b")),
]
# Before secrets are looked for, which would take its digits for a card's.
_ACCOUNT = later(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
_WORD = later(r"[^\W\d_][\w'’-]*")
# Parts of user ids that are no one's name.
_NO_NAMES = frozenset(
    "user users agent agents admin test tester demo guest customer client patient the and for bot app api dev prod "
    "team support sales anonymous default local main new one two system service account".split()
)
# Capitalised wherever they stand.
_NO_PERSONS = frozenset(
    "I January February March April May June July August September October November December Monday Tuesday Wednesday "
    "Thursday Friday Saturday Sunday English American British European Python Java Linux Windows Markdown Excel Word "
    "Slack Git GitHub GitLab Jira Docker Kubernetes Terraform Postgres SQL REST HTTP JSON".split()
)


class Cleaned(Struct, frozen=True):
    text: str
    marks: int  # how much was taken out


def clean(text: str, names: Collection[str] = (), shared: Collection[str] = ()) -> Cleaned:
    """`names` are of the users who taught it; `shared` are the words, in lower case, that several of them used."""
    if not text:
        return Cleaned("", 0)
    text, marks = _ACCOUNT.subn("[account]", text)
    redacted = redact(text)
    marks += redacted.count("[redacted") - text.count("[redacted")
    for kind, pattern in _MARKS:
        redacted, found = pattern.subn(f"[{kind}]", redacted)
        marks += found
    if names and (called := _called(frozenset(names))).search(redacted):
        redacted, found = called.subn("[name]", redacted)
        marks += found
    cleaned, found = _without_persons(redacted, shared)
    return Cleaned(cleaned, marks + found)


@lru_cache(maxsize=256)
def _called(names: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(map(re.escape, names), key=len, reverse=True)
    return later(rf"(?<![\w-])(?:{'|'.join(longest_first)})(?![\w-])", re.IGNORECASE)


def without_numbers(text: str) -> str:
    """The text without addresses and numbers of persons and cases, which are no part of what a lesson asks for."""
    for _, pattern in _MARKS:
        text = pattern.sub(" ", text)
    return text


def names_of(user_id: str, told: Iterable[str] = ()) -> set[str]:
    """What a user may be called: their id, its parts, and names they told (words of a profile about their name)."""
    parts = {part for part in re.split(r"[^\w]+|_", user_id.partition("@")[0]) if len(part) > 2}
    said = {match[0] for text in told for match in _WORD.finditer(text) if match[0][:1].isupper() and match.start()}
    return {name for name in {user_id, *parts, *said} if len(name) > 1 and _may_be_a_name(name.lower())}


def _may_be_a_name(low: str) -> bool:
    plain = low in _NO_NAMES or low in verbs.BASE_FORMS or kind_of(low) is not None
    return not plain and not low.isdigit()


def words_in(text: str) -> set[str]:
    """The words and numbers of a text, in lower case."""
    return {match[0].lower() for match in re.finditer(r"\w[\w'’-]*", text)}


def _without_persons(text: str, shared: Collection[str]) -> tuple[str, int]:
    """A capital inside a sentence is a name, unless it is one that everybody knows or that several users used."""
    gone = [match for match in _WORD.finditer(text) if _is_person(text, match, shared)]
    for match in reversed(gone):
        text = f"{text[: match.start()]}[name]{text[match.end() :]}"
    return re.sub(r"\[name\](?: \[name\])+", "[name]", text), len(gone)


def _is_person(text: str, match: re.Match[str], shared: Collection[str]) -> bool:
    word = match[0].removesuffix("'s")
    before = text[: match.start()].rstrip(" \"'(")
    starts = not before or before[-1] in ".!?:;\n[-•"
    plain = word[:1].isupper() and word[1:].islower() and len(word) > 1
    return (
        plain
        and not starts
        and word not in _NO_PERSONS
        and word.lower() not in shared
        and kind_of(word.lower()) is None
    )

"""Which failures are one: a given fingerprint, else the same normalised words, else the same template (Drain). Pure.

He et al. 2017, "Drain: an online log parsing approach with fixed depth tree". Ours works within one source, place and
kind of error, and never on raw text. The same failures in the same order always make the same groups.
"""

import re
from collections.abc import Sequence
from typing import Protocol

from acumen.model.operations.signature import ANY, VERSION, GroupCandidate, Signature, hashed
from acumen.observe.normalise import PLACES, normalise, place

# Measured on sixteen public log sets: this had the best accuracy with few wrong merges.
SIMILAR = 0.7
# Words that differ right at the start mostly mean something else.
SIMILAR_BUT_FOR_THE_START = 0.85
# What fits a template in all that it says belongs there, as long as it says something.
HALF = 0.5
# One word may be a name; two that differ are another cause.
MOST_OTHER_WORDS = 1
MOST_PER_BUCKET = 500
DEFAULT = "{{ default }}"
NO_WORDS = "(no message)"
OVERFLOW = "(more kinds of failure than are told apart here)"


class GroupIndex(Protocol):
    """Where groups are kept: in a transaction, or in memory."""

    def by_key(self, key: str) -> str | None:
        """The group that these very words belong to."""
        ...

    def hold(self, signature: Signature) -> str | None:
        """Keeps others from making groups beside it; the group, if somebody just made it."""
        ...

    def at_leaf(self, leaf: str) -> Sequence[GroupCandidate]:
        """In the order in which they were made."""
        ...

    def room_in(self, bucket: str) -> int:
        """How many groups the bucket has."""
        ...

    def add(self, group_id: str, signature: Signature, template: str) -> None: ...

    def widen(self, group_id: str, template: str) -> None: ...

    def remember(self, key: str, group_id: str) -> None: ...


def signature(
    source: str, endpoint: str, error_type: str | None, message: str | None, fingerprint: Sequence[str] = ()
) -> Signature:
    where = place(endpoint)
    words = normalise(message or "")
    tokens = tuple(words.split()) or (NO_WORDS,)
    default = hashed(VERSION, source, where, error_type or "", words)
    if not fingerprint:
        return Signature(default, source, where, error_type or "", tokens, exact=False)
    parts = [default if part == DEFAULT else part for part in fingerprint]
    return Signature(hashed(VERSION, "fingerprint", *parts), source, where, error_type or "", tokens, exact=True)


def group_of(failure: Signature, shelf: GroupIndex) -> str:
    """The group it belongs to, made when there is none."""
    known = shelf.by_key(failure.key) or shelf.hold(failure)
    if known is not None:
        return known
    group_id = None if failure.exact else _by_template(failure, shelf)
    if group_id is None:
        group_id = _new(failure, shelf)
    shelf.remember(failure.key, group_id)
    return group_id


def _by_template(failure: Signature, shelf: GroupIndex) -> str | None:
    best, score = None, (0.0, 0)
    for candidate in shelf.at_leaf(failure.leaf):
        found = similarity(candidate.template.split(" "), failure.tokens)
        if found[0] and found > score:
            best, score = candidate, found
    if best is None:
        return None
    template = " ".join(widened(best.template.split(" "), failure.tokens))
    if template != best.template:
        shelf.widen(best.group_id, template)
    return best.group_id


def _new(failure: Signature, shelf: GroupIndex) -> str:
    if shelf.room_in(failure.bucket) >= MOST_PER_BUCKET:
        return _overflow(failure, shelf)
    group_id = f"grp_{failure.key[:24]}"
    shelf.add(group_id, failure, " ".join(failure.tokens))
    return group_id


def _overflow(failure: Signature, shelf: GroupIndex) -> str:
    """One group for all that no longer fits, named as what it is."""
    key = hashed(VERSION, "overflow", failure.bucket)
    overflow = Signature(key, failure.source, failure.endpoint, failure.error_type, (OVERFLOW,), exact=True)
    known = shelf.by_key(key) or shelf.hold(overflow)
    if known is not None:
        return known
    group_id = f"grp_{key[:24]}"
    shelf.add(group_id, overflow, OVERFLOW)
    shelf.remember(key, group_id)
    return group_id


def similarity(template: Sequence[str], tokens: Sequence[str]) -> tuple[float, int]:
    """The share of words that are the same, and how many places stand open; more open places lose.

    Zero when they cannot be one: a digit that normalising left is a code, and a code is a cause.
    """
    if len(template) != len(tokens):
        return 0.0, 0
    other = [pair for pair in zip(template, tokens, strict=True) if pair[0] != pair[1] and not _both_open(*pair)]
    if any(_is_code(one) or _is_code(two) for one, two in other):
        return 0.0, 0
    words = [pair for pair in _bare(other) if ANY not in pair and not (PLACES & {*pair})]
    if len(words) > MOST_OTHER_WORDS or any(_say_otherwise(*pair) for pair in words):
        return 0.0, 0
    if any(one.islower() and two.islower() and one.isalpha() and two.isalpha() for one, two in words):
        place = next(place for place, pair in enumerate(zip(template, tokens, strict=True)) if _bare([pair]) == words)
        if not _introduced(template[place - 1] if place else "", template[place]):
            return 0.0, 0
    share = 1 - len(other) / len(tokens)
    least = HALF if all(one == ANY for one, _ in other) else _least(template, tokens)
    return (share if share >= least else 0.0), -template.count(ANY)


# Words after which a plain word is a name; anywhere else, another word says something else.
_INTRODUCE = frozenset(
    "user for from by to host name as login account client server node job queue table topic process device on at file "
    "package key id named called tag tool agent model field column index bucket via service module program command "
    "worker database schema volume partition container role plugin branch zone group".split()
)


def _introduced(before: str, word: str) -> bool:
    quoted = word[0] in _PUNCTUATION
    return quoted or before.endswith((":", "=")) or before.strip(_PUNCTUATION).lower() in _INTRODUCE


def _both_open(one: str, two: str) -> bool:
    """The same but for what its parameters looked like: `id=<num>` and `id=<hex>`."""
    return "<" in one and "<" in two and _PLACE.sub(ANY, one) == _PLACE.sub(ANY, two)


_PLACE = re.compile(r"<(?:\w+|\*)>")
# What a word says of how something went rather than of what it went with.
_ENDINGS = ("ed", "ing", "ion")
_OPPOSITES = frozenset(
    frozenset(pair.split("/"))
    for pair in (
        "on/off up/down start/stop open/close open/closed startup/shutdown in/out get/set read/write send/receive "
        "online/offline first/last begin/end enter/leave push/pull input/output upload/download"
    ).split()
)
# `x+` and `y-`, `to` and `of`: nothing is called like that.
LONGEST_PARTICLE = 2
_NOT = ("un", "in", "dis", "non", "not", "im", "ir")


def _say_otherwise(one: str, two: str) -> bool:
    """Started is not stopped, GET is not POST: such words are no names, and another one is another cause."""
    capitals = all(_PLACE.sub("", word).isupper() for word in (one, two))
    ended = any(one.endswith(end) and two.endswith(end) for end in _ENDINGS)
    short, long = sorted((one.lower(), two.lower()), key=len)
    negated = long.endswith(short) and long.removesuffix(short).rstrip("-") in _NOT
    no_name = len(long) <= LONGEST_PARTICLE
    return capitals or ended or negated or no_name or frozenset((short, long)) in _OPPOSITES


def _least(template: Sequence[str], tokens: Sequence[str]) -> float:
    if len(tokens) < 2 or template[1] == tokens[1] or "<" in template[1] or "<" in tokens[1]:
        return SIMILAR
    return SIMILAR_BUT_FOR_THE_START


def _bare(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(one.strip(_PUNCTUATION), two.strip(_PUNCTUATION)) for one, two in pairs]


_PUNCTUATION = "()[]{},;:.\"'`!?*|"


def _is_code(token: str) -> bool:
    return any(map(str.isdigit, token))


def widened(template: Sequence[str], tokens: Sequence[str]) -> list[str]:
    return [one if one == other else _opened(one, other) for one, other in zip(template, tokens, strict=True)]


def _opened(one: str, two: str) -> str:
    return _PLACE.sub(ANY, one) if _both_open(one, two) else ANY


class InMemoryGroupIndex:
    """A shelf without a database, for measuring and for tests."""

    def __init__(self) -> None:
        self.templates: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self._leaves: dict[str, list[str]] = {}
        self._buckets: dict[str, int] = {}

    def by_key(self, key: str) -> str | None:
        return self._keys.get(key)

    def hold(self, signature: Signature) -> str | None:
        return self._keys.get(signature.key)

    def at_leaf(self, leaf: str) -> list[GroupCandidate]:
        return [GroupCandidate(group_id, self.templates[group_id]) for group_id in self._leaves.get(leaf, ())]

    def room_in(self, bucket: str) -> int:
        return self._buckets.get(bucket, 0)

    def add(self, group_id: str, signature: Signature, template: str) -> None:
        self.templates[group_id] = template
        if not signature.exact:
            self._leaves.setdefault(signature.leaf, []).append(group_id)
        self._buckets[signature.bucket] = self._buckets.get(signature.bucket, 0) + 1

    def widen(self, group_id: str, template: str) -> None:
        self.templates[group_id] = template

    def remember(self, key: str, group_id: str) -> None:
        self._keys[key] = group_id

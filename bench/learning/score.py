"""How well was learned: what is current at the end, held against what a reader of the conversation expects."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from bench.learning.cases import Conversation, Expected, Past
from bench.learning.matching import Matcher, occur

Figures = dict[str, "Share"]


class Memory(Struct, frozen=True):
    """A memory as it is scored."""

    kind: str  # profile | playbook
    text: str  # the fact, or the instruction
    ttl: str = "infinity"  # playbooks do not end by themselves
    turns: frozenset[int] = frozenset()  # its evidence
    trigger: str = ""
    pitfall: str = ""

    @property
    def whole(self) -> str:
        """With the situation that a lesson is for, which says what the instruction is about."""
        return f"{self.trigger} → {self.text}" if self.trigger else self.text


class Verdict(StrEnum):
    """What a current memory is. Only the first three count as precise."""

    EXPECTED = "expected"
    ACCEPTABLE = "acceptable"  # true, but nobody would miss it
    CHANGE = "change"  # says that something is no longer so
    STALE = "stale"  # was replaced, or should have been forgotten
    TRAP = "trap"  # was never said by the user, or not meant
    JUNK = "junk"


PRECISE = frozenset({Verdict.EXPECTED, Verdict.ACCEPTABLE, Verdict.CHANGE})


class Share(Struct, frozen=True):
    """So many of so many."""

    right: int = 0
    of: int = 0

    def __add__(self, other: "Share") -> "Share":
        return Share(self.right + other.right, self.of + other.of)

    @property
    def value(self) -> float:
        return self.right / self.of if self.of else 0.0

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.right}/{self.of})" if self.of else "none"


class Scored(Struct, frozen=True):
    """What came of one conversation."""

    conversation: Conversation
    found: tuple[tuple[Expected, Memory | None], ...]
    verdicts: tuple[tuple[Memory, Verdict], ...]
    resolved: tuple[tuple[Past, bool], ...]
    forgotten: tuple[tuple[Past, bool], ...]
    once_known: frozenset[str]  # `about` of what was to be forgotten and had been learned before
    repeated: int  # memories that say again what another one of their kind says

    @property
    def missed(self) -> list[Expected]:
        return [expected for expected, memory in self.found if memory is None]

    @property
    def imprecise(self) -> list[tuple[Memory, Verdict]]:
        return [(memory, verdict) for memory, verdict in self.verdicts if verdict not in PRECISE]


# --- one conversation ---------------------------------------------------------------------------------------------


def score(conversation: Conversation, current: Sequence[Memory], ever: Iterable[Memory]) -> Scored:
    """`current` is known at the end, `ever` was known at some time."""
    once = list(ever)
    return Scored(
        conversation=conversation,
        found=tuple((expected, found(expected, current)) for expected in conversation.expected),
        verdicts=tuple((memory, verdict(memory, conversation)) for memory in current),
        resolved=tuple((past, resolved(past, conversation, current, once)) for past in conversation.superseded),
        forgotten=tuple((past, not remembers(past, current)) for past in conversation.forgotten),
        once_known=frozenset(past.about for past in conversation.forgotten if remembers(past, once)),
        repeated=repeated(conversation, current),
    )


def found(expected: Expected, current: Sequence[Memory]) -> Memory | None:
    """The memory that says it best: with the right time to live, of the kind asked for, from the right turn."""
    fitting = [memory for memory in current if serves(memory, expected)]
    return max(fitting, key=lambda memory: _merits(memory, expected), default=None)


def serves(memory: Memory, expected: Expected) -> bool:
    return (expected.either or memory.kind == expected.kind) and says(memory, expected.matcher)


def says(memory: Memory, matcher: Matcher) -> bool:
    """All of it with the trigger, some of it without: a trigger alone only repeats what was asked."""
    return matcher.fits(memory.whole) and any(occur((words,), memory.text) for words in matcher.must)


def _merits(memory: Memory, expected: Expected) -> tuple[bool, bool, bool]:
    return memory.ttl in expected.ttl, memory.kind == expected.kind, expected.turn in memory.turns


def verdict(memory: Memory, conversation: Conversation) -> Verdict:
    """Kinds do not matter here: a fact kept as a lesson is found by search all the same."""
    if any(remembers(past, [memory]) for past in conversation.forgotten):
        return Verdict.STALE
    if any(asserts(past, [memory]) for past in conversation.superseded):
        return Verdict.STALE
    if any(says(memory, expected.matcher) for expected in conversation.expected):
        return Verdict.EXPECTED
    if any(matcher.fits(memory.text) for matcher in conversation.absent):
        return Verdict.TRAP
    if any(says(memory, matcher) for matcher in conversation.acceptable):
        return Verdict.ACCEPTABLE
    if any(past.matcher.names(memory.text) and past.matcher.excepts(memory.text) for past in conversation.superseded):
        return Verdict.CHANGE
    return Verdict.JUNK


def resolved(past: Past, conversation: Conversation, current: Sequence[Memory], ever: Sequence[Memory]) -> bool:
    """The new is known and the old is not. Where nothing took its place, the old must have been known once."""
    if asserts(past, current):
        return False
    if not past.now:
        return asserts(past, ever)
    return found(conversation.named(past.now), current) is not None


def asserts(past: Past, memories: Iterable[Memory]) -> bool:
    """Whether one of them says that it is so."""
    return any(past.matcher.fits(memory.text) for memory in memories)


def remembers(past: Past, memories: Iterable[Memory]) -> bool:
    """Whether it is told anywhere: what was to be forgotten may not live on as the trigger of a lesson either."""
    return any(past.matcher.fits(memory.whole) or past.matcher.fits(memory.pitfall) for memory in memories)


def repeated(conversation: Conversation, current: Sequence[Memory]) -> int:
    """Memories all of whose meanings are there already, in an earlier memory of the same kind."""
    seen: set[tuple[str, str]] = set()
    count = 0
    for memory in current:
        told = {(memory.kind, one.about) for one in conversation.expected if says(memory, one.matcher)}
        count += bool(told) and told <= seen
        seen |= told
    return count


# --- many conversations -------------------------------------------------------------------------------------------


def figures(scored: Sequence[Scored]) -> Figures:
    """What is claimed, over all conversations given."""
    return {
        "recall": total(_recall(one.found) for one in scored),
        "precision": total(_precision(one.verdicts) for one in scored),
        "contradictions resolved": total(_counted(right for _, right in one.resolved) for one in scored),
        "forgotten": total(_counted(right for _, right in one.forgotten) for one in scored),
        "forgotten, once known": total(_counted(_forgotten_once_known(one)) for one in scored),
        "time to live": total(_counted(_times_right(one, limited=False)) for one in scored),
        "time to live, limited": total(_counted(_times_right(one, limited=True)) for one in scored),
    }


def by_kind(scored: Sequence[Scored]) -> dict[str, Figures]:
    return {kind: _of_kind(scored, kind) for kind in ("profile", "playbook")}


def _of_kind(scored: Sequence[Scored], kind: str) -> Figures:
    """Recall of what is expected as this kind, precision of what is of this kind."""
    return {
        "recall": total(_recall(pair for pair in one.found if pair[0].kind == kind) for one in scored),
        "precision": total(_precision(pair for pair in one.verdicts if pair[0].kind == kind) for one in scored),
    }


def by_domain(scored: Sequence[Scored]) -> dict[str, Figures]:
    domains = dict.fromkeys(one.conversation.domain for one in scored)
    return {domain: figures([one for one in scored if one.conversation.domain == domain]) for domain in domains}


def by_saying(scored: Sequence[Scored]) -> dict[str, Share]:
    """Recall of facts, preferences, instructions, corrections, confirmations."""
    pairs = [pair for one in scored for pair in one.found]
    return {sort: _recall(pair for pair in pairs if pair[0].says == sort) for sort in _sorts(pairs)}


def details(scored: Sequence[Scored]) -> Figures:
    """What is not claimed, but tells how good the memories are."""
    return {
        "evidence names the turn": total(_counted(_evidence_right(one)) for one in scored),
        "pitfall named": total(_counted(_pitfalls_right(one)) for one in scored),
        "said twice": total(Share(one.repeated, len(one.verdicts)) for one in scored),
        **{f"is {sort}": total(_of_sort(one, sort) for one in scored) for sort in Verdict if sort not in PRECISE},
    }


def total(shares: Iterable[Share]) -> Share:
    return sum(shares, Share())


def _sorts(pairs: Iterable[tuple[Expected, Memory | None]]) -> list[str]:
    return sorted({expected.says for expected, _ in pairs})


def _recall(pairs: Iterable[tuple[Expected, Memory | None]]) -> Share:
    return _counted(memory is not None for _, memory in pairs)


def _precision(pairs: Iterable[tuple[Memory, Verdict]]) -> Share:
    return _counted(sort in PRECISE for _, sort in pairs)


def _of_sort(scored: Scored, sort: Verdict) -> Share:
    return _counted(given == sort for _, given in scored.verdicts)


def _counted(rights: Iterable[bool]) -> Share:
    given = list(rights)
    return Share(sum(given), len(given))


def _forgotten_once_known(scored: Scored) -> list[bool]:
    return [right for past, right in scored.forgotten if past.about in scored.once_known]


def _times_right(scored: Scored, *, limited: bool) -> list[bool]:
    """Of what was found; a lesson never ends, so one that should end is wrong as a lesson."""
    return [
        memory.ttl in expected.ttl
        for expected, memory in scored.found
        if memory and expected.ttl and (expected.ends or not limited)
    ]


def _evidence_right(scored: Scored) -> list[bool]:
    return [expected.turn in memory.turns for expected, memory in scored.found if memory]


def _pitfalls_right(scored: Scored) -> list[bool]:
    return [
        occur(expected.pitfall, memory.pitfall)
        for expected, memory in scored.found
        if memory and expected.pitfall and memory.kind == "playbook"
    ]

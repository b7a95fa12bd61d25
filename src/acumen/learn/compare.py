"""Whether new notes and known memories mean the same, where neither words nor keys tell: a model's verdict.

Merge stays pure and decides; what it found new although something like it is known is put before the model, and merge
then decides again with the verdicts in hand.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from pydantic import Field

from acumen.deps import Nearness
from acumen.errors import ModelUnavailable
from acumen.learn.changes import Added, Changes
from acumen.learn.merge import Verdict, Verdicts
from acumen.learn.rules.keys import content_roots
from acumen.llm import prompt
from acumen.llm.gateway import Llm
from acumen.llm.prompt import Shape
from acumen.model.memories import searchable
from acumen.model.memory import Status
from acumen.model.playbook import PlaybookNote, UserPlaybook
from acumen.model.profile import Profile, ProfileNote

# More pairs than this are not compared in one go; what is left is new, as merge has found.
MOST_PAIRS = 12
MOST_PER_NOTE = 3
MOST_CHARACTERS = 400
# Shared words of two texts, as a part of all their words (Jaccard), from which on they may be about the same.
ALIKE = 0.1
# The cosine from which on they may be about the same, whatever their words.
MEANT = 0.4


class Pair(Struct, frozen=True):
    """`near` is how alike the two are, by which the likeliest are chosen."""

    place: int
    known: str
    new: str
    old: str
    near: float


class Numbered(Shape):
    pair: int
    verdict: Verdict


class Compared(Shape):
    verdicts: list[Numbered] = Field(default_factory=list)


COMPARE = prompt.beside(__file__, "compare", Compared)


def unclear(
    changes: Changes[Any, Any], known: Sequence[Profile | UserPlaybook], near: Sequence[Nearness] = ()
) -> list[Pair]:
    """What was found new, with what is known and may be about the same: by its meaning, or by its words.

    What merge would replace is among it: a replacement is worth a second opinion.
    """
    live = {str(one.id): searchable(one) for one in known if one.status in _LIVE}
    pairs = [
        Pair(added.place, memory, _text(added.note), old, _nearness(added, memory, old, near))
        for added in changes.added
        for memory, old in live.items()
    ]
    return [pair for pair in pairs if pair.near >= ALIKE]


_LIVE = frozenset({Status.CURRENT, Status.PENDING})


def _text(note: ProfileNote | PlaybookNote) -> str:
    return note.content if isinstance(note, ProfileNote) else note.lesson.searchable


def _nearness(added: Added[Any], memory: str, old: str, near: Sequence[Nearness]) -> float:
    cosine = (near[added.place].get(memory) if near else None) or 0.0
    return max(_alike(_text(added.note), old), cosine if cosine >= MEANT else 0.0)


def _alike(one: str, other: str) -> float:
    words, others = content_roots(one), content_roots(other)
    return len(words & others) / len(words | others) if words and others else 0.0


async def verdicts(pairs: Sequence[Pair], llm: Llm, user_id: str) -> Verdicts:
    """Nothing when the model does not answer: then merge's own word stands."""
    chosen = list(_likeliest(pairs))
    if not chosen:
        return {}
    try:
        answer = await llm.ask(COMPARE.question({"pairs": _numbered(chosen)}, user_id=user_id))
    except ModelUnavailable:
        return {}
    known = dict(enumerate(chosen, 1))
    found = [(known.get(one.pair), one.verdict) for one in answer.value.verdicts]
    return {(pair.place, pair.known): verdict for pair, verdict in found if pair is not None}


def _likeliest(pairs: Sequence[Pair]) -> Iterator[Pair]:
    taken: dict[int, int] = {}
    for pair in sorted(pairs, key=lambda one: -one.near)[: MOST_PAIRS * MOST_PER_NOTE]:
        taken[pair.place] = taken.get(pair.place, 0) + 1
        if taken[pair.place] <= MOST_PER_NOTE and sum(taken.values()) <= MOST_PAIRS:
            yield pair


def _numbered(pairs: Sequence[Pair]) -> str:
    lines = [(number, _line(pair.new), _line(pair.old)) for number, pair in enumerate(pairs, 1)]
    return "\n".join(f"[{number}] new: {new}\n    old: {old}" for number, new, old in lines)


def _line(text: str) -> str:
    return " ".join(text.split())[:MOST_CHARACTERS]

"""A shared lesson and the user's own one that it was written from say the same: the better one is shown. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from acumen.model.ids import Kind, MemoryRef

H = TypeVar("H")
Id = TypeVar("Id", bound=int)


def dedupe_lessons(
    hits: Sequence[H],
    taught: Mapping[Id, Collection[Id]],
    ref: Callable[[H], MemoryRef],
    score: Callable[[H], float],
) -> list[H]:
    """`taught` tells of shared lessons which of the user's own they were written from. Of equals the own one stays."""
    scores = {ref(hit): score(hit) for hit in hits}
    gone: set[MemoryRef] = set()
    for lesson, sources in taught.items():
        shared = MemoryRef(Kind.AGENT_PLAYBOOK, str(lesson))
        own = [one for one in _refs(sources) if one in scores]
        if shared in scores and own:
            better = max(scores[one] for one in own) >= scores[shared]
            gone.update([shared] if better else own)
    return [hit for hit in hits if ref(hit) not in gone]


def _refs(playbooks: Iterable[int]) -> list[MemoryRef]:
    return [MemoryRef(Kind.USER_PLAYBOOK, str(one)) for one in playbooks]

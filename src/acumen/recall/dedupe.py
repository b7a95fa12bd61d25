"""Dedupe: a shared lesson against the user's own ones that it was written from, and lines with the same words. Pure."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from msgspec.structs import replace

from acumen.index.tokenizer import terms
from acumen.model.ids import Kind, MemoryRef
from acumen.recall.lines import ContextCandidate

# The same memories are found again and again.
REMEMBERED = 4_096
# The analyser leaves these out as function words, and they turn a statement into its opposite.
_NEGATION = re.compile(r"\b(?:no|not|never|cannot|without|don't|\w+n't)\b", re.IGNORECASE)

H = TypeVar("H")
Id = TypeVar("Id", bound=int)


def dedupe_lessons(
    hits: Sequence[H],
    sources_of: Mapping[Id, Collection[Id]],
    ref_of: Callable[[H], MemoryRef],
    score: Callable[[H], float],
) -> list[H]:
    """`sources_of`: the user's lessons that shared ones were written from. On a tie the user's lesson stays."""
    scores = {ref_of(hit): score(hit) for hit in hits}
    gone: set[MemoryRef] = set()
    for lesson, sources in sources_of.items():
        shared = MemoryRef(Kind.AGENT_PLAYBOOK, str(lesson))
        refs = [MemoryRef(Kind.USER_PLAYBOOK, str(source)) for source in sources]
        originals = [ref for ref in refs if ref in scores]
        if shared in scores and originals:
            better = max(scores[ref] for ref in originals) >= scores[shared]
            gone.update([shared] if better else originals)
    return [hit for hit in hits if ref_of(hit) not in gone]


def dedupe_lines(
    candidates: Sequence[ContextCandidate], rendered: Sequence[ContextCandidate] = ()
) -> tuple[list[ContextCandidate], list[ContextCandidate]]:
    """Candidates to render, in their order, and those that repeat one of them or a rendered one.

    Of lines with the same terms the one of the caller's own agent version stays, else the newest. It takes the place
    and the score of the best. A line of a conflict is never a duplicate.
    """
    rendered_keys = {_dedupe_key(item.text) for item in rendered}
    groups: dict[object, list[ContextCandidate]] = {}
    for item in candidates:
        groups.setdefault(item.ref if item.block else _dedupe_key(item.text), []).append(item)
    unique: list[ContextCandidate] = []
    dropped: list[ContextCandidate] = []
    for key, same in groups.items():
        best = max(same, key=lambda item: (item.preferred, item.at, item.ref.id))
        if key not in rendered_keys:
            unique.append(replace(best, score=max(item.score for item in same)))
        dropped += [item for item in same if item is not best or key in rendered_keys]
    return unique, dropped


@lru_cache(REMEMBERED)
def _dedupe_key(text: str) -> object:
    return frozenset(terms(text)) or frozenset([text]), len(_NEGATION.findall(text))

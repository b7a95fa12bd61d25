"""What a person needs to know before confirming an action: titles, text, savings, and choices to make first."""

from collections.abc import Sequence

from msgspec import Struct

from acumen.deps import Deps
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.memories.memory import Memory, searchable
from acumen.model.review.action import Action, ActionKind, ActionRequest, Target
from acumen.review import queue
from acumen.storage.store import Tx

MOST_SUCCESSORS = 5
_ENDING = frozenset({ActionKind.ARCHIVE, ActionKind.MERGE, ActionKind.SUPERSEDE_BY, ActionKind.DELETE})


class ActionDetails(Struct, frozen=True):
    """`saving` is tokens per day; `text` is the text before an edit, None for other actions."""

    titles: dict[MemoryRef, str]
    saving: float
    text: str | None


async def details(request: ActionRequest, action: Action, deps: Deps) -> ActionDetails:
    return await deps.store.read(lambda tx: _details(tx, request, action, deps.now()))


def _details(tx: Tx, request: ActionRequest, action: Action, at: Millis) -> ActionDetails:
    refs = [item.ref for item in action.items]
    titles = tx.memories.get_titles(refs)
    if request.reach.everyone:  # a lesson for every user is read in full
        lessons = _memories(tx, Kind.USER_PLAYBOOK, refs)
        titles |= {MemoryRef(Kind.USER_PLAYBOOK, str(lesson.id)): searchable(lesson) for lesson in lessons}
    ending = [item.ref for item in action.items if item.changed and request.doing in _ENDING]
    text = None
    if request.doing is ActionKind.EDIT and len(request.targets) == 1:
        text = "".join(searchable(memory) for memory in _memories(tx, refs[0].kind, refs))
    return ActionDetails(titles, _tokens_per_day(tx, ending, at), text)


def _memories(tx: Tx, kind: Kind, refs: Sequence[MemoryRef]) -> list[Memory]:
    return list(tx.by_kind[kind].get_many([ref.id for ref in refs if ref.kind is kind]).values())


def _tokens_per_day(tx: Tx, refs: Sequence[MemoryRef], at: Millis) -> float:
    """Over the default window of the review queue, so that both show the same number."""
    window = queue.window_of(tx, queue.USUAL_DAYS, at)
    total = 0.0
    for kind in {ref.kind for ref in refs}:
        uses = tx.usage.counters.get_uses(kind, window.since, [ref.id for ref in refs if ref.kind is kind])
        total += sum(map(window.tokens_per_day, uses.values()))
    return total


async def tags(targets: Sequence[Target], deps: Deps) -> list[str]:
    """That any of the memories has."""
    refs = [target.ref for target in targets]

    def read(tx: Tx) -> list[str]:
        memories = [memory for kind in {ref.kind for ref in refs} for memory in _memories(tx, kind, refs)]
        return sorted({tag for memory in memories for tag in memory.tags})

    return await deps.store.read(read)


async def successors(targets: Sequence[Target], deps: Deps) -> dict[MemoryRef, str]:
    """Similar memories that could supersede the targets, with their titles."""
    replaced = {target.ref for target in targets}
    kind = targets[0].ref.kind

    def read(tx: Tx) -> dict[MemoryRef, str]:
        pairs = tx.memory_flags.find_pairs(kind, ids=[ref.id for ref in replaced if ref.kind is kind])
        similar = dict.fromkeys(MemoryRef(kind, name) for pair in pairs for name in (pair.left, pair.right))
        return tx.memories.get_titles([ref for ref in similar if ref not in replaced][:MOST_SUCCESSORS])

    return await deps.store.read(read)

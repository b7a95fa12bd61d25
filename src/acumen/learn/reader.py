"""Read, think, decide, write: the one way in which conversations become memories of either kind."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from acumen.deps import Deps, Findable
from acumen.learn.extract import Heard
from acumen.learn.merge import Changes, Which
from acumen.learn.windows import Due, come_back, next_due
from acumen.model.config import Extractor
from acumen.model.conversation import Window
from acumen.model.ids import Kind, MemoryRef, Millis, RequestId, UserId
from acumen.model.memories import searchable
from acumen.model.memory import Origin, Status
from acumen.model.playbook import PlaybookNote, UserPlaybook
from acumen.model.profile import Profile, ProfileNote
from acumen.model.search import Filter, SearchRow
from acumen.storage.lineage import Because
from acumen.storage.store import Tx

M = TypeVar("M", Profile, UserPlaybook)
N = TypeVar("N", ProfileNote, PlaybookNote)


@dataclass(frozen=True, slots=True)
class Learned:
    """By which extractor, from whom, when."""

    extractor: str
    origin: Origin
    at: Millis


@dataclass(frozen=True, slots=True)
class Reader(Generic[M, N]):
    """What differs between learning facts and learning lessons."""

    kind: Kind
    extract: Callable[[Window, Extractor, Deps], Awaitable[Heard[N]]]
    merge: Callable[[Sequence[M], Sequence[N], Millis], Changes[Any, N]]
    make: Callable[[N, Window, Learned], M]
    refresh: Callable[[M, N, Millis], M]

    async def read_all(self, user: UserId, extractor: Extractor, deps: Deps) -> None:
        """Window after window, until nothing new is left."""
        while extractor.on and await self._read_on(user, extractor, deps):
            await deps.stand_back()

    async def _read_on(self, user: UserId, extractor: Extractor, deps: Deps) -> bool:
        due, known = await deps.store.read(
            lambda tx: (
                next_due(tx, user, extractor, deps),
                tx.by_kind[self.kind].find(Filter(user_id=user, statuses=None)),
            )
        )
        if not isinstance(due, Due):
            if due is not None:
                await come_back(user, due, deps)
            return False

        heard = await self.extract(due.window, extractor, deps)

        learned = Learned(extractor.name, heard.origin, deps.now())
        changes = self.merge(known, heard.notes, learned.at)  # type: ignore[arg-type]
        fresh = [self.make(added.note, due.window, learned) for added in changes.added]
        rows = await deps.findable([Findable(self.kind, user, searchable(memory)) for memory in fresh])

        def store(tx: Tx) -> None:
            tx.bookmarks.move(user, extractor.name, due.seen, due.until)
            self._apply(tx, changes, fresh, rows, due.window.turns[-1].request_id)

        await deps.store.write(store)
        return True

    def _apply(
        self, tx: Tx, changes: Changes[Any, N], fresh: list[M], rows: list[SearchRow], request_id: RequestId
    ) -> None:
        """What is new comes first, so that what it replaces can point to it."""
        ids = []
        for added, memory, row in zip(changes.added, fresh, rows, strict=True):
            because = Because(
                added.because, request_id=memory.request_id, sources=[str(i) for i in memory.interaction_ids]
            )
            ids.append(tx.memories.add(self.kind, memory, row, because).id)
        for mention in changes.mentioned:
            self._mention(tx, _id(mention.which, ids), mention.note, mention.because)
        for gone in changes.superseded:
            self._retire(tx, _id(gone.old, ids), gone.because, request_id, successor=_id(gone.new, ids))
        for forgotten in changes.forgotten:
            self._retire(tx, str(forgotten.id), forgotten.because, request_id)

    def _mention(self, tx: Tx, memory_id: str, note: N, reason: str) -> None:
        before = tx.by_kind[self.kind].get(memory_id)
        if before is not None:
            source = str(note.evidence.interaction_id)
            because = Because(reason, request_id=note.request_id, sources=[source])
            after = self.refresh(before, note, tx.at)  # type: ignore[arg-type]
            tx.memories.change(MemoryRef(self.kind, memory_id), before, after, None, because)

    def _retire(self, tx: Tx, memory_id: str, reason: str, request_id: RequestId, successor: str | None = None) -> None:
        """Leaves search, stays in history. A wish to forget archives; erasing for good is its owner's to order."""
        rows = tx.by_kind[self.kind]
        before = rows.get(memory_id)
        if before is not None:
            status = Status.SUPERSEDED if successor else Status.ARCHIVED
            by = rows.mapping.parse_id(successor) if successor else None
            because = Because(reason, request_id=request_id, sources=[successor] if successor else ())
            after = replace(before, status=status, superseded_by=by)
            tx.memories.change(MemoryRef(self.kind, memory_id), before, after, None, because)


def _id(which: Which[Any], ids: Sequence[str]) -> str:
    return ids[which.added] if which.added is not None else str(which.known)

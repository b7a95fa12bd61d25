"""Read, think, decide, write: the one way in which conversations become memories of either kind."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps, Findable, Nearness
from acumen.errors import Conflict
from acumen.learn import compare
from acumen.learn.changes import Added, Changes, Which
from acumen.learn.extract import Heard
from acumen.learn.merge import NONE, Answers, Comparison
from acumen.learn.runs import Cancelled
from acumen.learn.windows import Due, come_back, next_due
from acumen.model.config import Extractor
from acumen.model.conversation import Window
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis, RequestId, UserId
from acumen.model.memories import searchable
from acumen.model.memory import Origin, Status, part_of_a_rerun
from acumen.model.playbook import AgentPlaybook, PlaybookNote, UserPlaybook
from acumen.model.profile import Profile, ProfileNote
from acumen.model.search import Filter, SearchRow
from acumen.storage.lineage import Because
from acumen.storage.search_rows import Mark
from acumen.storage.store import Tx

M = TypeVar("M", Profile, UserPlaybook)
N = TypeVar("N", ProfileNote, PlaybookNote)


class Learned(Struct, frozen=True):
    """By which extractor, from whom, when. `because` tells why by rules, where a model should have read."""

    extractor: str
    origin: Origin
    at: Millis
    because: str = ""


class Path(Struct, frozen=True):
    """One extractor's way through a user's turns: what comes next, how far it is, and what becomes of it."""

    user: UserId
    extractor: Extractor
    bookmark: str
    next: Callable[[Tx], Due | Millis | None]
    status: Status = Status.CURRENT  # PENDING: a rerun, which sees nothing but its own memories
    count: Callable[[Tx, Mapping[str, int]], None] | None = None  # told what came of each window, when it is written

    @staticmethod
    def regular(user: UserId, extractor: Extractor, deps: Deps) -> "Path":
        """Through what has not been read yet."""
        return Path(user, extractor, extractor.bookmark, lambda tx: next_due(tx, user, extractor, deps))


class ExtractorsFailed(Exception):
    """Some extractors could not read; the others did. Says which, and why."""

    def __init__(self, failures: dict[str, Exception]) -> None:
        told = (f"{name}: {type(failure).__name__}: {failure}" for name, failure in failures.items())
        super().__init__("; ".join(told))


class _Overtaken(Exception):
    """What is known has changed since it was compared with what was heard."""


class Reader(Struct, Generic[M, N], frozen=True):
    """What differs between learning facts and learning lessons."""

    kind: Kind
    extract: Callable[[Window, Extractor, Deps], Awaitable[Heard[N]]]
    merge: Comparison[M, N, Any]
    make: Callable[[N, Window, Learned], M]
    refresh: Callable[[M, N, Millis], M]

    async def read_new(self, user: UserId, extractors: Sequence[Extractor], deps: Deps) -> None:
        """What each of them has not read yet."""
        await self.read_all([Path.regular(user, one, deps) for one in extractors if not one.manual], deps)

    async def read_all(self, paths: Sequence[Path], deps: Deps) -> None:
        """Side by side, each to its end; one that fails does not stop the others."""
        ended = await asyncio.gather(*(self._read(path, deps) for path in paths), return_exceptions=True)
        failures = {
            path.extractor.name: end
            for path, end in zip(paths, ended, strict=True)
            if isinstance(end, Exception) and not isinstance(end, Conflict | Cancelled)
        }
        if failures:
            raise ExtractorsFailed(failures) from next(iter(failures.values()))
        for end in ended:
            if isinstance(end, BaseException):
                raise end  # cancelled, or overtaken by another worker: whoever called knows what to do

    async def _read(self, path: Path, deps: Deps) -> None:
        """Window after window, until nothing is left."""
        due = await deps.store.read(path.next)
        while isinstance(due, Due):
            due = await self._read_one(due, path, deps)
            await deps.stand_back()
        if due is not None:
            await come_back(path.user, due, deps)

    async def _read_one(self, due: Due, path: Path, deps: Deps) -> Due | Millis | None:
        """What comes next is asked for in the transaction that moves the bookmark."""
        heard = await self.extract(due.window, path.extractor, deps) if due.news else None
        if heard is None or not heard.notes:
            return await deps.store.write(lambda tx: _passed(tx, due, path, 0))
        while True:
            try:
                return await self._learn(due, heard, path, deps)
            except _Overtaken:
                continue  # compared anew, without asking anew

    async def _learn(self, due: Due, heard: Heard[N], path: Path, deps: Deps) -> Due | Millis | None:
        learned = Learned(path.extractor.name, heard.origin, deps.now(), heard.because)
        fresh = [replace(self.make(note, due.window, learned), status=path.status) for note in heard.notes]
        texts = [Findable(self.kind, path.user, searchable(memory)) for memory in fresh]
        # What is there to replace something is compared by its words: only few of it are ever kept.
        met = [replace(text, by_words=note.faint or note.denies) for text, note in zip(texts, heard.notes, strict=True)]
        rows = await deps.findable(met)

        def read(tx: Tx) -> tuple[Mark, list[Nearness], list[M]]:
            mark = tx.search_rows.latest(self.kind, path.user)
            near = deps.alike(tx, self.kind, path.user, rows)
            return mark, near, self._known(tx, path, heard.notes, near)

        mark, near, known = await deps.store.read(read)

        changes = await self._decided(path.user, known, heard, learned.at, near, deps)
        for one in changes.added:
            if one.note.faint:
                (rows[one.place],) = await deps.findable([texts[one.place]])

        def store(tx: Tx) -> Due | Millis | None:
            if changes:
                self._hold(tx, path.user, mark)
                kept = [(one, fresh[one.place], rows[one.place]) for one in changes.added]
                self._apply(tx, changes, kept, due.window.turns[-1].request_id)
            return _passed(tx, due, path, len(changes.added))

        return await deps.store.write(store)

    def _known(self, tx: Tx, path: Path, notes: Sequence[N], near: Sequence[Nearness]) -> list[M]:
        """What comes near the notes; a wish to forget may mean anything.

        A rerun compares with what it has made itself; everybody else with everything but that.
        """
        rows = tx.by_kind[self.kind]
        if any(note.forget for note in notes):
            memories: list[Any] = list(rows.find(Filter(user_id=path.user, statuses=None)))
        else:
            memories = _with_heirs(rows, {key for one in near for key in one if not key.startswith("+")})
        rerun = part_of_a_rerun({one.id: (one.status, one.superseded_by) for one in memories})
        return [one for one in memories if (one.id in rerun) == (path.status is Status.PENDING)]

    def _hold(self, tx: Tx, user: UserId, mark: Mark) -> None:
        """Nobody changes the user's memories from here on, nor has since they were read."""
        tx.search_rows.hold()
        if tx.search_rows.latest(self.kind, user) != mark:
            raise _Overtaken

    async def _decided(
        self,
        user: UserId,
        known: Sequence[M],
        heard: Heard[N],
        at: Millis,
        near: Sequence[Nearness],
        deps: Deps,
    ) -> Changes[Any, N]:
        """Merge's word; where that leaves open whether two mean the same, and a model has read, the model's verdict."""
        answers = await self._answers(known, heard.notes, at, near, deps)
        changes = self.merge(known, heard.notes, at, NONE, near, answers)
        if deps.llm is None or heard.origin.engine != "model":
            return changes
        verdicts = await compare.verdicts(compare.unclear(changes, known, near), deps.llm, user)
        return self.merge(known, heard.notes, at, verdicts, near, answers) if verdicts else changes

    async def _answers(
        self, known: Sequence[M], notes: Sequence[N], at: Millis, near: Sequence[Nearness], deps: Deps
    ) -> Answers | None:
        """How likely the notes replace what is known; None where nobody can tell better than words."""
        asked = self.merge.questions(known, notes, at, near)
        scores = await deps.meaning.rivalry([(one.old, one.new) for one in asked]) if asked else []
        if scores is None:
            return None
        return {(one.place, one.key): one.chance(score) for one, score in zip(asked, scores, strict=True)}

    def _apply(
        self,
        tx: Tx,
        changes: Changes[Any, N],
        kept: Sequence[tuple[Added[N], M, SearchRow]],
        request_id: RequestId,
    ) -> None:
        """What is new comes first, so that what it replaces can point to it."""
        ids = []
        for added, memory, row in kept:
            because = Because(
                added.because, request_id=memory.request_id, sources=[str(i) for i in memory.interaction_ids]
            )
            ids.append(tx.memories.add(self.kind, memory, row, because).id)
        for mention in changes.mentioned:
            self._mention(tx, _id(mention.which, ids), mention.note, mention.because)
        for gone in changes.superseded:
            self._retire(tx, _id(gone.old, ids), gone.because, request_id, successor=_id(gone.new, ids))
        for forgotten in changes.forgotten:
            self._retire(tx, str(forgotten.id), forgotten.because, request_id, asked=forgotten.asked)

    def _mention(self, tx: Tx, memory_id: str, note: N, reason: str) -> None:
        before = tx.by_kind[self.kind].get(memory_id)
        if before is not None:
            source = str(note.evidence.interaction_id)
            because = Because(reason, request_id=note.request_id, sources=[source])
            after = self.refresh(before, note, tx.at)  # type: ignore[arg-type]
            tx.memories.change(MemoryRef(self.kind, memory_id), before, after, None, because)

    def _retire(
        self,
        tx: Tx,
        memory_id: str,
        reason: str,
        request_id: RequestId,
        successor: str | None = None,
        asked: InteractionId | None = None,
    ) -> None:
        """Leaves search, stays in history, and with it the turn that asked for it.

        Erasing for good is its owner's to order; of a rerun nothing was shown.
        """
        rows = tx.by_kind[self.kind]
        before: Any = rows.get(memory_id)
        if before is None:
            return
        because = Because(reason, request_id=request_id, sources=[successor] if successor else ())
        if successor is None and before.status is Status.PENDING:
            tx.memories.delete(self.kind, [memory_id], because)
            return
        status = Status.SUPERSEDED if successor else Status.FORGOTTEN
        by = rows.mapping.parse_id(successor) if successor else None
        told = [*before.interaction_ids, *([] if asked is None else [asked])]
        after = replace(before, status=status, superseded_by=by, interaction_ids=told)
        tx.memories.change(MemoryRef(self.kind, memory_id), before, after, None, because)
        if before.status is not Status.PENDING:
            self._retire_twins(tx, before, status, because)

    def _retire_twins(self, tx: Tx, gone: Profile | UserPlaybook, status: Status, because: Because) -> None:
        """A rule that one sentence told as a fact and taught as a lesson ends as both, in the same way.

        What replaced the one is of another kind than the other, which it cannot be linked to: the lineage names it.
        """
        other = _TWIN[self.kind]
        if not gone.source_span or not gone.request_id:
            return
        for twin in tx.by_kind[other].find(Filter(user_id=gone.user_id, request_id=gone.request_id)):
            if not isinstance(twin, AgentPlaybook) and twin.source_span == gone.source_span:
                after = replace(twin, status=status)
                tx.memories.change(MemoryRef(other, str(twin.id)), twin, after, None, because)


def _passed(tx: Tx, due: Due, path: Path, generated: int) -> Due | Millis | None:
    """The window is read: the bookmark stands behind it. Answers with what comes next."""
    tx.bookmarks.move(path.user, path.bookmark, due.seen, due.until)
    if path.count and due.news:
        path.count(tx, {"generated": generated, "windows": 1, "interactions": due.news})
    return path.next(tx)


_TWIN = {Kind.PROFILE: Kind.USER_PLAYBOOK, Kind.USER_PLAYBOOK: Kind.PROFILE}


def _with_heirs(rows: Any, ids: set[str]) -> list[Any]:
    """The memories under the ids, and all that they gave way to."""
    found: dict[str, Any] = {}
    while missing := ids - found.keys():
        fresh = rows.by_ids(sorted(missing))
        found |= fresh
        heirs = {str(one.superseded_by) for one in fresh.values() if one.superseded_by}
        ids = (ids & found.keys()) | (heirs - found.keys())
        if not fresh:
            break
    return list(found.values())


def _id(which: Which[Any], ids: Sequence[str]) -> str:
    return ids[which.added] if which.added is not None else str(which.known)

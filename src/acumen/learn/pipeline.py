"""From windows of conversation to memories: read, think, decide, write. The one way in which conversations teach."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict
from acumen.index.documents import Document
from acumen.learn.extract.extraction import extract
from acumen.learn.extract.notes import Extraction
from acumen.learn.extract.windows import Due, Next, WindowCache, come_back, next_due
from acumen.learn.memories import LearnedBy, new_memory, restated
from acumen.learn.merge.changes import Added, Changes, Ended, InConflict, Restated, Target
from acumen.learn.merge.merge import merge
from acumen.learn.runs.runs import Cancelled
from acumen.model.config import Extractor
from acumen.model.conversation import Window
from acumen.model.ids import Kind, MemoryRef, UserId, fresh_id
from acumen.model.jobs.events import Published, SessionEnded
from acumen.model.memories.base import Status, part_of_a_rerun
from acumen.model.memories.conflict import Conflict as ConflictLink
from acumen.model.memories.memory import Memory, searchable
from acumen.model.memories.search import Filter, SearchRow
from acumen.storage.memories.change_numbers import IndexVersion
from acumen.storage.store import Tx

KINDS = (Kind.PROFILE, Kind.USER_PLAYBOOK)
# Known memories that a model is shown, and may update or end.
SHOWN_TO_MODEL = 30


class ExtractorRun(Struct, frozen=True):
    """One extractor on its way through a user's turns: what it reads next, and what becomes of it."""

    kind: Kind
    user: UserId
    extractor: Extractor
    bookmark: str
    next: Callable[[Tx, WindowCache], Next]
    status: Status = Status.CURRENT  # PENDING: a rerun, which sees nothing but its own memories
    count: Callable[[Tx, Mapping[str, int]], None] | None = None  # called with the counts of each window

    @staticmethod
    def regular(kind: Kind, user: UserId, extractor: Extractor, deps: Deps) -> "ExtractorRun":
        """Through what has not been read yet."""

        def following(tx: Tx, windows: WindowCache) -> Next:
            return next_due(tx, user, extractor, deps, windows)

        return ExtractorRun(kind, user, extractor, extractor.bookmark, following)


class ExtractorsFailed(Exception):
    """Some extractors could not read; the others did."""

    def __init__(self, failures: dict[str, Exception]) -> None:
        causes = (f"{name}: {type(failure).__name__}: {failure}" for name, failure in failures.items())
        super().__init__("; ".join(causes))


class _Overtaken(Exception):
    """Known memories have changed since they were compared with the notes."""


class _Group(Struct, frozen=True):
    """Runs of different kinds that read the same window: one extraction serves them all."""

    runs: tuple[ExtractorRun, ...]
    due: Due

    @property
    def user(self) -> UserId:
        return self.runs[0].user

    @property
    def status(self) -> Status:
        return self.runs[0].status

    @property
    def extractors(self) -> dict[Kind, Extractor]:
        return {run.kind: run.extractor for run in self.runs}


class _Neighbours(Struct, frozen=True):
    """Search rows of the notes, the known memories they meet, and the index versions at which these were read."""

    rows: list[SearchRow]
    versions: dict[Kind, IndexVersion]
    memories: list[Memory]


async def update(event: Published | SessionEnded, deps: Deps) -> None:
    """Reads what the org's extractors have not read yet; manual ones run only on request."""
    config = deps.config
    kinds = ((Kind.PROFILE, config.profile_extractors), (Kind.USER_PLAYBOOK, config.playbook_extractors))
    runs = [
        ExtractorRun.regular(kind, event.user_id, extractor, deps)
        for kind, extractors in kinds
        for extractor in extractors
        if not extractor.manual
    ]
    await read_all(runs, deps)


async def read_all(runs: Sequence[ExtractorRun], deps: Deps) -> None:
    """Window after window, each run to its end; one that fails does not stop the others."""
    ahead: list[Next | BaseException] = list(await deps.store.read(lambda tx: _begin(tx, runs)))
    while groups := _groups(runs, ahead):
        ends = await asyncio.gather(*(_read(group, deps) for group in groups), return_exceptions=True)
        for group, following in zip(groups, ends, strict=True):
            for place, run in enumerate(group.runs):
                ahead[runs.index(run)] = following if isinstance(following, BaseException) else following[place]
        await deps.stand_back()
    pairs = list(zip(runs, ahead, strict=True))
    for run, end in pairs:
        if isinstance(end, int):
            await come_back(run.user, end, deps)
    _raise([(run.extractor.name, end) for run, end in pairs if isinstance(end, BaseException)])


def _begin(tx: Tx, runs: Sequence[ExtractorRun]) -> list[Next]:
    windows: WindowCache = {}
    return [run.next(tx, windows) for run in runs]


def _groups(runs: Sequence[ExtractorRun], ahead: Sequence[Next | BaseException]) -> list[_Group]:
    """Runs whose next window is the same are read together, at most one of each kind."""
    groups: list[_Group] = []
    for run, due in zip(runs, ahead, strict=True):
        if not isinstance(due, Due):
            continue
        place = next((place for place, group in enumerate(groups) if _joins(run, due, group)), None)
        if place is None:
            groups.append(_Group((run,), due))
        else:
            groups[place] = replace(groups[place], runs=(*groups[place].runs, run))
    return groups


def _joins(run: ExtractorRun, due: Due, group: _Group) -> bool:
    same = due.window == group.due.window and due.until == group.due.until and run.status is group.status
    return same and run.user == group.user and run.kind not in group.extractors


def _raise(ends: Sequence[tuple[str, BaseException]]) -> None:
    failures = {
        name: end for name, end in ends if isinstance(end, Exception) and not isinstance(end, Conflict | Cancelled)
    }
    if failures:
        raise ExtractorsFailed(failures) from next(iter(failures.values()))
    for _, end in ends:
        raise end  # cancelled, or overtaken by another worker: the caller knows what to do


# --- one window  ----------------------------------------------------------------------


async def _read(group: _Group, deps: Deps) -> list[Next]:
    """Returns what comes next for each run of the group."""
    extraction = await _extract(group, deps)
    while True:
        try:
            return await _store(group, extraction, deps)
        except _Overtaken:  # compared again, without extracting again
            continue


async def _store(group: _Group, extraction: Extraction | None, deps: Deps) -> list[Next]:
    neighbours, changes = await _decide(group, extraction, deps)

    def write(tx: Tx) -> list[Next]:
        return _write(tx, group, extraction, neighbours, changes, deps)

    if any(run.count for run in group.runs):  # a run counts for all its users
        return await deps.store.write(write)
    return await deps.store.write_for_user(group.user, write)


async def _extract(group: _Group, deps: Deps) -> Extraction | None:
    if not group.due.news:
        return None
    memories: list[Memory] = []
    if deps.llm is not None:
        rows = await deps.index.rows([Document(Kind.PROFILE, group.user, _new_text(group.due.window))])
        memories = await deps.store.read(lambda tx: _shown_to_model(tx, group, rows[0], deps))
    extraction = await extract(group.due.window, group.extractors, memories, deps)
    notes = [note for note in extraction.notes if note.kind in group.extractors]
    return replace(extraction, notes=notes)


def _new_text(window: Window) -> str:
    return "\n".join(turn.text for turn in window.turns if turn.is_new and turn.by_user)


def _shown_to_model(tx: Tx, group: _Group, row: SearchRow, deps: Deps) -> list[Memory]:
    """All that is known of a user, or what comes nearest to the window."""
    statuses = (group.status,)
    shown: list[Memory] = []
    for kind in group.extractors:
        user_filter = Filter(user_id=group.user, statuses=statuses)
        memories: list[Memory] = list(tx.by_kind[kind].find(user_filter, SHOWN_TO_MODEL + 1))
        if len(memories) > SHOWN_TO_MODEL:
            (near,) = deps.index.similar(tx, kind, group.user, [replace(row, kind=kind)])
            nearest = tx.by_kind[kind].get_many(list(near))
            memories = [memory for memory in nearest.values() if memory.status in statuses]
        shown += memories
    return shown[: 2 * SHOWN_TO_MODEL]


async def _decide(group: _Group, extraction: Extraction | None, deps: Deps) -> tuple[_Neighbours, Changes]:
    if extraction is None or not (extraction.notes or extraction.endings):
        return _Neighbours([], {}, []), Changes()
    by = LearnedBy(group.extractors, extraction.origin, deps.now(), extraction.because, group.status)
    drafts = [new_memory(note, group.due.window, by) for note in extraction.notes]
    texts = [
        Document(note.kind, group.user, searchable(memory))
        for note, memory in zip(extraction.notes, drafts, strict=True)
    ]
    rows = await deps.index.rows(texts) if texts else []
    neighbours = await deps.store.read(lambda tx: _meet(tx, group, extraction, rows, deps))
    said_at = {turn.id: turn.at for turn in group.due.window.turns}
    return neighbours, merge(neighbours.memories, extraction.notes, extraction.endings, said_at)


def _meet(tx: Tx, group: _Group, extraction: Extraction, rows: list[SearchRow], deps: Deps) -> _Neighbours:
    versions = {kind: tx.search_rows.get_latest_version(kind, group.user) for kind in KINDS}
    memories: list[Any] = []
    for kind in KINDS:
        if extraction.endings:  # what they name may be anything
            memories += tx.by_kind[kind].find(Filter(user_id=group.user, statuses=None))
            continue
        near = deps.index.similar(tx, kind, group.user, [replace(row, kind=kind) for row in rows])
        ids = {key for keys in near for key in keys}
        ids |= {note.updates.id for note in extraction.notes if note.updates and note.updates.kind is kind}
        memories += tx.by_kind[kind].get_many(sorted(ids)).values()
    return _Neighbours(rows, versions, _visible(memories, group.status))


def _visible(memories: Sequence[Any], status: Status) -> list[Memory]:
    """A rerun compares with its own memories, and with forgotten ones so that these do not return; others do not."""
    rerun = part_of_a_rerun({memory.id: (memory.status, memory.superseded_by) for memory in memories})
    if status is Status.PENDING:
        return [memory for memory in memories if memory.id in rerun or memory.status is Status.FORGOTTEN]
    return [memory for memory in memories if memory.id not in rerun]


# --- writing  ----------------------------------------------------------------------


def _write(
    tx: Tx, group: _Group, extraction: Extraction | None, neighbours: _Neighbours, changes: Changes, deps: Deps
) -> list[Next]:
    """Changes and bookmarks move in one transaction."""
    if changes and extraction is not None:
        tx.search_rows.require_org_lock()
        if any(
            tx.search_rows.get_latest_version(kind, group.user) != mark for kind, mark in neighbours.versions.items()
        ):
            raise _Overtaken
        by = LearnedBy(group.extractors, extraction.origin, deps.now(), extraction.because, group.status)
        _apply(tx, group, by, neighbours, changes)
    return [_passed(tx, group.due, run, extraction, changes) for run in group.runs]


def _apply(tx: Tx, group: _Group, by: LearnedBy, neighbours: _Neighbours, changes: Changes) -> None:
    """New memories come first, so that what they replace can point to them."""
    window = group.due.window
    refs = {added.place: _add(tx, added, window, by, neighbours.rows[added.place]) for added in changes.added}
    for change in changes.restated:
        _restate(tx, _ref(change.target, refs), change, window)
    for ended in changes.ended:
        _end(tx, _ref(ended.target, refs), ended, None if ended.successor is None else _ref(ended.successor, refs))
    if group.status is Status.CURRENT:
        for conflict in changes.conflicts:
            _link(tx, group.user, conflict, refs)


def _ref(target: Target, refs: Mapping[int, MemoryRef]) -> MemoryRef:
    return refs[target] if isinstance(target, int) else target


def _add(tx: Tx, added: Added, window: Window, by: LearnedBy, row: SearchRow) -> MemoryRef:
    memory = new_memory(added.note, window, by)
    return tx.memories.add(added.note.kind, memory, replace(row, kind=added.note.kind), added.because)


def _restate(tx: Tx, ref: MemoryRef, change: Restated, window: Window) -> None:
    before: Any = tx.by_kind[ref.kind].get(ref.id)
    if before is not None:
        after = restated(before, change.note, window)
        tx.memories.update(ref, before, after, None, change.because)


def _end(tx: Tx, ref: MemoryRef, ended: Ended, successor: MemoryRef | None) -> None:
    """Leaves search and stays in history with its reason. A forgotten one takes the turn that asked along."""
    rows = tx.by_kind[ref.kind]
    before: Any = rows.get(ref.id)
    if before is None:
        return
    because = replace(ended.because, sources=[successor.id] if successor else ())
    if ended.forgotten and before.status is Status.PENDING:
        tx.memories.delete(ref.kind, [ref.id], because)
        return
    linked = rows.mapping.parse_id(successor.id) if successor and successor.kind is ref.kind else None
    turns = [*before.interaction_ids, *([ended.because.interaction_id] if ended.forgotten else [])]
    status = Status.FORGOTTEN if ended.forgotten else Status.SUPERSEDED
    after = replace(before, status=status, superseded_by=linked, interaction_ids=turns)
    tx.memories.update(ref, before, after, None, because)


def _link(tx: Tx, user: UserId, conflict: InConflict, refs: Mapping[int, MemoryRef]) -> None:
    older, newer = _ref(conflict.older, refs), _ref(conflict.newer, refs)
    because = replace(conflict.because, sources=[older.id])
    quote, turn = because.quote or "", because.interaction_id
    link = ConflictLink(fresh_id("conf"), user, older, newer, because.reason, tx.at, quote, turn)
    memory: Any = tx.by_kind[newer.kind].get(newer.id)
    if memory is not None and tx.conflicts.add(link):
        tx.lineage.record(newer, "conflict", because, before=memory, after=memory, user=user)


def _passed(tx: Tx, due: Due, run: ExtractorRun, extraction: Extraction | None, changes: Changes) -> Next:
    """The window is read: the bookmark moves behind it. Returns what comes next."""
    tx.bookmarks.move(run.user, run.bookmark, due.bookmark, due.until)
    if run.count and due.news:
        generated = sum(added.note.kind is run.kind for added in changes.added)
        by_rules = {"windows_by_rules": 1} if extraction is not None and extraction.because else {}
        run.count(tx, {"generated": generated, "windows": 1, "interactions": due.news, **by_rules})
    # What is published while this is read has a job of its own.
    return None if due.last and run.count is None else run.next(tx, {})

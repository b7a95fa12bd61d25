"""Lessons of several users become one for all: grouped, worded once, pending until a person approves.

An aggregation is a run. It compares the lessons that changed since the bookmark of their agent version with the groups
that exist, and writes the shared lessons that follow.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from acumen.deps import Deps
from acumen.errors import OperationInTheWay
from acumen.learn.runs import runs
from acumen.learn.share.cluster import LessonIndex, Matrix, regroup
from acumen.learn.share.plan import Plan, group_of, make_plan
from acumen.learn.share.shared import retire, shared_lessons, user_lessons
from acumen.learn.share.write import ITEM, write
from acumen.model.conversation import UNNAMED_VERSION, versions_meant
from acumen.model.ids import Millis, PlaybookId, UserId
from acumen.model.jobs.events import AggregationAsked, Hour, LessonsGrew, Published, SessionEnded
from acumen.model.jobs.run import Run, RunId
from acumen.model.memories.cluster import AggregationBookmark, AggregationChange, IndexedLesson
from acumen.model.memories.playbook import Lesson
from acumen.storage.store import Tx

SERVICE = "playbook_aggregation"
# The wire's name for "no name given".
DEFAULT_NAME = "playbook"

# Written together by rules, which is quick; a model is asked for one lesson at a time.
WRITTEN_AT_ONCE = 20
# A higher number makes every agent version be compared in full once.
METHOD = 3
# Read together; of each only its vector stays.
LESSONS_AT_ONCE = 2_000
# Columns that words are hashed into where no lesson has an embedding.
HASHED_WORDS = 512
# Between two automatic aggregations of a version: this long, and this many times the duration of the last one.
PAUSE_MS = 10_000
PAUSE_TIMES = 20


# --- schedule --------------------------------------------------------------------------------------------------------


async def when_due(event: Published | SessionEnded | Hour, deps: Deps) -> None:
    """Enough new lessons make their agent version due, at once or after a pause."""
    user = None if isinstance(event, Hour) else event.user_id
    # Most publishes teach no lesson.
    if user is None or await deps.store.read(lambda tx: tx.aggregations.has_new_lessons(user)):
        await add_due(deps)


async def add_due(deps: Deps, wait_ms: int = 0) -> None:
    """Lessons that a caller adds wait for a while: more may be added, or an aggregation requested."""
    enough, earliest = deps.config.aggregation.due_after, deps.now() + wait_ms

    def grown(tx: Tx) -> list[tuple[LessonsGrew, Millis]]:
        versions = [version for version, count in _new_lessons(tx).items() if count >= enough]
        return [(LessonsGrew(version), Millis(max(earliest, _after_pause(tx, version)))) for version in versions]

    # Asked for every publish, and mostly nothing is due. `begin` counts once more.
    due = await deps.store.read(grown)
    if due:
        await deps.store.write(lambda tx: tx.jobs.add_all(due), hold_org=False)


def _new_lessons(tx: Tx) -> Counter[str]:
    counted: Counter[str] = Counter()
    for version, count in tx.aggregations.count_new_lessons().items():
        counted[version or UNNAMED_VERSION] += count
    return counted


def _after_pause(tx: Tx, version: str) -> Millis:
    marks = [tx.aggregations.get_bookmark(meant) for meant in versions_meant(version)]
    ends = [int(mark.at + PAUSE_MS + PAUSE_TIMES * mark.duration_ms) for mark in marks if mark.at is not None]
    return Millis(max(ends, default=tx.at))


async def begin(event: LessonsGrew, deps: Deps) -> None:
    """Starts the run, if the lessons are still new; after the active one, if there is one."""

    def store(tx: Tx) -> None:
        if _new_lessons(tx)[event.agent_version] < deps.config.aggregation.due_after:
            return
        runs.end_lost(tx, SERVICE)
        if tx.runs.get_active(SERVICE, event.agent_version):
            tx.jobs.add(event, Millis(tx.at + PAUSE_MS))
        else:
            _start(tx, event.agent_version, None)

    await deps.store.write(store)


async def ask(agent_version: str, name: str | None, deps: Deps, *, request_id: str = "", full: bool = False) -> Run:
    """Conflict while another run of this version is active. `full` compares every lesson again.

    The same request id twice is one run; the same id for another version is a Conflict.
    """
    run_id = RunId(f"aggr_{hashlib.sha256(request_id.encode()).hexdigest()[:24]}") if request_id else None

    def store(tx: Tx) -> Run:
        run = tx.runs.get(run_id) if run_id else None
        if run is None:
            return _start(tx, agent_version, name, run_id, request_id=request_id, full=full)
        if run.request["agent_version"] != agent_version:
            taken = f"request_id {request_id!r} was already used with a different body. Use a new request_id."
            raise OperationInTheWay(taken, run.id)
        return run

    return await deps.store.write(store)


async def changes(agent_version: str, name: str | None, limit: int, deps: Deps) -> list[AggregationChange]:
    """The change log, newest first."""
    versions, names = versions_meant(agent_version), names_meant(name)
    return await deps.store.read(lambda tx: tx.aggregations.find_changes(versions, names, limit))


def names_meant(name: str | None) -> list[str] | None:
    """None: lessons of every name."""
    return None if name in (None, DEFAULT_NAME) else [name]


def _start(tx: Tx, agent_version: str, name: str | None, run_id: RunId | None = None, **about: Any) -> Run:
    subject = agent_version or UNNAMED_VERSION
    runs.end_lost(tx, SERVICE)
    meant = {"versions": versions_meant(subject), "names": names_meant(name)}
    run = tx.runs.start(SERVICE, subject, {**about, "agent_version": agent_version, **meant}, [ITEM], run_id)
    tx.jobs.add(AggregationAsked(run.id))
    return run


# --- the run -----------------------------------------------------------------------------------------------------


async def carry(event: AggregationAsked, deps: Deps) -> None:
    await runs.carry(event.run_id, _aggregate, deps)


async def _aggregate(run: Run, item: str, deps: Deps) -> Mapping[str, int]:
    """Bookmarks move last: a run that is killed compares again, and finds what it wrote before unchanged."""
    names, full = run.request["names"], bool(run.request.get("full"))
    pairs = await deps.store.read(lambda tx: tx.aggregations.find_groups(run.request["versions"], names))
    counts: Counter[str] = Counter()
    bookmarks: dict[str, list[AggregationBookmark]] = {}
    for version, name in pairs:
        plan, bookmark = await deps.store.read(lambda tx, v=version, n=name: _compare(tx, v, n, deps, full=full))  # type: ignore[misc]
        counts.update(plan.counts)
        bookmarks.setdefault(version, []).append(bookmark)
        await _apply_plan(plan, run, version, name, deps)
    if names is None:  # else lessons of other names are still to be compared
        await deps.store.write(lambda tx: _move_bookmarks(tx, bookmarks))
    counts.update(await deps.store.read(lambda tx: tx.run_items.get_counts(run.id, item)))
    return counts


async def _apply_plan(plan: Plan, run: Run, version: str, name: str, deps: Deps) -> None:
    def settle(tx: Tx) -> None:
        tx.clusters.lock()
        for retaught in plan.retaught:  # a rejected lesson stays rejected, though its users teach it by new playbooks
            tx.clusters.extend(retaught.lesson or PlaybookId(0), retaught.members)
        removed = retire(tx, run.id, plan.retired, "too few users teach it any more")
        tx.run_items.add_counts(run.id, ITEM, {"playbooks_removed": removed})

    if plan.retaught or plan.retired:
        await deps.store.write(settle)
    size = 1 if deps.llm else WRITTEN_AT_ONCE
    for start in range(0, len(plan.writes), size):
        await write(run.id, version, name, plan.writes[start : start + size], deps)
        await deps.stand_back()


def _move_bookmarks(tx: Tx, bookmarks: Mapping[str, Sequence[AggregationBookmark]]) -> None:
    for version, read in bookmarks.items():
        last = PlaybookId(max(mark.last for mark in (*read, tx.aggregations.get_bookmark(version))))
        took, seq = sum(mark.duration_ms for mark in read), min(mark.seq for mark in read)
        tx.aggregations.move_bookmark(version, AggregationBookmark(last, None, took, seq, read[0].basis))


def _compare(tx: Tx, version: str, name: str, deps: Deps, *, full: bool) -> tuple[Plan, AggregationBookmark]:
    """What the lessons of one agent version and name lead to, and how far they were read."""
    began, config, before = time.perf_counter(), deps.config.aggregation, tx.aggregations.get_bookmark(version)
    at = tx.search_rows.get_version()
    basis = f"{METHOD} {at.generation} {config.least_users} {config.similarity} {deps.local_models.name}"
    pages = tx.aggregations.lesson_pages(version, name, deps.local_models.name, LESSONS_AT_ONCE)
    index, users = _index(pages, -1 if full or before.basis != basis else before.seq)
    shared = shared_lessons(tx, version, name, deps)
    regrouped = regroup(index, shared, lambda ids: _words(tx, ids), config.similarity)
    enough = [group for group in regrouped if len({users[member] for member in group}) >= config.least_users]
    lessons = {
        lesson.playbook.id: lesson
        for lesson in user_lessons(tx, [member for group in enough for member in group], deps)
    }
    groups = [group_of(lessons[member] for member in group) for group in enough]
    groups.sort(key=lambda group: (-len(group), group[0].playbook.id))
    last, took = max(index.ids, default=PlaybookId(0)), 1000 * (time.perf_counter() - began)
    bookmark = AggregationBookmark(last, None, took, at.seq, basis)
    return make_plan(groups, shared, users, config.least_users), bookmark


def _index(pages: Iterable[Sequence[IndexedLesson]], after: int) -> tuple[LessonIndex, dict[PlaybookId, UserId]]:
    """Of all lessons only a vector each, and who teaches it. Those with a higher number than `after` changed."""
    users: dict[PlaybookId, UserId] = {}
    changed: list[bool] = []
    vectors, hashed = [np.zeros((0, 0), np.float32)], [np.zeros((0, HASHED_WORDS), np.float32)]
    for page in pages:
        users.update({lesson.id: lesson.user for lesson in page})
        changed += [lesson.seq > after for lesson in page]
        vectors.append(_vectors(page))
        hashed.append(np.zeros((0, HASHED_WORDS), np.float32) if vectors[-1].size else _hashed(page))
    return LessonIndex(list(users), _stacked(vectors, hashed, len(users)), changed), users


def _stacked(vectors: Sequence[Matrix], hashed: Sequence[Matrix], rows: int) -> Matrix:
    """Without any embedding, words take their place."""
    width = max(part.shape[1] for part in vectors)
    if not width:
        return np.concatenate(hashed)
    matrix, start = np.zeros((rows, width), np.float32), 0
    for part in vectors:
        if part.size:
            matrix[start : start + len(part)] = part
        start += len(part)
    return matrix


def _vectors(page: Sequence[IndexedLesson]) -> Matrix:
    """Zeros where there is none; of no width where no lesson has one."""
    stored = [np.frombuffer(lesson.vector, np.float16) if lesson.vector else None for lesson in page]
    width = next((len(vector) for vector in stored if vector is not None), 0)
    matrix = np.zeros((len(page), width), np.float32)
    for row, vector in enumerate(stored):
        if vector is not None:
            matrix[row] = vector
    return _of_length_one(matrix)


def _hashed(page: Sequence[IndexedLesson]) -> Matrix:
    matrix = np.zeros((len(page), HASHED_WORDS), np.float32)
    for row, lesson in enumerate(page):
        np.add.at(matrix[row], [crc32(term.encode()) % HASHED_WORDS for term in lesson.terms.split()], 1)
    return _of_length_one(matrix)


def _of_length_one(matrix: Matrix) -> Matrix:
    """Zeros for what has none."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(lengths), matrix / np.maximum(lengths, 1e-9), 0).astype(np.float32)


def _words(tx: Tx, ids: Sequence[PlaybookId]) -> list[Lesson]:
    playbooks = tx.user_playbooks.get_many([str(playbook_id) for playbook_id in ids])
    return [playbooks[str(playbook_id)].lesson for playbook_id in ids]

"""Read, think, decide, write: the one way in which conversations become memories of either kind."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps, Findable, Nearness
from acumen.errors import Conflict
from acumen.learn import compare
from acumen.learn.changes import Added, Changes, Which
from acumen.learn.extract.extraction import BY_RULES, Heard
from acumen.learn.extract.windows import Due, Found, Next, come_back, next_due
from acumen.learn.merge import NONE, Comparison
from acumen.learn.questions import Answers, Question, answered, told
from acumen.learn.runs.runs import Cancelled
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

    reader: "Reader[Any, Any]"
    user: UserId
    extractor: Extractor
    bookmark: str
    next: Callable[[Tx, Found], Next]
    status: Status = Status.CURRENT  # PENDING: a rerun, which sees nothing but its own memories
    count: Callable[[Tx, Mapping[str, int]], None] | None = None  # told what came of each window, when it is written

    @staticmethod
    def regular(reader: "Reader[Any, Any]", user: UserId, extractor: Extractor, deps: Deps) -> "Path":
        """Through what has not been read yet."""
        return Path(
            *(reader, user, extractor, extractor.bookmark),
            lambda tx, found: next_due(tx, user, extractor, deps, found),
        )


class ExtractorsFailed(Exception):
    """Some extractors could not read; the others did. Says which, and why."""

    def __init__(self, failures: dict[str, Exception]) -> None:
        told = (f"{name}: {type(failure).__name__}: {failure}" for name, failure in failures.items())
        super().__init__("; ".join(told))


class _Overtaken(Exception):
    """What is known has changed since it was compared with what was heard."""


async def read_all(paths: Sequence[Path], deps: Deps) -> None:
    """Side by side, window after window, each to its end; one that fails does not stop the others."""
    ahead, strangers = await deps.store.read(lambda tx: _begin(tx, paths))
    while places := [place for place, due in enumerate(ahead) if isinstance(due, Due)]:
        dues = [(paths[at], ahead[at]) for at in places]
        for place, end in zip(places, await _read(dues, strangers, deps), strict=True):
            ahead[place] = end
        strangers = frozenset()
        await deps.stand_back()
    ends = list(zip(paths, ahead, strict=True))
    for path, at in ends:
        if isinstance(at, int):
            await come_back(path.user, at, deps)
    _tell([(path.extractor.name, end) for path, end in ends if isinstance(end, BaseException)])


def _begin(tx: Tx, paths: Sequence[Path]) -> tuple[list[Next | BaseException], frozenset[Kind]]:
    """What comes first on each path, and the kinds of memory of which the user has none yet."""
    found: Found = {}
    kinds = {path.reader.kind: path.user for path in paths}
    strangers = [kind for kind, user in kinds.items() if not tx.search_rows.latest(kind, user).seq]
    return [path.next(tx, found) for path in paths], frozenset(strangers)


def _tell(ends: Sequence[tuple[str, BaseException]]) -> None:
    failures = {
        name: end for name, end in ends if isinstance(end, Exception) and not isinstance(end, Conflict | Cancelled)
    }
    if failures:
        raise ExtractorsFailed(failures) from next(iter(failures.values()))
    for _, end in ends:
        raise end  # cancelled, or overtaken by another worker: whoever called knows what to do


async def _read(dues: Sequence[tuple[Path, Any]], strangers: frozenset[Kind], deps: Deps) -> list[Next | BaseException]:
    """One window of each path; answers with what comes next."""
    heard: list[Any] = []
    for kind, alike in groupby(dues, lambda one: one[0].reader.kind):  # a model is asked for facts, then for lessons
        steps = (_hear(path, due, deps, new=kind in strangers) for path, due in alike)
        heard += await asyncio.gather(*steps, return_exceptions=True)
    ends = list(heard)
    while places := [place for place, end in enumerate(ends) if isinstance(end, _Reading | _Overtaken)]:
        learned = await _learn([heard[place] for place in places], deps)  # compared anew, without asking anew
        for place, end in zip(places, learned, strict=True):
            ends[place] = end
    return ends


async def _hear(path: Path, due: Due, deps: Deps, *, new: bool) -> "_Reading":
    """Where nothing is known, notes that would only change something say nothing."""
    heard = await path.reader.extract(due.window, path.extractor, deps) if due.news else NOTHING
    if new and all(note.faint or note.forget or note.denies for note in heard.notes):
        heard = replace(heard, notes=[])
    return _Reading(path, due, heard, Learned(path.extractor.name, heard.origin, deps.now(), heard.because))


class _Reading(Struct, frozen=True):
    """What was heard in a window, on its way to what is known."""

    path: Path
    due: Due
    heard: Heard[Any]
    learned: Learned

    def memory(self, note: Any) -> Any:
        return replace(self.path.reader.make(note, self.due.window, self.learned), status=self.path.status)

    def findable(self, memory: Any) -> Findable:
        return Findable(self.path.reader.kind, self.path.user, searchable(memory))


class _Met(Struct, frozen=True):
    """What is known and comes near, and as of when."""

    rows: list[SearchRow]
    mark: Mark
    near: list[Nearness]
    known: list[Any]


NOTHING: Heard[Any] = Heard([], BY_RULES)
NOBODY = _Met([], Mark(0, 0), [], [])


async def _learn(readings: Sequence[_Reading], deps: Deps) -> list[Next | BaseException]:
    """Each is written by itself, where the database may write them in one go."""
    met = iter(await _meet([one for one in readings if one.heard.notes], deps))
    steps = [one.path.reader.store(one, *(next(met) if one.heard.notes else (NOBODY, None)), deps) for one in readings]
    return await asyncio.gather(*steps, return_exceptions=True)


async def _meet(readings: Sequence[_Reading], deps: Deps) -> list[tuple[_Met, Answers | None]]:
    """One run of each model for all of them, and one look at what is known."""
    if not readings:
        return []
    texts = [[one.findable(one.memory(note)) for note in one.heard.notes] for one in readings]
    made = iter(await deps.findable([text for some in texts for text in some]))
    rows = [[next(made) for _ in some] for some in texts]
    met = await deps.store.read(
        lambda tx: [one.path.reader.meet(tx, one, some, deps) for one, some in zip(readings, rows, strict=True)]
    )
    asked = [
        one.path.reader.merge.questions(its.known, one.heard.notes, one.learned.at, its.near, told(one.due.window))
        for one, its in zip(readings, met, strict=True)
    ]
    return list(zip(met, await _answers(asked, deps), strict=True))


async def _answers(asked: Sequence[Sequence[Question]], deps: Deps) -> Sequence[Answers | None]:
    """How likely the notes replace what is known; None where nobody can tell better than words."""
    chances = await _chances([one for some in asked for one in some], deps)
    if chances is None:
        return [None if some else {} for some in asked]
    parts = [(one, chance, one.parts(chance)) for one, chance in chances]
    of_parts = iter(await _chances([part for *_, some in parts for part in some], deps) or ())
    answers = iter(
        [answered(one, chance, [(part.old, next(of_parts)[1]) for part in some]) for one, chance, some in parts]
    )
    return [{(one.place, one.key): next(answers) for one in some} for some in asked]


async def _chances(asked: Sequence[Question], deps: Deps) -> list[tuple[Question, float]] | None:
    """What is asked of a fact and of a lesson alike is asked once."""
    pairs = list(dict.fromkeys((one.old, one.new) for one in asked))
    scores = await deps.meaning.rivalry(pairs) if pairs else []
    if scores is None:
        return None
    score = dict(zip(pairs, scores, strict=True))
    return [(one, one.chance(score[one.old, one.new])) for one in asked]


class Reader(Struct, Generic[M, N], frozen=True):
    """What differs between learning facts and learning lessons."""

    kind: Kind
    extract: Callable[[Window, Extractor, Deps], Awaitable[Heard[N]]]
    merge: Comparison[M, N, Any]
    make: Callable[[N, Window, Learned], M]
    refresh: Callable[[M, N, Millis], M]
    rest: Callable[[M, str, Millis], M]  # a memory of its own, of what is left of another

    def meet(self, tx: Tx, one: _Reading, rows: list[SearchRow], deps: Deps) -> _Met:
        mark = tx.search_rows.latest(self.kind, one.path.user)
        near = deps.alike(tx, self.kind, one.path.user, rows)
        return _Met(rows, mark, near, self._known(tx, one.path, one.heard.notes, near))

    async def store(self, one: _Reading, met: _Met, answers: Answers | None, deps: Deps) -> Next:
        """What comes next is asked for in the transaction that moves the bookmark."""
        changes = await self._decided(one, met, answers, deps)
        kept = await self._kept(one, met, changes, deps)
        left = await self._left(one, met, changes, deps)

        def write(tx: Tx) -> Next:
            if changes:
                self._hold(tx, one.path.user, met.mark)
                self._apply(tx, changes, kept, one.due.window)
                for memory, row, because in left:
                    tx.memories.add(self.kind, memory, row, because)
            return _passed(tx, one, len(changes.added))

        return await deps.store.write(write)

    async def _kept(
        self, one: _Reading, met: _Met, changes: Changes[Any, N], deps: Deps
    ) -> list[tuple[Added[N], M, SearchRow]]:
        """What is added, with the row it is found by: made anew where it was put into other words."""
        memories = [one.memory(added.note) for added in changes.added]
        reworded = [
            place for place, added in enumerate(changes.added) if added.note is not one.heard.notes[added.place]
        ]
        made = await deps.findable([one.findable(memories[place]) for place in reworded]) if reworded else []
        rows = [met.rows[added.place] for added in changes.added]
        for place, row in zip(reworded, made, strict=True):
            rows[place] = row
        return list(zip(changes.added, memories, rows, strict=True))

    async def _left(
        self, one: _Reading, met: _Met, changes: Changes[Any, N], deps: Deps
    ) -> list[tuple[M, SearchRow, Because]]:
        """What still holds of memories of several facts that gave way, each with the row it is found by."""
        known = {memory.id: memory for memory in met.known}
        memories = [self.rest(known[left.of], left.text, one.learned.at) for left in changes.left]
        rows = await deps.findable([one.findable(memory) for memory in memories]) if memories else []
        reasons = [Because(left.because, sources=[str(left.of)]) for left in changes.left]
        return list(zip(memories, rows, reasons, strict=True))

    def _known(self, tx: Tx, path: Path, notes: Sequence[N], near: Sequence[Nearness]) -> list[M]:
        """What comes near the notes; a wish to forget may mean anything.

        A rerun compares with what it has made itself, and with what was forgotten, lest it bring that back; everybody
        else with everything but that.
        """
        rows = tx.by_kind[self.kind]
        if any(note.forget for note in notes):
            memories: list[Any] = list(rows.find(Filter(user_id=path.user, statuses=None)))
        else:
            memories = _with_heirs(rows, {key for one in near for key in one if not key.startswith("+")})
        rerun = part_of_a_rerun({one.id: (one.status, one.superseded_by) for one in memories})
        if path.status is Status.PENDING:
            return [one for one in memories if one.id in rerun or one.status is Status.FORGOTTEN]
        return [one for one in memories if one.id not in rerun]

    def _hold(self, tx: Tx, user: UserId, mark: Mark) -> None:
        """Nobody changes the user's memories from here on, nor has since they were read."""
        tx.search_rows.hold()
        if tx.search_rows.latest(self.kind, user) != mark:
            raise _Overtaken

    async def _decided(self, one: _Reading, met: _Met, answers: Answers | None, deps: Deps) -> Changes[Any, N]:
        """Merge's word; where that leaves open whether two mean the same, and a model has read, the model's verdict."""
        known, notes = met.known, one.heard.notes
        changes = self.merge(known, notes, one.learned.at, NONE, met.near, answers)
        if deps.llm is None or one.heard.origin.engine != "model":
            return changes
        verdicts = await compare.verdicts(compare.unclear(changes, known, met.near), deps.llm, one.path.user)
        return self.merge(known, notes, one.learned.at, verdicts, met.near, answers) if verdicts else changes

    def _apply(
        self,
        tx: Tx,
        changes: Changes[Any, N],
        kept: Sequence[tuple[Added[N], M, SearchRow]],
        window: Window,
    ) -> None:
        """What is new comes first, so that what it replaces can point to it."""
        ids, request_id = [], window.turns[-1].request_id
        for added, memory, row in kept:
            because = Because(
                added.because, request_id=memory.request_id, sources=[str(i) for i in memory.interaction_ids]
            )
            ids.append(tx.memories.add(self.kind, memory, row, because).id)
        for mention in changes.mentioned:
            said_at = window.turn(mention.note.evidence.interaction_id).at or tx.at
            self._mention(tx, _id(mention.which, ids), mention.note, mention.because, said_at)
        for gone in changes.superseded:
            self._retire(tx, _id(gone.old, ids), gone.because, request_id, successor=_id(gone.new, ids))
        for forgotten in changes.forgotten:
            self._retire(tx, str(forgotten.id), forgotten.because, request_id, asked=forgotten.asked)

    def _mention(self, tx: Tx, memory_id: str, note: N, reason: str, said_at: Millis) -> None:
        before = tx.by_kind[self.kind].get(memory_id)
        if before is not None:
            source = str(note.evidence.interaction_id)
            because = Because(reason, request_id=note.request_id, sources=[source])
            after = self.refresh(before, note, said_at)  # type: ignore[arg-type]
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
        denied = successor is None and asked is None  # by words of the other kind, which meet the twin themselves
        if before.status is not Status.PENDING and not denied:
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


def _passed(tx: Tx, one: _Reading, generated: int) -> Next:
    """The window is read: the bookmark stands behind it. Answers with what comes next."""
    due, path = one.due, one.path
    tx.bookmarks.move(path.user, path.bookmark, due.seen, due.until)
    if path.count and due.news:
        path.count(tx, {"generated": generated, "windows": 1, "interactions": due.news, **_instead(one.heard)})
    # What is published while this is read has a job of its own.
    return None if due.last and path.count is None else path.next(tx, {})


def _instead(heard: Heard[Any]) -> dict[str, int]:
    """Rules that read in a model's place may have found nothing to say so with."""
    return {"windows_by_rules": 1} if heard.because else {}


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

"""Which memories deserve a look, the most pressing first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acumen.deps import Deps
from acumen.model.action import UNMARKED, Mark
from acumen.model.ids import Kind, MemoryRef, Millis, UserId
from acumen.model.memories import Memory
from acumen.model.memory import Outline
from acumen.model.profile import DAY_MS
from acumen.model.usage import Use
from acumen.review.signals import DUPLICATE, Case, Flagged, Replaced, Signal, Thresholds, Twin, Window, signals_of
from acumen.storage.flags import Pair
from acumen.storage.store import Tx

# The window that a dismissal is judged by, and the review's own default.
USUAL_DAYS = 60
# Past this the use of all memories is read faster than that of so many named ones.
NAMED_AT_MOST = 500


@dataclass(frozen=True, slots=True)
class Candidate:
    ref: MemoryRef
    title: str
    user_id: str | None
    version: int
    signals: tuple[Signal, ...]
    use: Use
    modified_at: Millis

    @property
    def score(self) -> int:
        return max(signal.score for signal in self.signals)

    @property
    def related(self) -> list[str]:
        """Ids of other memories of the same kind, or of what would take its place."""
        return list(dict.fromkeys(other for signal in self.signals for other in signal.about if signal.name in _NAMING))

    @property
    def saving(self) -> float:
        """Tokens a day that acting on it saves."""
        return max(signal.saving for signal in self.signals)


_NAMING = frozenset({"duplicate", "supersedeable"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which candidates: of one user or (None) of all, over how many days, with which signals (None: any)."""

    user: UserId | None
    days_back: int = USUAL_DAYS
    signals: Sequence[str] | None = None
    by_waste: bool = False  # wasted tokens decide the order, not the score


@dataclass(frozen=True, slots=True)
class Queue:
    """A page of candidates, how many there are in all and by signal, and since when use has been counted."""

    candidates: Sequence[Candidate]
    total: int
    by_signal: Mapping[str, int]
    saving: float
    covered_since: Millis | None
    enough_history: bool


async def candidates(wanted: Wanted, limit: int, offset: int, deps: Deps) -> Queue:
    """An empty list of signals admits none."""
    at = deps.now()
    return await deps.store.read(lambda tx: _queue(tx, wanted, limit, offset, at, deps))


def _queue(tx: Tx, wanted: Wanted, limit: int, offset: int, at: Millis, deps: Deps) -> Queue:
    window = Window(Millis(at - wanted.days_back * DAY_MS), at, tx.usage.metered_since())
    found = [one for kind in _kinds(wanted.user) for one in _of_kind(tx, kind, wanted.user, window, deps)]
    chosen = [one for one in found if _wanted(one, wanted.signals)]
    chosen.sort(key=_by_waste if wanted.by_waste else _by_score)
    return Queue(
        candidates=_titled(tx, chosen[offset : offset + limit]),
        total=len(chosen),
        by_signal=_counted(found),
        saving=sum(one.saving for one in chosen),
        covered_since=window.covered_since,
        enough_history=window.covered,
    )


def _kinds(user: UserId | None) -> Iterable[Kind]:
    """A shared lesson belongs to nobody, so nobody's own review lists it."""
    return (kind for kind in Kind if user is None or kind is not Kind.AGENT_PLAYBOOK)


def _wanted(one: Candidate, signals: Sequence[str] | None) -> bool:
    return signals is None or any(signal.name in signals for signal in one.signals)


def _by_score(one: Candidate) -> tuple[Any, ...]:
    return -one.score, -one.use.wasted_tokens, one.ref.kind, one.ref.id


def _by_waste(one: Candidate) -> tuple[Any, ...]:
    return -one.use.wasted_tokens, -one.score, one.ref.kind, one.ref.id


def _counted(found: Iterable[Candidate]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in found:
        for signal in one.signals:
            counts[signal.name] = counts.get(signal.name, 0) + 1
    return counts


def _of_kind(tx: Tx, kind: Kind, user: UserId | None, window: Window, deps: Deps) -> list[Candidate]:
    outlines = tx.by_kind[kind].outlines(user)
    thresholds = Thresholds(deps.settings.review.least_wasted_tokens, deps.settings.review.grace_days)
    found = []
    for outline, case in _cases(tx, kind, user, outlines, window.since):
        signals = signals_of(case, window, thresholds)
        if signals:
            ref = MemoryRef(kind, outline.id)
            found.append(Candidate(ref, "", outline.user_id, outline.version, signals, case.use, outline.updated_at))
    return found


def _cases(
    tx: Tx, kind: Kind, user: UserId | None, outlines: Sequence[Outline], since: Millis
) -> Iterable[tuple[Outline, Case]]:
    ids = [outline.id for outline in outlines]
    # Whole days: of use on the window's first day, the hours before it count too.
    first = Millis(since - since % DAY_MS)
    used = tx.usage.sums.of_kind(kind, first, ids if len(ids) <= NAMED_AT_MOST else None)
    marks = tx.marks.of(kind, ids) if user is not None else tx.marks.all_of(kind)
    flags = tx.flags.of_kind(kind, user)
    twins = _twins(tx, kind, user, set(ids))
    replaced = _replaced(tx, kind, outlines)
    for outline in outlines:
        own = outline.id
        yield (
            outline,
            Case(
                created_at=outline.created_at,
                modified_at=outline.updated_at,
                use=used.get(own, _UNUSED),
                replaced=replaced.get(own),
                flags=[Flagged(flag.signal, flag.detail, flag.since) for flag in flags.get(own, ())],
                twins=twins.get(own, ()),
                mark=marks.get(own, UNMARKED),
            ),
        )


_UNUSED = Use()


def _twins(tx: Tx, kind: Kind, user: UserId | None, current: set[str]) -> dict[str, list[Twin]]:
    """Only pairs of which both are still in use."""
    found: dict[str, list[Twin]] = {}
    for pair in tx.flags.pairs(kind, user):
        if pair.left in current and pair.right in current:
            for own, other in ((pair.left, pair.right), (pair.right, pair.left)):
                found.setdefault(own, []).append(Twin(other, pair.similarity, pair.since))
    return found


def _replaced(tx: Tx, kind: Kind, outlines: Sequence[Outline]) -> dict[str, Replaced]:
    """By pointer, by a newer lesson on the same subject, or by a shared lesson it was folded into."""
    found = {
        outline.id: Replaced(
            str(outline.superseded_by), f"{kind} {outline.superseded_by} supersedes it", outline.updated_at
        )
        for outline in outlines
        if outline.superseded_by is not None
    }
    if kind is not Kind.USER_PLAYBOOK:
        return found
    contradicted = _contradicted(outlines)
    folded = {
        own: Replaced(str(shared), f"it was folded into the shared lesson {shared}", since)
        for own, (shared, since) in tx.lineage.folded().items()
    }
    return {**folded, **contradicted, **found}


def _contradicted(outlines: Sequence[Outline]) -> dict[str, Replaced]:
    """An older lesson of the same user on the same subject that asks for something else."""
    newest: dict[tuple[str | None, str], Outline] = {}
    for outline in outlines:
        if outline.subject:
            key = (outline.user_id, outline.subject)
            if key not in newest or outline.created_at > newest[key].created_at:
                newest[key] = outline
    found = {}
    for outline in outlines:
        newer = newest.get((outline.user_id, outline.subject)) if outline.subject else None
        if newer is not None and newer.value != outline.value and newer.created_at > outline.created_at:
            why = f"user_playbook {newer.id} is newer and asks for something else"
            found[outline.id] = Replaced(newer.id, why, newer.created_at)
    return found


def _titled(tx: Tx, page: Sequence[Candidate]) -> list[Candidate]:
    titles = tx.memories.titles(one.ref for one in page)
    return [replace(one, title=titles.get(one.ref, "")) for one in page]


async def flagged(refs: Sequence[MemoryRef], deps: Deps) -> dict[MemoryRef, dict[str, Any]]:
    """For some memories: the numbers for which each stands in the queue now, by signal, as a dismissal keeps them."""
    at = deps.now()
    return await deps.store.read(lambda tx: _flagged(tx, refs, at, deps))


def _flagged(tx: Tx, refs: Sequence[MemoryRef], at: Millis, deps: Deps) -> dict[MemoryRef, dict[str, Any]]:
    window = Window(Millis(at - USUAL_DAYS * DAY_MS), at, tx.usage.metered_since())
    wanted = set(refs)
    found: dict[MemoryRef, dict[str, Any]] = {}
    for kind in {ref.kind for ref in refs}:
        for one in _of_kind(tx, kind, None, window, deps):
            if one.ref in wanted:
                found[one.ref] = {signal.name: signal.as_dismissed() for signal in one.signals}
    return found


@dataclass(frozen=True, slots=True)
class Twins:
    """Two memories that say nearly the same, with how often each was shown in the usual window."""

    pair: Pair
    left: Memory
    right: Memory
    shown: tuple[int, int]


async def duplicates(user: UserId | None, limit: int, offset: int, deps: Deps) -> tuple[list[Twins], int]:
    """Pairs of which both are in use, the most alike first, and how many there are."""
    since = Millis(deps.now() - USUAL_DAYS * DAY_MS)
    return await deps.store.read(lambda tx: _duplicates(tx, user, limit, offset, since))


def _duplicates(tx: Tx, user: UserId | None, limit: int, offset: int, since: Millis) -> tuple[list[Twins], int]:
    pairs = []
    for kind in _kinds(user):
        current = {outline.id for outline in tx.by_kind[kind].outlines(user)}
        marks = tx.marks.all_of(kind)
        both = [pair for pair in tx.flags.pairs(kind, user) if {pair.left, pair.right} <= current]
        pairs += [pair for pair in both if not _told_apart(pair, marks)]
    pairs.sort(key=lambda pair: (-pair.similarity, pair.kind, pair.left, pair.right))
    return [_pictured(tx, pair, since) for pair in pairs[offset : offset + limit]], len(pairs)


def _told_apart(pair: Pair, marks: Mapping[str, Mark]) -> bool:
    """Whether a person has dismissed each as a duplicate of the other."""
    return all(
        other in marks.get(own, UNMARKED).dismissed.get(DUPLICATE, {}).get("about", ())
        for own, other in ((pair.left, pair.right), (pair.right, pair.left))
    )


def _pictured(tx: Tx, pair: Pair, since: Millis) -> Twins:
    ids = [pair.left, pair.right]
    memories: dict[str, Any] = dict(tx.by_kind[pair.kind].by_ids(ids))
    used = tx.usage.sums.of_kind(pair.kind, since, ids)
    left, right = (used.get(one, _UNUSED).shown for one in ids)
    return Twins(pair, memories[pair.left], memories[pair.right], (left, right))

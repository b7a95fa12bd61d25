"""Which memories deserve a look, the most pressing first."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from acumen.deps import Deps
from acumen.model.action import UNMARKED, Mark
from acumen.model.ids import Kind, MemoryRef, Millis, UserId
from acumen.model.memory import Outline
from acumen.model.profile import DAY_MS
from acumen.model.usage import Use
from acumen.review.signals import Case, Flagged, Replaced, Signal, Thresholds, Twin, Window, signals_of
from acumen.storage.store import Tx

# The window that a dismissal is judged by, and the review's own default.
USUAL_DAYS = 60
# Past this the use of all memories is read faster than that of so many named ones.
NAMED_AT_MOST = 500


class Candidate(NamedTuple):
    """Its signals begin with the one that weighs most."""

    ref: MemoryRef
    title: str
    user_id: str | None
    version: int
    signals: tuple[Signal, ...]
    use: Use
    modified_at: Millis

    @property
    def score(self) -> int:
        return self.signals[0].score

    @property
    def related(self) -> list[str]:
        """Ids of other memories of the same kind, or of what would take its place."""
        return list(dict.fromkeys(other for signal in self.signals for other in signal.about if signal.name in _NAMING))

    @property
    def saving(self) -> float:
        """Tokens a day that acting on it saves."""
        return _saving(self.signals)


def _saving(signals: Sequence[Signal]) -> float:
    return max(signal.saving for signal in signals)


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
    rules = _rules(tx, wanted.days_back, at, deps)
    known = {kind: _known(tx, kind, wanted.user, rules.window.since) for kind in kinds(wanted.user)}
    by_signal: Counter[str] = Counter()
    saving, order = 0.0, []
    for kind, its in known.items():
        for outline in its.outlines:
            signals = rules.signals(its.case(outline))
            for signal in signals:
                by_signal[signal.name] += 1
            if signals and (wanted.signals is None or any(signal.name in wanted.signals for signal in signals)):
                saving += _saving(signals)
                weight = (-signals[0].score, -its.use(outline).wasted_tokens)
                order.append((*(weight[::-1] if wanted.by_waste else weight), kind, outline.id))
    order.sort()
    # Of thousands only the order is kept; those of the page are looked at again.
    page = [MemoryRef(kind, own) for _, _, kind, own in order[offset : offset + limit]]
    return Queue(
        candidates=_candidates(tx, page, known, rules),
        total=len(order),
        by_signal=by_signal,
        saving=saving,
        covered_since=rules.window.covered_since,
        enough_history=rules.window.covered,
    )


def _candidates(tx: Tx, page: Sequence[MemoryRef], known: "Mapping[Kind, _Known]", rules: "_Rules") -> list[Candidate]:
    titles, found = tx.memories.titles(page), {}
    for kind, its in known.items():
        wanted = {ref.id for ref in page if ref.kind is kind}
        for one in its.outlines:
            if one.id in wanted:
                ref, case = MemoryRef(kind, one.id), its.case(one)
                of_owner = (titles.get(ref, ""), one.user_id, one.version)
                found[ref] = Candidate(ref, *of_owner, rules.signals(case), case.use, one.updated_at)
    return [found[ref] for ref in page]


def kinds(user: UserId | None) -> Iterable[Kind]:
    """A shared lesson belongs to nobody, so nobody's own review lists it."""
    return (kind for kind in Kind if user is None or kind is not Kind.AGENT_PLAYBOOK)


@dataclass(frozen=True, slots=True)
class _Rules:
    window: Window
    thresholds: Thresholds

    def signals(self, case: Case) -> tuple[Signal, ...]:
        return signals_of(case, self.window, self.thresholds)


def _rules(tx: Tx, days_back: int, at: Millis, deps: Deps) -> _Rules:
    window = Window(Millis(at - days_back * DAY_MS), at, tx.usage.metered_since())
    return _Rules(window, Thresholds(deps.settings.review.least_wasted_tokens, deps.settings.review.grace_days))


@dataclass(frozen=True, slots=True)
class _Known:
    """All that speaks for or against the memories of a kind; only the outlines name every one of them."""

    outlines: Sequence[Outline]
    used: Mapping[str, Use]
    replaced: Mapping[str, Replaced]
    flags: Mapping[str, Sequence[Flagged]]
    twins: Mapping[str, Sequence[Twin]]
    marks: Mapping[str, Mark]

    def use(self, outline: Outline) -> Use:
        return self.used.get(outline.id, _UNUSED)

    def case(self, outline: Outline) -> Case:
        own = outline.id
        evidence = (self.replaced.get(own), self.flags.get(own, ()), self.twins.get(own, ()))
        return Case(outline.created_at, outline.updated_at, self.use(outline), *evidence, self.marks.get(own, UNMARKED))


_UNUSED = Use()


def _known(tx: Tx, kind: Kind, user: UserId | None, since: Millis) -> _Known:
    outlines = tx.by_kind[kind].outlines(user)
    ids = [outline.id for outline in outlines]
    # Whole days: of use on the window's first day, the hours before it count too.
    first = Millis(since - since % DAY_MS)
    flags = tx.flags.of_kind(kind, user)
    return _Known(
        outlines,
        tx.usage.sums.of_kind(kind, first, ids if len(ids) <= NAMED_AT_MOST else None),
        _replaced(tx, kind, outlines),
        {own: [Flagged(flag.signal, flag.detail, flag.since) for flag in its] for own, its in flags.items()},
        _twins(tx, kind, user, set(ids)),
        tx.marks.of(kind, ids) if user is not None else tx.marks.all_of(kind),
    )


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


async def flagged(refs: Sequence[MemoryRef], deps: Deps) -> dict[MemoryRef, dict[str, Any]]:
    """For some memories: the numbers for which each stands in the queue now, by signal, as a dismissal keeps them."""
    at, wanted = deps.now(), set(refs)
    return await deps.store.read(lambda tx: _flagged(tx, wanted, at, deps))


def _flagged(tx: Tx, refs: set[MemoryRef], at: Millis, deps: Deps) -> dict[MemoryRef, dict[str, Any]]:
    rules = _rules(tx, USUAL_DAYS, at, deps)
    found: dict[MemoryRef, dict[str, Any]] = {}
    for kind in {ref.kind for ref in refs}:
        its = _known(tx, kind, None, rules.window.since)
        for outline in its.outlines:
            ref = MemoryRef(kind, outline.id)
            if ref in refs and (signals := rules.signals(its.case(outline))):
                found[ref] = {signal.name: signal.as_dismissed() for signal in signals}
    return found

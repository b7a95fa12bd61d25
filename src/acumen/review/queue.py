"""Which memories deserve a look, the most pressing first."""

from collections.abc import Sequence
from dataclasses import dataclass

from acumen.deps import Deps
from acumen.model.ids import Kind, MemoryRef, Millis, UserId
from acumen.model.memories import Memory
from acumen.model.profile import DAY_MS, Profile
from acumen.model.search import Filter
from acumen.review.signals import Signal, Used, stale
from acumen.storage.store import Tx

TITLE_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Candidate:
    ref: MemoryRef
    title: str
    user_id: str | None
    signals: tuple[Signal, ...]
    used: Used

    @property
    def score(self) -> int:
        return max(signal.score for signal in self.signals)


@dataclass(frozen=True, slots=True)
class Queue:
    """A page of candidates, how many there are in all, and since when use has been counted."""

    candidates: Sequence[Candidate]
    total: int
    covered_since: Millis | None
    enough_history: bool


async def candidates(
    user: UserId | None, days_back: int, signals: Sequence[str] | None, limit: int, offset: int, deps: Deps
) -> Queue:
    """Of one user, or of all when `user` is None. `signals` None admits all, an empty list none."""
    at = deps.now()
    since = Millis(at - days_back * DAY_MS)
    found, covered = await deps.store.read(lambda tx: (_all(tx, user, since, at), tx.usage.metered_since()))
    wanted = [one for one in found if signals is None or any(signal.name in signals for signal in one.signals)]
    wanted.sort(key=lambda one: (-one.score, one.ref))
    enough = covered is not None and covered <= since
    return Queue(wanted[offset : offset + limit], len(wanted), covered, enough)


def _all(tx: Tx, user: UserId | None, since: Millis, at: Millis) -> list[Candidate]:
    covered = tx.usage.metered_since()
    return [
        candidate
        for kind in Kind
        # A shared lesson belongs to nobody, so nobody's own review lists it.
        if not (kind is Kind.AGENT_PLAYBOOK and user is not None)
        for candidate in _of_kind(tx, kind, user, since, at, covered)
    ]


def _of_kind(
    tx: Tx, kind: Kind, user: UserId | None, since: Millis, at: Millis, covered: Millis | None
) -> list[Candidate]:
    shown, cited = tx.usage.last_shown(kind, since), tx.usage.last_cited(kind, since)
    found = []
    for memory in tx.by_kind[kind].find(Filter(user_id=user, until=since)):
        used = _used(memory, shown.get(str(memory.id)), cited.get(str(memory.id)))
        signals = tuple(signal for signal in (stale(used, since, at, covered),) if signal)
        if signals:
            ref = MemoryRef(kind, str(memory.id))
            found.append(Candidate(ref, _title(memory), getattr(memory, "user_id", None), signals, used))
    return found


def _used(
    memory: Memory,
    shown: tuple[int, int, int] | None,
    cited: tuple[int, int, int] | None,
) -> Used:
    times, tokens, last = shown or (0, 0, None)
    times_cited, _, last_cited = cited or (0, 0, None)
    return Used(
        modified_at=memory.updated_at,
        shown=times,
        tokens=tokens,
        last_shown_at=None if last is None else Millis(last),
        cited=times_cited,
        last_cited_at=None if last_cited is None else Millis(last_cited),
    )


def _title(memory: Memory) -> str:
    name = "" if isinstance(memory, Profile) else memory.name
    text = name or (memory.content if isinstance(memory, Profile) else memory.lesson.content)
    return text if len(text) <= TITLE_LENGTH else f"{text[:TITLE_LENGTH]}..."

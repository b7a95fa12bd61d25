"""Sessions: list them, and show one as a timeline of turns, injections and operations."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.model.conversation import Interaction
from acumen.model.ids import Kind, MemoryRef, Millis, SessionId, UserId
from acumen.model.memories.listing import SessionEntry
from acumen.model.metering.evaluation import Evaluation, SessionKey
from acumen.model.metering.usage import Injection, UsageEvent
from acumen.model.operations.operation import Operation, OperationFilter
from acumen.storage.store import Tx

MOST_INJECTIONS = 200
MOST_TURNS = 400
MOST_OPERATIONS = 400


class SessionPage(Struct, frozen=True):
    """`verdicts` has the sessions whose outcome is known."""

    entries: Sequence[SessionEntry]
    total: int
    verdicts: Mapping[SessionKey, object]


async def page(user: str | None, session: str | None, limit: int, offset: int, deps: Deps) -> SessionPage:
    """Newest first."""

    def read(tx: Tx) -> SessionPage:
        entries, total = tx.memory_browser.page_sessions(user, session, limit, offset)
        return SessionPage(entries, total, tx.evaluations.find_verdicts([entry.key for entry in entries]))

    return await deps.store.read(read)


class TimelineEvent(Struct, frozen=True):
    """A turn with the memories that it cites, an injection, or an operation."""

    at: Millis
    turn: Interaction | None = None
    injection: Injection | None = None
    operation: Operation | None = None
    cited: Sequence[MemoryRef] = ()

    @property
    def memories(self) -> Iterable[MemoryRef]:
        yield from self.cited
        for hit in self.injection.hits if self.injection else ():
            yield MemoryRef(Kind(hit["kind"]), hit["id"])


class SessionTimeline(Struct, frozen=True):
    entry: SessionEntry
    events: Sequence[TimelineEvent]
    evaluation: Evaluation | None
    titles: Mapping[MemoryRef, str]


async def timeline(user: UserId, session: SessionId, deps: Deps) -> SessionTimeline:
    return await deps.store.read(lambda tx: _timeline(tx, user, session))


def _timeline(tx: Tx, user: UserId, session: SessionId) -> SessionTimeline:
    entries, _ = tx.memory_browser.page_sessions(user, session, 1, 0)
    if not entries:
        raise NotFound(f"User {user[:100]!r} has no session {session[:100]!r}.")
    _, turns = tx.conversations.get_session(user, session, MOST_TURNS)
    injections = tx.injections.find_by_user(user, session, MOST_INJECTIONS)
    operations = tx.operations.find(OperationFilter(session_id=session), MOST_OPERATIONS)
    cited = _cited(turns, tx.usage.find_citations(user, session))
    events = [
        *(TimelineEvent(turn.created_at, turn=turn, cited=sorted(cited[turn.id])) for turn in turns),
        *(TimelineEvent(injection.created_at, injection=injection) for injection in injections),
        *(TimelineEvent(op.received_at, operation=op) for op in operations if op.user_id in (None, user)),
    ]
    # An injection comes before the answer that used it.
    events.sort(key=lambda event: (event.at, event.turn is not None))
    titles = tx.memories.get_titles({ref for event in events for ref in event.memories})
    return SessionTimeline(entries[0], events, tx.evaluations.get(user, session), titles)


def _cited(turns: Sequence[Interaction], citations: Sequence[UsageEvent]) -> defaultdict[int, set[MemoryRef]]:
    """By turn; a citation by call belongs to the last answer before it."""
    cited: defaultdict[int, set[MemoryRef]] = defaultdict(set)
    for event in citations:
        answers = [turn.id for turn in turns if not turn.by_user and turn.created_at <= event.at]
        turn = event.detail.get("interaction_id") or (answers[-1] if answers else 0)
        if event.kind and event.memory_id:
            cited[turn].add(MemoryRef(Kind(event.kind), event.memory_id))
    return cited


async def injection(injection_id: str, deps: Deps) -> tuple[Injection, Mapping[MemoryRef, str]]:
    """With the titles of the memories that the search returned."""

    def read(tx: Tx) -> tuple[Injection, Mapping[MemoryRef, str]]:
        stored = tx.injections.get(injection_id)
        if stored is None:
            raise NotFound(f"There is no injection {injection_id[:100]!r}; old injections expire.")
        return stored, tx.memories.get_titles(MemoryRef(Kind(hit["kind"]), hit["id"]) for hit in stored.hits)

    return await deps.store.read(read)

"""Sessions: what was said, what was injected, what was cited, and how they ended."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct
from starlette.responses import Response

from acumen.errors import NotFound
from acumen.model.conversation import Interaction
from acumen.model.ids import Kind, MemoryRef, Millis, SessionId, UserId
from acumen.model.memories.change import ChangeFilter
from acumen.model.metering.evaluation import Evaluation
from acumen.model.metering.usage import Injection, UsageEvent
from acumen.model.operations.operation import Operation, OperationFilter, OperationStatus
from acumen.review import changes
from acumen.review.changes import ChangePage
from acumen.storage.memories.memory_browser import SessionEntry
from acumen.storage.store import Tx
from acumen.web.page import PER_PAGE, Visit, page
from acumen.web.review import turns_of

MOST_INJECTIONS = 200
MOST_TURNS = 400
MOST_FAILURES = 100
MOST_CHANGES = 50


@page("/sessions")
async def sessions(visit: Visit) -> Response:
    await visit.app.flush_usage()
    user, session = visit.asked("user") or None, visit.asked("session") or None
    entries, total, verdicts = await visit.deps.store.read(lambda tx: _listed(tx, user, session, visit.offset))
    return visit.html("sessions.html", entries=entries, total=total, verdicts=verdicts, user=user, session=session)


def _listed(tx: Tx, user: str | None, session: str | None, offset: int) -> tuple[list[SessionEntry], int, object]:
    entries, total = tx.memory_browser.page_sessions(user, session, PER_PAGE, offset)
    return entries, total, tx.evaluations.find_verdicts([entry.key for entry in entries])


# --- one session ---------------------------------------------------------------------------------------------------


class Moment(Struct, frozen=True):
    """A turn, an injection or an operation that failed, in the order of time.

    `cited` are the memories that the turn cites.
    """

    at: Millis
    turn: Interaction | None = None
    injection: Injection | None = None
    failed: Operation | None = None
    cited: Sequence[MemoryRef] = ()


class Told(Struct, frozen=True):
    entry: SessionEntry
    moments: Sequence[Moment]
    evaluation: Evaluation | None
    titles: dict[MemoryRef, str]
    taught: ChangePage


@page("/session")
async def session(visit: Visit) -> Response:
    await visit.app.flush_usage()
    user, name = UserId(visit.asked("user")), SessionId(visit.asked("id"))
    told = await visit.deps.store.read(lambda tx: _told(tx, user, name))
    return visit.html("session.html", told=told, entry=told.entry, most=MOST_TURNS)


def _told(tx: Tx, user: UserId, name: SessionId) -> Told:
    entries, _ = tx.memory_browser.page_sessions(user, name, 1, 0)
    if not entries:
        raise NotFound(f"User {user[:100]!r} has no session {name[:100]!r}.")
    turns = turns_of(tx, user, name)[-MOST_TURNS:]
    injections = tx.injections.find_by_user(user, name, MOST_INJECTIONS)
    failed = tx.operations.find(OperationFilter(session_id=name, status=OperationStatus.ERROR), MOST_FAILURES)
    cited = _cited(turns, tx.usage.find_citations(user, name))
    moments = [
        *(Moment(turn.created_at, turn=turn, cited=sorted(cited[turn.id])) for turn in turns),
        *(Moment(one.created_at, injection=one) for one in injections),
        *(Moment(one.received_at, failed=one) for one in failed if one.user_id in (None, user)),
    ]
    # What was shown before an answer stands before it.
    moments.sort(key=lambda moment: (moment.at, moment.turn is not None))
    refs = {ref for moment in moments for ref in _refs(moment)}
    taught = changes.read_page(tx, ChangeFilter(user=user, session=name), MOST_CHANGES)
    return Told(entries[0], moments, tx.evaluations.get(user, name), tx.memories.get_titles(refs), taught)


def _cited(turns: Sequence[Interaction], citations: Sequence[UsageEvent]) -> defaultdict[int, set[MemoryRef]]:
    """By turn; what a call cites belongs to the last answer before it."""
    cited: defaultdict[int, set[MemoryRef]] = defaultdict(set)
    for event in citations:
        answers = [turn.id for turn in turns if not turn.by_user and turn.created_at <= event.at]
        turn = event.detail.get("interaction_id") or (answers[-1] if answers else 0)
        if event.kind and event.memory_id:
            cited[turn].add(MemoryRef(Kind(event.kind), event.memory_id))
    return cited


def _refs(moment: Moment) -> Iterable[MemoryRef]:
    yield from moment.cited
    for hit in moment.injection.hits if moment.injection else ():
        yield MemoryRef(Kind(hit["kind"]), hit["id"])

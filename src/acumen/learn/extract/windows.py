"""What an extractor reads next: new turns with the ones before them as context, cleaned of our own words."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from acumen.deps import Deps
from acumen.learn.extract.by_rules import is_urgent
from acumen.model.config import Extractor
from acumen.model.conversation import Interaction, Request, Turn, Window
from acumen.model.echoes import RenderedMemory, without_echoes
from acumen.model.ids import InteractionId, Millis, RequestId, UserId
from acumen.model.jobs.events import Published
from acumen.storage.store import Tx

# However full a window is: a correction is understood only with the turn that it corrects.
LEAST_CONTEXT = 2
# Turns scanned at once for those that an extractor may read.
LOOK_AHEAD = 1000

# How many user turns a model reads at a time where the org has set no stride: a third of the calls of reading each.
USER_TURNS_PER_CALL = 4

Admits = Callable[[Request], bool]


class Due(Struct, frozen=True):
    """A window to be read. `bookmark` is where the bookmark stood, `until` where it moves when the window is read."""

    window: Window
    bookmark: InteractionId
    until: InteractionId
    last: bool = False  # nothing came after it when it was read

    @property
    def news(self) -> int:
        """How many of its turns are new; with none there is nothing to read, only to pass by."""
        return sum(turn.is_new for turn in self.window.turns)


class Ahead(Struct, frozen=True):
    """The turns after a bookmark: those to be read, and where the bookmark may move."""

    turns: Sequence[Interaction]
    until: InteractionId
    requests: dict[RequestId, Request]
    more: bool = False  # there are more turns than were looked at
    last: bool = False  # nothing comes after `until`

    @property
    def last_request(self) -> Request | None:
        return self.requests.get(self.turns[-1].request_id) if self.turns else None


# A window to be read, the time at which to look again, or nothing; cached for one transaction.
Next = Due | Millis | None
WindowCache = dict[object, Next]


def next_due(tx: Tx, user: UserId, extractor: Extractor, deps: Deps, cache: WindowCache) -> Next:
    """A window; or, when too little is new, the time at which an idle user closes it; or None when all is read."""
    bookmark = tx.bookmarks.get(user, extractor.bookmark)
    cadence = (extractor.stride, extractor.stride_is_set, extractor.urgent_at_once)
    key = (bookmark, extractor.window, cadence, extractor.sources)
    if key not in cache:
        cache[key] = _after(tx, user, bookmark, extractor, deps)
    return cache[key]


def _after(tx: Tx, user: UserId, bookmark: InteractionId, extractor: Extractor, deps: Deps) -> Next:
    ahead = look_ahead(tx, user, bookmark, extractor, lambda _: True)
    if ahead is None:
        return None
    if ahead.turns and not _closed(tx, user, ahead, extractor, deps):
        return Millis(ahead.turns[-1].created_at + deps.config.idle_seconds * 1000)
    return due(tx, user, bookmark, ahead, extractor, deps.now())


def look_ahead(tx: Tx, user: UserId, bookmark: InteractionId, extractor: Extractor, admits: Admits) -> Ahead | None:
    """Up to a window of turns that the extractor may read, however many others lie between; None at the end."""
    limit = extractor.window
    while True:
        new = tx.conversations.find_after(user, bookmark, limit)
        if not new:
            return None
        requests = tx.conversations.get_requests(list({turn.request_id for turn in new}))
        mine = [turn for turn in new if may_read(requests.get(turn.request_id), extractor, admits)]
        more = len(new) == limit
        if len(mine) >= extractor.window or not more or limit >= LOOK_AHEAD:
            break
        limit = min(4 * limit, LOOK_AHEAD)
    full = len(mine) >= extractor.window
    until = mine[extractor.window - 1].id if full else new[-1].id
    return Ahead(mine[: extractor.window], until, requests, more and not full, not more and until == new[-1].id)


def may_read(request: Request | None, extractor: Extractor, admits: Admits) -> bool:
    if request is None or request.evaluation_only:
        return False
    return extractor.reads(request.source) and admits(request)


def due(tx: Tx, user: UserId, bookmark: InteractionId, ahead: Ahead, extractor: Extractor, at: Millis) -> Due:
    """The window that `ahead` fills. Our own words are those shown in the days up to `at`."""
    if not ahead.turns:
        return Due(Window(user, ()), bookmark, ahead.until, ahead.last)
    before = _context(tx, user, ahead.turns[0].id, extractor, max(extractor.window - len(ahead.turns), LEAST_CONTEXT))
    shown = tx.injections.find_recent_memories(user, at)
    old = [_turn(turn, request, shown, new=False) for turn, request in before]
    new = [_turn(turn, ahead.requests[turn.request_id], shown, new=True) for turn in ahead.turns]
    forced = any(request.force_extraction for request in ahead.requests.values())
    window = Window(user, (*old, *new), forced)
    return Due(window, bookmark, ahead.until, ahead.last)


def _context(
    tx: Tx, user: UserId, first: InteractionId, extractor: Extractor, most: int
) -> list[tuple[Interaction, Request]]:
    """The turns before, each with the request it came by."""
    before = tx.conversations.find_before(user, InteractionId(first - 1), most)
    requests = tx.conversations.get_requests(list({turn.request_id for turn in before}))
    pairs = [(turn, requests[turn.request_id]) for turn in before if turn.request_id in requests]
    return [(turn, request) for turn, request in pairs if may_read(request, extractor, lambda _: True)]


def _closed(tx: Tx, user: UserId, ahead: Ahead, extractor: Extractor, deps: Deps) -> bool:
    """Enough has come, or nothing more will: forced, the session is over, or the user has been idle."""
    if _enough(ahead, extractor, deps) or ahead.more:
        return True
    if any(request.force_extraction or request.session_finished for request in ahead.requests.values()):
        return True
    said_at, now = ahead.turns[-1].created_at, deps.now()
    if said_at > now or said_at + deps.config.idle_seconds * 1000 <= now:  # a time to come says nothing of a pause
        return True
    sessions = {turn.session_id for turn in ahead.turns}
    return bool(tx.sessions.find_finished(user, list(sessions)))


def _enough(ahead: Ahead, extractor: Extractor, deps: Deps) -> bool:
    """Rules read every turn. A model by default reads several user turns at a time, and urgent ones at once."""
    if deps.llm is None or extractor.stride_is_set:
        return len(ahead.turns) >= extractor.stride
    users = [turn for turn in ahead.turns if turn.by_user]
    return len(users) >= USER_TURNS_PER_CALL or (
        extractor.urgent_at_once and any(is_urgent(turn.content) for turn in users)
    )


def _turn(turn: Interaction, request: Request, shown: list[RenderedMemory], *, new: bool) -> Turn:
    return Turn(
        id=turn.id,
        request_id=turn.request_id,
        session_id=turn.session_id,
        by_user=turn.by_user,
        text=without_echoes(turn.content, shown, by_user=turn.by_user).text,
        tools_used=tuple(turn.tools_used),
        expert_text=turn.expert_content,
        is_new=new,
        at=turn.created_at,
        source=request.source,
        agent_version=request.agent_version,
    )


async def come_back(user: UserId, at: Millis, deps: Deps) -> None:
    """Looks again when the user will have been idle for long enough."""
    await deps.store.write(lambda tx: tx.jobs.add(Published(user, RequestId("")), at), hold_org=False)

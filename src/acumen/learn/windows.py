"""What an extractor reads next: new turns with the ones before them as context, cleaned of our own words."""

from dataclasses import dataclass

from acumen.deps import Deps
from acumen.model.config import Extractor
from acumen.model.conversation import Interaction, Request, Turn, Window
from acumen.model.echoes import Shown, without_echoes
from acumen.model.facts import Published
from acumen.model.ids import InteractionId, Millis, RequestId, UserId
from acumen.storage.store import Tx


@dataclass(frozen=True, slots=True)
class Due:
    """A window to be read. `seen` is where the bookmark stood, `until` where it moves when the window is read."""

    window: Window
    seen: InteractionId
    until: InteractionId


def next_due(tx: Tx, user: UserId, extractor: Extractor, deps: Deps) -> Due | Millis | None:
    """A window; or, when too little is new, the time at which an idle user closes it; or None when all is read."""
    seen = tx.bookmarks.of(user, extractor.name)
    new = tx.conversations.after(user, seen, extractor.window)
    if not new:
        return None
    requests = tx.conversations.by_request(list({turn.request_id for turn in new}))
    eligible = {turn.id for turn in new if _eligible(requests.get(turn.request_id), extractor)}
    if eligible and not _closed(tx, user, new, requests, len(eligible), extractor, deps):
        return Millis(new[-1].created_at + deps.config.idle_seconds * 1000)
    before = tx.conversations.before(user, seen, extractor.window - len(new)) if len(new) < extractor.window else []
    shown = tx.usage.shown_lately(user, deps.now())
    turns = [_turn(turn, shown, new=False) for turn in before]
    turns += [_turn(turn, shown, new=turn.id in eligible) for turn in new]
    last = requests.get(new[-1].request_id)
    window = Window(user, tuple(turns), last.source if last else "", last.agent_version if last else "")
    return Due(window, seen, new[-1].id)


def _eligible(request: Request | None, extractor: Extractor) -> bool:
    if request is None or request.evaluation_only:
        return False
    return extractor.sources is None or request.source in extractor.sources


def _closed(
    tx: Tx,
    user: UserId,
    new: list[Interaction],
    requests: dict[RequestId, Request],
    eligible: int,
    extractor: Extractor,
    deps: Deps,
) -> bool:
    """Enough has come, or nothing more will: forced, the session is over, or the user has been idle."""
    if eligible >= extractor.stride:
        return True
    if any(request.force_extraction or request.session_finished for request in requests.values()):
        return True
    if new[-1].created_at + deps.config.idle_seconds * 1000 <= deps.now():
        return True
    sessions = {turn.session_id for turn in new}
    return bool(tx.sessions.finished(user, list(sessions)))


def _turn(turn: Interaction, shown: list[Shown], *, new: bool) -> Turn:
    return Turn(
        id=turn.id,
        request_id=turn.request_id,
        session_id=turn.session_id,
        by_user=turn.by_user,
        text=without_echoes(turn.content, shown).text,
        tools_used=tuple(turn.tools_used),
        expert_text=turn.expert_content,
        is_new=new,
        at=turn.created_at,
    )


async def come_back(user: UserId, at: Millis, deps: Deps) -> None:
    """Looks again when the user will have been idle for long enough."""
    await deps.store.write(lambda tx: tx.jobs.add(Published(user, RequestId("")), at))

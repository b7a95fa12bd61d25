"""Judges sessions: some time after the last turn, and again when there are more.

What is due follows from stored data, not from a timer, so a restart loses nothing, and a session judged twice has one
verdict.
"""

import asyncio
import hashlib

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict, ModelUnavailable
from acumen.learn.evaluate import judge_llm, judge_rules, shadow
from acumen.llm.gateway import Llm
from acumen.model.conversation import versions_meant
from acumen.model.ids import Millis, SessionId, UserId
from acumen.model.jobs.events import Published, SessionQuiet
from acumen.model.memories.base import Origin
from acumen.model.metering.evaluation import (
    EvaluatedSession,
    Evaluation,
    EvaluationFilter,
    EvaluationId,
    Judgement,
    ShadowVerdict,
    evaluated,
)
from acumen.model.metering.judging import Judging
from acumen.model.times import DAY_MS
from acumen.storage.store import Tx

# A session graded on demand is not graded again for so long, unless it has more turns.
CACHED_MS = DAY_MS
# Sessions that ended longer before a user's first publish are left to `regenerate`.
HISTORY_MS = 7 * DAY_MS
# Of a long session the end decides; this many of its turns are read.
MOST_TURNS = 1_000
# Session ids are the callers' own; more users than this do not share one by design.
MOST_USERS = 20
BOOKMARK = "sessions"


class Judged(Struct, frozen=True):
    """The id of a session's evaluation, or why there is none."""

    id: EvaluationId | None = None
    skipped: str | None = None
    by_model: bool = False
    cached: bool = False


# --- schedule --------------------------------------------------------------------------------------------------------


async def watch(event: Published, deps: Deps) -> None:
    """Schedules an evaluation of each session that grew."""
    if not deps.config.judging.on:
        return

    def store(tx: Tx) -> None:
        last_id = tx.bookmarks.get(event.user_id, BOOKMARK)
        grown = tx.sessions.find_grown(event.user_id, last_id)
        if grown:
            tx.bookmarks.move(event.user_id, BOOKMARK, last_id, grown[-1].last_id)
        for growth in grown:
            if last_id or growth.last_at > tx.at - HISTORY_MS:
                at = tx.at if growth.finished else Millis(growth.last_at + _quiet_ms(deps))
                tx.jobs.add(SessionQuiet(event.user_id, growth.session_id), at)

    await deps.store.write_for_user(event.user_id, store)


async def session(event: SessionQuiet, deps: Deps) -> None:
    """Judges a session that is quiet; one that is not is scheduled again."""
    session = await deps.store.read(lambda tx: read(tx, event.user_id, event.session_id))
    if session is None or not deps.config.judging.on:
        return
    ended = session.is_over or session.stated is not None
    last_at, now = session.last_request.created_at, deps.now()
    quiet_at = Millis(last_at + (0 if ended else _quiet_ms(deps)))
    if last_at <= now < quiet_at:  # a last request of a time to come says that the clock was wrong
        await deps.store.write(lambda tx: tx.jobs.add(event, quiet_at), hold_org=False)
        return
    judging, drawn = deps.config.judging, chance(deps.org, session.user_id, session.session_id)
    rates = judging.evaluation_only if session.last_request.evaluation_only else judging.rates
    sampled = session.stated is not None or drawn < rates.all  # a session with a stated outcome is always judged
    if sampled and enabled(session, judging) and not await deps.store.read(lambda tx: _current(tx, session)):
        await judge(session, deps, ask_model=drawn < rates.by_model)


def _quiet_ms(deps: Deps) -> int:
    return deps.settings.evaluation.quiet_seconds * 1000


def _current(tx: Tx, session: EvaluatedSession) -> Evaluation | None:
    """The evaluation of the session as it is now."""
    evaluation = tx.evaluations.get(session.user_id, session.session_id)
    current = evaluation and evaluation.judged is not None and evaluation.last_id == session.last_id
    return evaluation if current else None


async def grade(session_id: SessionId, agent_version: str, user: UserId | None, deps: Deps) -> Judged:
    """Judges one session now. Without an agent version any will do."""
    judging = deps.config.judging
    if not judging.on:
        return Judged(skipped="SWITCHED_OFF")
    session = await deps.store.read(lambda tx: _graded(tx, session_id, agent_version, user))
    if session is None:
        return Judged(skipped="NO_REQUESTS")
    if not enabled(session, judging):
        return Judged(skipped="SOURCE_NOT_ENABLED")
    evaluation = await deps.store.read(lambda tx: _current(tx, session))
    if evaluation is not None and evaluation.updated_at > deps.now() - CACHED_MS:
        return Judged(evaluation.id, cached=True)
    return await judge(session, deps, ask_model=True)


def _graded(tx: Tx, session_id: SessionId, agent_version: str, user: UserId | None) -> EvaluatedSession | None:
    """Conflict where several users have a session of that id (and that version), and none is named."""
    users = [user] if user is not None else tx.sessions.find_users(session_id, MOST_USERS)
    versions = set(versions_meant(agent_version)) if agent_version else None
    sessions = [
        session
        for owner in users
        if (session := read(tx, owner, session_id))
        and (versions is None or versions & {request.agent_version for request in session.requests})
    ]
    if len(sessions) > 1:
        raise Conflict(f"Several users have a session {session_id!r}: set user_id.")
    return sessions[0] if sessions else None


# --- sample ----------------------------------------------------------------------------------------------------------


def chance(org: str, user: str, session_id: str) -> float:
    """A number from 0 to 1 for a session, the same in every process."""
    drawn = hashlib.sha256(f"{org}\0{user}\0{session_id}".encode()).digest()
    return int.from_bytes(drawn[:8]) / 2**64


def enabled(session: EvaluatedSession, judging: Judging) -> bool:
    """Whether sessions are judged, and those of this source."""
    return judging.on and (judging.sources is None or session.source in judging.sources)


# --- judge -----------------------------------------------------------------------------------------------------------


def read(tx: Tx, user: UserId, session_id: SessionId) -> EvaluatedSession | None:
    """None where nothing is left of the session."""
    requests, turns = tx.conversations.get_session(user, session_id, MOST_TURNS)
    if not requests or not turns:
        return None
    extent, finished = tx.sessions.get_extent(user, session_id), tx.sessions.get_finished_at(user, session_id)
    return EvaluatedSession(
        user, session_id, requests, turns, extent, finished, tx.sessions.get_outcome(user, session_id)
    )


async def judge(session: EvaluatedSession, deps: Deps, *, ask_model: bool) -> Judged:
    """By the model where there is one and it is asked; by rules where not, or where it fails."""
    key, llm = (session.user_id, session.session_id), deps.llm if ask_model else None
    judgement, origin = await _judgement(session, llm, deps)
    earlier = await deps.store.read(lambda tx: tx.evaluations.get_shadow_verdicts(*key))
    verdicts = [] if judgement is None else await shadow.compare(session, earlier, llm, deps.now())

    def store(tx: Tx) -> Judged:
        stated = tx.sessions.get_outcome(*key)
        if judgement is not None and tx.sessions.get_extent(*key) != session.extent:
            return Judged(skipped="CHANGED_MEANWHILE")  # it is judged again, or words were erased and not quoted
        at = stated.stated_at if stated and judgement is None else deps.now()
        evaluation = evaluated(session, judgement, stated.outcome if stated else None, at)
        if evaluation is None:
            return Judged(skipped="NOTHING_TO_JUDGE")
        if judgement is not None:
            tx.evaluations.upsert_shadow_verdicts(verdicts)
            overall = shadow.overall([verdict.preference for verdict in tx.evaluations.get_shadow_verdicts(*key)])
            about = {"name": deps.config.judging.name, "last_id": session.last_id, "origin": origin}
            evaluation = replace(evaluation, shadow=overall, **about)
        return Judged(tx.evaluations.upsert(evaluation), by_model=origin.engine == "model")

    return await deps.store.write_for_user(session.user_id, store)


async def _judgement(session: EvaluatedSession, llm: Llm | None, deps: Deps) -> tuple[Judgement | None, Origin]:
    by_rules = await asyncio.to_thread(judge_rules.judge, session.turns)
    if by_rules is None:
        return None, Origin("rules")
    if llm is not None:
        try:
            judged, origin = await judge_llm.judge(session, llm, deps)
        except ModelUnavailable as why:
            by_rules = replace(by_rules, signals=(*by_rules.signals, f"by rules, since the model failed: {why}"))
        else:
            return judged, replace(origin, confidence=judged.confidence)
    return by_rules, Origin("rules", confidence=by_rules.confidence)


async def find(query: EvaluationFilter, limit: int, offset: int, deps: Deps) -> list[Evaluation]:
    return await deps.store.read(lambda tx: tx.evaluations.find(query, limit, offset))


async def shadow_verdicts(limit: int, deps: Deps) -> list[ShadowVerdict]:
    """The latest."""
    return await deps.store.read(lambda tx: tx.evaluations.find_shadow_verdicts(limit))

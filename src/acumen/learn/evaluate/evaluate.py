"""Judge sessions: some time after the last word, and anew when more was said.

What is due is told by the data, not by a timer: a step that comes too early puts itself off, and one that finds nothing
new does nothing. So a restart loses nothing, and a session judged twice has one verdict.
"""

import asyncio
import hashlib
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict, ModelUnavailable
from acumen.learn.evaluate import judge_llm, judge_rules, shadow
from acumen.model.conversation import versions_meant
from acumen.model.evaluation import Evaluation, EvaluationId, Judgement, Session, ShadowVerdict, as_stated, effective
from acumen.model.facts import Published, SessionQuiet
from acumen.model.ids import Millis, SessionId, UserId
from acumen.model.judging import Judging, Rates
from acumen.model.memory import Origin
from acumen.model.times import DAY_MS
from acumen.storage.sessions import Grown
from acumen.storage.store import Tx

# A session graded on demand is not graded again for so long, unless more was said in it.
CACHED_MS = DAY_MS
# Sessions that ended longer ago when a user is first seen are history: `regenerate` judges it if it is wanted.
HISTORY_MS = 7 * DAY_MS
# Of a long session the end decides; so many of its turns are read.
MOST_TURNS = 1_000
# Session ids are the callers' own; more users than this do not share one by design.
MOST_USERS = 20
# The name of our bookmark: how far we have seen which sessions grow.
READER = "sessions"


class Judged(Struct, frozen=True):
    """What came of looking at a session: the evaluation's id, or why there is none."""

    id: EvaluationId | None = None
    skipped: str | None = None
    by_model: bool = False
    cached: bool = False


# --- when ----------------------------------------------------------------------------------------------------------


async def watch(fact: Published, deps: Deps) -> None:
    """Sees which sessions grew, and sets the time at which each is looked at."""
    if not deps.config.judging.on:
        return

    def store(tx: Tx) -> None:
        seen = tx.bookmarks.of(fact.user_id, READER)
        grown = tx.sessions.grown(fact.user_id, seen)
        if grown:
            tx.bookmarks.move(fact.user_id, READER, seen, grown[-1].last_id)
        for one in _of_late(grown, tx.at) if not seen else grown:
            at = tx.at if one.finished else Millis(one.last_at + _quiet_ms(deps))
            tx.jobs.add(SessionQuiet(fact.user_id, one.session_id), at)

    await deps.store.write(store)


async def session(fact: SessionQuiet, deps: Deps) -> None:
    """Judges a session that has gone quiet; one that has not is looked at again when it might have."""
    found = await deps.store.read(lambda tx: read(tx, fact.user_id, fact.session_id))
    if found is None or not deps.config.judging.on:
        return
    quiet_at = _quiet_at(found, deps)
    if quiet_at > deps.now():
        await deps.store.write(lambda tx: tx.jobs.add(fact, quiet_at))
    elif _wanted(found, deps) and not await deps.store.read(lambda tx: _is_judged(tx, found)):
        await judge(found, deps, ask_model=_for_model(found, deps))


def _of_late(grown: Sequence[Grown], at: Millis) -> list[Grown]:
    return [one for one in grown if one.last_at > at - HISTORY_MS]


def _quiet_at(found: Session, deps: Deps) -> Millis:
    """When it will have been quiet for long enough; a session that is said to be over, or to have ended so, is."""
    last = found.last_request.created_at
    return last if found.is_over or found.stated is not None else Millis(last + _quiet_ms(deps))


def _quiet_ms(deps: Deps) -> int:
    return deps.settings.evaluation.quiet_seconds * 1000


def _is_judged(tx: Tx, found: Session) -> bool:
    known = tx.evaluations.of(found.user_id, found.session_id)
    return known is not None and known.judged is not None and known.last_id == found.last_id


async def grade(session_id: SessionId, agent_version: str, user: UserId | None, deps: Deps) -> Judged:
    """Judges one session now, because somebody asked. Without an agent version any will do."""
    judging = deps.config.judging
    if not judging.on:
        return Judged(skipped="SWITCHED_OFF")
    found = await deps.store.read(lambda tx: _graded(tx, session_id, agent_version, user))
    if found is None:
        return Judged(skipped="NO_REQUESTS")
    if not enabled(found, judging):
        return Judged(skipped="SOURCE_NOT_ENABLED")
    known = await deps.store.read(lambda tx: tx.evaluations.of(found.user_id, found.session_id))
    fresh = known is not None and known.last_id == found.last_id and known.updated_at > deps.now() - CACHED_MS
    if known is not None and known.judged is not None and fresh:
        return Judged(known.id, cached=True)
    return await judge(found, deps, ask_model=True)


def _graded(tx: Tx, session_id: SessionId, agent_version: str, user: UserId | None) -> Session | None:
    """Conflict where several users have a session of that id (and that version), and none is named."""
    users = [user] if user is not None else tx.sessions.users_of(session_id, MOST_USERS)
    sessions = [found for one in users if (found := read(tx, one, session_id)) and _has(found, agent_version)]
    if len(sessions) > 1:
        raise Conflict(f"Several users have a session {session_id!r}: say whose it is with user_id.")
    return sessions[0] if sessions else None


def _has(found: Session, agent_version: str) -> bool:
    versions = {request.agent_version for request in found.requests}
    return not agent_version or not versions.isdisjoint(versions_meant(agent_version))


# --- which ---------------------------------------------------------------------------------------------------------


def chance(org: str, user: str, session_id: str) -> float:
    """A number from 0 to 1 that belongs to the session: drawn once, the same for ever and in every process."""
    drawn = hashlib.sha256(f"{org}\0{user}\0{session_id}".encode()).digest()
    return int.from_bytes(drawn[:8]) / 2**64


def enabled(found: Session, judging: Judging) -> bool:
    """Whether sessions are judged, and those of this source."""
    return judging.on and (judging.sources is None or found.source in judging.sources)


def _wanted(found: Session, deps: Deps) -> bool:
    """Of a session whose end was stated the figures are wanted, drawn or not."""
    drawn = found.stated is not None or _drawn(found, deps) < _rates(found, deps).all
    return drawn and enabled(found, deps.config.judging)


def _for_model(found: Session, deps: Deps) -> bool:
    return _drawn(found, deps) < _rates(found, deps).by_model


def _drawn(found: Session, deps: Deps) -> float:
    return chance(deps.org, found.user_id, found.session_id)


def _rates(found: Session, deps: Deps) -> Rates:
    judging = deps.config.judging
    return judging.evaluation_only if found.last_request.evaluation_only else judging.rates


# --- how -----------------------------------------------------------------------------------------------------------


def read(tx: Tx, user: UserId, session_id: SessionId) -> Session | None:
    """The session as it stands; None where nothing is left of it."""
    requests, turns = tx.conversations.of_session(user, session_id, MOST_TURNS)
    if not requests or not turns:
        return None
    extent, finished = tx.sessions.extent(user, session_id), tx.sessions.finished_at(user, session_id)
    return Session(user, session_id, requests, turns, extent, finished, tx.sessions.stated(user, session_id))


async def judge(found: Session, deps: Deps, *, ask_model: bool) -> Judged:
    """By the model where there is one and it is asked; by rules where not, or where it fails."""
    judgement, origin = await _judgement(found, deps, ask_model=ask_model)
    if judgement is None:
        return await _keep_stated(found, deps)
    known = await deps.store.read(lambda tx: tx.evaluations.verdicts_of(found.user_id, found.session_id))
    verdicts = await _compare(found, known, deps, ask_model=ask_model)

    def store(tx: Tx) -> EvaluationId | None:
        tx.scope.hold_user(found.user_id)
        if tx.sessions.extent(found.user_id, found.session_id) != found.extent:
            return None  # it grew, and is looked at again; or some of it was erased, and may not be quoted
        tx.evaluations.put_verdicts(verdicts)
        compared = tx.evaluations.verdicts_of(found.user_id, found.session_id)
        overall = shadow.overall([one.preference for one in compared])
        stated = tx.sessions.stated(found.user_id, found.session_id)
        stands = replace(found, stated=stated)
        return tx.evaluations.put(replace(_evaluation(stands, judgement, origin, deps), shadow=overall))

    kept = await deps.store.write(store)
    return Judged(skipped="CHANGED_MEANWHILE") if kept is None else Judged(kept, by_model=origin.engine == "model")


async def _keep_stated(found: Session, deps: Deps) -> Judged:
    """Where there is nothing to judge, a caller's word may still stand."""
    kept = None if found.stated is None else as_stated(found.stated, found)
    if kept is None:
        return Judged(skipped="NOTHING_TO_JUDGE")

    def store(tx: Tx) -> EvaluationId | None:
        tx.scope.hold_user(found.user_id)
        stands = tx.sessions.stated(found.user_id, found.session_id) == found.stated
        return tx.evaluations.put(kept) if stands else None

    evaluation = await deps.store.write(store)
    return Judged(evaluation, skipped=None if evaluation is not None else "CHANGED_MEANWHILE")


async def _judgement(found: Session, deps: Deps, *, ask_model: bool) -> tuple[Judgement | None, Origin]:
    by_rules = await asyncio.to_thread(judge_rules.judge, found.turns)
    if by_rules is None:
        return None, Origin("rules")
    if ask_model and deps.llm is not None:
        try:
            judged, origin = await judge_llm.judge(found, deps.llm, deps)
        except ModelUnavailable as why:
            by_rules = replace(by_rules, signals=(*by_rules.signals, f"by rules, since the model failed: {why}"))
        else:
            return judged, replace(origin, confidence=judged.confidence)
    return by_rules, Origin("rules", confidence=by_rules.confidence)


def _evaluation(found: Session, judgement: Judgement, origin: Origin, deps: Deps) -> Evaluation:
    stated = found.stated.outcome if found.stated else None
    at = deps.now()
    return Evaluation(
        id=EvaluationId(0),
        user_id=found.user_id,
        session_id=found.session_id,
        is_success=effective(judgement, stated),
        ended_at=found.last_request.created_at,
        created_at=at,
        updated_at=at,
        judged=judgement,
        stated=stated,
        agent_version=found.last_request.agent_version,
        source=found.source,
        name=deps.config.judging.name,
        last_id=found.last_id,
        origin=origin,
    )


# --- shadows -------------------------------------------------------------------------------------------------------


async def _compare(
    found: Session, known: Sequence[ShadowVerdict], deps: Deps, *, ask_model: bool
) -> list[ShadowVerdict]:
    """Answers that a model has compared already are left as they are: their words do not change."""
    settled = {one.interaction_id for one in known if one.origin.engine == "model"}
    verdicts = []
    for pair in shadow.pairs(found.turns):
        if pair.turn.id in settled:
            continue
        compared = await _compared(pair, deps, ask_model=ask_model)
        if compared is not None:
            verdicts.append(_verdict(pair, compared, found, deps.now()))
    return verdicts


async def _compared(pair: shadow.Pair, deps: Deps, *, ask_model: bool) -> shadow.Compared | None:
    if ask_model and deps.llm is not None:
        try:
            return await shadow.by_model(pair, deps.llm)
        except ModelUnavailable:
            pass  # what rules can tell is told below, and labelled as theirs
    return shadow.by_rules(pair)


def _verdict(pair: shadow.Pair, compared: shadow.Compared, found: Session, at: Millis) -> ShadowVerdict:
    return ShadowVerdict(
        id=0,
        user_id=found.user_id,
        session_id=found.session_id,
        interaction_id=pair.turn.id,
        agent_version=found.last_request.agent_version,
        preference=compared.preference,
        reason=compared.reason,
        regular_first=shadow.regular_first(pair.turn.id),
        created_at=at,
        origin=compared.origin,
    )

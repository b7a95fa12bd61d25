"""How sessions ended, as rows: one per session, and one per answer that was compared with its shadow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from acumen.model.evaluation import (
    Evaluation,
    EvaluationId,
    FailureType,
    Judgement,
    Outcome,
    Preference,
    SessionKey,
    ShadowVerdict,
    Verdict,
)
from acumen.model.ids import InteractionId, Millis, SessionId, UserId
from acumen.model.memory import Origin
from acumen.storage.scope import Scope
from acumen.storage.tables import evaluations, shadow_verdicts

# Pairs in one statement: each takes two values.
PAIRS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which evaluations; None means "any". Times are those at which they were first made."""

    user_id: UserId | None = None
    session_id: SessionId | None = None
    agent_version: str | None = None
    since: Millis | None = None
    until: Millis | None = None


class Evaluations:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    # --- how sessions ended, for whoever counts by it --------------------------------------------------------------

    def success_of(self, sessions: Sequence[SessionKey]) -> dict[SessionKey, Verdict]:
        """The verdict that counts: stated by the caller, or else judged. Sessions without one are left out."""
        c = evaluations.c
        found: dict[SessionKey, Verdict] = {}
        for start in range(0, len(sessions), PAIRS_AT_ONCE):
            some = list(sessions[start : start + PAIRS_AT_ONCE])
            query = _VERDICTS.where(c.org_id == self._scope.org, sa.tuple_(c.user_id, c.session_id).in_(some))
            for row in self._scope.all(query):
                found[UserId(row.user_id), SessionId(row.session_id)] = _verdict(row)
        return found

    def verdicts_between(self, since: Millis, until: Millis) -> list[Verdict]:
        """Of all sessions that ended in that time, both ends included, the earliest first."""
        c = evaluations.c
        query = _VERDICTS.where(c.org_id == self._scope.org, c.ended_at.between(since, until))
        return [_verdict(row) for row in self._scope.all(query.order_by(c.ended_at, c.evaluation_id))]

    # --- evaluations -----------------------------------------------------------------------------------------------

    def of(self, user: UserId, session: SessionId) -> Evaluation | None:
        row = self._scope.one(sa.select(evaluations).where(*self._mine(user, session)))
        return None if row is None else _evaluation(row)

    def put(self, evaluation: Evaluation) -> EvaluationId:
        """A session has one: a later one takes its place and keeps its id and the time it was first made."""
        s = self._scope
        row = s.stamp(_row(evaluation))
        kept = {name: value for name, value in row.items() if name not in ("created_at", "org_id")}
        statement = (
            s.db.insert(evaluations)
            .values(row)
            .on_conflict_do_update(index_elements=["org_id", "user_id", "session_id"], set_=kept)
            .returning(evaluations.c.evaluation_id)
        )
        return EvaluationId(s.conn.execute(statement).scalar_one())

    def find(self, wanted: Wanted, limit: int | None = None, offset: int = 0) -> list[Evaluation]:
        """The newest first."""
        c = evaluations.c
        query = sa.select(evaluations).where(c.org_id == self._scope.org)
        for column in ("user_id", "session_id", "agent_version"):
            if (value := getattr(wanted, column)) is not None:
                query = query.where(c[column] == value)
        if wanted.since is not None:
            query = query.where(c.created_at >= wanted.since)
        if wanted.until is not None:
            query = query.where(c.created_at <= wanted.until)
        query = query.order_by(c.created_at.desc(), c.evaluation_id.desc()).limit(limit).offset(offset)
        return [_evaluation(row) for row in self._scope.all(query)]

    # --- shadows ---------------------------------------------------------------------------------------------------

    def put_verdicts(self, verdicts: Sequence[ShadowVerdict]) -> None:
        """One per turn: a later one takes the place of an earlier one."""
        s = self._scope
        for verdict in verdicts:
            row = s.stamp(_shadow_row(verdict))
            kept = {name: value for name, value in row.items() if name != "org_id"}
            statement = s.db.insert(shadow_verdicts).values(row)
            s.conn.execute(statement.on_conflict_do_update(index_elements=["org_id", "interaction_id"], set_=kept))

    def verdicts(self, limit: int) -> list[ShadowVerdict]:
        """The newest first."""
        c = shadow_verdicts.c
        query = sa.select(shadow_verdicts).where(c.org_id == self._scope.org)
        return [
            _shadow(row)
            for row in self._scope.all(query.order_by(c.created_at.desc(), c.verdict_id.desc()).limit(limit))
        ]

    def verdicts_of(self, user: UserId, session: SessionId) -> list[ShadowVerdict]:
        c = shadow_verdicts.c
        query = sa.select(shadow_verdicts).where(
            c.org_id == self._scope.org, c.user_id == user, c.session_id == session
        )
        return [_shadow(row) for row in self._scope.all(query.order_by(c.interaction_id))]

    # --- erasure ---------------------------------------------------------------------------------------------------

    def delete_user(self, user: UserId) -> dict[str, int]:
        """How many evaluations and how many verdicts there were."""
        return {
            table.name: self._scope.delete(table, table.c.user_id == user) for table in (evaluations, shadow_verdicts)
        }

    def delete(self, user: UserId, session: SessionId) -> None:
        """With the verdicts on the session's answers."""
        for table in (evaluations, shadow_verdicts):
            self._scope.delete(table, table.c.user_id == user, table.c.session_id == session)

    def delete_all(self) -> None:
        for table in (evaluations, shadow_verdicts):
            self._scope.delete(table)

    def _mine(self, user: UserId, session: SessionId) -> tuple[sa.ColumnElement[bool], ...]:
        c = evaluations.c
        return c.org_id == self._scope.org, c.user_id == user, c.session_id == session


_VERDICT_COLUMNS = (
    *("user_id", "session_id", "is_success", "stated", "confidence", "engine"),
    *("agent_version", "source", "ended_at"),
)
_VERDICTS = sa.select(*(evaluations.c[name] for name in _VERDICT_COLUMNS))
# A word that decides; "unknown" leaves the decision to the judge.
_DECIDES = frozenset({Outcome.SUCCESS, Outcome.FAILURE})


def _verdict(row: Any) -> Verdict:
    return Verdict(
        user_id=UserId(row.user_id),
        session_id=SessionId(row.session_id),
        is_success=row.is_success,
        stated=row.stated in _DECIDES,
        confidence=1.0 if row.stated in _DECIDES else row.confidence,
        engine=row.engine,
        agent_version=row.agent_version,
        source=row.source,
        ended_at=Millis(row.ended_at),
    )


def _row(evaluation: Evaluation) -> dict[str, Any]:
    judged = evaluation.judged
    guess = judged or Judgement(evaluation.is_success)
    return {
        "user_id": evaluation.user_id,
        "session_id": evaluation.session_id,
        "agent_version": evaluation.agent_version,
        "source": evaluation.source,
        "name": evaluation.name,
        "is_success": evaluation.is_success,
        "judged_success": None if judged is None else judged.is_success,
        "stated": evaluation.stated,
        "failure_type": guess.failure_type,
        "failure_reason": guess.failure_reason,
        "corrections": guess.corrections,
        "turns_to_resolution": guess.turns_to_resolution,
        "is_escalated": guess.is_escalated,
        "shadow": evaluation.shadow,
        "signals": list(guess.signals) or None,
        "last_id": evaluation.last_id,
        "ended_at": evaluation.ended_at,
        "engine": evaluation.origin.engine,
        "model": evaluation.origin.model,
        "prompt_hash": evaluation.origin.prompt_hash,
        "confidence": evaluation.origin.confidence,
        "created_at": evaluation.created_at,
        "updated_at": evaluation.updated_at,
    }


def _evaluation(row: Any) -> Evaluation:
    return Evaluation(
        id=EvaluationId(row.evaluation_id),
        user_id=UserId(row.user_id),
        session_id=SessionId(row.session_id),
        is_success=row.is_success,
        ended_at=Millis(row.ended_at),
        created_at=Millis(row.created_at),
        updated_at=Millis(row.updated_at),
        judged=None if row.judged_success is None else _judgement(row),
        stated=None if row.stated is None else Outcome(row.stated),
        agent_version=row.agent_version,
        source=row.source,
        name=row.name,
        last_id=InteractionId(row.last_id),
        shadow=None if row.shadow is None else Preference(row.shadow),
        origin=_origin(row),
    )


def _judgement(row: Any) -> Judgement:
    return Judgement(
        is_success=row.judged_success,
        failure_type=None if row.failure_type is None else FailureType(row.failure_type),
        failure_reason=row.failure_reason,
        corrections=row.corrections,
        turns_to_resolution=row.turns_to_resolution,
        is_escalated=row.is_escalated,
        confidence=row.confidence,
        signals=tuple(row.signals or ()),
    )


def _shadow_row(verdict: ShadowVerdict) -> dict[str, Any]:
    return {
        "user_id": verdict.user_id,
        "session_id": verdict.session_id,
        "interaction_id": verdict.interaction_id,
        "agent_version": verdict.agent_version,
        "preference": verdict.preference,
        "reason": verdict.reason,
        "regular_first": verdict.regular_first,
        "engine": verdict.origin.engine,
        "model": verdict.origin.model,
        "prompt_hash": verdict.origin.prompt_hash,
        "confidence": verdict.origin.confidence,
        "created_at": verdict.created_at,
    }


def _shadow(row: Any) -> ShadowVerdict:
    return ShadowVerdict(
        id=row.verdict_id,
        user_id=UserId(row.user_id),
        session_id=SessionId(row.session_id),
        interaction_id=InteractionId(row.interaction_id),
        agent_version=row.agent_version,
        preference=Preference(row.preference),
        reason=row.reason,
        regular_first=row.regular_first,
        created_at=Millis(row.created_at),
        origin=_origin(row),
    )


def _origin(row: Any) -> Origin:
    return Origin(row.engine, row.model, row.prompt_hash, row.confidence)

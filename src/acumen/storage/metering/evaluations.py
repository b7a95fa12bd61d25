"""How sessions ended, as rows: one per session, and one per answer that was compared with its shadow."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from msgspec.structs import asdict

from acumen.model.conversation import versions_meant
from acumen.model.ids import SessionId, UserId
from acumen.model.memories.base import Origin
from acumen.model.metering.evaluation import (
    Evaluation,
    EvaluationFilter,
    EvaluationId,
    FailureType,
    Judgement,
    Outcome,
    Preference,
    SessionKey,
    SessionVerdict,
    ShadowVerdict,
)
from acumen.storage.engine.scope import OrgScope, row_of, value_of
from acumen.storage.tables import evaluations, shadow_verdicts

# Pairs in one statement: each takes two values.
PAIRS_AT_ONCE = 1_000


class Evaluations:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    # --- outcomes of sessions, for callers that count by them ---------------------------------------------------------

    def find_verdicts(self, sessions: Sequence[SessionKey]) -> dict[SessionKey, SessionVerdict]:
        """The verdict that counts: stated by the caller, or else judged. Sessions without one are left out."""
        c = evaluations.c
        verdicts: dict[SessionKey, SessionVerdict] = {}
        for start in range(0, len(sessions), PAIRS_AT_ONCE):
            batch = list(sessions[start : start + PAIRS_AT_ONCE])
            query = _VERDICTS.where(c.org_id == self._scope.org, sa.tuple_(c.user_id, c.session_id).in_(batch))
            for row in self._scope.all(query):
                verdicts[UserId(row.user_id), SessionId(row.session_id)] = _verdict(row)
        return verdicts

    # --- evaluations -----------------------------------------------------------------------------------------------

    def get(self, user: UserId, session: SessionId) -> Evaluation | None:
        c = evaluations.c
        row = self._scope.first(self._scope.select(evaluations).where(c.user_id == user, c.session_id == session))
        return None if row is None else _evaluation(row)

    def upsert(self, evaluation: Evaluation) -> EvaluationId:
        """A session has one: a later one takes its place and keeps its id and the time it was first made."""
        s = self._scope
        row = s.stamp(_row(evaluation))
        changed = {name: value for name, value in row.items() if name not in ("created_at", "org_id")}
        statement = (
            s.db.insert(evaluations)
            .values(row)
            .on_conflict_do_update(index_elements=["org_id", "user_id", "session_id"], set_=changed)
            .returning(evaluations.c.evaluation_id)
        )
        return EvaluationId(s.conn.execute(statement).scalar_one())

    def find(self, criteria: EvaluationFilter, limit: int | None = None, offset: int = 0) -> list[Evaluation]:
        """The newest first."""
        c = evaluations.c
        query = self._scope.select(evaluations)
        for column in ("user_id", "session_id"):
            if (value := getattr(criteria, column)) is not None:
                query = query.where(c[column] == value)
        if criteria.agent_version is not None:
            query = query.where(c.agent_version.in_(versions_meant(criteria.agent_version)))
        if criteria.since is not None:
            query = query.where(c.created_at >= criteria.since)
        if criteria.until is not None:
            query = query.where(c.created_at <= criteria.until)
        query = query.order_by(c.created_at.desc(), c.evaluation_id.desc()).limit(limit).offset(offset)
        return [_evaluation(row) for row in self._scope.all(query)]

    # --- shadows ---------------------------------------------------------------------------------------------------

    def upsert_shadow_verdicts(self, verdicts: Sequence[ShadowVerdict]) -> None:
        """One per turn: a later one takes the place of an earlier one."""
        for verdict in verdicts:
            row = row_of(shadow_verdicts, verdict, **asdict(verdict.origin))
            self._scope.upsert(shadow_verdicts, {"interaction_id": verdict.interaction_id}, row)

    def find_shadow_verdicts(self, limit: int) -> list[ShadowVerdict]:
        """The newest first."""
        c = shadow_verdicts.c
        query = self._scope.select(shadow_verdicts).order_by(c.created_at.desc(), c.verdict_id.desc())
        return [_shadow(row) for row in self._scope.all(query.limit(limit))]

    def get_shadow_verdicts(self, user: UserId, session: SessionId) -> list[ShadowVerdict]:
        c = shadow_verdicts.c
        query = self._scope.select(shadow_verdicts).where(c.user_id == user, c.session_id == session)
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


_VERDICT_COLUMNS = (
    *("user_id", "session_id", "is_success", "stated", "confidence", "engine"),
    *("agent_version", "source", "ended_at"),
)
_VERDICTS = sa.select(*(evaluations.c[name] for name in _VERDICT_COLUMNS))
# A word that decides; "unknown" leaves the decision to the judge.
_DECIDES = frozenset({Outcome.SUCCESS, Outcome.FAILURE})


def _verdict(row: Any) -> SessionVerdict:
    stated = row.stated in _DECIDES
    return value_of(SessionVerdict, row, stated=stated, confidence=1.0 if stated else row.confidence)


def _row(evaluation: Evaluation) -> dict[str, Any]:
    judged = evaluation.judged
    guess = judged or Judgement(evaluation.is_success)
    columns = {**asdict(guess), **asdict(evaluation.origin), "is_success": evaluation.is_success}
    columns["judged_success"] = None if judged is None else judged.is_success
    columns["signals"] = list(guess.signals) or None
    return row_of(evaluations, evaluation, **columns)


def _evaluation(row: Any) -> Evaluation:
    return value_of(
        Evaluation,
        row,
        id=EvaluationId(row.evaluation_id),
        judged=None if row.judged_success is None else _judgement(row),
        stated=None if row.stated is None else Outcome(row.stated),
        shadow=None if row.shadow is None else Preference(row.shadow),
        origin=value_of(Origin, row),
    )


def _judgement(row: Any) -> Judgement:
    failure = None if row.failure_type is None else FailureType(row.failure_type)
    fields = {"is_success": row.judged_success, "failure_type": failure, "signals": tuple(row.signals or ())}
    return value_of(Judgement, row, **fields)


def _shadow(row: Any) -> ShadowVerdict:
    fields = {"id": row.verdict_id, "preference": Preference(row.preference), "origin": value_of(Origin, row)}
    return value_of(ShadowVerdict, row, **fields)

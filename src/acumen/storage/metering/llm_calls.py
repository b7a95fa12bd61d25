"""Calls to language models, as rows."""

from typing import Any

import sqlalchemy as sa
from msgspec.structs import asdict

from acumen.model.ids import Millis
from acumen.model.metering.llm_call import CallOutcome, LlmCall, ModelRole, Spent
from acumen.storage.engine.scope import OrgScope
from acumen.storage.tables import llm_calls, orgs


class LlmCalls:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, call: LlmCall) -> None:
        self._scope.insert(llm_calls, [asdict(call)])

    def get_spent(self, since: Millis) -> Spent:
        c = llm_calls.c
        failed = sa.func.sum(sa.case((c.outcome == CallOutcome.ANSWERED, 0), else_=1))
        sums = [sa.func.sum(column) for column in (c.prompt_tokens, c.completion_tokens, c.cost_usd)]
        columns: list[sa.ColumnElement[Any]] = [sa.func.count(), failed, *sums]
        query = sa.select(*columns).where(c.org_id == self._scope.org, c.created_at >= since)
        calls, failures, prompt, completion, cost = self._scope.first(query)
        cost_usd = None if calls and cost is None else float(cost or 0.0)
        return Spent(int(calls), int(failures or 0), int(prompt or 0), int(completion or 0), cost_usd)

    def find_latest(self, since: Millis, limit: int) -> list[LlmCall]:
        """The latest first."""
        c = llm_calls.c
        query = sa.select(*(c[name] for name in LlmCall.__struct_fields__)).order_by(c.call_id.desc())
        rows = self._scope.rows(query.where(c.org_id == self._scope.org, c.created_at >= since).limit(limit))
        return [
            LlmCall(**{**row, "role": ModelRole(row["role"]), "outcome": CallOutcome(row["outcome"])}) for row in rows
        ]

    def expire(self, before: Millis) -> int:
        return self._scope.delete(llm_calls, llm_calls.c.created_at < before)

    def erase_user(self, user: str) -> int:
        """The cost stays counted; the user and the error text are removed."""
        return self._scope.update(llm_calls, llm_calls.c.user_id == user, user_id=None, request_id=None, error=None)


def spent_by_role(conn: sa.Connection, since: Millis) -> list[tuple[ModelRole, CallOutcome, Spent]]:
    """Of all orgs. Goes through the orgs, because the index by time begins with the org."""
    c = llm_calls.c
    sums = [sa.func.sum(column) for column in (c.prompt_tokens, c.completion_tokens, c.cost_usd)]
    query = sa.select(c.role, c.outcome, sa.func.count(), *sums).group_by(c.role, c.outcome)
    rows = conn.execute(query.where(c.org_id.in_(sa.select(orgs.c.org_id)), c.created_at >= since))
    return [
        (ModelRole(role), CallOutcome(outcome), Spent(calls, 0, int(prompt), int(completion), float(cost or 0.0)))
        for role, outcome, calls, prompt, completion, cost in rows
    ]

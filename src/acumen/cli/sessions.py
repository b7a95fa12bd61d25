"""`acumen sessions` and `acumen outcome`: how sessions ended, and saying so."""

import time
from typing import Any

from acumen.cli.output import show, table, when
from acumen_client.client import Client
from acumen_client.wire.evaluations import EvaluationResultView

NONE_YET = "No session was judged yet: that happens when one has been quiet for a while, or is said to be over."


def listed(client: Client, user: str | None, *, limit: int, as_json: bool) -> None:
    found = client.evaluation_results(user_id=user, limit=limit)
    rows = [_row(one) for one in found.agent_success_evaluation_results]
    headings = ["ended", "user", "session", "how", "says", "turns", "corrections", "why"]
    show(as_json, found, table(headings, rows) if rows else NONE_YET)


def _row(one: EvaluationResultView) -> list[object]:
    how = "success" if one.is_success else "failure"
    counts = [one.user_turns_to_resolution, one.number_of_correction_per_session]
    return [when(one.ended_at), one.user_id, one.session_id, how, _who(one), *counts, _why(one)]


def _who(one: EvaluationResultView) -> str:
    """Whose word it is; and where the caller's is not what was guessed, both."""
    if one.stated_outcome in (None, "unknown"):
        return one.engine
    differs = one.judged_success is not None and one.judged_success != one.is_success
    return f"caller, not {one.engine}" if differs else "caller"


def _why(one: EvaluationResultView) -> str:
    failed = [part for part in (one.failure_type, one.failure_reason) if part]
    said = ["escalated"] * one.is_escalated + [": ".join(failed)] * bool(failed)
    return "; ".join(said) or "-"


def state(client: Client, session: str, ended: str, details: dict[str, Any], *, as_json: bool) -> None:
    said: dict[str, Any] = {"session_id": session, "outcome": ended, "occurred_at": int(time.time())}
    given = {name: value for name, value in details.items() if value is not None}
    answer = client.state_outcome(**said, **given)
    again = f" (word number {answer.outcome_revision} on it)" if (answer.outcome_revision or 1) > 1 else ""
    show(as_json, answer, f"Session {session} of {answer.user_id} ended with {ended}{again}.")

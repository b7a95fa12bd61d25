"""`acumen sessions` and `acumen outcome`: the outcomes of sessions, and reporting one."""

import time
from typing import Annotated, Any

import typer

from acumen.cli.options import Limit, Reply, User, examples, remote
from acumen.cli.output import table, when
from acumen_client.client import Client
from acumen_client.wire.evaluations import EvaluationResultView, SessionOutcomeKind

app = typer.Typer()

NONE_YET = "No session evaluated yet. A session is evaluated after 10 minutes without a request, or when it is ended."


@app.command(epilog=examples("acumen sessions", "acumen sessions --user ana --limit 5", "acumen sessions --json"))
@remote
def sessions(client: Client, user: User = None, limit: Limit = 20) -> Reply:
    """List the latest sessions and their outcomes."""
    page = client.evaluation_results(user_id=user, limit=limit)
    rows = [_row(result) for result in page.agent_success_evaluation_results]
    headings = ["ended", "user", "session", "outcome", "by", "turns to resolution", "corrections", "reason"]
    return Reply(page, table(headings, rows) if rows else NONE_YET)


def _row(result: EvaluationResultView) -> list[object]:
    outcome = "success" if result.is_success else "failure"
    counts = [result.user_turns_to_resolution, result.number_of_correction_per_session]
    return [when(result.ended_at), result.user_id, result.session_id, outcome, _by(result), *counts, _reason(result)]


def _by(result: EvaluationResultView) -> str:
    """Who decided: the caller, or the engine that graded; both where they disagree."""
    if result.stated_outcome in (None, "unknown"):
        return result.engine
    differs = result.judged_success is not None and result.judged_success != result.is_success
    return f"caller, not {result.engine}" if differs else "caller"


def _reason(result: EvaluationResultView) -> str:
    failure = ": ".join(part for part in (result.failure_type, result.failure_reason) if part)
    return "; ".join(filter(None, ["escalated" if result.is_escalated else "", failure])) or "-"


@app.command(
    epilog=examples("acumen outcome s1 success", 'acumen outcome s1 failure --label "refund refused" --user ana')
)
@remote
def outcome(
    client: Client,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Session id.")],
    result: Annotated[SessionOutcomeKind, typer.Argument(metavar="OUTCOME", help="Outcome.")],
    user: User = None,
    label: Annotated[str | None, typer.Option(help="Short description.")] = None,
    value: Annotated[float | None, typer.Option(help="Numeric value.")] = None,
) -> Reply:
    """Report the outcome of a session. It takes precedence over automatic grading."""
    fields: dict[str, Any] = {"user_id": user, "label": label, "value": value}
    details = {name: field for name, field in fields.items() if field is not None}
    answer = client.state_outcome(session_id=session, outcome=result, occurred_at=int(time.time()), **details)
    revision = f" (revision {answer.outcome_revision})" if (answer.outcome_revision or 1) > 1 else ""
    return Reply(answer, f"Recorded outcome {result} for session {session} of user {answer.user_id}{revision}.")

"""`acumen status`: jobs, dead letters, storage and memory counts."""

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated

import typer

from acumen.cli.options import AsJson, examples, remote
from acumen.cli.output import show, size, table, when
from acumen.model.plural import counted
from acumen.model.prompt_injection import visible
from acumen_client.client import Client
from acumen_client.wire.system import LearningStatus, ModelStatus, StatusResponse

app = typer.Typer()

POLL_SECONDS = 2.0
CLEAR_SCREEN = "\x1b[2J\x1b[H"


@app.command(epilog=examples("acumen status", "acumen status --watch", "acumen status --json"))
@remote
def status(
    client: Client,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh every two seconds.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show jobs, dead letters, storage and memory counts."""
    _show(client.status(), as_json=as_json)
    if watch:
        with suppress(KeyboardInterrupt):
            _watch(client, as_json=as_json)


def _watch(client: Client, *, as_json: bool) -> None:
    while True:
        time.sleep(POLL_SECONDS)
        answer = client.status()
        if sys.stdout.isatty() and not as_json:
            typer.echo(CLEAR_SCREEN, nl=False)
        _show(answer, as_json=as_json)


def _show(answer: StatusResponse, *, as_json: bool) -> None:
    show(as_json, answer, "\n".join(_lines(answer)))
    sys.stdout.flush()


def _lines(answer: StatusResponse) -> Iterator[str]:
    store, embedder, coverage = answer.store, answer.embedder, answer.coverage
    yield f"Acumen {answer.version}, running since {when(answer.started_at)}"
    yield f"Storage     {store.label} ({store.detail}, {size(store.size_bytes or 0)})"
    pending = counted(coverage.memories_without_vector, "memory", "memories")
    yield f"Embeddings  {embedder.name}: {'ready' if embedder.ready else embedder.detail}; {pending} pending embedding"
    yield f"Model       {_model(answer.model)}"
    yield f"Worker      {answer.worker.problem or answer.worker.place}"
    yield f"Learning    {_learning(answer.learning)}"
    yield f"Metering    {f'since {when(coverage.metered_since)}' if coverage.metering_enabled else 'off'}"
    for alert in answer.alerts:
        yield f"Alert       {visible(alert.said)} (since {when(alert.opened_at)})"
    yield ""
    yield table(["type", "status", "count"], [[row.kind, row.status, row.count] for row in answer.memories])
    yield ""
    if answer.jobs:
        yield table(["job", "status", "count"], [[job.kind, job.state, job.count] for job in answer.jobs])
    else:
        yield "No jobs waiting."
    if answer.dead_letter_count:
        yield f"\n{counted(answer.dead_letter_count, 'job')} failed permanently; the latest:"
        letters = [[letter.job_id, letter.kind, letter.attempts, letter.cause] for letter in answer.dead_letters]
        yield table(["id", "job", "attempts", "last error"], letters)


def _learning(learning: LearningStatus) -> str:
    rate = f"{learning.turns_per_second:g} turns/s in the best of the last minutes"
    if not learning.turns_waiting:
        return f"no backlog; {rate}"
    left = "" if learning.seconds_left is None else f"; about {learning.seconds_left:.0f} s left"
    waiting = f"{counted(learning.turns_waiting, 'turn')} waiting, the oldest for {learning.oldest_seconds:.0f} s"
    return f"{waiting}{left}; {rate}"


def _model(model: ModelStatus) -> str:
    if not model.configured:
        return "No model (rules)"
    limit = f" of {model.daily_tokens}" if model.daily_tokens else ""
    calls = (
        f"{counted(model.calls_today, 'call')} today, {model.failed_today} failed, {model.tokens_today}{limit} tokens"
    )
    cost = "" if model.cost_today_usd is None else f", ${model.cost_today_usd:.4f}"
    text = f"{model.endpoint}: {calls}{cost}"
    return f"{text}; using rules: {model.degraded}" if model.degraded else text

"""`acumen status`: jobs, dead letters, the store and what it holds."""

import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import typer

from acumen.cli.output import show, size, table, when
from acumen.model.prompt_injection import visible
from acumen_client.client import Client
from acumen_client.wire.system import ModelStatus, StatusResponse

LOOK_EVERY_SECONDS = 2.0
CLEAR_SCREEN = "\x1b[2J\x1b[H"


def run(client: Client, *, watch: bool, as_json: bool) -> None:
    """Once, or again and again until Ctrl-C."""
    _show(client.status(), as_json=as_json)
    if watch:
        with suppress(KeyboardInterrupt):
            _watch(client, as_json=as_json)


def _watch(client: Client, *, as_json: bool) -> None:
    while True:
        time.sleep(LOOK_EVERY_SECONDS)
        status = client.status()
        if sys.stdout.isatty() and not as_json:
            typer.echo(CLEAR_SCREEN, nl=False)
        _show(status, as_json=as_json)


def _show(status: StatusResponse, *, as_json: bool) -> None:
    show(as_json, status, "\n".join(_words(status)))
    sys.stdout.flush()


def _words(status: StatusResponse) -> Iterator[str]:
    yield f"Acumen {status.version}, running since {when(status.started_at)}"
    store, embedder, coverage = status.store, status.embedder, status.coverage
    yield f"Store     {store.label} ({store.detail}, {size(store.size_bytes or 0)})"
    yield f"Meaning   {embedder.name}: {'ready' if embedder.ready else embedder.detail}"
    yield f"Model     {_model(status.model)}"
    counted = f"counted since {when(coverage.metered_since)}" if coverage.metering_enabled else "not counted"
    yield f"Use       {counted}; {coverage.memories_without_vector} memory(ies) wait for their vector"
    for alert in status.alerts:
        yield f"Alert     {visible(alert.said)} (since {when(alert.opened_at)})"
    yield ""
    yield table(["holds", "state", "count"], [[one.kind, one.status, one.count] for one in status.memories])
    yield ""
    if status.jobs:
        yield table(["job", "state", "count"], [[job.kind, job.state, job.count] for job in status.jobs])
    else:
        yield "No jobs wait."
    if status.dead_letter_count:
        yield f"\n{status.dead_letter_count} job(s) failed for good; the latest:"
        letters = [[letter.job_id, letter.kind, letter.attempts, letter.cause] for letter in status.dead_letters]
        yield table(["id", "job", "tries", "last cause"], letters)


def _model(model: ModelStatus) -> str:
    if not model.configured:
        return "none: rules learn"
    of = f" of {model.daily_tokens}" if model.daily_tokens else ""
    asked = f"{model.calls_today} call(s) today, {model.failed_today} failed, {model.tokens_today}{of} tokens"
    cost = "" if model.cost_today_usd is None else f", ${model.cost_today_usd:.4f}"
    said = f"{model.endpoint}: {asked}{cost}"
    return f"{said}; rules do its work: {model.degraded}" if model.degraded else said

"""`/metrics`, for Prometheus. Not in the table of endpoints, because its answer is not JSON."""

import asyncio
import hmac

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from acumen import __version__
from acumen.api import error_reply
from acumen.app import App
from acumen.auth.authenticator import KeyAuthenticator
from acumen.auth.headers import Scope, bearer_of, request_id_of
from acumen.auth.roles import Permission, permit
from acumen.errors import NotAllowed
from acumen.meter import server_totals, system_status
from acumen.meter.server_totals import ServerTotals
from acumen.model.ids import LOCAL_ORG, now
from acumen.telemetry import exposition, process
from acumen.telemetry.instruments import Family, Sample, counter, gauge
from acumen_client.wire.shapes import Role

PATH = "/metrics"


def route(app: App, keys: KeyAuthenticator) -> Route:
    permission = permit("GET", PATH, Role.READER, "Read the figures of the server, by a key of the local org.")

    async def answer(request: Request) -> Response:
        try:
            await _admit(request.scope, app, keys, permission)
            text = await asyncio.to_thread(exposition.render, await families(app))
            return Response(text, headers={"Content-Type": exposition.CONTENT_TYPE})
        except Exception as error:  # noqa: BLE001 - every failure becomes a reply, unknown ones are logged
            return error_reply.reply(error, request_id_of(request.scope))

    return Route(PATH, answer, methods=["GET"], name="metrics")


async def _admit(scope: Scope, app: App, keys: KeyAuthenticator, permission: Permission) -> None:
    """The figures are of the whole server, so a key of just any organization does not open them."""
    token, sent = app.settings.telemetry.metrics_token, bearer_of(scope)
    if token and sent and hmac.compare_digest(token.encode(), sent.encode()):
        return
    caller = await keys.identify(scope)
    permission.require(caller.role)
    if caller.org != LOCAL_ORG:
        raise NotAllowed(
            "Metrics are of the whole server: use a key of the local organization, or telemetry.metrics_token."
        )


async def families(app: App) -> list[Family]:
    totals = await server_totals.totals(app.store, now())
    return [*app.metrics.families(), *_of_app(app), *_of_database(totals), *process.families()]


def _of_app(app: App) -> list[Family]:
    cache, free = app.index.cache.statistics, system_status.free_bytes(app.settings)
    build = Sample(1, {"version": __version__, "database": app.store.database.name})
    return [
        Family("acumen_build_info", "gauge", "Version and kind of database.", [build]),
        gauge("acumen_search_cache_bytes", "Size of the search cache.", cache.bytes),
        gauge("acumen_search_cache_limit_bytes", "The setting recall.cache_mb.", cache.most_bytes),
        gauge("acumen_search_cache_scopes", "Indexes in the search cache.", cache.scopes),
        counter("acumen_search_cache_hits_total", "Uses of an index that was in the cache.", cache.hits),
        counter("acumen_search_cache_misses_total", "Uses of an index that had to be built.", cache.misses),
        gauge("acumen_waiting_writes", "Writes that wait for their commit.", app.store.database.waiting_writes),
        gauge("acumen_waiting_writes_limit", "The setting limits.waiting_writes.", app.settings.limits.waiting_writes),
        counter("acumen_usage_events_lost_total", "Usage that could not be recorded.", app.lost_usage_events),
        gauge("acumen_worker_up", "0 when background jobs stopped unexpectedly.", app.worker_problem is None),
        *([] if free is None else [gauge("acumen_disk_free_bytes", "Free space of the data folder.", free)]),
    ]


def _of_database(totals: ServerTotals) -> list[Family]:
    """The same on every server of this database."""
    learning = totals.learning
    jobs = [Sample(number, {"type": event, "state": state}) for event, state, number in totals.jobs]
    calls = [Sample(spent.calls, {"role": role, "outcome": outcome}) for role, outcome, spent in totals.llm_today]
    spent = [spent for _, _, spent in totals.llm_today]
    tokens = {
        "prompt": sum(each.prompt_tokens for each in spent),
        "completion": sum(each.completion_tokens for each in spent),
    }
    return [
        Family("acumen_jobs", "gauge", "Jobs by type and state.", jobs),
        gauge("acumen_jobs_lag_seconds", "How long the oldest due job waits.", totals.lag_ms / 1000),
        gauge("acumen_learning_turns_waiting", "Turns that are due to be learned from.", learning.turns_waiting),
        gauge("acumen_learning_lag_seconds", "How long the oldest of them waits.", learning.age_ms(now()) / 1000),
        gauge(
            "acumen_learning_turns_per_second",
            "Turns learned per second, in the best of the last minutes.",
            learning.turns_per_second,
        ),
        Family("acumen_model_calls_today", "gauge", "Language model calls since midnight UTC.", calls),
        Family(
            "acumen_model_tokens_today",
            "gauge",
            "Tokens of language models since midnight UTC.",
            [Sample(number, {"type": kind}) for kind, number in tokens.items()],
        ),
        gauge(
            "acumen_model_cost_today_usd",
            "Cost of language models since midnight UTC, as far as prices are known.",
            sum(each.cost_usd or 0.0 for each in spent),
        ),
        gauge("acumen_storage_bytes", "Size of the database.", totals.size_bytes),
    ]

"""Endpoints of the system: identity, status, keys, health."""

import shutil
from datetime import UTC, datetime
from typing import Any

from acumen import __version__, operate
from acumen.api.call import Call, answers
from acumen.api.review import alerts
from acumen.api.views import maybe_seconds, millis, seconds, shaped
from acumen.errors import AcumenError
from acumen.llm.embedding import DIMS
from acumen.llm.providers import configured
from acumen.meter import scheduled_backups, system_status
from acumen.meter.system_status import LEAST_FREE_BYTES, SystemStatus
from acumen.model.account import ApiKey
from acumen.model.ids import Millis
from acumen.model.jobs.lag import LearningLag
from acumen.model.metering.llm_call import Spent
from acumen.observe import operations
from acumen_client.calls import Calls
from acumen_client.wire import system as wire
from acumen_client.wire.shapes import Nothing


@answers(Calls.whoami)
async def whoami(_request: Nothing, call: Call) -> wire.WhoamiResponse:
    return wire.WhoamiResponse(
        org_id=call.caller.org,
        storage_type=call.app.store.database.name,
        storage_label=call.app.storage_label,
        storage_configured=True,
        role=call.caller.role,
        key_name=call.caller.key_name,
    )


@answers(Calls.my_config)
async def my_config(_request: Nothing, call: Call) -> wire.MyConfigResponse:
    settings = call.app.settings
    config: dict[str, Any] = {"type": "postgres"} if settings.database_url else {"db_path": str(settings.sqlite_path)}
    return wire.MyConfigResponse(storage_config=config, storage_type=call.app.store.database.name)


@answers(Calls.status)
async def status(_request: Nothing, call: Call) -> wire.StatusResponse:
    await call.app.flush_usage()
    state = await system_status.status(call.deps)
    models = call.app.local_models
    return wire.StatusResponse(
        version=__version__,
        started_at=seconds(call.app.started_at),
        jobs=[
            wire.JobCount(kind=event, state=name, count=count)
            for event, states in state.jobs.items()
            for name, count in states.items()
        ],
        dead_letters=[
            wire.DeadLetter(job_id=str(job.id), kind=job.event, cause=job.last_error or "", attempts=job.attempts)
            for job in state.dead_letters
        ],
        dead_letter_count=sum(states.get("dead", 0) for states in state.jobs.values()),
        store=wire.StoreStatus(
            kind=call.app.store.database.name,
            label=call.app.storage_label,
            size_bytes=state.size_bytes,
            detail=state.database,
        ),
        embedder=wire.EmbedderStatus(
            name=models.name, ready=models.problem is None, dimensions=DIMS, detail=models.problem
        ),
        model=_model(state.llm_today, call),
        memories=_memories(state),
        alerts=[alerts.view(alert) for alert in state.alerts],
        coverage=wire.Coverage(
            metering_enabled=call.app.settings.meter.enabled,
            metered_since=maybe_seconds(state.metered_since),
            counts_lost=call.app.lost_usage_events,
            memories_without_vector=state.without_vector,
        ),
        learning=_learning(state.learning, call.deps.now()),
        worker=wire.WorkerStatus(place=call.app.worker_place, problem=call.app.worker_problem),
    )


def _learning(lag: LearningLag, at: Millis) -> wire.LearningStatus:
    return wire.LearningStatus(
        turns_waiting=lag.turns_waiting,
        oldest_seconds=lag.age_ms(at) / 1000,
        turns_per_second=round(lag.turns_per_second, 2),
        seconds_left=None if lag.seconds_left is None else round(lag.seconds_left, 1),
    )


def _model(spent: Spent, call: Call) -> wire.ModelStatus:
    llm = call.deps.llm
    counted = wire.ModelStatus(
        calls_today=spent.calls,
        failed_today=spent.failed,
        tokens_today=spent.tokens,
        cost_today_usd=None if spent.cost_usd is None else round(spent.cost_usd, 6),
    )
    if llm is None:
        return counted
    configured_model = {
        "configured": True,
        "endpoint": llm.route.endpoint.host,
        "models": {str(role): name for role, name in llm.route.models.items() if name},
        "daily_tokens": llm.route.daily_tokens or None,
        "degraded": llm.over_budget(spent.tokens) or llm.problem,
    }
    return counted.model_copy(update=configured_model)


def _memories(state: SystemStatus) -> list[wire.MemoryCount]:
    counted = [
        wire.MemoryCount(kind=str(kind), status=name, count=count)
        for kind, counts in state.memories.items()
        for name, count in counts.items()
        if count
    ]
    return [*counted, wire.MemoryCount(kind="interaction", status="stored", count=state.turns)]


# --- keys --------------------------------------------------------------------------------------------------------


@answers(Calls.keys)
async def list_keys(_request: Nothing, call: Call) -> wire.ListKeysResponse:
    return wire.ListKeysResponse(keys=[_key(key) for key in await call.keys.all_of(call.caller.org)])


@answers(Calls.create_key)
async def create_key(request: wire.CreateKeyRequest, call: Call) -> wire.CreateKeyResponse:
    key, secret = await call.keys.create(call.caller.org, request.name, request.role, millis(request.expires_at))
    return wire.CreateKeyResponse(secret=secret, key=_key(key))


@answers(Calls.revoke_key)
async def revoke_key(request: wire.RevokeKeyRequest, call: Call) -> wire.RevokeKeyResponse:
    await call.keys.revoke(call.caller.org, request.key_id)
    return wire.RevokeKeyResponse(message="Key revoked")


def _key(key: ApiKey) -> wire.KeyView:
    return shaped(wire.KeyView, key, key_id=key.id)


# --- health ------------------------------------------------------------------------------------------------------


@answers(Calls.welcome)
async def welcome(_request: Nothing, _call: Call) -> wire.WelcomeResponse:
    return wire.WelcomeResponse(version=__version__, docs="/docs")


@answers(Calls.version)
async def version(_request: Nothing, _call: Call) -> wire.VersionResponse:
    return wire.VersionResponse(server_version=__version__)


@answers(Calls.health_live)
@answers(Calls.healthz)
async def live(_request: Nothing, _call: Call) -> wire.AliveResponse:
    return wire.AliveResponse()


@answers(Calls.health)
@answers(Calls.health_ready)
async def ready(_request: Nothing, call: Call) -> wire.ReadinessResponse:
    database = await _database(call)
    checks = {
        "database": database,
        "disk": _disk(call),
        "embeddings": _embeddings(call),
        "search": await _search(call, asks_database=database.status == "passed"),
        "model": await _language_model(call, asks_database=database.status == "passed"),
        "worker": _worker(call),
    }
    if call.app.settings.backup.folder:
        checks["backup"] = await _backup(call, asks_database=database.status == "passed")
    failed = any(check.required and check.status == "failed" for check in checks.values())
    recorded = None if failed else await operations.count(call.deps)
    return wire.ReadinessResponse(status="unhealthy" if failed else "healthy", checks=checks, ops_in_ring=recorded)


async def _database(call: Call) -> wire.ReadinessCheck:
    try:
        version, schema = await operate.running_versions(call.app.store)
    except AcumenError as error:
        return _check(ok=False, reason=str(error))
    if problem := await operate.running_problem(call.app.store):
        return _check(ok=False, reason=problem)
    is_newest = schema == operate.NEWEST_SCHEMA
    return _check(ok=is_newest, reason=version if is_newest else f"schema {schema}, expected {operate.NEWEST_SCHEMA}")


def _disk(call: Call) -> wire.ReadinessCheck:
    if call.app.settings.database_url:
        return wire.ReadinessCheck(status="not_checked", required=False, reason="the database server's disk")
    free = shutil.disk_usage(call.app.settings.data_dir).free
    return _check(ok=free > LEAST_FREE_BYTES, reason=f"{free // 1024**2} MiB free in the data folder")


def _embeddings(call: Call) -> wire.ReadinessCheck:
    meaning = call.app.local_models
    if meaning.problem:
        return _check(ok=False, reason=f"search uses keywords only: {meaning.problem}", required=False)
    return _check(ok=True, reason="loaded" if meaning.loaded else "loads on first use", required=False)


async def _search(call: Call, *, asks_database: bool) -> wire.ReadinessCheck:
    """Which engine searches scopes that are too large for memory. Never required: without one, memory is used."""
    if not call.app.settings.database_url:
        return _check(ok=True, reason="large scopes are searched in files mapped into memory", required=False)
    if not asks_database:
        return wire.ReadinessCheck(status="not_checked", required=False, reason="the database does not answer")
    problem = await operate.search_problem(call.app.store)
    text = f"large scopes are searched in memory: {problem}" if problem else operate.SEARCH_ENGINE
    return _check(ok=problem is None, reason=text, required=False)


async def _language_model(call: Call, *, asks_database: bool) -> wire.ReadinessCheck:
    """Never required: without it, rules are used."""
    gateway = call.app.gateway
    if not configured(gateway.settings):
        return wire.ReadinessCheck(
            status="not_checked", required=False, reason="not configured; rules are used instead"
        )
    problem = (await _over_budget(call) if asks_database else None) or gateway.problem
    if problem:
        return _check(ok=False, reason=f"rules are used instead: {problem}", required=False)
    return _check(ok=True, reason="called when needed", required=False)


async def _over_budget(call: Call) -> str | None:
    """Budgets are per org; this is the budget of the local org."""
    llm = (await call.app.deps_for(call.caller.org)).llm
    limited = llm is not None and llm.route.daily_tokens
    return llm.over_budget(await llm.ledger.spent_today()) if llm and limited else None


async def _backup(call: Call, *, asks_database: bool) -> wire.ReadinessCheck:
    """Never required: without backups, requests are answered."""
    if not asks_database:
        return wire.ReadinessCheck(status="not_checked", required=False, reason="the database does not answer")
    problem = await scheduled_backups.problem(call.deps)
    last = operate.last_backup(call.app.settings)
    made = "none yet" if last is None else datetime.fromtimestamp(last.at / 1000, UTC).isoformat(timespec="seconds")
    return _check(ok=problem is None, reason=problem.said if problem else f"last backup: {made}", required=False)


def _worker(call: Call) -> wire.ReadinessCheck:
    """A process that died is restarted; until then the server stores and answers all the same."""
    problem, restarts = call.app.worker_problem, bool(call.app.children)
    return _check(ok=problem is None, reason=problem or call.app.worker_place, required=not restarts)


def _check(*, ok: bool, reason: str, required: bool = True) -> wire.ReadinessCheck:
    now = datetime.now(UTC)
    return wire.ReadinessCheck(status="passed" if ok else "failed", required=required, reason=reason, checked_at=now)

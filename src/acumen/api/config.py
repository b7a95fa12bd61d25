"""Endpoints of an org's configuration."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from acumen.api.call import Call, answers
from acumen.api.config_merge import KeyMoved, agreed, shown, unmasked, updated
from acumen.api.recall.experiments import record
from acumen.errors import BadInput, Conflict
from acumen.llm.addresses import check_choice
from acumen.model.account import StoredConfig
from acumen.model.metering.llm_choice import from_stored
from acumen_client.calls import Calls
from acumen_client.wire.config import Config, ConfigUpdate, SetConfigResponse
from acumen_client.wire.experiments import RetrievalExperimentConfig, RetrievalExperimentRecord
from acumen_client.wire.shapes import Nothing


@answers(Calls.config)
async def get_config(_request: Nothing, call: Call) -> Config:
    _, config = await _read(call)
    return shown(config)


@answers(Calls.set_config)
async def set_config(request: Config, call: Call) -> SetConfigResponse:
    stored, before = await _read(call)
    return await _write(_unmasked(_agreed(request, before), before), before, stored, call)


@answers(Calls.update_config)
async def update_config(request: ConfigUpdate, call: Call) -> SetConfigResponse:
    stored, before = await _read(call)
    return await _write(_unmasked(_agreed(updated(before, request), before), before), before, stored, call)


def _agreed(request: Config, before: Config) -> Config:
    try:
        return agreed(request, before)
    except ValidationError:
        raise  # reported as a text, like any other that a body causes
    except ValueError as differ:
        raise BadInput(str(differ)) from None


async def _read(call: Call) -> tuple[StoredConfig, Config]:
    stored, experiments = await call.app.stored_config(call.deps.org)
    config = Config.model_validate({**_default(call), **(stored.config or {})})
    return stored, _with_experiments(config, [record(experiment) for experiment in experiments])


def _with_experiments(config: Config, experiments: Sequence[RetrievalExperimentRecord]) -> Config:
    running = [
        RetrievalExperimentConfig(
            experiment_id=experiment.experiment_id, holdout_percentage=experiment.holdout_percentage
        )
        for experiment in experiments
        if experiment.ended_at is None
    ]
    shown = {
        "retrieval_experiment_config": running[0] if running else None,
        "retrieval_experiment_history": list(experiments),
    }
    return config.model_copy(update=shown)


def _unchanged_experiments(after: Config, before: Config) -> Config:
    """They have routes of their own; a configuration that says nothing of them leaves them as they are."""
    experiments = (after.retrieval_experiment_config, after.retrieval_experiment_history)
    if experiments not in ((None, []), (before.retrieval_experiment_config, before.retrieval_experiment_history)):
        raise Conflict("Experiments are started and stopped under /api/retrieval_experiments, not here.")
    return _with_experiments(after, before.retrieval_experiment_history)


def _unmasked(request: Config, before: Config) -> Config:
    try:
        return unmasked(request, before)
    except KeyMoved as wrong:
        raise BadInput(str(wrong)) from None


def _default(call: Call) -> dict[str, Any]:
    """What holds for an org that has set nothing."""
    settings = call.app.settings
    storage = {"type": "postgres", "db_url": settings.database_url} if settings.database_url else _sqlite(call)
    return {"storage_config": storage}


def _sqlite(call: Call) -> dict[str, str]:
    return {"type": "sqlite", "db_path": str(call.app.settings.sqlite_path)}


async def _write(after: Config, before: Config, stored: StoredConfig, call: Call) -> SetConfigResponse:
    after = _unchanged_experiments(after, before)
    if after == before:
        return SetConfigResponse(msg="Configuration unchanged")
    dumped = after.model_dump(mode="json")
    if after.api_key_config != before.api_key_config:
        check_choice(from_stored(dumped), call.app.settings.llm)
    await call.app.set_config(call.deps.org, dumped, stored.version)
    return SetConfigResponse(msg="Configuration set successfully")

"""An org's configuration, over REST."""

from typing import Any

from acumen.api.call import Call, answers
from acumen.errors import BadInput
from acumen.storage.orgs import StoredConfig
from acumen_client import calls
from acumen_client.wire.config import Config, ConfigUpdate, KeyMoved, SetConfigResponse, agreed, shown, unmasked
from acumen_client.wire.shapes import Nothing


@answers(calls.get_config)
async def get_config(_asked: Nothing, call: Call) -> Config:
    _, config = await _read(call)
    return shown(config)


@answers(calls.set_config)
async def set_config(asked: Config, call: Call) -> SetConfigResponse:
    stored, before = await _read(call)
    return await _write(_unmasked(_agreed(asked, before), before), before, stored, call)


@answers(calls.update_config)
async def update_config(asked: ConfigUpdate, call: Call) -> SetConfigResponse:
    stored, before = await _read(call)
    return await _write(_unmasked(_agreed(asked.applied_to(before), before), before), before, stored, call)


def _agreed(asked: Config, before: Config) -> Config:
    try:
        return agreed(asked, before)
    except ValueError as differ:
        raise BadInput(str(differ)) from None


async def _read(call: Call) -> tuple[StoredConfig, Config]:
    stored = await call.deps.store.read(lambda tx: tx.orgs.config())
    return stored, Config.model_validate(stored.config or _default(call))


def _unmasked(asked: Config, before: Config) -> Config:
    try:
        return unmasked(asked, before)
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
    if after == before:
        return SetConfigResponse(msg="Configuration unchanged")
    dumped = after.model_dump(mode="json")
    await call.deps.store.write(lambda tx: tx.orgs.set_config(dumped, stored.version))
    call.app.forget_config(call.deps.org)
    return SetConfigResponse(msg="Configuration set successfully")

"""The settings and the app of this machine, for commands that need no server."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acumen.app import App
from acumen.operate import reach
from acumen.settings import Settings, load


def settings_of(data: Path | None, config: str | None, **overrides: Any) -> Settings:
    """File, environment and command line merged; BadSettings if a value is wrong."""
    environ: Mapping[str, str] = os.environ if config is None else {**os.environ, "ACUMEN_CONFIG": config}
    return load(environ, {"data": data, **overrides})


def job_settings(workers: int | None) -> dict[str, dict[str, int]]:
    return {} if workers is None else {"jobs": {"workers": workers}}


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    """An app whose database is up to date, without a worker or a listening socket."""
    app = App(settings)
    try:
        await reach(app.store, settings)
        yield app
    finally:
        await app.stop()

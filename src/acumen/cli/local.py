"""The settings and the store of this machine, for commands that need no server."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acumen.app import App, prepare
from acumen.settings import Settings, load
from acumen.storage.engine import migrate


def settings_of(data: Path | None, config: str | None, **overrides: Any) -> Settings:
    """What the file, the environment and the command line say together; BadSettings where they make no sense."""
    environ: Mapping[str, str] = os.environ if config is None else {**os.environ, "ACUMEN_CONFIG": config}
    return load(environ, {"data": data, **overrides})


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    """The parts, wired and with the right schema, but not running: no worker, nobody listening."""
    app = App(settings)
    try:
        await reach(app)
        yield app
    finally:
        await app.stop()


async def reach(app: App) -> None:
    """The database answers (Unavailable when it does not) and has the schema of this version."""
    await app.store.read(migrate.current)
    prepare(app.store, app.settings)


def database_exists(settings: Settings) -> bool:
    """Looking at a database must not make one; a server's is taken to be there until it is asked."""
    return bool(settings.database_url) or settings.sqlite_path.exists()

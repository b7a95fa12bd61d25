"""`acumen serve`: the API, its worker inside, until it is told to stop."""

import asyncio
import errno
import json
import logging
import signal
import socket
import sys
from types import FrameType
from typing import Any, NoReturn

import typer
import uvicorn

from acumen import __version__
from acumen.api.server import web_app
from acumen.app import App
from acumen.auth.authenticator import KeyAuthenticator, is_loopback
from acumen.cli.heads import BoundedHeads
from acumen.cli.local import reach
from acumen.errors import BadSettings
from acumen.settings import Settings
from acumen.storage.accounts.api_keys import any_exist
from acumen.web.front import with_dashboard

LOG_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
BACKLOG = 2048


def run(settings: Settings, *, as_json: bool) -> None:
    """Returns, or leaves with 0, when everything under way is finished."""
    leave_on_signals()
    with listen(settings.host, settings.port) as listener:
        app = App(settings)
        server = Announced(_config(app), {"as_json": as_json, "url": _url(settings.host, listener), "app": app})
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(_serve(app, server, listener))


async def _serve(app: App, server: uvicorn.Server, listener: socket.socket) -> None:
    try:
        await reach(app)
        await _refuse_strangers(app)
        log_to_stderr(app.settings.log_level)
        await app.start()
        await _accept(server, listener, app.settings)
    finally:
        await app.stop()


async def _accept(server: uvicorn.Server, listener: socket.socket, settings: Settings) -> None:
    """Until a signal comes; then until the last request under way is answered."""
    try:
        await server.serve(sockets=[listener])
    except OSError as wrong:
        raise _cannot_listen(settings.host, settings.port, wrong) from wrong


async def _refuse_strangers(app: App) -> None:
    host = app.settings.host
    if not is_loopback(host) and not await app.store.read(any_exist):
        raise BadSettings(
            f"Without a key only this machine is served, so {host} is refused: "
            "make a key with `acumen keys create NAME` first, or listen on 127.0.0.1."
        )


class Announced(uvicorn.Server):
    """Says so, in one line, when it can be reached; told twice to stop, it does not wait."""

    def __init__(self, config: uvicorn.Config, told: dict[str, Any]) -> None:
        super().__init__(config)
        self._told = told

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal waits for what is under way, the second does not."""
        self.force_exit = self.should_exit
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        announce(**self._told)


def announce(*, as_json: bool, url: str, app: App) -> None:
    told = {
        "url": url,
        "dashboard": f"{url}/ui",
        "docs": f"{url}/docs",
        "data": app.storage_label,
        "version": __version__,
    }
    if as_json:
        typer.echo(json.dumps(told))
    else:
        places = f"dashboard: {url}/ui, docs: {url}/docs, data: {app.storage_label}"
        typer.echo(f"Acumen {__version__} is ready on {url}  ({places})")


def _config(app: App) -> uvicorn.Config:
    keys = KeyAuthenticator(app)
    return uvicorn.Config(
        with_dashboard(app, keys, web_app(app, keys)),
        interface="asgi3",
        http=BoundedHeads,
        # We start and stop the app ourselves, so that its failures are ours to word.
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        # Who calls is decided by the connection, never by a header that anybody can write.
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=app.settings.drain_seconds,
    )


# --- the socket ---------------------------------------------------------------------------------------------------


def listen(host: str, port: int) -> socket.socket:
    """Taken before anything else is done: the commonest mistake is told first."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as wrong:
        listener.close()
        raise _cannot_listen(host, port, wrong) from wrong
    return listener


def _cannot_listen(host: str, port: int, wrong: OSError) -> BadSettings:
    if wrong.errno == errno.EADDRINUSE:
        return BadSettings(
            f"Port {port} on {host} is taken by another program, perhaps another Acumen: "
            "stop it, or choose another with --port."
        )
    if wrong.errno == errno.EACCES:
        return BadSettings(f"This user may not listen on port {port}: choose one above 1023 with --port.")
    return BadSettings(f"Cannot listen on {host} port {port}: {wrong.strerror or wrong}.")


def _url(host: str, listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


# --- signals and logs ---------------------------------------------------------------------------------------------


def leave_on_signals() -> None:
    """SIGTERM and SIGINT end the process in order; a second one ends it at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(0)


def log_to_stderr(level: str) -> None:
    logging.basicConfig(level=level.upper(), format=LOG_FORMAT, stream=sys.stderr)
    logging.getLogger("uvicorn.error").addFilter(_unless_cut_off)
    if level != "debug":
        for chatty in ("alembic", "uvicorn"):
            logging.getLogger(chatty).setLevel(logging.WARNING)


def _unless_cut_off(record: logging.LogRecord) -> bool:
    """A request that outlives the drain is cut off on purpose: that it happened is told, where it stood is not."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))

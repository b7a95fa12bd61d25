"""`acumen serve`: API and dashboard, and a worker process for background jobs."""

import asyncio
import errno
import gc
import json
import math
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import typer
import uvicorn
from msgspec import Struct

from acumen import __version__
from acumen.api.instrumented import InstrumentedApp
from acumen.api.server import web_app
from acumen.app import App
from acumen.auth.authenticator import KeyAuthenticator, is_loopback
from acumen.cli.local.http_limits import limited_protocol
from acumen.cli.local.setup import job_settings, settings_of
from acumen.cli.options import AsJson, ConfigFile, Data, Host, Port, Workers, examples
from acumen.errors import BadSettings
from acumen.jobs.child_process import child_processes
from acumen.operate import reach
from acumen.settings import Settings
from acumen.telemetry import logs
from acumen.web.front import with_dashboard

app = typer.Typer()

BACKLOG = 2048
CHILD_WORKER = (sys.executable, "-m", "acumen.cli.local.child_worker")
# Allocations between collections of the three generations. A request leaves hardly any garbage: collecting as often
# as Python does by default takes 5 % of a publish.
GC_THRESHOLDS = (20_000, 20, 50)


@app.command(
    epilog=examples(
        "acumen serve",
        "acumen serve --port 9000 --data ./memory",
        "ACUMEN_DATABASE_URL=postgresql://… acumen serve --host 0.0.0.0",
    )
)
def serve(
    host: Host = None,
    port: Port = None,
    data: Data = None,
    config: ConfigFile = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Run the server: API, dashboard and background jobs. SIGTERM or Ctrl-C finishes the current requests first."""
    settings = settings_of(data, config, host=host, port=port, **job_settings(workers))
    gc.freeze()  # what is imported stays
    gc.set_threshold(*GC_THRESHOLDS)
    leave_on_signals()
    with listen(settings.host, settings.port) as listener:
        parts = App(settings)
        ready = ReadyLine(_url(settings.host, listener), parts.storage_label, as_json)
        keys = KeyAuthenticator(parts.store, parts.open_org)

        def on_ready() -> None:
            ready.show()
            parts.start_children(CHILD_WORKER)

        server = AnnouncingServer(_config(parts, keys), on_ready)
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(_serve(parts, keys, server, listener))


async def _serve(parts: App, keys: KeyAuthenticator, server: uvicorn.Server, listener: socket.socket) -> None:
    in_children = child_processes(parts.settings.jobs) > 0
    try:
        await reach(parts.store, parts.settings)
        await _require_key(parts.settings.host, keys)
        logs.to_stderr(parts.settings)
        await parts.start(work=not in_children)
        await _accept(server, listener, parts.settings)
    finally:
        await parts.stop()


async def _accept(server: uvicorn.Server, listener: socket.socket, settings: Settings) -> None:
    """Returns when a signal has come and the last request under way is answered."""
    try:
        await server.serve(sockets=[listener])
    except OSError as error:
        raise _cannot_listen(settings.host, settings.port, error) from error


async def _require_key(host: str, keys: KeyAuthenticator) -> None:
    if not is_loopback(host) and not await keys.keys_exist():
        raise BadSettings(
            f"Listening on {host} requires an API key: create one with `acumen keys create NAME`, "
            "or listen on 127.0.0.1."
        )


class ReadyLine(Struct, frozen=True):
    """Printed once the server can be reached."""

    url: str
    data: str
    as_json: bool

    def show(self) -> None:
        places = {"dashboard": f"{self.url}/ui", "docs": f"{self.url}/docs", "data": self.data}
        if self.as_json:
            typer.echo(json.dumps({"url": self.url, **places, "version": __version__}))
        else:
            listed = ", ".join(f"{name}: {place}" for name, place in places.items())
            typer.echo(f"Acumen {__version__} is ready on {self.url}  ({listed})")


class AnnouncingServer(uvicorn.Server):
    """The first signal waits for the requests under way, the second does not."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()


def _config(parts: App, keys: KeyAuthenticator) -> uvicorn.Config:
    return uvicorn.Config(
        InstrumentedApp(with_dashboard(parts, keys, web_app(parts, keys)), parts),
        interface="asgi3",
        http=limited_protocol(parts.settings.limits),
        # We start and stop the app ourselves, so that its failures get our words.
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        # The caller's address is that of the connection, never that of a header, which any client can set.
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=math.ceil(parts.settings.limits.idle_seconds),
        timeout_graceful_shutdown=parts.settings.drain_seconds,
    )


# --- the socket ---------------------------------------------------------------------------------------------------


def listen(host: str, port: int) -> socket.socket:
    """Bound before anything else is loaded, so that the most common mistake is reported first."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise _cannot_listen(host, port, error) from error
    return listener


def _cannot_listen(host: str, port: int, error: OSError) -> BadSettings:
    if error.errno == errno.EADDRINUSE:
        return BadSettings(
            f"Port {port} on {host} is in use, perhaps by another Acumen: "
            "stop that program, or choose another port with --port."
        )
    if error.errno == errno.EACCES:
        return BadSettings(f"No permission to listen on port {port}: choose one above 1023 with --port.")
    return BadSettings(f"Cannot listen on {host} port {port}: {error.strerror or error}.")


def _url(host: str, listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


# --- signals ----------------------------------------------------------------------------------------------------


def leave_on_signals() -> None:
    """SIGTERM and SIGINT end the process cleanly; a second one ends it at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(0)

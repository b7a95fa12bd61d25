"""`acumen serve` as a process of its own: started, called, killed and started again on the same folder."""

import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from acumen_client.calls import Calls
from acumen_client.endpoint import Endpoint

# A start takes under a second; a machine busy with other work may need much longer, and that is no failure.
START_SECONDS = 60.0
REPLY_SECONDS = 60.0
JSON = {"Content-Type": "application/json"}
# A connection that was refused, cut off or closed: the caller cannot know whether the call was carried out.
NO_REPLY = (OSError, http.client.HTTPException)


class Reply(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def ok(self) -> bool:
        return self.status == 200


class Caller:
    """One connection, kept open from call to call; after a failure the next call opens another."""

    def __init__(self, port: int, timeout: float = REPLY_SECONDS) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def send(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = JSON) -> Reply:
        try:
            self._http.request(method, path, body, dict(headers))
            reply = self._http.getresponse()
            return Reply(reply.status, dict(reply.getheaders()), reply.read())
        except NO_REPLY:
            self._http.close()
            raise

    def call(self, endpoint: Endpoint[..., Any], asked: Mapping[str, Any] | None = None, query: str = "") -> Reply:
        """Sends what it is given, unchecked."""
        if endpoint.where == "query":
            said = dict(asked or {})
            path = endpoint.path.format_map(
                {name: quote(str(said.pop(name)), safe="") for name in endpoint.path_fields}
            )
            return self.send(endpoint.method, f"{path}?{urlencode(said)}", None, {})
        body = None if asked is None else json.dumps(asked).encode()
        return self.send(endpoint.method, endpoint.path + query, body)

    def close(self) -> None:
        self._http.close()


class Server:
    """The folder and the port outlive the process. `source`: where another version's code is."""

    def __init__(self, data: Path, log: Path, source: Path | None = None, **settings: object) -> None:
        self.data = data
        self.port = free_port()
        self._log = log
        self._settings = {f"ACUMEN_{name.upper()}": str(value) for name, value in settings.items()}
        if source is not None:
            self._settings["PYTHONPATH"] = str(source)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def database(self) -> Path:
        return self.data / "acumen.db"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def launch(self) -> None:
        """Begins to start; whoever wants to call it waits with `answers`."""
        assert not self.is_alive
        command = [sys.executable, "-m", "acumen.cli.main", "serve"]
        command += ["--host", "127.0.0.1", "--port", str(self.port), "--data", str(self.data)]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ACUMEN_")}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, env={**environ, **self._settings}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def start(self) -> "Server":
        self.launch()
        wait_until(self.answers, START_SECONDS, "the server to answer")
        return self

    def answers(self) -> bool:
        assert self.is_alive, f"The server ended by itself:\n{self.log}"
        with closing(self.caller(timeout=5)) as caller:
            try:
                return caller.call(Calls.health_live).ok
            except NO_REPLY:
                return False

    def kill(self) -> None:
        """SIGKILL: nothing in the process runs any more."""
        self._end(signal.SIGKILL)

    def ask_to_stop(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        return self._end(signal.SIGTERM)

    def wait(self, seconds: float) -> int:
        assert self._process is not None
        return self._process.wait(seconds)

    def caller(self, timeout: float = REPLY_SECONDS) -> Caller:
        return Caller(self.port, timeout)

    def call(self, endpoint: Endpoint[..., Any], asked: Mapping[str, Any] | None = None, query: str = "") -> Reply:
        with closing(self.caller()) as caller:
            return caller.call(endpoint, asked, query)

    def problems(self) -> list[str]:
        """What SQLite finds wrong with the file; read beside the running server."""
        found = self.rows("PRAGMA integrity_check")
        return [line for (line,) in found if line != "ok"]

    def rows(self, sql: str) -> list[Any]:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=30)) as conn:
            return conn.execute(sql).fetchall()

    def _end(self, how: signal.Signals) -> int:
        assert self._process is not None
        if self.is_alive:
            self._process.send_signal(how)
        return self._process.wait(START_SECONDS)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(true: Callable[[], bool], seconds: float, what: str, every: float = 0.02) -> None:
    give_up_at = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < give_up_at, f"Waited {seconds} s for {what}."
        time.sleep(every)

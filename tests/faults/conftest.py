"""Servers as processes, ended when the test is."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.server import Server

StartServer = Callable[..., Server]


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Starts a server on a new folder; its settings are given by name: `jobs__lease_seconds=5`.

    With `source` it is one of another version.
    """
    started: list[Server] = []

    def start(data: Path | None = None, source: Path | None = None, **settings: object) -> Server:
        number = len(started)
        server = Server(data or tmp_path / f"data{number}", tmp_path / f"server{number}.log", source, **settings)
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.kill()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of a file, where none of them breaks it."""
    folder = tmp_path_factory.mktemp("faults")
    running = Server(folder / "data", folder / "server.log").start()
    yield running
    running.kill()

"""Commands as they are typed: in this process where they end by themselves, as processes where they serve."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from acumen.cli.main import main

ACUMEN = (sys.executable, "-m", "acumen.cli.main")
PATIENCE_SECONDS = 30


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody's own settings or data reach a test."""
    for name in [name for name in os.environ if name.startswith("ACUMEN_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Types a command and reads what it prints."""

    def type_in(*words: str) -> Result:
        with pytest.raises(SystemExit) as left:
            main(words)
        out, err = capsys.readouterr()
        return Result(int(left.value.code or 0), out, err)

    return type_in


@dataclass(frozen=True)
class Served:
    url: str
    data: Path
    process: subprocess.Popen[str]


@contextmanager
def serving(data: Path, *options: str, **environ: str) -> Iterator[Served]:
    """`acumen serve` as a process of its own, on a free port; drained and gone afterwards.

    It runs its jobs itself: starting a worker process takes as long as starting the server (tests/faults has them).
    """
    words = [*ACUMEN, "serve", "--port", "0", "--json", "--data", str(data), *options]
    environ = {"ACUMEN_JOBS__PROCESSES": "0", **environ}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, **environ}) as process:
        try:
            assert process.stdout is not None
            yield Served(json.loads(process.stdout.readline())["url"], data, process)
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server without keys, for all commands that talk to one."""
    with serving(tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest.fixture
def ask(run: Run, server: Served, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Types a command that talks to that server."""
    monkeypatch.setenv("ACUMEN_URL", server.url)
    return run

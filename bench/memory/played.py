"""Histories published to a real server and learned, once per code version; each user of the result gets a copy.

The data folders are stored below the system's temporary folder, so that one line of the bench after the other, or one
run after the other, does not publish the same history again while the code is the same.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.figures import CannotMeasure, Run
from bench.memory.api import Api
from bench.memory.histories import USER, History
from bench.memory.stored import wait_until_quiet
from bench.server import Server, serving

CACHE = "ACUMEN_BENCH_CACHE"
# Another checkout with its own .venv, to compare this one with in the same run.
BASE = "ACUMEN_BENCH_BASE"
MAX_UNUSED_SECONDS = 86_400
ROOT = Path(__file__).parents[2]
# Changed with anything here that makes a difference to what is stored.
FORMAT = "1"


class Code(Struct, frozen=True):
    """A checkout of the project and the interpreter that it is installed for."""

    root: Path
    python: Path

    @property
    def version(self) -> str:
        return _version(self.root)


OURS = Code(ROOT, Path(sys.executable))


def base() -> Code | None:
    """The checkout to compare with, if one is named."""
    named = os.environ.get(BASE)
    if not named:
        return None
    root = Path(named).resolve()
    code = Code(root, root / ".venv" / "bin" / "python")
    if not code.python.exists():
        raise CannotMeasure(f"{BASE}: {code.root} is no checkout with a .venv")
    return code


@cache
def _version(root: Path) -> str:
    """A hash of all source files and weights of the server."""
    digest, source = hashlib.sha256(FORMAT.encode()), root / "src" / "acumen"
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and "static" not in path.parts:
            digest.update(str(path.relative_to(source)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class Cost(Struct, frozen=True):
    """What publishing a history and learning from it took; `cpu_seconds` is the server's, its start excluded."""

    user_turns: int
    seconds: float
    cpu_seconds: float

    @property
    def cpu_ms_per_user_turn(self) -> float:
        return self.cpu_seconds * 1000 / max(1, self.user_turns)


def cache_folder() -> Path:
    """Where histories and files for reading are stored; folders that no run used for a day are deleted."""
    folder = Path(os.environ.get(CACHE) or Path(tempfile.gettempdir()) / f"acumen-bench-{os.getuid()}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for version in folder.glob("version-*"):
        if time.time() - version.stat().st_mtime > MAX_UNUSED_SECONDS:
            shutil.rmtree(version, ignore_errors=True)
    return folder


def _version_folder(code: Code) -> Path:
    folder = cache_folder() / f"version-{code.version}"
    folder.mkdir(exist_ok=True)
    os.utime(folder)
    return folder


def reading_file(name: str) -> Path:
    """A file for people to read, next to the histories of this code version."""
    folder = _version_folder(OURS) / "reading"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def played(history: History, *, learning: bool, code: Code = OURS) -> Path:
    """The data folder of a server that has stored the history, from the cache or published now."""
    folder = _version_folder(code)
    content = hashlib.sha256(msgspec.json.encode(history.sessions)).hexdigest()[:8]
    stored = folder / f"{history.user_id}-{content}-{'learned' if learning else 'stored'}"
    if not stored.exists():
        with tempfile.TemporaryDirectory(dir=folder, prefix="playing-") as working:
            data = Path(working) / "data"
            play(history, data, learning=learning, code=code)
            with suppress(OSError):  # another run was faster: its folder is as good
                data.rename(stored)
    return stored


def play(history: History, data: Path, *, learning: bool, code: Code = OURS) -> Cost:
    """Publishes the whole history in the order of its dates, each session at once, and waits until all is learned."""
    with serving({"ACUMEN_DATA": str(data)}, python=code.python) as server:
        api = Api(server.port)
        if not learning:
            api.switch_learning_off()
        began, cpu_began = time.perf_counter(), server.cpu_seconds
        api.publish_sessions(history.user_id, history.sessions)
        wait_until_quiet(data)
        seconds, cpu_seconds = time.perf_counter() - began, server.cpu_seconds - cpu_began
    user_turns = sum(turn.role == USER for turn in history.turns)
    return Cost(user_turns, seconds, cpu_seconds)


@contextmanager
def served(history: History, run: Run, *, learning: bool = True, code: Code = OURS) -> Iterator[Server]:
    """A server on a copy of the played history: what searches record does not reach the next line."""
    source = played(history, learning=learning, code=code)
    with tempfile.TemporaryDirectory(dir=run.folder) as folder:
        data = Path(folder) / "data"
        shutil.copytree(source, data)
        with serving({"ACUMEN_DATA": str(data)}, python=code.python) as server:
            yield server

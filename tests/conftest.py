"""What every test may ask for: databases, the peer's client, and a closed network."""

import gc
import importlib
import ipaddress
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

from tests import postgres as pg

# Time is measured in bench/, never asserted here: a slow machine is not a failure.
settings.register_profile("acumen", deadline=None, max_examples=40)
settings.load_profile("acumen")


TESTS = Path(__file__).parent

# Files of few tests that take long. They come first: whoever works beside them does the rest meanwhile.
LONG = (
    "large/test_large_scopes.py",
    "faults/test_chaos.py",
    "faults/test_kill.py",
    "faults/test_openapi.py",
    "docs/test_snippets.py",
    "faults/test_kill_operations.py",
    "bench/test_lines.py",
    "engine/test_migrate.py",
    "security/test_operations.py",
    "bench/test_memory_lines.py",
    "faults/test_rerun.py",
    "loop/test_real_model.py",
    "browser/test_pages.py",
    "faults/test_disk_full.py",
    "faults/test_stop.py",
    "faults/test_rolling_upgrade.py",
    "demo/test_player.py",
    "setup/test_wheels.py",
    "wire/test_peer_client.py",
)

# The inner loop, `make fast`: without a server process, Postgres or a browser, and few tests of more than 50 ms.
FAST = ("model", "index", "llm", "learn", "recall", "review", "observe", "meter", "jobs", "client", "setup")
NOT_FAST = (
    *("test_python39.py", "test_observe.py", "test_wheels.py", "test_surroundings.py", "test_failures.py"),
    *("test_gateway.py", "test_queue.py", "test_duplicate_scan.py", "test_alerts.py", "test_outcomes.py"),
    "test_large_scopes.py",
)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: many tests wait for a process, a disk or a browser."""
    return (os.cpu_count() or 1) + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Importing all modules takes longer than the fast tests do."""
    return True if config.option.markexpr == "fast" and not _may_be_fast(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get("/".join(item.path.parts[-2:]), len(LONG)))
    for item in items:
        if _may_be_fast(item.path) and "postgres" not in item.name:
            item.add_marker("fast")


def _may_be_fast(path: Path) -> bool:
    """A file with fast tests, or a folder in which there may be some."""
    if path.is_relative_to(TESTS) and path != TESTS:
        return path.relative_to(TESTS).parts[0] in FAST and path.name not in NOT_FAST
    return path == TESTS


def pytest_collection_finish() -> None:
    """Thousands of tests stay for the whole run: the garbage collector need not look at them again and again."""
    gc.freeze()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Processes that share the tests must name them alike, so times and the order of sets are left out."""
    if not isinstance(val, dict | set | frozenset):
        return None
    parts = val if isinstance(val, dict) else sorted(map(str, val))
    return "+".join(ascii(part).strip("'") for part in parts)


# -------------------------------------------------------------------------------------------------------- surroundings


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside() -> Iterator[None]:
    """What the person at this machine has set for their own server is not ours to test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("ACUMEN_")]:
            patch.delenv(name)
        yield


@pytest.fixture(scope="session", autouse=True)
def _only_loopback() -> Iterator[None]:
    """Names outside this machine do not resolve, addresses outside it do not connect."""
    with pytest.MonkeyPatch.context() as patch:
        for method in ("connect", "connect_ex"):
            patch.setattr(socket.socket, method, _guarded(getattr(socket.socket, method), position=1))
        patch.setattr(socket, "getaddrinfo", _guarded(socket.getaddrinfo, position=0))
        yield


def _guarded(original: Callable[..., Any], position: int) -> Callable[..., Any]:
    def guarded(*args: Any, **kwargs: Any) -> Any:
        target = args[position] if len(args) > position else kwargs.get("host")
        host = target[0] if isinstance(target, tuple) else target
        if not _is_here(host):
            raise ConnectionRefusedError(f"Tests may only reach this machine, not {host!r}.")
        return original(*args, **kwargs)

    return guarded


def _is_here(host: object) -> bool:
    """A path (or bytes) is a Unix socket; no host at all is the wildcard that a server binds to."""
    if not isinstance(host, str) or host in {"", "localhost"} or host.startswith("/"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# ----------------------------------------------------------------------------------------------------------- databases


@pytest.fixture(scope="session")
def postgres() -> Iterator[pg.Server]:
    """One PostgreSQL for the whole run; starts in about two seconds, when the first test asks for it."""
    with pg.running(durable=False) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(postgres: pg.Server) -> str:
    """The server's own database, to which an administrator would connect."""
    return postgres.url


@pytest.fixture
def postgres_database(postgres: pg.Server) -> Iterator[str]:
    """An empty database of the test's own, by URL."""
    url = postgres.create()
    yield url
    postgres.drop(url)


@pytest.fixture
def sqlite_database(tmp_path: Path) -> str:
    """The URL of a database file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'acumen.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database; the test runs once on each kind."""
    url: str = request.getfixturevalue(f"{request.param}_database")
    return url


# Fixtures on a migrated database (`store`, …) come here. On Postgres migrating once and copying is fastest: a session
# fixture makes `template = postgres.create()` and migrates it, each test then takes `postgres.create(template)`.


# ----------------------------------------------------------------------------------------------------- the peer's SDK


@pytest.fixture(scope="session")
def reflexio() -> Iterator[ModuleType]:
    """The real `reflexio-client`, which `make test-install` puts beside our packages and not among them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(sys.prefix) / "reflexio")
        yield importlib.import_module("reflexio")


# A running app and all that stands on it.
pytest_plugins = ["tests.world"]

"""A real server process, and a real browser in front of it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from msgspec import Struct
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.postgres import Server

ROOT = Path(__file__).parents[2]
ACUMEN = (sys.executable, "-m", "acumen.cli.main")
PATIENCE_SECONDS = 60
# A machine that is busy with other work is slow, and that is no failure.
expect.set_options(timeout=1000 * PATIENCE_SECONDS)
# Debian's browser; without the last four it would call its maker at every start.
CHROMIUM = os.environ.get("CHROMIUM", shutil.which("chromium") or "/usr/bin/chromium")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps"),
)

# A refusal is told on the page; that the browser notes it as well is no complaint.
EXPECTED = re.compile(r"status of 4\d\d|Status Error Code 4\d\d")


class Site(Struct, frozen=True):
    url: str
    data: Path


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with months of use in it; tests that change something take a copy."""
    return _filled(tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="session")
def big_scene(scene: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, and ten thousand memories more."""
    folder = tmp_path_factory.mktemp("big") / "data"
    shutil.copytree(scene, folder)
    return _filled(folder, "10000")


def _filled(folder: Path, *more: str, **environ: str) -> Path:
    words = [sys.executable, "-m", "tests.browser.scene", str(folder), *more]
    subprocess.run(words, cwd=ROOT, check=True, timeout=300, env={**os.environ, **environ})
    return folder


@contextmanager
def serving(data: Path, **environ: str) -> Iterator[Site]:
    """`acumen serve` on a free port. It works at no jobs, so that a scene stays as it was set."""
    words = [*ACUMEN, "serve", "--port", "0", "--json", "--data", str(data)]
    env = {**os.environ, "ACUMEN_JOBS__WORKERS": "0", **environ}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            yield Site(json.loads(process.stdout.readline())["url"], data)
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def site(scene: Path) -> Iterator[Site]:
    """For tests that only look."""
    with serving(scene) as served:
        yield served


@pytest.fixture
def own_site(scene: Path, tmp_path: Path) -> Iterator[Site]:
    """For a test that changes what it sees."""
    shutil.copytree(scene, tmp_path / "data")
    with serving(tmp_path / "data") as served:
        yield served


@pytest.fixture(scope="session")
def postgres_scene(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The same scene in PostgreSQL: the URL of a database, and the folder beside it."""
    url = postgres.create()
    return Site(url, _filled(tmp_path_factory.mktemp("postgres-scene"), ACUMEN_DATABASE_URL=url))


@pytest.fixture
def postgres_site(postgres: Server, postgres_scene: Site, tmp_path: Path) -> Iterator[Site]:
    """The scene in PostgreSQL, to change."""
    shutil.copytree(postgres_scene.data, tmp_path / "data")
    with serving(tmp_path / "data", ACUMEN_DATABASE_URL=postgres.create(postgres_scene.url)) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one module: as long as it lives, no other event loop can run in this process."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """A page as a new person sees it; whatever the browser complains of fails the test at its end."""
    complaints: list[str] = []
    with ExitStack() as people:

        def look(url: str, **about: object) -> Page:
            given = {"viewport": {"width": 1280, "height": 860}, **about}
            person = browser.new_context(**given)  # type: ignore[arg-type]
            people.callback(person.close)
            page = person.new_page()
            page.set_default_timeout(1000 * PATIENCE_SECONDS)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
            page.goto(url)
            return page

        yield look
    assert [one for one in complaints if not EXPECTED.search(one)] == []

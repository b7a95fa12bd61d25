"""Photograph the dashboard with the demo's data, for the README and the docs: `python tools/screenshots.py`.

Plays `acumen demo`, serves its data, and writes docs/images/*.png. Needs chromium, as the browser tests do.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
ACUMEN = (sys.executable, "-m", "acumen.cli.main")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run")
# Dialogs and panels fade in.
SETTLE_MS = 500


@dataclass(frozen=True, slots=True)
class Shot:
    """A page, the keys that are pressed on it, and what they make appear; or the page that the focused row links to."""

    name: str
    path: str
    keys: Sequence[str] = ()
    shows: str = ""
    follows: bool = False
    theme: Literal["light", "dark"] = "light"
    height: int = 760


SHOTS = (
    Shot("overview", "/ui"),
    Shot("overview-dark", "/ui", theme="dark"),
    Shot("review", "/ui/review", ("j", "o"), shows=".withpanel.open #panel section"),
    Shot("preview", "/ui/review?signal=stale", ("j", "Control+a", "e"), shows="#dialog[open]", height=640),
    Shot("memory", "/ui/memories?q=market", ("j",), follows=True, height=660),
    Shot("session", "/ui/sessions?user=jonas", ("j",), follows=True, height=660),
    Shot("proposal", "/ui/proposals", ("j",), follows=True, height=660),
)


def main() -> None:
    """Take every picture."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, _served(Path(folder) / "day") as url, sync_playwright() as playwright:
        chromium = shutil.which("chromium") or "/usr/bin/chromium"
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for shot in SHOTS:
            person = browser.new_context(viewport={"width": 1280, "height": shot.height}, color_scheme=shot.theme)
            _take(person.new_page(), url, shot)
            person.close()
        browser.close()


@contextmanager
def _served(data: Path) -> Iterator[str]:
    subprocess.run([*ACUMEN, "demo", "--json", "--data", str(data)], check=True, stdout=subprocess.DEVNULL)
    words = [*ACUMEN, "serve", "--port", "0", "--json", "--data", str(data)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield json.loads(process.stdout.readline() if process.stdout else "{}")["url"]
        finally:
            process.terminate()


def _take(page: Page, url: str, shot: Shot) -> None:
    page.goto(url + shot.path, wait_until="networkidle")
    for key in shot.keys:
        page.keyboard.press(key)
    if shot.follows:
        page.goto(url + (page.evaluate("document.activeElement.getAttribute('href')") or ""), wait_until="networkidle")
    if shot.shows:
        page.wait_for_selector(shot.shows)
    page.wait_for_function("!document.querySelector('.htmx-request, .htmx-settling')")
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=IMAGES / f"{shot.name}.png")
    print(f"{shot.name}: {(IMAGES / f'{shot.name}.png').stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()

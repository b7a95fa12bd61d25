"""Where there are keys: one is shown once, and what it may do decides what is offered."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct
from playwright.sync_api import Page, expect

from tests.browser.conftest import ACUMEN, Open, Site, serving


class Locked(Struct, frozen=True):
    site: Site
    keys: dict[str, str]


@pytest.fixture(scope="module")
def locked(scene: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    folder = tmp_path_factory.mktemp("locked") / "data"
    shutil.copytree(scene, folder)
    keys = {role: _key(folder, role) for role in ("reader", "reviewer")}
    with serving(folder) as site:
        yield Locked(site, keys)


def _key(folder: Path, role: str) -> str:
    words = [*ACUMEN, "keys", "create", role, "--role", role, "--data", str(folder)]
    told = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout
    return next(word for word in told.split() if word.startswith("acm_"))


def _sign_in(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def test_a_key_opens_the_page_that_was_asked_for(locked: Locked, open_page: Open):
    page = open_page(f"{locked.site.url}/ui/memories?user=jonas")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    _sign_in(page, "acm_wrong")
    expect(page.get_by_role("alert")).to_contain_text("unknown, expired or revoked")

    _sign_in(page, locked.keys["reviewer"])

    expect(page).to_have_url(f"{locked.site.url}/ui/memories?user=jonas")
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert locked.keys["reviewer"] not in cookie["value"]


def test_a_reader_sees_and_cannot_act(locked: Locked, open_page: Open):
    page = open_page(f"{locked.site.url}/ui/review")
    _sign_in(page, locked.keys["reader"])

    page.keyboard.press("j")
    page.keyboard.press("e")

    expect(page.locator("tr[data-row]").first).to_be_visible()
    expect(page.get_by_role("button", name="Archive")).to_have_count(0)
    expect(page.locator("#dialog")).to_be_hidden()


def test_who_signs_out_is_out(locked: Locked, open_page: Open):
    page = open_page(f"{locked.site.url}/ui")
    _sign_in(page, locked.keys["reader"])

    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{locked.site.url}/ui/review")

    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.context.cookies() == []

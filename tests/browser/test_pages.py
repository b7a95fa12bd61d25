"""Every page: without barriers, in both themes, on a narrow screen, light to load, and unmoved by hostile text."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Site, serving
from tests.browser.scene import HOSTILE

PAGES = (
    "/ui",
    "/ui/review",
    "/ui/review?signal=harmful",
    "/ui/memories",
    "/ui/memories/user_playbook/1",
    "/ui/changes",
    "/ui/changes?kind=superseded&user=mira",
    "/ui/review?signal=conflict",
    "/ui/duplicates",
    "/ui/costs",
    "/ui/sessions",
    "/ui/operations?live=off",
    "/ui/failures?state=any",
    "/ui/proposals?approval=any",
    "/ui/proposals/2",
    "/ui/experiments",
    "/ui/audit",
    "/ui/system",
    "/ui/settings?grace_days=0",
    "/ui/nowhere",
)
MOST_BYTES = 300_000


NARROW = (768, 320)
# In the dark only the colours are others.
IN_THE_DARK = {"runOnly": ["color-contrast", "link-in-text-block"]}
AXE = AXE_FILE_PATH.read_text()


def test_no_page_keeps_anybody_out_in_either_theme_or_scrolls_sideways_when_narrow(site: Site, open_page: Open):
    """One walk: to load a page takes longer than to look at it four times."""
    page = open_page(f"{site.url}/ui")
    found = {}

    for path in (*PAGES, _session(page, site), _failure(page, site)):
        page.goto(site.url + path)
        found[path] = [*_barriers(page), *_barriers_in_the_dark(page), *_too_wide(page)]

    assert {path: barriers for path, barriers in found.items() if barriers} == {}


def _session(page: Page, site: Site) -> str:
    page.goto(f"{site.url}/ui/sessions")
    return str(page.locator("tbody a").first.get_attribute("href"))


def _failure(page: Page, site: Site) -> str:
    page.goto(f"{site.url}/ui/failures?source=mcp")
    return str(page.locator("td.title a").first.get_attribute("href"))


def _barriers(page: Page, rules: dict[str, list[str]] | None = None) -> list[str]:
    return [f"{violation['id']}: {violation['nodes'][0]['html'][:160]}" for violation in _serious(page, rules)]


def _serious(page: Page, rules: dict[str, list[str]] | None = None) -> list[dict[str, Any]]:
    """The script has half a megabyte, so a page gets it once; what is in order is not sent back."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    options = {"resultTypes": ["violations"], **(rules or {})}
    violations = page.evaluate("options => axe.run(options).then(results => results.violations)", options)
    return [violation for violation in violations if violation["impact"] in ("serious", "critical")]


def _barriers_in_the_dark(page: Page) -> list[str]:
    page.emulate_media(color_scheme="dark")
    barriers = _barriers(page, IN_THE_DARK)
    page.emulate_media(color_scheme="light")
    return [f"dark: {barrier}" for barrier in barriers]


def _too_wide(page: Page) -> list[str]:
    usual = page.viewport_size
    found = []
    for width in NARROW:
        page.set_viewport_size({"width": width, "height": 800})
        needed = page.evaluate("document.scrollingElement.scrollWidth")
        found += [f"needs {needed} of {width} pixels"] if needed > width else []
    if usual:
        page.set_viewport_size(usual)
    return found


def test_the_panel_and_the_dialog_keep_nobody_out(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui/review")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_contain_text("Review signals")
    opened = _serious(page)
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    expect(page.locator("#dialog")).to_be_visible()
    asked = _serious(page)

    assert [violation["id"] for violation in (*opened, *asked)] == []


def test_text_that_means_harm_is_only_text(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui")
    page.on("dialog", lambda asked: pytest.fail(f"a text opened a dialog: {asked.message}"))
    paths = [
        "/ui",
        "/ui/review",
        "/ui/memories?user=%3Cb%3Emallory%3C/b%3E",
        "/ui/changes",
        "/ui/costs",
        "/ui/costs?by=user",
        "/ui/sessions",
        "/ui/operations?live=off",
        "/ui/failures?state=any",
        "/ui/proposals?approval=any",
    ]

    for path in paths:
        page.goto(site.url + path)
        _only_text(page)
    page.goto(site.url + paths[2])
    expect(page.locator("tr[data-row]")).to_have_count(len(HOSTILE))
    for link in [one.get_attribute("href") for one in page.locator("td.title a").all()]:
        page.goto(f"{site.url}{link}")
        _only_text(page)
        page.goto(f"{site.url}{str(link).replace('/memories/', '/panel/')}")
        _only_text(page)
    page.goto(f"{site.url}/ui/failures?state=any")
    for link in [one.get_attribute("href") for one in page.locator("td.title a").all()]:
        page.goto(f"{site.url}{link}")
        _only_text(page)


def _only_text(page: Page) -> None:
    assert page.evaluate("document.documentElement.dataset.pwned") is None
    shown = page.locator("body").inner_text()
    assert not any(sign in shown for sign in "\x1b\x07\u202e\u2066\u200b\ufeff")
    assert page.locator("h1", has_text="Broken out").count() == 0 or "</title>" in page.locator("h1").first.inner_text()
    assert page.locator("main script, main svg[onload], main img[src=x]").count() == 0


def test_a_spreadsheet_finds_no_formula(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui")

    for path in ("/ui/memories.csv?status=any", "/ui/review.csv"):
        table = page.request.get(site.url + path).text()

        assert "HYPERLINK" in table or path == "/ui/review.csv"
        cells = [cell.strip('"') for line in table.splitlines() for cell in line.split(",")]
        assert [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "-"))] == []
        assert "\x1b" not in table


def test_with_ten_thousand_memories_no_page_is_heavy(big_scene: Path, open_page: Open):
    with serving(big_scene) as site:
        page = open_page(f"{site.url}/ui")
        weights = {}
        for path in ("/ui", "/ui/review", "/ui/memories", "/ui/memories?page=150", "/ui/costs"):
            loaded: list[int] = []
            page.on("response", lambda reply, loaded=loaded: loaded.append(len(reply.body())))
            page.goto(site.url + path, wait_until="load")
            weights[path] = sum(loaded)

        assert {path: weight for path, weight in weights.items() if weight > MOST_BYTES} == {}
        page.goto(f"{site.url}/ui/memories")
        expect(page.locator("tr[data-row]")).to_have_count(50)
        expect(page.locator(".pager")).to_contain_text("10,032 total")


@pytest.mark.parametrize("system,chosen", list(product(("light", "dark"), repeat=2)))
def test_a_theme_that_was_chosen_stays_chosen(system: str, chosen: str, site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui/system", color_scheme=system)
    if chosen != system:
        page.get_by_role("button", name="Theme").click()

    page.goto(f"{site.url}/ui/audit")

    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 15, 18)"
    assert dark == (chosen == "dark")


def test_times_are_told_in_the_zone_that_was_chosen_and_in_utc(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui/settings")
    page.get_by_label("Time zone").select_option("Asia/Tokyo")

    page.goto(f"{site.url}/ui/memories/user_playbook/1")

    expect(page.locator("main time").first).to_have_attribute("title", re.compile(r" Asia/Tokyo · .* UTC$"))


def test_the_menu_is_folded_on_a_narrow_screen_until_it_is_opened(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui", viewport={"width": 390, "height": 800})
    menu = page.get_by_role("button", name="Menu")

    expect(page.get_by_role("navigation", name="Dashboard")).to_be_hidden()
    menu.click()
    expect(menu).to_have_attribute("aria-expanded", "true")
    page.get_by_role("link", name="Review queue").click()
    page.wait_for_url("**/ui/review")


def test_the_review_queue_needs_no_sideways_scrolling_with_or_without_the_panel(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui/review")
    hidden = "document.querySelector('.scroll').scrollWidth - document.querySelector('.scroll').clientWidth"

    alone = page.evaluate(hidden)
    page.locator("tr[data-row] a[data-open]").first.click()
    expect(page.locator("#panel h2")).to_be_visible()

    assert (alone, page.evaluate(hidden)) == (0, 0)


def test_charts_end_with_today_and_say_that_it_is_partial(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui/costs?days=30")

    expect(page.locator(".chart .readout b").first).to_contain_text("(partial)")
    expect(page.locator(".chart tbody th").first).to_contain_text("(partial)")


def test_deletion_is_red_and_other_confirmations_are_not(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui/memories")
    page.locator("tr[data-row] a[data-open]").first.click()
    page.get_by_role("link", name="Open page").click()

    page.get_by_role("button", name="Delete …").click()

    expect(page.locator("#dialog button.first")).to_have_class("first danger")
    expect(page.locator("#dialog h2")).to_have_text("Delete 1 memory?")

"""Changes and conflicts, as a person looks at them, undoes one and settles one."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import Open, Site


@pytest.mark.parametrize("place", ["own_site", "postgres_site"])
def test_a_supersession_is_undone_by_keyboard_and_the_conflict_that_comes_of_it_settled(
    place: str, request: pytest.FixtureRequest, open_page: Open
):
    site: Site = request.getfixturevalue(place)
    page = open_page(f"{site.url}/ui")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url("**/ui/changes")
    page.locator("select[name=kind]").select_option("superseded")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**kind=superseded**")
    expect(page.locator("tr[data-row]")).to_contain_text("I moved from Oslo to Bergen")

    page.get_by_role("link", name="Undo").focus()
    page.keyboard.press("Enter")
    dialog = page.locator("#dialog")
    expect(dialog).to_contain_text("The two will be in conflict until you settle it.")
    violations = Axe().run(page).response["violations"]
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("1 memory restored.")
    expect(page.locator("tr[data-row]")).to_contain_text("undone")

    page.goto(f"{site.url}/ui/review?signal=conflict&sort=score")
    expect(page.locator("tr[data-row]")).to_have_count(2)
    row = page.locator("tr[data-row]", has_text="I live in Bergen.")
    expect(row).to_contain_text("may disagree with “I live in Oslo.”")
    row.get_by_role("button", name="Keep older").click()
    expect(page.locator(".toast")).to_contain_text("1 memory superseded.")
    expect(page.locator("tr[data-row]")).to_have_count(1)
    page.keyboard.press("u")
    expect(page.locator("tr[data-row]")).to_have_count(2)
    assert [entry["id"] for entry in violations if entry["impact"] in ("serious", "critical")] == []


def test_both_memories_of_a_conflict_may_hold(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/review?signal=conflict")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    panel = page.locator("#panel")
    expect(panel).to_contain_text("or was it 9090?")

    panel.get_by_role("button", name="Keep both").click()

    expect(page.locator(".toast")).to_contain_text("Both memories kept.")
    expect(page.locator("#list")).to_contain_text("No results")
    page.goto(f"{own_site.url}/ui/audit")
    expect(page.locator("tbody tr").first).to_contain_text("conflict settled")


def test_a_memory_leads_to_the_turn_that_taught_it_and_the_session_back_to_the_memory(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui/memories?q=dentist&user=mira")
    page.goto(f"{site.url}{page.locator('td.title a').first.get_attribute('href')}")
    page.get_by_role("row", name="Session").get_by_role("link").click()

    page.wait_for_url(re.compile(r"id=mira-dentist#turn-\d+$"))
    expect(page.locator("li:target")).to_contain_text("My dentist is Dr. Molar.")
    expect(page.locator(".card", has_text="Learned")).to_contain_text("My dentist is Dr. Molar")
    page.locator(".card", has_text="Learned").get_by_role("link", name="dentist").click()
    expect(page.locator("h1")).to_contain_text("dentist")

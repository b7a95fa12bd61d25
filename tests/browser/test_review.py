"""Reviewing, as a person does it: find, compare, act, take back."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Site
from tests.browser.scene import STALE


def _tab_to(page: Page, words: str) -> None:
    """Presses Tab until the focus is on something of that name."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if words in (page.evaluate("document.activeElement.textContent") or ""):
            return
    raise AssertionError(f"The keyboard does not reach {words!r}.")


@pytest.mark.parametrize("place", ["own_site", "postgres_site"])
def test_stale_memories_are_found_compared_archived_and_brought_back_by_keyboard_alone(
    place: str, request: pytest.FixtureRequest, open_page: Open
):
    site: Site = request.getfixturevalue(place)
    page = open_page(f"{site.url}/ui")
    keys = page.keyboard

    keys.press("g")
    keys.press("r")
    page.wait_for_url("**/ui/review")
    _tab_to(page, "stale")
    keys.press("Enter")
    page.wait_for_url("**signal=stale**")
    expect(page.locator("tr[data-row]")).to_have_count(len(STALE))

    keys.press("j")
    keys.press("Enter")
    expect(page.locator("#panel")).to_contain_text("not injected in the last 60 days")
    keys.press("]")
    expect(page.locator("#panel h2")).to_contain_text(page.locator("tr[data-row] a").nth(1).inner_text()[:30])
    keys.press("Escape")
    expect(page.locator("#panel")).to_be_empty()

    keys.press("x")
    keys.press("Control+a")
    expect(page.locator("#chosen")).to_have_text("3 selected")
    keys.press("e")
    expect(page.locator("#dialog")).to_contain_text("3 memories will be archived")
    keys.press("Enter")
    expect(page.locator(".toast")).to_contain_text("3 memories archived.")
    expect(page.locator("#list")).to_contain_text("No results")

    keys.press("u")
    expect(page.locator("#toasts")).to_contain_text("3 memories restored.")
    expect(page.locator("tr[data-row]")).to_have_count(len(STALE))


def test_duplicates_are_merged_into_the_one_that_is_kept(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/duplicates")
    pair = page.locator("article").first
    pair.locator("input[name=successor]").nth(1).check()
    kept = pair.locator("input[name=successor]").nth(1).get_attribute("value")
    other = pair.locator("input[name=successor]").nth(0).get_attribute("value")

    pair.get_by_role("button", name="Merge").click()
    expect(page.locator("#dialog")).to_contain_text("1 memory will be merged into the kept one.")
    expect(page.locator("#dialog h2")).to_have_text("Merge 2 memories?")
    page.locator("#dialog").get_by_role("button", name="Merge").click()

    expect(page.locator(".toast")).to_contain_text("1 memory merged.")
    expect(page.locator("article")).to_have_count(1)
    page.goto(f"{own_site.url}/ui/memories/user_playbook/{other}")
    expect(page.locator("main")).to_contain_text("merged into")
    expect(page.get_by_role("link", name=f"user playbook {kept}", exact=True)).to_be_visible()


def test_whichever_is_chosen_in_the_look_before_a_merge_stays(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/review?signal=duplicate")
    for key in ("j", "x", "j", "x", "m"):
        page.keyboard.press(key)
    dialog = page.locator("#dialog")
    other = dialog.locator("input[name=successor]").nth(1)
    kept = other.get_attribute("value")

    other.check()
    expect(dialog.locator(f"input[name=successor][value='{kept}']")).to_be_checked()
    dialog.get_by_role("button", name="Merge").click()

    expect(page.locator(".toast")).to_contain_text("1 memory merged.")
    page.goto(f"{own_site.url}/ui/memories/user_playbook/{kept}")
    expect(page.locator("main")).to_contain_text("merged from")


def test_filters_are_saved_under_a_name_used_again_and_removed(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/memories?user=jonas")
    page.get_by_text("Save view").click()
    page.get_by_label("View name").fill("Jonas <b>only</b>")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(f"{own_site.url}/ui/memories")
    every = page.locator("tr[data-row]").count()

    page.get_by_role("link", name="Jonas <b>only</b>").click()
    page.wait_for_url("**user=jonas")
    some = page.locator("tr[data-row]").count()
    page.get_by_role("button", name="Remove view").click()

    page.wait_for_url("**/ui/memories")
    assert 0 < some < every
    expect(page.get_by_role("link", name="Jonas <b>only</b>")).to_have_count(0)


def test_a_second_reviewer_is_told_that_somebody_was_faster(own_site: Site, open_page: Open):
    slow, quick = (open_page(f"{own_site.url}/ui/review?signal=stale") for _ in range(2))
    for page in (slow, quick):
        page.keyboard.press("j")
        page.keyboard.press("e")
        expect(page.locator("#dialog")).to_contain_text("1 memory will be archived")

    quick.keyboard.press("Enter")
    expect(quick.locator(".toast")).to_contain_text("1 memory archived.")
    slow.keyboard.press("Enter")

    expect(slow.locator("#notices")).to_contain_text("Changed by someone else meanwhile")
    expect(slow.locator(".toast")).to_have_count(0)


def test_what_was_done_can_be_taken_back_from_the_audit_log(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/memories?user=jonas")
    page.keyboard.press("j")
    page.keyboard.press("p")
    page.locator("#dialog").get_by_label("Reason").fill("it is the law here")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("1 memory pinned.")

    page.goto(f"{own_site.url}/ui/audit")
    expect(page.locator("tbody tr").first).to_contain_text("it is the law here")
    page.get_by_role("button", name="Undo").first.click()

    expect(page.locator("tbody tr").nth(1)).to_contain_text("Undone")
    expect(page.locator("tbody tr").nth(0)).to_contain_text("restored 1")


def test_words_are_edited_after_a_look_at_what_changes(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/memories/user_playbook/3")
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Instruction", exact=True).fill("Always deploy production to eu-west-1, never to us-east-1.")
    page.get_by_role("button", name="Preview changes").click()
    expect(page.locator("#dialog ins")).to_contain_text("west")

    page.locator("#dialog").get_by_role("button", name="Edit").click()

    expect(page.locator("h1")).to_contain_text("eu-west-1")
    expect(page.locator("figure.chart canvas")).to_have_count(1)
    expect(page.locator(".events ins").first).to_contain_text("west")


def test_keys_that_a_person_switched_off_do_nothing(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui/review")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.locator("#quick").uncheck()
    page.keyboard.press("Escape")
    page.reload()

    page.keyboard.press("j")
    page.keyboard.press("?")

    expect(page.locator("#help")).to_be_hidden()
    assert page.evaluate("document.activeElement.tagName") == "BODY"


def test_a_letter_typed_into_a_field_is_a_letter(site: Site, open_page: Open):
    page = open_page(f"{site.url}/ui/memories")
    page.keyboard.press("/")

    page.keyboard.type("exj?")

    expect(page.get_by_label("Search")).to_have_value("exj?")
    expect(page.locator("#help")).to_be_hidden()


def test_a_threshold_is_tried_before_it_is_kept_and_taken_back(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/settings")
    field = page.get_by_label("Similarity")

    field.fill("1")
    field.press("Tab")
    expect(page.locator("#would")).to_contain_text("0 memories, now 4")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#would h3")).to_have_text("Preview")
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".toast")).to_contain_text("Thresholds saved.")
    expect(page.locator("#would")).to_contain_text("0 memories")
    page.get_by_role("heading", name="Settings").click()
    page.keyboard.press("u")

    expect(page.locator(".toast")).to_contain_text("Undone.")
    expect(page.locator("#would")).to_contain_text("4 memories")

"""What agents did, as a person watches it, and what comes of it."""

from playwright.sync_api import expect

from acumen_client.client import Client
from tests.browser.conftest import Open, Site


def test_a_proposal_is_read_approved_and_taken_back_by_keyboard_alone(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui")
    keys = page.keyboard

    keys.press("g")
    keys.press("p")
    page.wait_for_url("**/ui/proposals")
    expect(page.locator("tr[data-row]")).to_have_count(2)
    keys.press("j")
    keys.press("Enter")
    page.wait_for_url("**/ui/proposals/*")
    expect(page.locator("main")).to_contain_text("Evidence summary")
    keys.press("a")
    expect(page.locator(".toast")).to_contain_text("Lesson approved")
    expect(page.locator("h1 + p")).to_contain_text("approved")
    assert _approvals(own_site) == ["approved", "pending"]

    keys.press("u")

    expect(page.locator("#toasts")).to_contain_text("1 memory restored.")
    expect(page.locator("h1 + p")).to_contain_text("pending")
    assert _approvals(own_site) == ["pending", "pending"]


def _approvals(site: Site) -> list[str]:
    with Client(site.url) as client:
        return sorted(one.approval for one in client.proposals().proposals)


def test_a_lesson_gets_better_words_and_waits_on(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/proposals")
    page.locator("td.title a").first.click()
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Instruction", exact=True).fill("Deploy one service at a time.")
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.locator("h1")).to_contain_text("Deploy one service at a time.")
    expect(page.locator("h1 + p")).to_contain_text("pending")


def test_a_group_is_archived_and_reopened(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/failures?source=mcp")
    expect(page.locator("tr[data-row]")).to_have_count(2)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Diagnosis")

    page.keyboard.press("e")
    expect(page.locator(".toast")).to_contain_text("archived until it escalates")
    expect(page.get_by_role("button", name="Reopen")).to_be_visible()
    page.goto(f"{own_site.url}/ui/failures?source=mcp")
    expect(page.locator("tr[data-row]")).to_have_count(1)


def test_two_groups_become_one_and_two_again(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/failures?source=mcp")
    names = [row.get_attribute("data-row") for row in page.locator("tr[data-row]").all()]
    page.goto(f"{own_site.url}/ui/failures/{names[0]}")
    page.get_by_label("Merge into").fill(str(names[1]))
    page.get_by_role("button", name="Merge").click()
    expect(page.locator("main")).to_contain_text("Merged into another group")

    page.get_by_role("button", name="Unmerge").click()

    expect(page.get_by_label("Merge into")).to_be_visible()


def test_the_tail_shows_what_comes_and_only_what_was_asked_for(own_site: Site, open_page: Open):
    page = open_page(f"{own_site.url}/ui/operations?status=error&source=mcp")
    expect(page.locator("tr[data-row]")).to_have_count(8)

    with Client(own_site.url) as client:
        for name, status in (("fresh", "error"), ("fine", "ok")):
            client.record_operations(
                operations=[{"op_id": name, "source": "mcp", "endpoint": "deploy", "status": status}]
            )

    expect(page.locator("tr[data-row=fresh]")).to_be_visible()
    expect(page.locator("tr[data-row=fine]")).to_have_count(0)
    page.get_by_role("link", name="Pause").click()
    expect(page.get_by_role("link", name="Resume")).to_be_visible()

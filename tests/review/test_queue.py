"""Which memories deserve a look: stale ones, once use has been counted for long enough to know."""

import pytest

from acumen.model.ids import OrgId
from tests.world import Clock, Org, Start, local, once, playbook, profile


async def fill(org: Org) -> None:
    await org.sdk.add_profiles(
        user_profiles=[
            profile("Keeps zebras", profile_id="unused"),
            profile("Grows apples", profile_id="used"),
            profile("Grows pears", profile_id="archived", status="archived"),
            profile("Drinks tea", "bob", profile_id="bobs"),
        ]
    )
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("Mention the weather " + "again " * 30)])
    await org.sdk.add_agent_playbooks(agent_playbooks=[{"content": "Be brief", "playbook_name": "brevity"}])


async def test_a_memory_unused_for_the_whole_window_is_stale(start: Start, clock: Clock):
    org = local(await start())
    await fill(org)
    clock.forward(days=40)
    await org.sdk.search(query="apples", user_id="ada")
    clock.forward(days=21)

    review = await org.sdk.memory_review(user_id="ada")

    found = {(one.entity_type, one.entity_id): one for one in review.candidates}
    assert {kind for kind, _ in found} == {"profile", "user_playbook"}
    assert ("profile", "used") not in found
    assert ("profile", "archived") not in found
    stale = found["profile", "unused"]
    assert (stale.title, stale.signals, stale.user_id) == ("Keeps zebras", ["stale"], "ada")
    assert 50 <= stale.score <= 99
    assert "61 days" in stale.reasons["stale"]
    assert (stale.injection_count, stale.last_injected_at) == (0, None)
    assert review.total == 2


async def test_everyones_review_has_the_shared_lessons_too_and_titles_are_short(start: Start, clock: Clock):
    org = local(await start())
    await fill(org)
    clock.forward(days=61)

    review = await org.sdk.memory_review(include_all_users=True)

    titles = {one.entity_type + ":" + (one.user_id or "all"): one.title for one in review.candidates}
    assert titles["agent_playbook:all"] == "brevity"
    assert titles["profile:bob"] == "Drinks tea"
    assert len(titles["user_playbook:ada"]) == 83
    assert review.total == 5


async def test_nothing_is_called_stale_while_counting_is_younger_than_the_window(start: Start, clock: Clock):
    app = await start()
    org = local(app)
    month_ago = clock() // 1000 - 90 * 86_400
    await org.sdk.add_profiles(user_profiles=[profile("Keeps zebras", last_modified_timestamp=month_ago)])

    review = await org.sdk.memory_review(user_id="ada")
    shorter = await org.sdk.memory_review(user_id="ada", days_back=30)
    clock.forward(days=31)
    later = await org.sdk.memory_review(user_id="ada", days_back=30)

    assert (review.candidates, shorter.candidates) == ([], [])
    assert review.msg.startswith("insufficient_history")
    assert review.covered_since
    assert len(later.candidates) == 1


async def test_after_metering_was_off_nothing_is_called_stale_until_it_ran_long_enough(start: Start, clock: Clock):
    org = local(await start())
    await fill(org)
    clock.forward(days=61)
    before = await org.sdk.memory_review(user_id="ada")
    await start(meter={"enabled": False})
    again = local(await start())

    after = await again.sdk.memory_review(user_id="ada")

    assert (len(before.candidates), after.candidates) == (3, [])


async def test_an_edit_is_a_look(start: Start, clock: Clock):
    org = local(await start())
    await fill(org)
    clock.forward(days=61)
    await org.sdk.update_profile(user_id="ada", profile_id="unused", content="Keeps two zebras")

    review = await org.sdk.memory_review(user_id="ada")

    assert {one.title[:12] for one in review.candidates} == {"Grows apples", "Mention the "}


async def test_signals_filter_and_pages_page(start: Start, clock: Clock):
    org = local(await start())
    await fill(org)
    clock.forward(days=61)
    everyone = {"include_all_users": True}

    only_stale = await org.sdk.memory_review(**everyone, signal_filter=["stale"])
    duplicates = await org.sdk.memory_review(**everyone, signal_filter=["duplicate"])
    none = await org.sdk.memory_review(**everyone, signal_filter=[])
    page = await org.sdk.memory_review(**everyone, limit=2, offset=4)

    assert (only_stale.total, duplicates.total, none.total) == (5, 0, 0)
    assert (len(page.candidates), page.total) == (1, 5)


@once
@pytest.mark.parametrize(
    "body, field",
    [({}, "user_id"), ({"user_id": "ada", "days_back": 0}, "days_back"), ({"user_id": " "}, "user_id"),
     ({"user_id": "ada", "signal_filter": ["odd"]}, "signal_filter")],
    ids=str,
)  # fmt: skip
async def test_a_review_that_does_not_say_whose_is_refused(org: Org, body: dict, field: str):
    reply = await org.send("POST", "/api/get_memory_review", body)

    assert reply.status_code == 422
    assert field in reply.json()["detail"]


async def test_the_review_of_one_org_knows_nothing_of_another(start: Start, clock: Clock):
    app = await start()
    await fill(local(app))
    await app.open_org(OrgId("other"))
    clock.forward(days=61)

    from acumen.review import queue  # noqa: PLC0415 - asked below the API, which needs a key for a second org

    found = await queue.candidates(None, 60, None, 100, 0, await app.deps_for(OrgId("other")))

    assert (found.candidates, found.total) == ([], 0)

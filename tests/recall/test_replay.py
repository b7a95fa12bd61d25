"""A past search is shown again byte for byte, and asked again of the memories as they stood."""

import pytest

from acumen_client.errors import NotFound
from tests.world import Clock, Org, Start, local, playbook, profile


async def test_an_injection_is_shown_again_byte_for_byte(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("Keeps zebras — «é»\nin two lines", profile_id="a")])
    found = await org.sdk.search(query="zebras?", user_id="ada", session_id="s1", agent_version="v1", max_tokens=500)
    await org.sdk.update_profile(user_id="ada", profile_id="a", content="Keeps giraffes")

    again = await org.sdk.injection(injection_id=found.injection_id)

    assert (again.context, again.context_tokens, again.query) == (found.context, found.context_tokens, "zebras?")
    assert (again.user_id, again.session_id, again.agent_version) == ("ada", "s1", "v1")
    assert again.ask["max_tokens"] == 500
    (hit,) = again.memories
    assert (hit.id, hit.shown, hit.score, hit.reasons) == (
        "a", True, found.profiles[0].score, found.profiles[0].reasons,
    )  # fmt: skip


async def test_an_injection_that_nobody_made_is_not_found(org: Org):
    with pytest.raises(NotFound):
        await org.sdk.injection(injection_id="inj_nothing")


async def test_the_same_question_at_two_dates_tells_what_came_went_and_was_reworded(start: Start, clock: Clock):
    org = local(await start())
    await org.sdk.add_profiles(
        user_profiles=[
            profile("Keeps zebras in the garden", profile_id="reworded"),
            profile("Feeds zebras at noon", profile_id="archived"),
            profile("Paints zebras", profile_id="deleted"),
        ]
    )
    found = await org.sdk.search(query="zebras", user_id="ada")
    first = clock() // 1000
    clock.forward(days=3)
    await org.sdk.update_profile(user_id="ada", profile_id="reworded", content="Keeps zebras in the stable")
    await org.sdk.review_memories(action="archive", items=[{"kind": "profile", "id": "archived"}])
    await org.sdk.delete_profile(user_id="ada", profile_id="deleted")
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("Count the zebras twice")])
    second = clock() // 1000

    told = await org.sdk.compare_injection(injection_id=found.injection_id, earlier=first, later=second)
    same = await org.sdk.compare_injection(injection_id=found.injection_id, earlier=second, later=second)

    (new,) = (await org.sdk.user_playbooks()).user_playbooks
    assert told.appeared == [f"user_playbook:{new.user_playbook_id}"]
    assert told.vanished == ["profile:archived"]
    assert told.reworded == ["profile:reworded"]
    assert [line[0] for line in told.diff.splitlines() if "Keeps zebras in the" in line] == ["-", "+"]
    assert "Paints" not in told.model_dump_json()  # deleted is deleted, at every date
    assert (same.diff, same.msg) == ("", "No difference.")


async def twelve_zebras(org: Org) -> None:
    await org.sdk.add_profiles(user_profiles=[profile(f"Keeps zebra {n}", profile_id=f"p{n}") for n in range(12)])


async def test_of_what_was_deleted_nothing_can_be_asked_any_more(start: Start, clock: Clock):
    org = local(await start())
    await twelve_zebras(org)
    found = await org.sdk.search(query="which zebra is 7", user_id="ada", top_k=3)
    at = clock() // 1000
    clock.forward(days=1)
    await org.sdk.delete_all_profiles()
    await org.sdk.add_profiles(user_profiles=[profile("Keeps zebra 7 and 8", profile_id="late")])

    told = await org.sdk.compare_injection(injection_id=found.injection_id, earlier=at, later=clock() // 1000)

    assert told.earlier.context == ""
    assert told.appeared == ["profile:late"]


async def test_an_archived_memory_of_then_is_asked_with_its_own_words_and_scores(start: Start, clock: Clock):
    org = local(await start())
    await twelve_zebras(org)
    found = await org.sdk.search(query="which zebra is 7", user_id="ada", top_k=3)
    at = clock() // 1000
    clock.forward(days=1)
    await org.sdk.review_memories(action="archive", items=[{"kind": "profile", "id": f"p{n}"} for n in range(12)])

    told = await org.sdk.compare_injection(injection_id=found.injection_id, earlier=at, later=clock() // 1000)

    assert told.earlier.context == found.context
    assert told.later.context == ""

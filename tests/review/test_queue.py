"""Which memories deserve a look: stale ones, once use has been counted for long enough to know."""

import pytest

from acumen.meter import costs
from acumen.model.ids import Kind, MemoryRef, Millis, OrgId
from acumen.model.metering.usage import GroupBy, days_in_use
from acumen.model.review.action import ActionKind, ActionRequest, Target
from acumen.model.times import DAY_MS
from acumen.review import action_details, actions, memory_detail, queue
from tests.world import Clock, Org, Start, local, once, playbook, profile, said


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

    found = await queue.candidates(queue.ReviewQuery(None), 100, 0, await app.deps_for(OrgId("other")))

    assert (found.candidates, found.total) == ([], 0)


# --- the other signals, from end to end ----------------------------------------------------------------------------


async def show(org: Org, times: int, *, cited: int = 0) -> None:
    """A memory is put before an agent again and again; now and then the agent says that it went by it."""
    for number in range(times):
        await org.sdk.search(query="zebras", user_id="ada", session_id=f"s{number}")
        if number < cited:
            body = said("agent: As you like.", session=f"s{number}")
            body["interaction_data_list"][0]["citations"] = [{"kind": "profile", "real_id": "z"}]
            await org.sdk.publish(**body)
            await org.learn()
    await org.app.flush_usage()


async def zebras(org: Org) -> None:
    long = "Keeps zebras in the garden behind the house, feeds them at noon and brushes them every other day"
    await org.sdk.add_profiles(user_profiles=[profile(long, profile_id="z")])


async def names(org: Org, **more: object) -> list[tuple[str, list[str]]]:
    found = await org.sdk.memory_review(user_id="ada", **more)
    return [(one.entity_id, [str(signal) for signal in one.signals]) for one in found.candidates]


async def test_tokens_per_day_count_from_the_first_injection_in_every_window_and_view(start: Start, clock: Clock):
    org = local(await start())
    await org.sdk.add_profiles(user_profiles=[profile("Grows apples", profile_id="a")])
    await org.sdk.search(query="apples", user_id="ada")
    clock.forward(days=70)
    await zebras(org)
    await show(org, 9, cited=1)
    clock.forward(days=8)
    ref, deps = MemoryRef(Kind.PROFILE, "z"), await org.app.deps_for(org.id)
    request = ActionRequest(ActionKind.ARCHIVE, (Target(ref),), "ada")

    queues = [(await queue.candidates(queue.ReviewQuery(None, days), 9, 0, deps)).candidates for days in (30, 60, 90)]
    details = await action_details.details(request, await actions.preview(request, {}, deps), deps)
    report = await costs.report(GroupBy.MEMORY, 30, None, 9, 0, deps)

    (use,) = (row.use for row in report.rows if row.key[1] == "z")
    (signal,) = (await memory_detail.summary(ref, 90, 0, deps, queue.USUAL_DAYS)).signals
    wasted = [candidate.saving for candidates in queues for candidate in candidates if candidate.ref == ref]
    assert [*wasted, signal.saving] == pytest.approx([use.wasted_tokens / 8] * 4, rel=0.01)
    assert details.saving == pytest.approx(use.tokens / 8, rel=0.01)
    assert days_in_use(use.first_at, deps.now(), 30) == pytest.approx(8, rel=0.01)


def test_days_in_use_are_at_least_one_and_at_most_the_counted_days():
    assert [days_in_use(first, 10 * DAY_MS, 7.0) for first in (None, Millis(10 * DAY_MS), Millis(0))] == [7, 1, 7]


async def test_a_memory_shown_often_and_seldom_cited_is_expensive_once_its_grace_is_over(start: Start, clock: Clock):
    org = local(await start())
    await zebras(org)
    await show(org, 9, cited=1)
    young = await names(org)
    clock.forward(days=8)

    (one,) = (await org.sdk.memory_review(user_id="ada")).candidates

    assert young == []
    assert (one.entity_id, one.signals, one.score) == ("z", ["high_cost_low_cite"], 39)
    assert (one.injection_count, one.cited_injection_count, one.citation_count) == (9, 1, 1)
    assert one.wasted_tokens * 9 == one.total_prompt_tokens * 8
    assert one.last_cited_at is not None
    assert one.saving_tokens_per_day == round(one.wasted_tokens / 8, 1)
    assert "1 of 9 injections" in one.reasons["high_cost_low_cite"]


async def test_an_agent_that_never_cites_holds_nothing_against_a_memory(start: Start, clock: Clock):
    org = local(await start())
    await zebras(org)
    await show(org, 20)
    clock.forward(days=8)
    silent = await names(org)
    (tag,) = (await org.sdk.memory_costs()).costs

    await show(org, 9, cited=1)

    assert (silent, tag.wasted_share) == ([], 1.0)  # that nothing was cited is still told
    (one,) = (await org.sdk.memory_review(user_id="ada")).candidates
    assert "1 of 9 injections" in one.reasons["high_cost_low_cite"]  # counted from when it first cited


async def test_a_dismissed_candidate_returns_when_its_numbers_have_grown_by_half(start: Start, clock: Clock):
    org = local(await start())
    await zebras(org)
    await show(org, 9, cited=1)
    clock.forward(days=8)
    before = await names(org)
    done = await org.sdk.review_memories(action="dismiss", items=[{"kind": "profile", "id": "z"}], reason="we need it")
    dismissed = await names(org)
    await show(org, 3)
    slightly_more = await names(org)
    await show(org, 1)

    flagged = [("z", ["high_cost_low_cite"])]
    assert (before, dismissed, slightly_more, await names(org)) == (flagged, [], [], flagged)
    await org.sdk.undo_review(action_id=done.action_id)
    assert await names(org) == flagged


async def test_pinned_snoozed_and_vouched_for_memories_are_left_alone(start: Start, clock: Clock):
    org = local(await start())
    await fill(org)
    clock.forward(days=61)
    items = [{"kind": "profile", "id": "unused"}]

    async def listed() -> bool:
        return "unused" in dict(await names(org))

    seen = [await listed()]
    for action in ("pin", "unpin", "snooze"):
        await org.sdk.review_memories(action=action, items=items)
        seen.append(await listed())
    clock.forward(days=31)
    seen.append(await listed())
    await org.sdk.review_memories(action="mark_useful", items=items)
    seen.append(await listed())

    assert seen == [True, False, True, False, True, False]


async def test_a_lesson_that_says_it_is_superseded_comes_before_all_that_is_only_stale(start: Start, clock: Clock):
    org = local(await start())
    await fill(org)
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("Use us-east-1"), playbook("Use us-west-2")])
    found = {one.content: one.user_playbook_id for one in (await org.sdk.user_playbooks(user_id="ada")).user_playbooks}
    old, new = found["Use us-east-1"], found["Use us-west-2"]
    await org.sdk.update_user_playbook(user_playbook_id=old, playbook_metadata={"superseded_by": new})
    clock.forward(days=61)

    first = (await org.sdk.memory_review(user_id="ada")).candidates[0]

    assert (first.entity_id, first.score, first.related_ids) == (str(old), 100, [str(new)])
    assert first.signals == ["supersedeable", "stale"]
    assert (await names(org, signal_filter=["supersedeable"])) == [(str(old), ["supersedeable", "stale"])]


async def test_the_queue_can_be_sorted_by_waste(start: Start, clock: Clock):
    org = local(await start())
    await fill(org)
    await zebras(org)
    clock.forward(days=40)
    await show(org, 9, cited=1)
    clock.forward(days=25)

    by_score, by_waste = await names(org), await names(org, sort="wasted_tokens")

    assert by_score[0][0] != by_waste[0][0] == "z"
    assert sorted(by_score) == sorted(by_waste)


async def test_what_retention_removed_shortens_the_time_that_counting_speaks_for(start: Start, clock: Clock):
    org = local(await start(meter={"keep_days": 30}))
    await fill(org)
    clock.forward(days=61)
    before = await org.sdk.memory_review(user_id="ada")
    await org.learn()

    after = await org.sdk.memory_review(user_id="ada")

    assert (len(before.candidates), before.insufficient_history) == (3, False)
    assert (after.candidates, after.insufficient_history) == ([], True)
    assert after.covered_since > before.covered_since

"""What was shown, echoed and cited is counted, once, and off the search's path."""

import pytest

from acumen.llm.tokens import count_tokens
from acumen.model.metering.usage import CITED, ECHOED, SEARCHED, SHOWN
from tests.world import Clock, Org, Start, local, once, playbook, profile, said

ZEBRAS = "Keeps three zebras in the garden"
CATS = "I live in Paris with three cats"


async def events(org: Org, name: str | None = None) -> list[dict]:
    await org.app.flush_usage()
    rows = (await org.rows())["usage_events"]
    return [row for row in rows if name is None or row["event_name"] == name]


async def remember(org: Org, *contents: str) -> None:
    await org.sdk.add_profiles(
        user_profiles=[profile(content, profile_id=f"p{number}") for number, content in enumerate(contents)]
    )


# --- shown ---------------------------------------------------------------------------------------------------------


async def test_a_search_counts_once_for_itself_and_once_for_each_memory_it_shows(org: Org):
    await remember(org, ZEBRAS, "Feeds the zebras at noon")

    found = await org.sdk.search(query="zebras", user_id="ada", session_id="s1", request_id="q1")

    (searched,) = await events(org, SEARCHED)
    shown = await events(org, SHOWN)
    assert searched["prompt_tokens"] == found.context_tokens
    assert searched["duration_ms"] > 0
    assert {row["entity_id"]: row["prompt_tokens"] for row in shown} == {
        hit.profile_id: count_tokens(line)
        for hit in found.profiles
        for line in found.context.splitlines()
        if line.endswith(hit.content)
    }
    for row in (searched, *shown):
        assert (row["user_id"], row["session_id"], row["request_id"]) == ("ada", "s1", "q1")
        assert row["injection_id"] == found.injection_id


async def test_a_search_that_finds_nothing_is_counted_too(org: Org):
    await org.sdk.search(query="zebras", user_id="ada")

    assert (len(await events(org, SEARCHED)), await events(org, SHOWN)) == (1, [])


async def test_what_did_not_fit_into_the_context_was_not_shown(org: Org):
    await remember(org, ZEBRAS, "Feeds the zebras " + "and feeds them again " * 100)

    found = await org.sdk.search(query="zebras", user_id="ada", max_tokens=60)

    assert len(found.left_out) == 1
    assert [row["entity_id"] for row in await events(org, SHOWN)] == ["p0"]


async def test_a_search_sent_again_under_its_request_id_is_one_showing(org: Org):
    await remember(org, ZEBRAS)
    for _ in range(3):
        await org.sdk.search(query="zebras", user_id="ada", request_id="q1")
    await org.sdk.search(query="zebras", user_id="ada", request_id="q2")
    await org.sdk.search(query="zebras", user_id="ada")

    assert (len(await events(org, SEARCHED)), len(await events(org, SHOWN))) == (3, 3)


@pytest.mark.parametrize("caller", ["internal", "dashboard"])
async def test_who_only_looks_does_not_count_as_use(org: Org, caller: str):
    await remember(org, ZEBRAS)

    await org.sdk.search(query="zebras", user_id="ada", caller_type=caller)

    assert await events(org) == []


async def test_a_search_of_one_kind_shows_nothing_to_a_model_and_counts_nothing(org: Org):
    await remember(org, ZEBRAS)

    await org.sdk.search_profiles(query="zebras", user_id="ada")

    assert await events(org) == []


async def test_every_answer_is_kept_as_it_was_given(org: Org):
    await remember(org, ZEBRAS)

    found = await org.sdk.search(query="zebras", user_id="ada")

    await org.app.flush_usage()
    (kept,) = (await org.rows())["injections"]
    assert (kept["injection_id"], kept["query"]) == (found.injection_id, "zebras")
    assert (kept["rendered"], kept["tokens"]) == (found.context, found.context_tokens)
    assert [(hit["id"], hit["shown"]) for hit in kept["hits"]] == [("p0", True)]


async def test_with_metering_off_nothing_is_counted_and_search_works(start: Start):
    org = local(await start(meter={"enabled": False}))
    await remember(org, ZEBRAS)

    found = await org.sdk.search(query="zebras", user_id="ada")

    rows = await org.rows()
    assert len(found.profiles) == 1
    assert (await events(org), rows["injections"], rows["orgs"][0]["metered_since"]) == ([], [], None)


async def test_a_count_that_cannot_be_written_fails_no_search(start: Start, monkeypatch: pytest.MonkeyPatch):
    org = local(await start())
    await remember(org, ZEBRAS)

    async def broken(*_: object) -> None:
        raise OSError("no ink")

    with monkeypatch.context() as patch:
        patch.setattr("acumen.meter.usage.record", broken)
        found = await org.sdk.search(query="zebras", user_id="ada")
        await org.app.flush_usage()

    assert len(found.profiles) == 1
    assert org.app.lost_usage_events == 1


async def test_injection_stats_tell_how_often_each_memory_was_shown(org: Org):
    await remember(org, ZEBRAS, "Likes apples")
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("Mention zebras")])
    for session in ("s1", "s2"):
        found = await org.sdk.search(query="zebras", user_id="ada", session_id=session)
    (line,) = [line for line in found.context.splitlines() if line.endswith(ZEBRAS)]
    await org.sdk.search(query="apples", user_id="ada", session_id="s1")

    stats = await org.sdk.injection_stats()

    by_id = {(stat.entity_type, stat.entity_id): stat for stat in stats.stats}
    zebras = by_id["profile", "p0"]
    assert (zebras.surfaced_count, zebras.distinct_session_count) == (2, 2)
    assert zebras.total_prompt_tokens == 2 * count_tokens(line)
    assert zebras.last_session_id == "s2"
    assert zebras.first_injected_at <= zebras.last_injected_at
    assert by_id["profile", "p1"].surfaced_count == 1
    assert stats.total == len(stats.stats) == 3
    assert [stat.surfaced_count for stat in stats.stats] == [2, 2, 1]
    assert stats.covered_since


async def test_injection_stats_look_back_as_far_as_asked_and_page(start: Start, clock: Clock):
    org = local(await start())
    await remember(org, ZEBRAS, "Likes apples")
    await org.sdk.search(query="zebras", user_id="ada")
    await org.app.flush_usage()
    clock.forward(days=10)
    await org.sdk.search(query="apples", user_id="ada")

    lately = await org.sdk.injection_stats(days_back=5)
    page = await org.sdk.injection_stats(limit=1, offset=1)

    assert [stat.entity_id for stat in lately.stats] == ["p1"]
    assert ([stat.entity_id for stat in page.stats], page.total) == (["p0"], 2)


@once
@pytest.mark.parametrize("wrong, field", [({"days_back": 0}, "days_back"), ({"limit": 0}, "limit"), ({"x": 1}, "x")])
async def test_injection_stats_that_cannot_be_asked_for_are_refused_by_name(org: Org, wrong: dict, field: str):
    reply = await org.send("POST", "/api/get_injection_stats", wrong)

    assert reply.status_code == 422
    assert field in reply.json()["detail"]


# --- come back -----------------------------------------------------------------------------------------------------


async def facts(org: Org, user: str = "ada") -> list:
    return (await org.sdk.profiles(user_id=user)).user_profiles


async def test_a_context_that_comes_back_is_not_learned_again_and_counts_as_an_echo(org: Org):
    await remember(org, CATS)
    found = await org.sdk.search(query="cats in Paris", user_id="ada")
    # Agents are often handed the context inside the user's own turn.
    prompt = f"{found.context}\n\nPlease book a table."

    await org.sdk.publish(**said(prompt, f"agent: {CATS}, so I booked one."))
    await org.learn()

    assert [(fact.content, fact.mentions) for fact in await facts(org)] == [(CATS, 1)]
    echoes = await events(org, ECHOED)
    assert [row["entity_id"] for row in echoes] == ["p0", "p0"]  # one for each turn it came back in


async def test_an_agent_that_repeats_a_memory_outside_of_the_context_is_an_echo(org: Org):
    await remember(org, CATS)
    await org.sdk.search(query="cats in Paris", user_id="ada")

    for user in ("ada", "bob"):
        await org.sdk.publish(**said("Hello.", f"agent: {CATS}.", user=user, session=user))
    await org.learn()

    assert [(fact.content, fact.mentions) for fact in await facts(org)] == [(CATS, 1)]
    assert [event["user_id"] for event in await events(org, ECHOED)] == ["ada"]  # to bob nothing was shown


async def test_an_agent_that_repeats_at_once_what_it_was_shown_is_recognised(start: Start):
    """Although counts are written in batches, and the batch may still be waiting."""
    org = local(await start(meter={"flush_seconds": 60}))
    await remember(org, CATS)
    await org.sdk.search(query="cats in Paris", user_id="ada")

    await org.sdk.publish(**said("Hello.", f"agent: As you know, {CATS}."))
    await org.learn()

    assert [(fact.content, fact.mentions) for fact in await facts(org)] == [(CATS, 1)]
    assert len(await events(org, ECHOED)) == 1


async def test_what_a_user_says_anew_in_their_own_words_is_no_echo(org: Org):
    await org.sdk.publish(**said("I live in Paris."))
    await org.learn()
    await org.sdk.search(query="where does the user live", user_id="ada")

    await org.sdk.publish(**said("I live in Paris."))
    await org.learn()

    (fact,) = (await org.sdk.profiles(user_id="ada")).user_profiles
    assert fact.mentions == 2
    assert await events(org, ECHOED) == []


async def test_what_was_shown_to_another_user_is_no_echo(org: Org):
    await remember(org, ZEBRAS)
    await org.sdk.search(query="zebras", user_id="ada")

    await org.sdk.publish(**said(ZEBRAS, user="bob"))
    await org.learn()

    assert await events(org, ECHOED) == []


async def test_a_memory_cited_in_a_turn_counts_once_however_often_it_is_named(org: Org):
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("Deploy to the west")])
    taught = str((await org.sdk.user_playbooks()).user_playbooks[0].user_playbook_id)
    await org.sdk.add_profiles(user_profiles=[profile("Deploys a lot", profile_id=taught)])
    body = said("agent: Deploying west.", "agent: As before.", request_id="r1")
    cited = [
        {"kind": "user_playbook", "real_id": taught, "tag": "a"},
        {"kind": "playbook", "real_id": taught, "tag": "b"},  # the older word for the same
        {"kind": "profile", "real_id": taught},
    ]
    body["interaction_data_list"][0]["citations"] = cited
    body["interaction_data_list"][0]["retrieved_learnings"] = [{"kind": "profile", "learning_id": taught}]
    body["interaction_data_list"][1]["citations"] = cited[:1]
    await org.sdk.publish(**body)
    await org.learn()
    await org.sdk.publish(**body)
    await org.learn()

    counted = [(row["entity_type"], row["entity_id"]) for row in await events(org, CITED)]

    assert sorted(counted) == [("profile", taught), ("user_playbook", taught), ("user_playbook", taught)]
    stats = await org.sdk.playbook_application_stats()
    assert [(one.kind, one.title, one.applied_count) for one in stats.stats] == [
        ("user_playbook", "Deploy to the west", 2),
        ("profile", "Deploys a lot", 1),
    ]
    turns = (await org.sdk.interactions(user_id="ada")).interactions
    assert stats.stats[0].last_interaction_id == max(turn.interaction_id for turn in turns)


async def test_a_citation_of_nothing_we_know_is_counted_apart(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("Drinks tea", "bob", profile_id="bobs")])
    body = said("agent: Deploying west.")
    body["interaction_data_list"][0]["citations"] = [
        {"kind": "user_playbook", "real_id": "s1-1a2b"},
        {"kind": "profile", "real_id": "bobs"},  # another user's
    ]
    await org.sdk.publish(**body)
    await org.learn()

    stats = await org.sdk.playbook_application_stats()

    assert (stats.total, stats.unresolved_count) == (0, 2)
    assert await events(org, CITED) == []


async def test_a_cited_showing_is_not_wasted_and_the_bill_says_so(org: Org):
    await remember(org, ZEBRAS, "Feeds the zebras at noon")
    await org.sdk.search(query="zebras", user_id="ada", session_id="s1", agent_version="v2")
    body = said("agent: Zebras, I know.", session="s1", agent_version="v2")
    body["interaction_data_list"][0]["citations"] = [{"kind": "profile", "real_id": "p0"}]
    await org.sdk.publish(**body)
    await org.learn()

    bill = await org.sdk.memory_costs(model="gpt-5-mini-2026")
    by_version = await org.sdk.memory_costs(group_by="agent_version")
    by_user = await org.sdk.memory_costs(group_by="user", model="no-such-model")
    by_day = await org.sdk.memory_costs(group_by="day")

    tags = {one.entity_id: one for one in bill.costs}
    assert (tags["p0"].wasted_tokens, tags["p0"].wasted_share, tags["p0"].title) == (0, 0.0, ZEBRAS)
    assert tags["p1"].wasted_share == 1.0
    assert bill.usd_per_million_tokens == 0.25
    assert tags["p1"].usd == pytest.approx(tags["p1"].shown_tokens * 0.25 / 1_000_000)
    assert [one.entity_id for one in bill.costs] == ["p1", "p0"]
    (version,), (user,), (day,) = by_version.costs, by_user.costs, by_day.costs
    assert (version.agent_version, version.search_count, version.zero_hit_count) == ("v2", 1, 0)
    assert (user.user_id, user.usd, by_user.usd_per_million_tokens) == ("ada", None, None)
    assert day.cited_count == version.cited_count == user.cited_count == bill.all_together.cited_count == 1
    assert day.wasted_tokens == tags["p1"].wasted_tokens


async def test_a_citation_that_arrives_with_the_showing_still_waiting_to_be_written_finds_it(org: Org):
    await remember(org, ZEBRAS)
    await org.sdk.search(query="zebras", user_id="ada", session_id="s1")
    body = said("agent: Zebras.", session="s1")
    body["interaction_data_list"][0]["citations"] = [{"kind": "profile", "real_id": "p0"}]
    await org.sdk.publish(**body)
    await org.learn()

    (shown,) = await events(org, SHOWN)
    assert shown["cited_at"] is not None

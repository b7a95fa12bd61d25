"""Recall, over REST: scoped to the user and to what is current, filtered, scored, within its budget."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from acumen.llm.tokens import count_tokens
from acumen.model.handles import memory_handle
from acumen.model.ids import Kind, MemoryRef
from tests.world import Org, once, playbook, profile, said

NOW = datetime.now(UTC)
WEEK_AGO = int((NOW - timedelta(days=7)).timestamp())
MONTH_AGO = int((NOW - timedelta(days=30)).timestamp())


async def remember(org: Org, *profiles: dict, user_playbooks: Any = (), agent_playbooks: Any = ()) -> None:
    if profiles:
        await org.sdk.add_profiles(user_profiles=list(profiles))
    if user_playbooks:
        await org.sdk.add_user_playbooks(user_playbooks=list(user_playbooks))
    if agent_playbooks:
        await org.sdk.add_agent_playbooks(agent_playbooks=list(agent_playbooks))


def contents(hits: Any) -> list[str]:
    return [hit.content for hit in hits]


# --- who sees what -------------------------------------------------------------------------------------------------


async def test_a_search_finds_memories_of_all_kinds_with_score_and_reasons(org: Org):
    await remember(
        org,
        profile("Deploys to the region us-west-2"),
        user_playbooks=[playbook("Deploy to us-west-2", trigger="when deploying", pitfall="us-east-1")],
        agent_playbooks=[{"content": "Check the region before you deploy"}],
    )

    found = await org.sdk.search(query="which region do I deploy to", user_id="ada")

    hits = [*found.profiles, *found.user_playbooks, *found.agent_playbooks]
    assert [len(hits) for hits in (found.profiles, found.user_playbooks, found.agent_playbooks)] == [1, 1, 1]
    assert all(0 < hit.score <= 1 for hit in hits)
    assert all({"fts", "vector"} <= hit.reasons.keys() for hit in hits)
    assert found.injection_id
    assert found.search_mode_effective == "hybrid"
    assert not found.degraded


async def test_every_search_has_an_injection_id_of_its_own(org: Org):
    ids = [
        (await org.sdk.search(query="x", user_id="ada")).injection_id,
        (await org.sdk.search(query="x", user_id="ada")).injection_id,
        (await org.sdk.search_profiles(user_id="ada", query="x")).injection_id,
        (await org.sdk.search_user_playbooks(query="x")).injection_id,
        (await org.sdk.search_agent_playbooks(query="x")).injection_id,
        (await org.sdk.search_interactions(user_id="ada", query="x")).injection_id,
    ]

    assert len(set(ids)) == 6
    assert all(ids)


async def test_a_user_never_finds_what_is_another_users(org: Org):
    await remember(org, profile("Likes zebras", "bob"), user_playbooks=[playbook("Mention zebras", "bob")])

    found = await org.sdk.search(query="zebras", user_id="ada")
    profiles = await org.sdk.search_profiles(query="zebras", user_id="ada")
    playbooks = await org.sdk.search_user_playbooks(query="zebras", user_id="ada")

    assert found.profiles == found.user_playbooks == profiles.user_profiles == playbooks.user_playbooks == []


async def test_without_a_user_only_what_belongs_to_all_is_found(org: Org):
    await remember(
        org,
        profile("Likes zebras"),
        user_playbooks=[playbook("Mention zebras")],
        agent_playbooks=[{"content": "Zebras are striped"}],
    )

    found = await org.sdk.search(query="zebras")

    assert found.profiles == found.user_playbooks == []
    assert contents(found.agent_playbooks) == ["Zebras are striped"]


@pytest.mark.parametrize("status", ["pending", "archived", "merged", "superseded", "expired", "archive_in_progress"])
async def test_what_is_not_current_is_not_found(org: Org, status: str):
    await remember(
        org,
        profile("Likes zebras", status=status),
        user_playbooks=[playbook("Mention zebras", status=status)],
        agent_playbooks=[{"content": "Zebras are striped", "status": status}],
    )

    found = await org.sdk.search(query="zebras", user_id="ada")
    by_kind = [
        (await org.sdk.search_profiles(query="zebras", user_id="ada")).user_profiles,
        (await org.sdk.search_user_playbooks(query="zebras", user_id="ada")).user_playbooks,
        (await org.sdk.search_agent_playbooks(query="zebras")).agent_playbooks,
    ]

    assert found.profiles == found.user_playbooks == found.agent_playbooks == []
    assert by_kind == [[], [], []]
    asked_for = await org.sdk.search_user_playbooks(query="zebras", status_filter=[status])
    assert contents(asked_for.user_playbooks) == ["Mention zebras"]


async def test_a_rejected_lesson_is_found_only_by_who_asks_for_it(org: Org):
    await remember(
        org,
        agent_playbooks=[
            {"content": f"Zebras: {status}", "playbook_status": status}
            for status in ("pending", "approved", "rejected")
        ],
    )

    usual = await org.sdk.search(query="zebras")
    asked_for = await org.sdk.search(query="zebras", agent_playbook_status_filter=["rejected"])
    approved = await org.sdk.search_agent_playbooks(query="zebras", playbook_status_filter="approved")

    assert sorted(contents(usual.agent_playbooks)) == ["Zebras: approved", "Zebras: pending"]
    assert contents(asked_for.agent_playbooks) == ["Zebras: rejected"]
    assert contents(approved.agent_playbooks) == ["Zebras: approved"]


async def test_a_profile_past_its_time_is_not_found(org: Org):
    await remember(
        org,
        profile("Likes zebras today", profile_time_to_live="one_day", last_modified_timestamp=WEEK_AGO),
        profile("Likes zebras this month", profile_time_to_live="one_month", last_modified_timestamp=WEEK_AGO),
    )

    found = await org.sdk.search(query="zebras", user_id="ada")

    assert contents(found.profiles) == ["Likes zebras this month"]


async def test_nothing_relevant_is_an_answer(org: Org):
    await remember(org, profile("Likes zebras"))

    found = await org.sdk.search(query="quarterly revenue forecast spreadsheet", user_id="ada")

    assert found.success
    assert (found.profiles, found.context, found.context_tokens) == ([], "", 0)
    assert found.msg == "No relevant memories found"


# --- filters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted, found",
    [
        ({}, {"a", "b"}),
        ({"tags": ["x"]}, {"a", "b"}),
        ({"tags": ["y", "z"]}, {"b"}),
        ({"source": "slack"}, {"a"}),
        ({"threshold": 1.0}, {"a", "b"}),  # a cosine: the shared word is enough
        ({"threshold": 0.0}, {"a", "b"}),
        ({"entity_types": ["user_playbooks"]}, set()),
        ({"entity_types": ["profiles"]}, {"a", "b"}),
    ],
)
async def test_a_search_for_profiles_is_filtered(org: Org, wanted: dict, found: set[str]):
    await remember(
        org,
        profile("Likes zebras and also apples", tags=["x"], source="slack", notes="a"),
        profile("Likes zebras and also bananas", tags=["x", "y"]),
    )

    hits = (await org.sdk.search(query="zebras", user_id="ada", **wanted)).profiles

    assert {"a" if "apples" in hit.content else "b" for hit in hits} == found


@pytest.mark.parametrize(
    "wanted, found",
    [
        ({}, ["old", "new"]),
        ({"agent_version": "v2"}, ["old", "new"]),
        ({"agent_version": "v2", "agent_version_only": True}, ["new"]),
        ({"playbook_name": "stripes"}, ["old"]),
        ({"tags": ["ops"]}, ["new"]),
        ({"source": "cli"}, ["new"]),
        ({"start_time": (NOW - timedelta(days=10)).isoformat()}, ["new"]),
        ({"end_time": (NOW - timedelta(days=10)).isoformat()}, ["old"]),
        ({"top_k": 1}, ["new"]),
        ({"agent_version": "v3", "agent_version_only": True}, []),
    ],
)
async def test_a_search_for_user_playbooks_is_filtered(org: Org, wanted: dict, found: list[str]):
    await remember(
        org,
        user_playbooks=[
            playbook("Mention the striped zebras, old", playbook_name="stripes", created_at=MONTH_AGO),
            playbook("zebras zebras: new", agent_version="v2", tags=["ops"], source="cli", created_at=WEEK_AGO),
        ],
    )

    hits = (await org.sdk.search_user_playbooks(query="zebras", user_id="ada", **wanted)).user_playbooks

    assert sorted(hit.content[-3:] for hit in hits) == sorted(found)


@pytest.mark.parametrize(
    "wanted, found",
    [
        ({}, 2),
        ({"agent_version": "v2"}, 2),
        ({"agent_version": "v2", "agent_version_only": True}, 1),
        ({"playbook_name": "stripes"}, 1),
        ({"tags": ["ops"]}, 1),
        ({"end_time": (NOW - timedelta(days=10)).isoformat()}, 1),
        ({"top_k": 1}, 1),
        ({"search_mode": "fts"}, 2),
    ],
)
async def test_a_search_for_agent_playbooks_is_filtered(org: Org, wanted: dict, found: int):
    await remember(
        org,
        agent_playbooks=[
            {"content": "Zebras are striped", "playbook_name": "stripes", "created_at": MONTH_AGO},
            {"content": "Zebras can bite", "agent_version": "v2", "tags": ["ops"]},
        ],
    )

    hits = (await org.sdk.search_agent_playbooks(query="zebras", **wanted)).agent_playbooks

    assert len(hits) == found


@pytest.mark.parametrize(
    "wanted, found",
    [
        ({"generated_from_request_id": "r7"}, 1),
        ({"extractor_name": "profiles"}, 1),
        ({"custom_feature": "vip"}, 1),
        ({"start_time": (NOW - timedelta(days=10)).isoformat()}, 1),
        ({"end_time": (NOW - timedelta(days=10)).isoformat()}, 1),
        ({"query": None}, 2),
        ({"query": "", "top_k": 1}, 1),
    ],
)
async def test_a_search_of_a_single_kind_has_filters_of_its_own(org: Org, wanted: dict, found: int):
    await remember(
        org,
        profile(
            "Likes zebras",
            generated_from_request_id="r7",
            extractor_names=["profiles"],
            custom_features={"tier": "vip"},
            last_modified_timestamp=MONTH_AGO,
        ),
        profile("Fears zebras"),
    )

    hits = (await org.sdk.search_profiles(**{"user_id": "ada", "query": "zebras", **wanted})).user_profiles

    assert len(hits) == found


async def test_the_number_of_hits_counts_per_kind(org: Org):
    await remember(
        org,
        *(profile(f"Likes zebra number {n}") for n in range(4)),
        user_playbooks=[playbook(f"Mention zebra number {n}") for n in range(4)],
    )

    found = await org.sdk.search(query="zebra", user_id="ada", top_k=3)

    assert (len(found.profiles), len(found.user_playbooks)) == (3, 3)


async def test_a_feature_is_looked_for_among_all_that_match_not_among_the_first(org: Org):
    await remember(
        org,
        *(profile(f"Likes zebras zebras {n}") for n in range(5)),
        profile("Once saw zebras", custom_features={"tier": "vip"}),
    )

    found = await org.sdk.search_profiles(user_id="ada", query="zebras", custom_feature="vip", top_k=2)

    assert contents(found.user_profiles) == ["Once saw zebras"]


@pytest.mark.parametrize("mode, reasons", [("fts", {"fts"}), ("vector", {"vector"}), ("hybrid", {"fts", "vector"})])
async def test_a_mode_says_which_arms_are_asked(org: Org, mode: str, reasons: set[str]):
    await remember(org, profile("Likes zebras"))

    found = await org.sdk.search(query="zebras", user_id="ada", search_mode=mode)

    assert found.search_mode_effective == mode
    assert found.profiles[0].reasons.keys() == reasons


async def test_words_alone_find_no_meaning_and_meaning_alone_needs_no_words(org: Org):
    await remember(org, profile("Drives a red car to the office every morning"))
    query = "commutes by automobile"

    by_words = await org.sdk.search(query=query, user_id="ada", search_mode="fts")
    by_meaning = await org.sdk.search(query=query, user_id="ada", search_mode="vector")

    assert by_words.profiles == []
    assert len(by_meaning.profiles) == 1


async def test_null_is_accepted_for_every_optional_field_of_a_search(org: Org):
    await remember(org, profile("Likes zebras"))
    options = ("top_k threshold agent_version playbook_name user_id source tags entity_types "
               "agent_playbook_status_filter conversation_history enable_reformulation enable_agent_answer search_mode "
               "request_id session_id interaction_id max_tokens caller_type").split()  # fmt: skip

    reply = await org.send("POST", "/api/search", {**dict.fromkeys(options), "query": "zebras", "user_id": "ada"})

    assert reply.status_code == 200, reply.text
    assert len(reply.json()["profiles"]) == 1


@once
@pytest.mark.parametrize(
    "wrong, field",
    [
        ({"query": " "}, "query"),
        ({"query": None}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 101}, "top_k"),
        ({"threshold": 1.1}, "threshold"),
        ({"search_mode": "magic"}, "search_mode"),
        ({"entity_types": ["turns"]}, "entity_types"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_search_that_cannot_be_understood_is_refused_by_name(org: Org, wrong: dict, field: str):
    reply = await org.send("POST", "/api/search", {"query": "zebras", **wrong})

    assert reply.status_code == 422
    assert field in reply.json()["detail"]


# --- the context ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0, 1, 10, 30, 60, 1_000])
async def test_the_context_never_has_more_tokens_than_asked_for_and_tells_what_was_left_out(org: Org, budget: int):
    await remember(
        org,
        *(profile(f"Zebra fact {n}: 斑马 🦓 " + "stripes " * n) for n in range(5)),
        user_playbooks=[playbook("Mention zebras", trigger="when asked", pitfall="silence")],
    )

    found = await org.sdk.search(query="zebra", user_id="ada", max_tokens=budget)

    shown = found.context.count("\n- ")
    assert count_tokens(found.context) == found.context_tokens <= budget
    assert shown + len(found.left_out) == len(found.profiles) + len(found.user_playbooks)
    assert all(line.tokens > 0 and line.reason for line in found.left_out)


async def test_without_a_budget_the_servers_own_holds(org: Org):
    await remember(org, *(profile(f"Zebra {n}: " + "very long story " * 150) for n in range(5)))

    found = await org.sdk.search(query="zebra", user_id="ada")

    assert found.context_tokens <= org.app.settings.recall.max_tokens
    assert found.left_out


async def test_the_context_is_text_for_a_model(org: Org):
    await remember(
        org,
        profile("Likes zebras"),
        user_playbooks=[playbook("Mention zebras", trigger="when asked about animals", pitfall="Only horses")],
    )

    found = await org.sdk.search(query="zebras and other animals", user_id="ada")

    fact, lesson = found.profiles[0], found.user_playbooks[0]
    handles = [
        memory_handle(MemoryRef(Kind.PROFILE, fact.profile_id)),
        memory_handle(MemoryRef(Kind.USER_PLAYBOOK, str(lesson.user_playbook_id))),
    ]
    today = f"{NOW:%Y-%m-%d}"
    assert found.context == (
        f"<acumen-context>\nAbout this user:\n- {today} [{handles[0]}] Likes zebras\nLearned from this user:\n"
        f"- {today} [{handles[1]}] When asked about animals: Mention zebras Avoid: Only horses\n</acumen-context>"
    )


# --- in step with what is stored -----------------------------------------------------------------------------------


async def test_an_edited_memory_is_found_by_its_new_words_and_not_by_its_old(org: Org):
    await remember(
        org,
        profile("Likes zebras", profile_id="p1"),
        user_playbooks=[playbook("Mention zebras", trigger="about zebras")],
        agent_playbooks=[{"content": "Zebras are striped"}],
    )
    before = await org.sdk.search(query="zebras", user_id="ada")
    user_playbook, agent_playbook = before.user_playbooks[0], before.agent_playbooks[0]
    await org.sdk.update_profile(user_id="ada", profile_id="p1", content="Pays by invoice")
    await org.sdk.update_user_playbook(
        user_playbook_id=user_playbook.user_playbook_id, content="Send the invoice", trigger="about payments"
    )
    await org.sdk.update_agent_playbook(
        agent_playbook_id=agent_playbook.agent_playbook_id, content="Payments need an invoice"
    )

    for mode in ("fts", "hybrid"):
        old = await org.sdk.search(query="zebras", user_id="ada", search_mode=mode)
        new = await org.sdk.search(query="invoice", user_id="ada", search_mode=mode)

        assert old.profiles == old.user_playbooks == old.agent_playbooks == []
        assert contents(new.profiles) == ["Pays by invoice"]
        assert contents(new.user_playbooks) == ["Send the invoice"]
        assert contents(new.agent_playbooks) == ["Payments need an invoice"]


async def test_a_deleted_memory_is_never_found_again(org: Org):
    await remember(
        org,
        profile("Likes zebras", profile_id="p1"),
        user_playbooks=[playbook("Mention zebras")],
        agent_playbooks=[{"content": "Zebras are striped"}],
    )
    before = await org.sdk.search(query="zebras", user_id="ada")
    await org.sdk.delete_profile(user_id="ada", profile_id="p1")
    await org.sdk.delete_user_playbook(user_playbook_id=before.user_playbooks[0].user_playbook_id)
    await org.sdk.delete_agent_playbook(agent_playbook_id=before.agent_playbooks[0].agent_playbook_id)

    after = await org.sdk.search(query="zebras", user_id="ada")

    assert len(before.profiles) == len(before.user_playbooks) == len(before.agent_playbooks) == 1
    assert after.profiles == after.user_playbooks == after.agent_playbooks == []


async def test_an_archived_memory_leaves_search_and_comes_back_when_it_is_current_again(org: Org):
    await remember(org, user_playbooks=[playbook("Mention zebras")])
    (hit,) = (await org.sdk.search(query="zebras", user_id="ada")).user_playbooks

    await org.sdk.update_user_playbook(user_playbook_id=hit.user_playbook_id, status="archived")
    archived = await org.sdk.search(query="zebras", user_id="ada")
    await org.sdk.update_user_playbook(user_playbook_id=hit.user_playbook_id, status="current")
    current = await org.sdk.search(query="zebras", user_id="ada")

    assert (len(archived.user_playbooks), len(current.user_playbooks)) == (0, 1)


async def test_an_old_memory_is_found_however_many_are_newer(org: Org):
    await remember(org, profile("Keeps a pet armadillo", last_modified_timestamp=MONTH_AGO))
    await remember(org, *(profile(f"Reads book number {n} about gardens") for n in range(200)))

    found = await org.sdk.search(query="which animal does the user have at home", user_id="ada", top_k=3)

    assert found.profiles[0].content == "Keeps a pet armadillo"


# --- turns ---------------------------------------------------------------------------------------------------------


async def test_a_turn_is_found_as_soon_as_publish_answers(org: Org):
    """No worker has run, so there is no vector yet; the words are enough."""
    await org.sdk.publish(**said("The zebra escaped on Tuesday", "agent: I will call the zoo"))

    found = await org.sdk.search_interactions(user_id="ada", query="zebra")

    assert contents(found.interactions)[0] == "The zebra escaped on Tuesday"
    assert found.interactions[0].score > 0
    assert found.interactions[0].reasons


async def test_a_turn_is_found_by_its_meaning_once_it_was_indexed(org: Org):
    await org.sdk.publish(**said("My daughter was born yesterday at the clinic"))
    await org.learn()

    found = await org.sdk.search_interactions(user_id="ada", query="new baby in the family", search_mode="vector")

    assert contents(found.interactions) == ["My daughter was born yesterday at the clinic"]


async def zebras(org: Org) -> None:
    for number, created_at in enumerate((MONTH_AGO, WEEK_AGO, None)):
        body = said(f"zebra number {number}", request_id=f"r{number}")
        body["interaction_data_list"][0]["created_at"] = created_at
        await org.sdk.publish(**body)
    await org.sdk.publish(**said("zebra of somebody else", user="bob"))


@pytest.mark.parametrize("query", ["zebra", "", None], ids=str)
@pytest.mark.parametrize(
    "wanted, found",
    [
        ({}, {"0", "1", "2"}),
        ({"start_time": NOW - timedelta(days=10)}, {"1", "2"}),
        ({"end_time": NOW - timedelta(days=10)}, {"0"}),
        ({"start_time": NOW - timedelta(days=10), "end_time": NOW - timedelta(days=1)}, {"1"}),
        ({"request_id": "r0"}, {"0"}),
        ({"request_id": "r0", "top_k": 1}, {"0"}),
        ({"most_recent_k": 1}, {"2"}),
        ({"top_k": 1, "end_time": NOW - timedelta(days=10)}, {"0"}),
    ],
)
async def test_a_search_for_turns_is_filtered(org: Org, query: str | None, wanted: dict, found: set[str]):
    await zebras(org)

    hits = (await org.sdk.search_interactions(user_id="ada", query=query, **wanted)).interactions

    assert {hit.content[-1] for hit in hits} == found


async def test_no_more_turns_are_found_than_asked_for(org: Org):
    await zebras(org)

    hits = (await org.sdk.search_interactions(user_id="ada", query="zebra", top_k=2)).interactions

    assert len(hits) == 2


async def test_a_deleted_turn_is_never_found_again(org: Org):
    await org.sdk.publish(**said("zebra one", request_id="r1"))
    await org.sdk.publish(**said("zebra two", request_id="r2"))
    await org.sdk.publish(**said("zebra three", session="s3"))
    await org.learn()
    first, *_ = (await org.sdk.interactions(user_id="ada")).interactions
    seen = await org.sdk.search_interactions(user_id="ada", query="zebra")

    await org.sdk.delete_interaction(user_id="ada", interaction_id=first.interaction_id)
    await org.sdk.delete_request(request_id="r2")
    left = await org.sdk.search_interactions(user_id="ada", query="zebra")
    await org.sdk.delete_session(session_id="s3")
    none = await org.sdk.search_interactions(user_id="ada", query="zebra")

    assert len(seen.interactions) == 3
    assert contents(left.interactions) == ["zebra three"]
    assert none.interactions == []

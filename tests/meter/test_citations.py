"""Cited is what the agent says: handles in its answer, the wire's `citations`, or a call. Nothing else."""

import json
from typing import Any

import pytest

from acumen.model.handles import memory_handle
from acumen.model.ids import Kind, MemoryRef
from acumen.model.metering.usage import CITED, RETRIEVED, SHOWN, UNRESOLVED
from acumen_client import BadInput, Citation
from tests.world import Org, join, playbook, profile, said

ZEBRAS = "Keeps three zebras in the garden"
FEEDS = "Feeds the zebras at noon"


def handle(profile_id: str) -> str:
    return memory_handle(MemoryRef(Kind.PROFILE, profile_id))


async def remember(org: Org, user: str = "ada", **contents: str) -> None:
    await org.sdk.add_profiles(user_profiles=[profile(text, user, profile_id=own) for own, text in contents.items()])


async def injected(org: Org, user: str = "ada", session: str | None = "s1") -> None:
    await org.sdk.search(query="zebras", user_id=user, session_id=session)


async def answered(org: Org, *turns: str, **more: Any) -> None:
    await org.sdk.publish(**said(*turns, **more))
    await org.learn()


async def events(org: Org, name: str = CITED) -> list[dict]:
    await org.app.flush_usage()
    return [row for row in (await org.rows())["usage_events"] if row["event_name"] == name]


async def cited(org: Org) -> list[str]:
    return [row["entity_id"] for row in await events(org)]


# --- by itself nothing is cited --------------------------------------------------------------------------------------


async def test_a_session_that_searched_and_answered_without_citing_counts_no_citation(org: Org):
    await remember(org, p0=ZEBRAS)
    session = org.sdk.session("ada", "s1")

    await session.context("zebras")
    await session.say("assistant", "Three fine animals.")
    await org.learn()

    assert (await cited(org), len(await events(org, SHOWN))) == ([], 1)
    stats = await org.sdk.playbook_application_stats()
    costs = await org.sdk.memory_costs()
    assert (stats.total, stats.covered_since, costs.cited_since) == (0, None, None)
    assert costs.all_together.cited_count == 0


async def test_what_was_retrieved_counts_as_retrieved_and_never_as_cited(org: Org):
    await remember(org, p0=ZEBRAS)
    body = said("agent: Fine animals.")
    named = [{"kind": "profile", "learning_id": name} for name in ("p0", "p0", "no-memory")]
    body["interaction_data_list"][0]["retrieved_learnings"] = named
    await org.sdk.publish(**body)
    await org.learn()

    assert (await cited(org), await events(org, UNRESOLVED)) == ([], [])
    assert [row["entity_id"] for row in await events(org, RETRIEVED)] == ["p0"]
    assert (await org.sdk.playbook_application_stats()).retrieved_count == 1


# --- handles in the answer -------------------------------------------------------------------------------------------


async def test_a_handle_in_the_answer_cites_that_memory_once_per_turn(org: Org):
    await remember(org, p0=ZEBRAS, p1=FEEDS)
    await injected(org)

    own = handle("p0")
    await answered(org, f"agent: Three [{own}]. Yes, three [{own}, t12].", f"agent: As I said [{own}].")

    assert await cited(org) == ["p0", "p0"]
    assert await events(org, UNRESOLVED) == []
    costs = {one.entity_id: one for one in (await org.sdk.memory_costs()).costs}
    assert (costs["p0"].cited_count, costs["p1"].cited_count) == (1, 0)  # one injection was cited, in two turns


async def test_citing_is_covered_since_the_first_citation(org: Org):
    await remember(org, p0=ZEBRAS)
    await injected(org)
    await answered(org, f"agent: Three [{handle('p0')}].")

    (citation,) = await events(org)
    stats, costs = await org.sdk.playbook_application_stats(), await org.sdk.memory_costs()
    assert stats.covered_since == costs.cited_since == citation["created_at"] // 1000


async def test_a_handle_that_nobody_injected_counts_nothing(org: Org):
    await remember(org, p0=ZEBRAS, apples="Likes apples")
    await injected(org)

    await answered(org, f"agent: Apples [{handle('apples')}], see [m1] and [m99999].")

    assert (await cited(org), await events(org, UNRESOLVED)) == ([], [])


async def test_a_handle_injected_for_another_user_counts_nothing(org: Org):
    await remember(org, "bob", bobs=ZEBRAS)
    await remember(org, p0=FEEDS)
    await injected(org, "bob", "s-bob")
    await injected(org)

    await answered(org, f"agent: Three [{handle('bobs')}].")

    assert (await cited(org), await events(org, UNRESOLVED)) == ([], [])


async def test_a_handle_injected_in_another_org_counts_nothing(org: Org):
    other = await join(org.app)
    await remember(other, p0=ZEBRAS)
    await injected(other)

    await answered(org, f"agent: Three [{handle('p0')}].")

    assert (await cited(org), await cited(other)) == ([], [])


async def test_a_handle_of_an_earlier_session_of_the_user_is_resolved_too(org: Org):
    await remember(org, p0=ZEBRAS)
    await injected(org, session="s0")

    await answered(org, f"agent: Three [{handle('p0')}].", session="s1")

    assert await cited(org) == ["p0"]


@pytest.mark.parametrize("role", ["user", "system", "tool"])
async def test_only_the_agents_answer_cites(org: Org, role: str):
    """Prompts and tool outputs may contain the context itself."""
    await remember(org, p0=ZEBRAS)
    await injected(org)
    body = said("x")
    body["interaction_data_list"] = [{"role": role, "content": f"- Something about zebras [{handle('p0')}]"}]

    await org.sdk.publish(**body)
    await org.learn()

    assert await cited(org) == []


async def test_a_context_repeated_in_the_answer_cites_nothing(org: Org):
    await remember(org, p0=ZEBRAS)
    await injected(org)

    context = f"<acumen-context>\n- {ZEBRAS} [{handle('p0')}]\n</acumen-context>"
    await answered(org, f"agent: {context}\nThree.")

    assert await cited(org) == []


async def test_a_turn_that_is_only_evaluated_cites_nothing(org: Org):
    await remember(org, p0=ZEBRAS)
    await injected(org)

    await answered(org, f"agent: Three [{handle('p0')}].", evaluation_only=True)
    await answered(org, "And now?")  # the turns before are passed by with these

    assert await cited(org) == []


# --- on the wire -----------------------------------------------------------------------------------------------------


async def test_citations_of_a_publish_belong_to_the_agents_last_turn(org: Org):
    await remember(org, p0=ZEBRAS)
    citations = [{"kind": "profile", "real_id": "p0"}]

    await answered(org, "How many?", "agent: Let me see.", "agent: Three.", "Thanks.", citations=citations)

    (citation,) = await events(org)
    turns = (await org.sdk.interactions(user_id="ada")).interactions
    last = max(turn.interaction_id for turn in turns if turn.role == "assistant")
    assert citation["metadata_json"] == f'{{"interaction_id": {last}}}'


async def test_a_citation_without_a_kind_is_a_handle_or_an_id_of_what_was_injected(org: Org):
    await remember(org, p0=ZEBRAS, p1=FEEDS, apples="Likes apples")
    await injected(org)
    names = (handle("p0"), "p1", "apples", "t12", "[t13]")

    await answered(org, "agent: Three.", citations=[{"real_id": name} for name in names])

    assert sorted(await cited(org)) == ["p0", "p1"]
    (unresolved,) = await events(org, UNRESOLVED)
    assert json.loads(unresolved["metadata_json"])["name"] == "apples"


# --- by a call -------------------------------------------------------------------------------------------------------


async def test_a_session_cites_by_handle_by_id_and_by_memory(org: Org):
    await remember(org, p0=ZEBRAS, p1=FEEDS)
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("Mention zebras")])
    session = org.sdk.session("ada", "s1")
    await session.context("zebras")
    (lesson,) = (await org.sdk.user_playbooks()).user_playbooks

    answer = await session.cite(f"[{handle('p0')}]", "p1", lesson, "t345", "m00000")

    assert [(one.kind, one.id) for one in answer.cited] == [
        ("profile", "p0"),
        ("profile", "p1"),
        ("user_playbook", str(lesson.user_playbook_id)),
    ]
    assert answer.unresolved == ["m00000"]
    assert (await org.sdk.memory_costs()).all_together.cited_count == 3


async def test_a_call_sent_again_counts_once_and_another_call_again(org: Org):
    await remember(org, p0=ZEBRAS)
    for request in ("c1", "c1", "c2"):
        await org.sdk.cite(user_id="ada", request_id=request, citations=[Citation(kind="profile", real_id="p0")])

    (stat,) = (await org.sdk.playbook_application_stats()).stats
    assert (stat.applied_count, stat.last_interaction_id) == (2, None)


async def test_another_users_memory_cannot_be_cited(org: Org):
    await remember(org, "bob", bobs=ZEBRAS)
    await injected(org, "bob")

    answer = await org.sdk.session("ada", "s1").cite(Citation(kind="profile", real_id="bobs"), handle("bobs"))

    assert (answer.cited, answer.unresolved) == ([], sorted([handle("bobs"), "profile:bobs"]))
    assert await cited(org) == []


async def test_what_is_no_memory_is_refused_before_it_is_sent(org: Org):
    with pytest.raises(BadInput, match="cannot be cited"):
        await org.sdk.session("ada").cite(3.5)  # type: ignore[arg-type]


# --- shown to the end user -------------------------------------------------------------------------------------------


async def test_stripped_handles_are_cited_and_not_stored(org: Org):
    await remember(org, p0=ZEBRAS)
    session = org.sdk.session("ada", "s1")
    await session.context("zebras")

    await session.say("assistant", f"Three [{handle('p0')}], as you said [t3].", strip_handles=True)
    await org.learn()

    (turn,) = (await org.sdk.interactions(user_id="ada")).interactions
    assert turn.content == "Three, as you said."
    assert await cited(org) == ["p0"]
    assert await events(org, UNRESOLVED) == []

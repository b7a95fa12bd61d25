"""Secrets that people paste into what they say, ask and add are stored nowhere; the rest is learned and found."""

from typing import Any

import pytest

from tests.world import Org, Start, local, once, playbook, profile, said

CANARIES = {
    "AWS": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "GitHub": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "Twilio": "SKfedcba9876543210fedcba9876543210",
    "IBAN": "DE89 3704 0044 0532 0130 00",
    "card": "4111 1111 1111 1111",
    "database": "s3cretOfTheDatabase",
}
TEXT = (
    "We deploy the billing service on Tuesdays. The keys are {AWS}, {GitHub} and {Twilio}; pay to {IBAN} or by card "
    "{card}; connect with postgres://app:{database}@db/x."
).format_map(CANARIES)
COMMIT = "9fceb02d0ae598e95dc970b74767f19372d61af8"


async def stored(org: Org) -> set[str]:
    """Which of the canaries any row of any table holds."""
    await org.app.flush_usage()
    rows = str(await org.rows())
    return {name for name, canary in CANARIES.items() if canary in rows}


async def say_everywhere(org: Org) -> list[str]:
    """Returns what the answers say about it."""
    tool = {"tool_name": "pay", "tool_data": {"input": {"note": TEXT}}}
    turns = said(TEXT, f"agent: {TEXT}", f"It was fixed in {COMMIT}.", session="s1", request_id="r1")
    turns["interaction_data_list"][0] |= {"shadow_content": TEXT, "user_action_description": TEXT, "tools_used": [tool]}
    published = await org.sdk.publish(**turns)
    await org.learn()
    found = await org.sdk.search(query=f"billing {CANARIES['AWS']}", user_id="ada")
    await org.sdk.search_interactions(query=TEXT, user_id="ada")
    added = await org.sdk.add_profiles(user_profiles=[profile(TEXT, "ada", profile_id="p1", notes=TEXT)])
    lesson: dict[str, Any] = {"trigger": TEXT, "rationale": TEXT, "playbook_metadata": {"why": TEXT}}
    lessons = await org.sdk.add_user_playbooks(user_playbooks=[playbook(TEXT, "ada", **lesson)])
    await org.sdk.add_agent_playbooks(agent_playbooks=[{"content": TEXT}])
    await org.sdk.update_profile(user_id="ada", profile_id="p1", content=f"Pays with {CANARIES['card']}.")
    return [*published.warnings, found.msg or "", added.message, lessons.message]


async def test_no_row_holds_a_secret_that_was_said_asked_or_added(org: Org):
    answers = await say_everywhere(org)

    assert await stored(org) == set()
    assert all("redacted before storing" in answer for answer in answers), answers
    assert answers[0].startswith("30 secrets in the turns")
    assert "1 secret in the query" in answers[1]


async def test_what_was_said_next_to_a_secret_is_found_and_learned(org: Org):
    await org.sdk.publish(**said(f"I live in Oslo. My card is {CANARIES['card']}.", f"See {COMMIT}."))
    await org.learn()

    found = await org.sdk.search_interactions(query="card redacted", user_id="ada")
    memories = [memory.content for memory in (await org.sdk.profiles(user_id="ada")).user_profiles]

    assert "My card is [redacted card]." in found.interactions[0].content
    assert [memory for memory in memories if "Oslo" in memory]
    assert COMMIT in str(await org.rows())


@once
@pytest.mark.parametrize("keep", [False, True])
async def test_an_operator_may_keep_them(start: Start, keep: bool):
    org = local(await start(observe={"keep_secrets": keep}))

    answers = await say_everywhere(org)

    assert await stored(org) == (set(CANARIES) if keep else set())
    assert ["redacted" in answer for answer in answers] == ([False] * 3 if keep else [True] * 4)

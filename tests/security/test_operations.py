"""What strangers write into operations reaches no approved lesson, no agent and no reader unseen; and can be purged."""

from typing import Any

from acumen.model.prompt_injection import detect
from tests.learn.incidents.test_failures import failed
from tests.observe.test_operations import done, record
from tests.security.hostile import ALL, COMMANDING
from tests.world import Org, once


def storable(text: str, longest: int = 255) -> str:
    return text.replace("\x00", "").strip()[:longest]


def attacks(text: str, number: int) -> list[dict[str, Any]]:
    """The string in every free field, in two sessions, often enough to be worth a lesson."""
    name = storable(text)
    fields: list[dict[str, Any]] = [
        {"error_message": f"call failed: {text}", "endpoint": f"tool{number}a"},
        {"error_message": "plain failure", "endpoint": name},
        {"error_message": "plain failure", "endpoint": f"tool{number}b", "error_type": name},
        {"error_message": "plain failure", "endpoint": f"tool{number}c", "input_summary": text},
        {"error_message": "plain failure", "endpoint": f"tool{number}d", "attributes": {"note": text}},
    ]
    return [
        failed(**{"message": "x", "session": f"s{turn % 2}", **field, "duration_ms": turn})
        for field in fields
        for turn in range(3)
    ]


async def everything_learned(org: Org) -> list[dict[str, Any]]:
    await org.learn()
    return (await org.rows())["agent_playbooks"]


@once
async def test_two_hundred_hostile_strings_in_every_field_reach_no_approved_lesson(org: Org):
    for number, text in enumerate(ALL):
        told = await record(
            org, *(one | {"op_id": f"op{number}-{place}"} for place, one in enumerate(attacks(text, number)))
        )
        assert told["rejected"] == 0, told

    lessons = await everything_learned(org)

    assert {lesson["approval"] for lesson in lessons} == {"pending"}
    words = [lesson[name] for lesson in lessons for name in ("content", "trigger", "rationale", "pitfall")]
    assert [word for word in words if word and detect(word)] == []
    assert [text for text in COMMANDING if any(text in (word or "") for word in words)] == []
    found = (await org.send("POST", "/api/search", {"query": "calling tool failed plain failure", "top_k": 100})).json()
    assert found["agent_playbooks"] == []


async def proposed(org: Org) -> list[dict[str, Any]]:
    return (await org.send("POST", "/api/get_proposals", {})).json()["proposals"]


async def fill(org: Org) -> None:
    for number in range(4):
        await record(org, failed("it timed out", f"s{number % 2}", op_id=f"op-{number}", endpoint="slow"))
    for number in range(3):
        await record(org, done(f"ok-{number}", session_id=f"s{number}", arguments={"path": "/x"}, source="other"))
    await record(org, failed("another failure altogether", "s9", op_id="alone"))
    await org.learn()


async def test_a_lesson_stays_without_what_was_purged_as_long_as_enough_is_left(org: Org):
    await fill(org)
    (lesson,) = [one for one in await proposed(org) if one["about"] == "failure"]
    await org.sdk.decide_proposal(agent_playbook_id=lesson["agent_playbook_id"], decision="approve")

    told = await org.sdk.purge_operations(op_id="op-1")

    assert (told.operations, told.proposals, told.proposals_kept) == (1, 0, 1)
    (kept,) = [one for one in await proposed(org) if one["about"] == "failure"]
    assert (kept["approval"], kept["count"], kept["distinct_sessions"]) == ("approved", 3, 2)
    assert kept["content"] == lesson["content"]
    rows = await org.rows()
    assert "op-1" not in str({name: rows[name] for name in rows if name != "lineage"})
    assert [row["count"] for row in rows["failure_groups"] if row["endpoint"] == "slow"] == [3]
    assert (await org.send("GET", "/stats")).json()["failures"] == 4


async def test_a_lesson_goes_with_the_session_without_which_nobody_had_proposed_it(org: Org):
    await fill(org)
    for one in await proposed(org):
        await org.sdk.decide_proposal(agent_playbook_id=one["agent_playbook_id"], decision="approve")

    told = await org.sdk.purge_operations(session_id="s1")

    assert (told.operations, told.proposals, told.proposals_kept) == (3, 2, 0)
    assert await proposed(org) == []
    rows = await org.rows()
    assert "s1" not in {row["session_id"] for row in rows["operations"]}
    assert [row for row in rows["analyses"] if "s1" in row["scopes"]] == []


async def test_words_of_what_was_purged_leave_the_group_and_the_lesson_which_is_drawn_anew(org: Org):
    for number, message in enumerate(("canary of eve was refused", *["upstream said no"] * 4)):
        given = {"op_id": f"op-{number}", "fingerprint": ["refusal"], "duration_ms": number}
        await record(org, failed(message, f"s{number % 3}", **given))
    await org.learn()
    (lesson,) = await proposed(org)
    await org.sdk.decide_proposal(agent_playbook_id=lesson["agent_playbook_id"], decision="approve")

    told = await org.sdk.purge_operations(op_id="op-0")
    await org.learn()

    assert "canary of eve" in lesson["pitfall"]
    assert (told.proposals, told.proposals_kept) == (1, 0)
    (again,) = await proposed(org)
    assert (again["key"], again["approval"], again["count"]) == (lesson["key"], "pending", 4)
    assert "canary" not in str({name: rows for name, rows in (await org.rows()).items() if name != "lineage"})


async def test_purging_a_session_and_a_source_leaves_nothing_of_them(org: Org):
    await fill(org)

    session = await org.sdk.purge_operations(session_id="s9")
    source = await org.sdk.purge_operations(source="mcp")
    nothing = await org.sdk.purge_operations(source="mcp")

    assert (session.operations, session.groups) == (1, 1)
    assert (source.operations, source.groups, source.proposals) == (4, 1, 1)
    assert (nothing.operations, nothing.groups, nothing.proposals) == (0, 0, 0)
    rows = await org.rows()
    assert {row["source"] for row in rows["operations"]} == {"other"}
    assert rows["failure_groups"] == rows["failure_keys"] == rows["failure_hours"] == rows["failure_sessions"] == []
    assert (await org.send("GET", "/stats")).json()["by_source"] == {"other": 3}


async def test_clearing_a_user_takes_their_operations_and_what_came_of_them(org: Org):
    await record(org, *(failed("canary timed out", f"s{n % 2}", user_id="eve", duration_ms=n) for n in range(4)))
    await record(org, done(user_id="ada"))
    await org.learn()
    assert await proposed(org)

    counts = (await org.send("POST", "/api/clear_user_data", {"user_id": "eve"})).json()["deleted_counts"]

    assert counts["operations"] == 4
    assert await proposed(org) == []
    assert "canary" not in str(await org.rows())

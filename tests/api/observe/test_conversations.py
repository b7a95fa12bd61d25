"""Observe, over REST: publish, end a session, follow the learning, read back what was said."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from acumen.model.plural import counted
from acumen_client import BadInput, Conflict, NotFound
from tests.world import Org, once, said

YESTERDAY = int((datetime.now(UTC) - timedelta(days=1)).timestamp())
LAST_WEEK = int((datetime.now(UTC) - timedelta(days=7)).timestamp())


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


async def test_publish_answers_with_what_clients_of_the_wire_read(org: Org):
    reply = await org.send("POST", "/api/publish_interaction", said("hello", request_id="r1"))

    assert reply.status_code == 200
    assert reply.json() == {
        "success": True,
        "message": "Interaction published successfully",
        "warnings": [],
        "request_id": "r1",
        "storage_type": org.app.store.database.name,
        "storage_label": org.app.storage_label,
        "learning_status": "deferred",
        "learning_reason": "queued",
    }


async def test_every_field_of_a_turn_is_read_back(org: Org):
    turn = {
        "created_at": YESTERDAY,
        "role": "assistant",
        "content": "done — ünïcödé 🎉",
        "shadow_content": "shadow",
        "expert_content": "expert",
        "user_action": "click",
        "user_action_description": "pressed the button",
        "interacted_image_url": "https://example.org/a.png",
        "tools_used": [{"tool_name": "bash", "tool_data": {"input": {"cmd": "ls"}}, "status": "ok"}],
        "citations": [{"kind": "profile", "real_id": "p1"}],
        "retrieved_learnings": [{"kind": "profile", "learning_id": "p1"}],
    }
    await org.send("POST", "/api/publish_interaction", {**said("x"), "interaction_data_list": [turn]})

    reply = await org.send("POST", "/api/get_interactions", {"user_id": "ada"})

    (stored,) = reply.json()["interactions"]
    assert stored.items() >= {name: value for name, value in turn.items() if name != "citations"}.items()
    assert reply.json()["msg"] == "Found 1 interaction"


async def test_null_is_accepted_for_every_optional_field(org: Org):
    names = ("created_at role content shadow_content expert_content user_action user_action_description "
             "interacted_image_url image_encoding tools_used citations retrieved_learnings").split()  # fmt: skip
    turn = {**dict.fromkeys(names), "content": "hello"}
    options = ("request_id source agent_version session_finished skip_aggregation force_extraction evaluation_only "
               "override_learning_stall retrieval_experiment_id retrieval_experiment_arm").split()  # fmt: skip
    body = {"user_id": "ada", "session_id": "s1", "interaction_data_list": [turn], **dict.fromkeys(options)}

    reply = await org.send("POST", "/api/publish_interaction", body)

    assert reply.status_code == 200, reply.text
    (stored,) = (await org.sdk.interactions(user_id="ada")).interactions
    assert (stored.role, stored.content, stored.tools_used) == ("User", "hello", [])


async def test_the_same_request_again_is_the_same_success_and_stores_nothing_twice(org: Org):
    body = said("hello", "there", request_id="r1")
    body["interaction_data_list"][0]["created_at"] = YESTERDAY
    first = await org.send("POST", "/api/publish_interaction", body)
    # A client that retries may well stamp the time anew, and may have come to be in a hurry.
    body["interaction_data_list"][0]["created_at"] = YESTERDAY + 1

    again = await org.send("POST", "/api/publish_interaction?wait_for_response=false", body)

    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert len((await org.sdk.interactions(user_id="ada")).interactions) == 2


@pytest.mark.parametrize(
    "changed", [{"user_id": "bob"}, {"session_id": "s2"}, {"interaction_data_list": [{"content": "bye"}]}], ids=str
)
async def test_another_body_under_a_taken_request_id_is_a_conflict_and_changes_nothing(org: Org, changed: dict):
    await org.sdk.publish(**said("hello", request_id="r1"))
    before = await org.rows()

    with pytest.raises(Conflict, match="r1"):
        await org.sdk.publish(**{**said("hello", request_id="r1"), **changed})

    assert await org.rows() == before


@once
@pytest.mark.parametrize(
    "wrong, field",
    [
        ({"user_id": ""}, "user_id"),
        ({"user_id": 7}, "user_id"),
        ({"session_id": None}, "session_id"),
        ({"interaction_data_list": []}, "interaction_data_list"),
        ({"interaction_data_list": [{"content": "  "}]}, "empty"),
        ({"interaction_data_list": [{"content": "\x00"}]}, "interaction_data_list.0.content"),
        ({"interaction_data_list": [{"content": "x", "user_action": "click"}]}, "user_action_description"),
        ({"interaction_data_list": [{"content": "x", "created_at": -1}]}, "created_at"),
        ({"interaction_data_list": [{"tools_used": [{"tool_data": {}}]}]}, "tools_used.0.tool_name"),
        ({"source": "No Spaces"}, "source"),
        ({"evaluation_only": True, "force_extraction": True}, "force_extraction"),
        ({"retrieval_experiment_id": "e1"}, "retrieval_experiment_arm"),
    ],
)
async def test_what_cannot_be_used_is_refused_by_name_and_changes_nothing(org: Org, wrong: dict, field: str):
    before = await org.rows()

    reply = await org.send("POST", "/api/publish_interaction", {**said("hello"), **wrong})

    assert reply.status_code == 422
    assert field in reply.json()["detail"]
    assert reply.json()["code"] == "bad_input"
    assert await org.rows() == before


async def test_unknown_fields_and_empty_turns_are_left_out_and_told(org: Org):
    body = {**said("hello", ""), "colour": "red"}
    body["interaction_data_list"][0]["mood"] = "fine"

    reply = (await org.send("POST", "/api/publish_interaction", body)).json()

    assert any("mood" in warning for warning in reply["warnings"])
    assert any("colour" in warning for warning in reply["warnings"])
    assert any(warning.startswith("Empty turn skipped: ") for warning in reply["warnings"])
    assert len((await org.sdk.interactions(user_id="ada")).interactions) == 1


async def test_a_role_that_nobody_knows_is_named_where_no_user_speaks(org: Org):
    turns = [{"role": "usr", "content": "I live in Porto."}, {"role": "user", "content": "Thanks."}]

    alone = await org.send("POST", "/api/publish_interaction", {**said("x"), "interaction_data_list": turns[:1]})
    answered = await org.send("POST", "/api/publish_interaction", {**said("x"), "interaction_data_list": turns})

    (warning,) = alone.json()["warnings"]
    assert "'usr' is not a user role (customer, human, user)" in warning
    assert answered.json()["warnings"] == []


# --- reading back --------------------------------------------------------------------------------------------------


async def three_days(org: Org) -> None:
    """Turns of three days. Requests are told apart by when they came, which is kept in milliseconds."""
    for number, created_at in enumerate((LAST_WEEK, YESTERDAY, None)):
        await asyncio.sleep(0.002)
        body = said(f"turn {number}", session=f"s{number}", request_id=f"r{number}", source=f"source-{number}")
        body["interaction_data_list"][0]["created_at"] = created_at
        await org.sdk.publish(**body)


@pytest.mark.parametrize(
    "wanted, found",
    [
        ({}, ["turn 0", "turn 1", "turn 2"]),
        ({"start_time": at(YESTERDAY)}, ["turn 1", "turn 2"]),
        ({"end_time": at(YESTERDAY)}, ["turn 0"]),
        ({"start_time": at(LAST_WEEK), "end_time": at(YESTERDAY + 1)}, ["turn 0", "turn 1"]),
        ({"top_k": 2}, ["turn 1", "turn 2"]),
        ({"top_k": 1, "end_time": at(YESTERDAY)}, ["turn 0"]),
        ({"user_id": "bob"}, []),
    ],
)
async def test_interactions_are_listed_by_user_time_and_number(org: Org, wanted: dict, found: list[str]):
    await three_days(org)

    listed = await org.sdk.interactions(**{"user_id": "ada", **wanted})

    assert [turn.content for turn in listed.interactions] == found


async def test_all_interactions_are_the_latest_of_all_users(org: Org):
    await org.sdk.publish(**said("one", user="ada"))
    await org.sdk.publish(**said("two", user="bob"))

    latest = await org.sdk.all_interactions(limit=1)
    everything = await org.sdk.all_interactions()

    assert [turn.content for turn in latest.interactions] == ["two"]
    assert [turn.user_id for turn in everything.interactions] == ["ada", "bob"]


@pytest.mark.parametrize(
    "wanted, requests",
    [
        ({}, ["r2", "r1", "r0"]),
        ({"user_id": "bob"}, []),
        ({"session_id": "s1"}, ["r1"]),
        ({"request_id": "r0"}, ["r0"]),
        ({"source": "source-2"}, ["r2"]),
        ({"top_k": 2}, ["r2", "r1"]),
        ({"top_k": 1, "offset": 1}, ["r1"]),
        ({"end_time": at(YESTERDAY)}, []),
        ({"start_time": at(YESTERDAY)}, ["r2", "r1", "r0"]),
    ],
)
async def test_requests_are_listed_by_session_newest_first(org: Org, wanted: dict, requests: list[str]):
    await three_days(org)

    listed = await org.sdk.requests(**wanted)

    assert [one.request.request_id for session in listed.sessions for one in session.requests] == requests
    assert listed.msg == f"Found {counted(len(requests), 'request')} in {counted(len(requests), 'session')}"
    assert listed.has_more == ("top_k" in wanted)


async def test_a_request_is_told_with_its_turns(org: Org):
    await org.sdk.publish(**said("hello", "agent: hi", request_id="r1", source="slack", agent_version="v2"))

    (session,) = (await org.sdk.requests(user_id="ada")).sessions

    (one,) = session.requests
    assert (session.session_id, one.request.source, one.request.agent_version) == ("s1", "slack", "v2")
    assert [(turn.role, turn.content) for turn in one.interactions] == [("user", "hello"), ("assistant", "hi")]


@once
@pytest.mark.parametrize("path", ["get_interactions", "get_requests", "search_interactions", "get_profiles"])
async def test_a_time_that_ends_before_it_starts_is_refused(org: Org, path: str):
    body = {"user_id": "ada", "start_time": "2026-01-02T00:00:00Z", "end_time": "2026-01-01T00:00:00Z"}

    reply = await org.send("POST", f"/api/{path}", body)

    assert reply.status_code == 422
    assert "end_time" in reply.json()["detail"]


# --- sessions and learning -----------------------------------------------------------------------------------------


async def test_a_session_that_is_not_there_cannot_be_finalized(org: Org):
    await org.sdk.publish(**said("hello", user="ada", session="s1"))

    for user, session in (("ada", "s2"), ("bob", "s1")):
        with pytest.raises(NotFound):
            await org.sdk.finalize_session(user_id=user, session_id=session)

    assert (await org.sdk.finalize_session(user_id="ada", session_id="s1")).accepted


async def test_learning_status_follows_a_request_to_its_end(org: Org):
    await org.sdk.publish(**said("I live in Paris.", request_id="r1"))
    before = await org.sdk.learning_status(request_id="r1")

    await org.learn()

    after = await org.sdk.learning_status(request_id="r1")
    assert (before.status, before.reason) == ("pending", "queued")
    assert (after.status, after.reason) == ("done", "covered")


async def test_learning_status_of_an_unknown_request_is_not_found(org: Org):
    with pytest.raises(NotFound):
        await org.sdk.learning_status(request_id="nobody's")
    with pytest.raises(BadInput):
        await org.sdk.learning_status(request_id=" ")


async def test_a_request_for_evaluation_only_is_not_learned_from(org: Org):
    await org.sdk.publish(**said("I live in Paris.", request_id="r1", evaluation_only=True))
    await org.learn()

    status = await org.sdk.learning_status(request_id="r1")

    assert (status.status, status.reason) == ("not_tracked", "not_applicable")
    assert (await org.sdk.profiles(user_id="ada")).user_profiles == []


async def test_a_request_whose_turns_were_erased_is_no_longer_tracked(org: Org):
    await org.sdk.publish(**said("I live in Paris.", request_id="r1"))
    (turn,) = (await org.sdk.interactions(user_id="ada")).interactions
    await org.sdk.delete_interaction(user_id="ada", interaction_id=turn.interaction_id)

    status = await org.sdk.learning_status(request_id="r1")

    assert (status.status, status.reason) == ("not_tracked", "inputs_erased")

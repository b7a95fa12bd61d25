"""The older vocabulary: every row of the table answers as today's endpoint does, in the words of before."""

from typing import Any

import pytest

from acumen.api.legacy.routes import LEGACY_ROUTES
from acumen.api.openapi import document
from acumen_client.calls import ENDPOINTS
from acumen_client.wire.shapes import Role
from tests.world import Org, http_to, join, once, said

RULE = "No, always use us-west-2 for deployments, never us-east-1."


async def ask(org: Org, method: str, path: str, body: Any = None) -> Any:
    reply = await org.send(method, f"/api/{path}", body)
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.mark.parametrize("older", LEGACY_ROUTES, ids=lambda older: older.name)
def test_no_older_route_is_one_of_todays_and_each_is_described_as_deprecated(older: Any):
    described = document()["paths"][older.path][older.endpoint.method.lower()]

    assert older.path not in {endpoint.path for endpoint in ENDPOINTS}
    assert described["deprecated"]
    assert older.endpoint.path in described["summary"]
    assert ("requestBody" in described) == (older.endpoint.where == "body")


@once
@pytest.mark.parametrize("older", LEGACY_ROUTES, ids=lambda older: older.name)
async def test_an_older_route_needs_the_same_role(org: Org, older: Any):
    reader = await join(org.app, Role.READER, org.id)

    without = await http_to(org.app).request(older.endpoint.method, older.path, json={})
    below = await reader.send(older.endpoint.method, older.path, {})

    assert without.status_code == 401
    assert (below.status_code == 403) == (not Role.READER.allows(older.endpoint.role))


@pytest.mark.parametrize(
    "content,do,stored",
    [
        ("Use metric units.", "use metric units", "Use metric units."),
        ("Always, use metric units!", "Use metric units.", "Always, use metric units!"),
        ("Use metric units.", "use metric unit", "Use metric units.\nuse metric unit"),
        ("请用公制单位", "公制", "请用公制单位"),
        ("Be brief", "", "Be brief"),
        ("", "Be brief", "Be brief"),
    ],
)
def test_what_to_do_joins_the_content_where_it_does_not_say_it_already(content: str, do: str, stored: str):
    older = next(one for one in LEGACY_ROUTES if one.name == "add_raw_feedback")

    request = older.parse({}, {"raw_feedbacks": [{"feedback_content": content, "do_action": do}]})

    assert [playbook.content for playbook in request.user_playbooks] == [stored]


@once
@pytest.mark.parametrize(
    "method,path,body,told",
    [
        ("PUT", "update_feedback_status", {"feedback_id": 1, "feedback_status": "odd"}, "`feedback_status` must be"),
        ("PUT", "update_feedback_status", {"feedback_status": "approved"}, "`feedback_id` is required."),
        (
            "POST",
            "add_raw_feedback",
            {"raw_feedbacks": [{"feedback_content": 7}]},
            "`raw_feedbacks.0.feedback_content` ",
        ),
        ("DELETE", "delete_request_group", {}, "`request_group` is required."),
        ("GET", "feedback_aggregation_change_logs", None, "`feedback_name` is required. `agent_version` "),
    ],
)
async def test_what_is_wrong_is_told_in_the_words_it_was_asked_in(
    org: Org, method: str, path: str, body: Any, told: str
):
    reply = await org.send(method, f"/api/{path}", body)

    assert (reply.status_code, reply.json()["code"]) == (422, "bad_input")
    assert reply.json()["detail"].startswith(told)


async def test_raw_feedbacks_are_added_read_found_and_deleted(org: Org):
    new = {
        "user_id": "ada",
        "agent_version": "v1",
        "request_id": "r1",
        "feedback_name": "style",
        "feedback_content": "Be brief",
        "do_action": "Use three sentences",
        "do_not_action": "ramble",
        "when_condition": "when asked for a summary",
        "indexed_content": "when asked for a summary",
        "feedback_metadata": {"feedback_content": "the caller's own name"},
    }

    added = await ask(org, "POST", "add_raw_feedback", {"raw_feedbacks": [new]})
    listed = await ask(org, "POST", "get_raw_feedbacks", {"feedback_name": "style"})
    found = await ask(org, "POST", "search_raw_feedbacks", {"query": "summary", "user_id": "ada"})
    (today,) = (await org.sdk.user_playbooks()).user_playbooks
    gone = await ask(org, "DELETE", "delete_raw_feedback", {"raw_feedback_id": today.user_playbook_id})

    (told,) = listed["raw_feedbacks"]
    assert added["added_count"] == 1
    assert (today.content, today.trigger, today.pitfall) == (
        "Be brief\nUse three sentences",
        "when asked for a summary",
        "ramble",
    )
    assert (told["raw_feedback_id"], told["feedback_name"]) == (today.user_playbook_id, "style")
    assert (told["feedback_content"], told["when_condition"]) == (today.content, today.trigger)
    assert told["feedback_metadata"] == {"feedback_content": "the caller's own name"}
    assert not {"content", "trigger", "playbook_name", "user_playbook_id"} & told.keys()
    assert [one["raw_feedback_id"] for one in found["raw_feedbacks"]] == [today.user_playbook_id]
    assert gone["success"]
    assert (await org.sdk.user_playbooks()).user_playbooks == []


async def test_feedbacks_are_added_read_found_approved_and_deleted(org: Org):
    new = {"agent_version": "v1", "feedback_name": "n", "feedback_content": "Ask first", "feedback_status": "pending"}

    await ask(org, "POST", "add_feedbacks", {"feedbacks": [{**new, "feedback_metadata": "m"}]})
    (listed,) = (await ask(org, "POST", "get_feedbacks", {"feedback_status_filter": "pending"}))["feedbacks"]
    number = listed["feedback_id"]
    await ask(org, "PUT", "update_feedback_status", {"feedback_id": number, "feedback_status": "approved"})
    found = await ask(org, "POST", "search_feedbacks", {"query": "ask", "feedback_status_filter": "approved"})
    await ask(org, "PUT", "update_playbook_status", {"agent_playbook_id": number, "playbook_status": "rejected"})
    rejected = await ask(org, "POST", "get_feedbacks", {"feedback_status_filter": "rejected"})
    await ask(org, "DELETE", "delete_feedback", {"feedback_id": number})

    assert (listed["feedback_content"], listed["feedback_status"], listed["feedback_metadata"]) == (
        "Ask first",
        "pending",
        "m",
    )
    assert [one["feedback_id"] for one in found["feedbacks"]] == [number]
    assert [one["feedback_id"] for one in rejected["feedbacks"]] == [number]
    assert (await org.sdk.agent_playbooks()).agent_playbooks == []


async def test_feedback_is_generated_upgraded_and_downgraded(org: Org):
    await org.sdk.publish(**said(RULE))
    await org.learn()

    rerun = await ask(org, "POST", "rerun_feedback_generation", {"agent_version": "agent-v0", "feedback_name": None})
    await org.learn()
    status = await ask(org, "GET", "get_operation_status?service_name=feedback_generation")
    up = await ask(org, "POST", "upgrade_all_raw_feedbacks", {"agent_version": None, "feedback_name": None})
    down = await ask(org, "POST", "downgrade_all_raw_feedbacks", {})
    manual = await ask(org, "POST", "manual_feedback_generation", {"agent_version": "agent-v0"})

    assert rerun["operation_id"] == "rerun_feedback_generation"
    assert status["operation_status"]["status"] == "completed"
    assert (up["raw_feedbacks_promoted"], up["raw_feedbacks_archived"], up["raw_feedbacks_deleted"]) == (1, 1, 0)
    assert (down["raw_feedbacks_demoted"], down["raw_feedbacks_restored"]) == (1, 1)
    assert manual["success"]


async def test_feedback_is_aggregated_and_its_changes_are_told(org: Org):
    about = {"agent_version": "v1", "feedback_name": "style", "when_condition": "committing code"}
    for user, words in (("ada", "Always run the tests before committing."), ("bob", "Run tests before you commit.")):
        new = {"user_id": user, "request_id": "r1", "feedback_content": words, **about}
        await ask(org, "POST", "add_raw_feedback", {"raw_feedbacks": [new]})

    done = await ask(org, "POST", "run_feedback_aggregation", {"agent_version": "v1", "feedback_name": "style"})
    told = await ask(org, "GET", "feedback_aggregation_change_logs?feedback_name=style&agent_version=v1")

    assert done["result"]["feedbacks_generated"] == 1
    (added,) = told["change_logs"][0]["added_feedbacks"]
    assert (added["feedback_name"], added["feedback_status"]) == ("style", "pending")
    assert "feedback_content" in added


async def test_a_request_group_is_a_session(org: Org):
    old = {"user_id": "ada", "request_group": "g1", "interaction_data_list": [{"content": "hello"}]}

    published = await ask(org, "POST", "publish_interaction", old)
    listed = await ask(org, "POST", "get_requests", {"request_group": "g1"})
    gone = await ask(org, "DELETE", "delete_request_group", {"request_group": "g1"})

    assert published["warnings"] == []
    assert [session["session_id"] for session in listed["sessions"]] == ["g1"]
    assert gone["deleted_requests_count"] == 1


async def test_profile_content_and_tool_input_are_understood(org: Org):
    tool = {"tool_name": "bash", "tool_input": {"command": "ls"}}
    turn = {"role": "assistant", "content": "done", "tools_used": [tool]}

    published = await ask(org, "POST", "publish_interaction", said() | {"interaction_data_list": [turn]})
    new = {"user_id": "ada", "profile_id": "p1", "profile_content": "Likes tea"}
    await ask(org, "POST", "add_user_profile", {"user_profiles": [new]})
    await ask(
        org, "PUT", "update_user_profile", {"user_id": "ada", "profile_id": "p1", "profile_content": "Likes coffee"}
    )

    (stored,) = (await org.sdk.interactions(user_id="ada")).interactions
    (fact,) = (await org.sdk.profiles(user_id="ada")).user_profiles
    assert published["warnings"] == []
    assert stored.tools_used[0]["tool_data"] == {"command": "ls"}
    assert fact.content == "Likes coffee"


@once
async def test_what_is_wrong_in_older_words_is_refused_as_today(org: Org):
    replies = [
        await org.send("POST", "/api/add_raw_feedback", {"raw_feedbacks": [{"colour": "red"}]}),
        await org.send("DELETE", "/api/delete_feedback", {"feedback_id": 987_654_321}),
        await org.send("POST", "/api/get_feedbacks"),
        await org.send("POST", "/api/get_feedbacks", ["no object"]),
    ]

    assert [reply.status_code for reply in replies] == [422, 404, 422, 422]
    assert "colour" in replies[0].json()["detail"]

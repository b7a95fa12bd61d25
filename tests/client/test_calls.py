"""The table of endpoints: complete, consistent, and the same from both ends."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from acumen_client.calls import ENDPOINTS, Calls
from acumen_client.endpoint import Endpoint
from acumen_client.wire.config import Config
from acumen_client.wire.observe import PublishUserInteractionRequest
from acumen_client.wire.shapes import Role

# The least that each endpoint needs; those not named here need nothing.
LEAST: dict[str, dict[str, Any]] = {
    "cite": {"user_id": "ada", "citations": [{"real_id": "m48217"}]},
    "publish_interaction": {"user_id": "ada", "session_id": "s1", "interaction_data_list": [{"content": "hi"}]},
    "finalize_session": {"user_id": "ada", "session_id": "s1"},
    "learning_status": {"request_id": "r1"},
    "get_interactions": {"user_id": "ada"},
    "get_learning_provenance": {"kind": "profile", "id": "p1"},
    "read_learning_provenance": {"kind": "profile", "id": "p1"},
    "record_operations": {"operations": [{"op_id": "o1", "source": "mcp", "endpoint": "read", "status": "ok"}]},
    "event": {"ok": True},
    "record_verdict": {"op_id": "o1", "subject": "pr-1", "overall": "approve"},
    "verdict_history": {"subject": "pr-1"},
    "get_failure": {"group_id": "g1"},
    "change_failure": {"group_id": "g1", "change": "resolve"},
    "decide_proposal": {"agent_playbook_id": 1, "decision": "approve"},
    "lesson_effect": {"agent_playbook_id": 1},
    "purge_operations": {"op_id": "o1"},
    "search": {"query": "tea"},
    "search_profiles": {"user_id": "ada"},
    "search_interactions": {"user_id": "ada"},
    "get_profiles": {"user_id": "ada"},
    "add_user_profile": {"user_profiles": [{"user_id": "ada", "content": "likes tea"}]},
    "add_user_playbook": {"user_playbooks": [{"content": "Ask first."}]},
    "add_agent_playbook": {"agent_playbooks": [{"trigger": "a refund"}]},
    "update_user_profile": {"user_id": "ada", "profile_id": "p1"},
    "update_user_playbook": {"user_playbook_id": 1},
    "update_agent_playbook": {"agent_playbook_id": 1},
    "update_agent_playbook_status": {"agent_playbook_id": 1, "playbook_status": "approved"},
    "delete_profile": {"user_id": "ada", "profile_id": "p1"},
    "delete_interaction": {"user_id": "ada", "interaction_id": 1},
    "delete_request": {"request_id": "r1"},
    "delete_session": {"session_id": "s1"},
    "delete_agent_playbook": {"agent_playbook_id": 1},
    "delete_user_playbook": {"user_playbook_id": 1},
    "delete_requests_by_ids": {"request_ids": ["r1"]},
    "delete_profiles_by_ids": {"profile_ids": ["p1"]},
    "delete_agent_playbooks_by_ids": {"agent_playbook_ids": [1]},
    "delete_user_playbooks_by_ids": {"user_playbook_ids": [1]},
    "clear_user_data": {"user_id": "ada"},
    "storage_stats": {"user_id": "ada"},
    "submit_playbook_aggregation": {"request_id": "a1", "agent_version": "v1"},
    "get_playbook_aggregation_operation": {"operation_id": "aggr_1"},
    "playbook_aggregation_change_logs": {"playbook_name": "playbook", "agent_version": "v1"},
    "get_memory_review": {"include_all_users": True},
    "session_outcome": {"session_id": "s1", "outcome": "success", "occurred_at": 1},
    "grade_on_demand": {"session_id": "s1"},
    "regenerate_evaluations": {"from_ts": 1, "to_ts": 2},
    "get_evaluation_regeneration": {"job_id": "run 1/2"},
    "cancel_evaluation_regeneration": {"job_id": "run_1"},
    "get_evaluation_overview": {"from_ts": 1, "to_ts": 2},
    "review_memories": {"action": "pin", "items": [{"kind": "profile", "id": "p1"}]},
    "undo_review": {"action_id": "a1"},
    "undo_memory_change": {"change_id": 1},
    "get_memory_conflicts": {"include_all_users": True},
    "settle_conflict": {"conflict_id": "con_1", "keep": "newer"},
    "get_memory_duplicates": {"include_all_users": True},
    "get_memory_lift": {"entity_type": "profile", "entity_id": "p1"},
    "get_injection": {"injection_id": "i1"},
    "compare_injection": {"injection_id": "i1", "earlier": 1, "later": 2},
    "start_retrieval_experiment": {"experiment_id": "e1", "holdout_percentage": 10},
    "stop_retrieval_experiment": {"experiment_id": "e1"},
    "get_retrieval_experiment_results": {"experiment_id": "e1"},
    "set_config": {"storage_config": None},
    "create_key": {"name": "ci", "role": "agent"},
    "revoke_key": {"key_id": "k1"},
}

every_endpoint = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)


def least(endpoint: Endpoint[..., Any]) -> Any:
    return endpoint.request_model.model_validate(LEAST.get(endpoint.name, {}))


def test_no_two_endpoints_share_a_name_or_a_method_and_path():
    assert len({endpoint.name for endpoint in ENDPOINTS}) == len(ENDPOINTS)
    assert len({(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}) == len(ENDPOINTS)


@every_endpoint
def test_a_server_reads_what_a_client_sends(endpoint: Endpoint[..., Any]):
    sent = least(endpoint)

    query = {name: str(value) for name, value in endpoint.query_of(sent).items()}
    body = json.loads(json.dumps(endpoint.body_of(sent)))

    path = {name: str(getattr(sent, name)) for name in endpoint.path_fields}

    assert endpoint.parse(query, body, path) == sent


@every_endpoint
def test_every_optional_field_may_be_null(endpoint: Endpoint[..., Any]):
    fields = endpoint.request_model.model_fields
    said = LEAST.get(endpoint.name, {})
    nulls = {name: None for name, field in fields.items() if not field.is_required() and name not in said}

    with_nulls = endpoint.request_model.model_validate({**nulls, **said})

    assert {name: value for name, value in with_nulls if name != "request_id"} == {
        name: _OFF[name] if name in _OFF and name in nulls else value
        for name, value in least(endpoint)
        if name != "request_id"
    }


# For these null is a value of its own: the step is off, and so no extractor is listed.
_OFF: dict[str, Any] = {
    "profile_extractor_config": None,
    "user_playbook_extractor_config": None,
    "agent_success_config": None,
    "profile_extractor_configs": [],
    "user_playbook_extractor_configs": [],
}


@every_endpoint
def test_shapes_describe_themselves_as_json_schema(endpoint: Endpoint[..., Any]):
    assert endpoint.request_model.model_json_schema()["type"] == "object"
    assert endpoint.answer_model.model_json_schema(mode="serialization")["type"] == "object"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@every_endpoint
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(data=st.data())
def test_no_body_does_worse_than_be_refused(endpoint: Endpoint[..., Any], data: st.DataObject):
    names = st.sampled_from(sorted(endpoint.request_model.model_fields) or ["x"])
    body = data.draw(json_values | st.dictionaries(names, json_values, max_size=4))

    try:
        request = endpoint.parse({}, body)
    except ValidationError:
        return

    request.model_dump_json().encode()


def test_wait_for_response_travels_in_the_query():
    request = PublishUserInteractionRequest.model_validate(LEAST["publish_interaction"] | {"wait_for_response": True})

    assert Calls.publish.query_fields == {"wait_for_response"}
    assert Calls.publish.query_of(request) == {"wait_for_response": "true"}
    assert "wait_for_response" not in Calls.publish.body_of(request)


def test_a_query_parameter_goes_before_the_same_field_of_the_body():
    body = LEAST["publish_interaction"] | {"wait_for_response": True}

    request = Calls.publish.parse({"wait_for_response": "false", "utm": "x"}, body)

    assert isinstance(request, PublishUserInteractionRequest)
    assert not request.wait_for_response


def test_an_unknown_query_parameter_is_refused_where_the_query_is_the_request():
    with pytest.raises(ValidationError, match="limt"):
        Calls.all_profiles.parse({"limt": "3"}, None)


@pytest.mark.parametrize("body", [None, [], "text", 3])
def test_a_body_that_is_no_object_is_refused(body: object):
    with pytest.raises(ValidationError):
        Calls.publish.parse({"wait_for_response": "true"}, body)


def test_an_endpoint_without_parameters_needs_no_body():
    assert Calls.whoami.parse({"cache": "1"}, None) == least(Calls.whoami)


def test_nulls_are_left_out_of_a_reply_except_where_older_clients_want_them():
    shown = json.loads(Calls.config.dump(Config(storage_config=None)))

    assert shown["storage_config"] is None
    assert b"null" not in Calls.whoami.dump(Calls.whoami.answer_model(org_id="o"))


def test_what_older_clients_read_as_null_is_null():
    graded = json.loads(Calls.grade_on_demand.dump(Calls.grade_on_demand.answer_model(session_id="s1")))

    assert graded == {
        "session_id": "s1",
        "result_id": None,
        "cached": False,
        "skipped_reason": None,
        "retrieved_learning_status": None,
    }
    assert not Calls.playbook_aggregation_changes.exclude_none
    assert not Calls.recent_shadow_comparisons.exclude_none


def test_only_what_tells_nothing_is_public():
    public = {endpoint.path for endpoint in ENDPOINTS if endpoint.role is Role.PUBLIC}

    assert public == {"/", "/health", "/health/live", "/health/ready", "/healthz", "/meta/version"}


def test_everything_at_once_is_for_admins():
    sweeping = [endpoint for endpoint in ENDPOINTS if endpoint.path.startswith("/api/delete_all_")]

    assert len(sweeping) == 5
    assert {endpoint.role for endpoint in sweeping} == {Role.ADMIN}

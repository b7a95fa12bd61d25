"""One request per endpoint that its shape accepts: what hostile ones are made from. The ids in them do not exist."""

from typing import Any

from acumen_client.calls import ENDPOINTS
from acumen_client.endpoint import Endpoint

_USER = {"user_id": "nobody"}
_PROFILE = {**_USER, "profile_id": "prof_none"}
_TURN = {"role": "User", "content": "Hello"}

# Of endpoints that are not listed, every field may be left out.
_REQUIRED: dict[str, dict[str, Any]] = {
    "publish_interaction": {**_USER, "session_id": "s1", "interaction_data_list": [_TURN]},
    "finalize_session": {**_USER, "session_id": "none"},
    "learning_status": {"request_id": "none"},
    "get_interactions": _USER,
    "search": {"query": "which region"},
    "search_profiles": _USER,
    "search_interactions": _USER,
    "get_profiles": _USER,
    "add_user_profile": {"user_profiles": [{**_USER, "content": "Lives in Lisbon"}]},
    "add_user_playbook": {"user_playbooks": [{"content": "Test first"}]},
    "add_agent_playbook": {"agent_playbooks": [{"content": "Test first"}]},
    "update_user_profile": {**_PROFILE, "content": "Lives in Porto"},
    "update_user_playbook": {"user_playbook_id": 999_999, "content": "Test last"},
    "update_agent_playbook": {"agent_playbook_id": 999_999, "content": "Test last"},
    "update_agent_playbook_status": {"agent_playbook_id": 999_999, "playbook_status": "approved"},
    "delete_profile": _PROFILE,
    "delete_interaction": {**_USER, "interaction_id": 999_999},
    "delete_request": {"request_id": "none"},
    "delete_session": {"session_id": "none"},
    "delete_agent_playbook": {"agent_playbook_id": 999_999},
    "delete_user_playbook": {"user_playbook_id": 999_999},
    "delete_requests_by_ids": {"request_ids": ["none"]},
    "delete_profiles_by_ids": {"profile_ids": ["none"]},
    "delete_agent_playbooks_by_ids": {"agent_playbook_ids": [999_999]},
    "delete_user_playbooks_by_ids": {"user_playbook_ids": [999_999]},
    "clear_user_data": _USER,
    "storage_stats": _USER,
    "submit_playbook_aggregation": {"request_id": "none", "agent_version": "none"},
    "get_playbook_aggregation_operation": {"operation_id": "none"},
    "playbook_aggregation_change_logs": {"playbook_name": "playbook", "agent_version": "none"},
    "get_memory_review": _USER,
    "session_outcome": {"session_id": "none", "outcome": "success", "occurred_at": 1},
    "grade_on_demand": {"session_id": "none"},
    "regenerate_evaluations": {"from_ts": 1, "to_ts": 2},
    "get_evaluation_regeneration": {"job_id": "none"},
    "cancel_evaluation_regeneration": {"job_id": "none"},
    "get_evaluation_overview": {"from_ts": 1, "to_ts": 2},
    "review_memories": {"action": "pin", "items": [{"kind": "profile", "id": "prof_none"}]},
    "undo_review": {"action_id": "act_none"},
    "get_memory_duplicates": _USER,
    "get_memory_lift": {"entity_type": "profile", "entity_id": "prof_none"},
    "get_injection": {"injection_id": "inj_none"},
    "compare_injection": {"injection_id": "inj_none", "earlier": 1, "later": 2},
    "start_retrieval_experiment": {"experiment_id": "fault", "holdout_percentage": 10},
    "stop_retrieval_experiment": {"experiment_id": "none"},
    "get_retrieval_experiment_results": {"experiment_id": "none"},
    "set_config": {"storage_config": {"type": "sqlite"}},
    "create_key": {"name": "laptop", "role": "reader"},
    "revoke_key": {"key_id": "key_none"},
    "event": {"source": "tool", "success": True},
    "get_failure": {"group_id": "none"},
}

WITH_BODY = tuple(endpoint for endpoint in ENDPOINTS if endpoint.method != "GET" and endpoint.where == "body")
WITH_QUERY = tuple(endpoint for endpoint in ENDPOINTS if endpoint.where == "query" and not endpoint.takes_nothing)


def sample(endpoint: Endpoint[..., Any]) -> dict[str, Any]:
    return dict(_REQUIRED.get(endpoint.name, {}))


def name_of(endpoint: object) -> str:
    assert isinstance(endpoint, Endpoint)
    return endpoint.name

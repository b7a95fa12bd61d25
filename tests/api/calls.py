"""A valid call of every endpoint, for tests that walk all of them."""

from typing import Any

from acumen_client.calls import ENDPOINTS
from acumen_client.endpoint import Endpoint
from tests.world import Org, playbook, profile, said

BY_NAME: dict[str, Endpoint[..., Any]] = {endpoint.name: endpoint for endpoint in ENDPOINTS}

# Names that stand for ids which a test knows only once it has stored something.
Ids = dict[str, Any]
NOBODYS: Ids = {
    "user": "nobody",
    "session": "no-session",
    "request": "no-request",
    "profile": "no-profile",
    "turn": 987_654_321,
    "user_playbook": 987_654_321,
    "agent_playbook": 987_654_321,
    "key": "no-key",
    "run": "no-run",
    "aggregation": "no-aggregation",
    "action": "no-action",
    "injection": "no-injection",
    "experiment": "no-experiment",
    "operation": "no-operation",
    "group": "no-group",
    "change": 987_654_321,
    "conflict": "no-conflict",
}


def call_of(name: str, ids: Ids) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The body and the query of a call that names these ids."""
    return BODIES[name](ids) if name in BODIES else None, QUERIES[name](ids) if name in QUERIES else {}


async def send(org: Org, name: str, ids: Ids) -> Any:
    body, query = call_of(name, ids)
    endpoint = BY_NAME[name]
    path = endpoint.path.format_map(query)
    asked = {name: value for name, value in query.items() if name not in endpoint.path_fields}
    return await org.http.request(endpoint.method, path, json=body, params=asked)


QUERIES: dict[str, Any] = {
    "learning_status": lambda ids: {"request_id": ids["request"]},
    "get_operation_status": lambda _: {"service_name": "profile_generation"},
    "read_learning_provenance": lambda ids: {"kind": "profile", "id": ids["profile"]},
    "profile_change_log": lambda _: {"limit": 1_000},
    "get_all_interactions": lambda _: {"limit": 1_000},
    "get_all_profiles": lambda _: {"limit": 1_000, "include_tombstones": "true"},
    "storage_stats": lambda ids: {"user_id": ids["user"]},
    "get_evaluation_regeneration": lambda ids: {"job_id": ids["run"]},
    "cancel_evaluation_regeneration": lambda ids: {"job_id": ids["run"]},
    "recent_shadow_comparisons": lambda _: {"limit": 100},
    "get_playbook_aggregation_operation": lambda ids: {"operation_id": ids["aggregation"]},
    "playbook_aggregation_change_logs": lambda _: {"playbook_name": "playbook", "agent_version": "agent-v0"},
    "get_review_actions": lambda _: {"limit": 10},
    "get_retrieval_experiment_results": lambda ids: {"experiment_id": ids["experiment"]},
}
QUERIES |= {
    "export_outcomes": lambda _: {"limit": 100},
    "verdict_history": lambda ids: {"subject": ids["session"]},
    "get_failure": lambda ids: {"group_id": ids["group"]},
    "lesson_effect": lambda ids: {"agent_playbook_id": ids["agent_playbook"]},
}
_SEARCH = {"query": "zebra secret", "search_mode": "fts"}
BODIES: dict[str, Any] = {
    "publish_interaction": lambda ids: said("hello", user=ids["user"], session="new"),
    "finalize_session": lambda ids: {"user_id": ids["user"], "session_id": ids["session"]},
    "rerun_profile_generation": lambda ids: {"user_id": ids["user"]},
    "rerun_playbook_generation": lambda ids: {"user_id": ids["user"]},
    "manual_profile_generation": lambda ids: {"user_id": ids["user"]},
    "manual_playbook_generation": lambda ids: {"user_id": ids["user"]},
    "upgrade_all_profiles": lambda _: {},
    "downgrade_all_profiles": lambda _: {},
    "upgrade_all_user_playbooks": lambda _: {},
    "downgrade_all_user_playbooks": lambda _: {},
    "cancel_operation": lambda _: {},
    "get_learning_provenance": lambda ids: {"kind": "profile", "id": ids["profile"]},
    "record_operations": lambda ids: {
        "operations": [{"source": "bench", "endpoint": "read", "status": "ok", "user_id": ids["user"]}]
    },
    "event": lambda _: {"source": "bot", "ok": True},
    "get_operations": lambda ids: {"user_id": ids["user"]},
    "record_verdict": lambda _: {"subject": "pr-1", "overall": "approve"},
    "get_failures": lambda _: {},
    "change_failure": lambda ids: {"group_id": ids["group"], "change": "resolve"},
    "get_proposals": lambda _: {},
    "get_alerts": lambda _: {},
    "decide_proposal": lambda ids: {"agent_playbook_id": ids["agent_playbook"], "decision": "reject"},
    "purge_operations": lambda ids: {"op_id": ids["operation"]},
    "get_requests": lambda ids: {"user_id": ids["user"]},
    "get_interactions": lambda ids: {"user_id": ids["user"]},
    "search": lambda ids: {**_SEARCH, "user_id": ids["user"]},
    "search_profiles": lambda ids: {**_SEARCH, "user_id": ids["user"]},
    "search_user_playbooks": lambda _: _SEARCH,
    "search_agent_playbooks": lambda _: _SEARCH,
    "search_interactions": lambda ids: {**_SEARCH, "user_id": ids["user"]},
    "get_profiles": lambda ids: {"user_id": ids["user"]},
    "get_user_playbooks": lambda _: {},
    "get_agent_playbooks": lambda _: {},
    "add_user_profile": lambda ids: {"user_profiles": [profile("theirs", ids["user"])]},
    "add_user_playbook": lambda ids: {"user_playbooks": [playbook("theirs", ids["user"])]},
    "add_agent_playbook": lambda _: {"agent_playbooks": [{"content": "theirs"}]},
    "update_user_profile": lambda ids: {"user_id": ids["user"], "profile_id": ids["profile"], "content": "theirs"},
    "update_user_playbook": lambda ids: {"user_playbook_id": ids["user_playbook"], "content": "theirs"},
    "update_agent_playbook": lambda ids: {"agent_playbook_id": ids["agent_playbook"], "content": "theirs"},
    "update_agent_playbook_status": lambda ids: {
        "agent_playbook_id": ids["agent_playbook"],
        "playbook_status": "rejected",
    },
    "delete_profile": lambda ids: {"user_id": ids["user"], "profile_id": ids["profile"]},
    "delete_interaction": lambda ids: {"user_id": ids["user"], "interaction_id": ids["turn"]},
    "delete_request": lambda ids: {"request_id": ids["request"]},
    "delete_session": lambda ids: {"session_id": ids["session"]},
    "delete_agent_playbook": lambda ids: {"agent_playbook_id": ids["agent_playbook"]},
    "delete_user_playbook": lambda ids: {"user_playbook_id": ids["user_playbook"]},
    "delete_requests_by_ids": lambda ids: {"request_ids": [ids["request"]]},
    "delete_profiles_by_ids": lambda ids: {"profile_ids": [ids["profile"]]},
    "delete_agent_playbooks_by_ids": lambda ids: {"agent_playbook_ids": [ids["agent_playbook"]]},
    "delete_user_playbooks_by_ids": lambda ids: {"user_playbook_ids": [ids["user_playbook"]]},
    "clear_user_data": lambda ids: {"user_id": ids["user"]},
    "run_playbook_aggregation": lambda _: {},
    "submit_playbook_aggregation": lambda _: {"request_id": "theirs", "agent_version": "agent-v0"},
    "get_injection_stats": lambda _: {"days_back": 30},
    "get_memory_review": lambda _: {"include_all_users": True},
    "session_outcome": lambda ids: {"session_id": ids["session"], "outcome": "failure", "occurred_at": 1},
    "get_session_outcomes": lambda _: {"top_k": 1_000},
    "get_agent_success_evaluation_results": lambda _: {"limit": 1_000},
    "grade_on_demand": lambda ids: {"session_id": ids["session"], "agent_version": ""},
    "regenerate_evaluations": lambda _: {"from_ts": 0, "to_ts": 8_000_000_000},
    "get_evaluation_overview": lambda _: {"from_ts": 0, "to_ts": 8_000_000_000, "bucket": "week"},
    "get_dashboard_stats": lambda _: {"days_back": 30},
    "review_memories": lambda ids: {"action": "archive", "items": [{"kind": "profile", "id": ids["profile"]}]},
    "undo_review": lambda ids: {"action_id": ids["action"]},
    "get_memory_changes": lambda ids: {"user_id": ids["user"]},
    "undo_memory_change": lambda ids: {"change_id": ids["change"]},
    "get_memory_conflicts": lambda _: {"include_all_users": True},
    "settle_conflict": lambda ids: {"conflict_id": ids["conflict"], "keep": "newer"},
    "get_memory_duplicates": lambda _: {"include_all_users": True},
    "cite": lambda ids: {"user_id": ids["user"], "citations": [{"kind": "profile", "real_id": ids["profile"]}]},
    "get_playbook_application_stats": lambda _: {"days_back": 30},
    "get_memory_costs": lambda _: {"days_back": 30},
    "get_memory_lift": lambda ids: {"entity_type": "profile", "entity_id": ids["profile"]},
    "get_injection": lambda ids: {"injection_id": ids["injection"]},
    "compare_injection": lambda ids: {"injection_id": ids["injection"], "earlier": 1, "later": 2},
    "start_retrieval_experiment": lambda ids: {"experiment_id": ids["experiment"], "holdout_percentage": 50},
    "stop_retrieval_experiment": lambda ids: {"experiment_id": ids["experiment"]},
    "set_config": lambda _: {"storage_config": None, "agent_context_prompt": "theirs"},
    "update_config": lambda _: {"agent_context_prompt": "theirs"},
    "create_key": lambda _: {"name": "theirs", "role": "reader"},
    "revoke_key": lambda ids: {"key_id": ids["key"]},
}

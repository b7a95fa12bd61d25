"""The peer's own client, unchanged, drives our server over a real connection."""

import asyncio
import importlib
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import requests
import uvicorn

from acumen.api.server import web_app
from acumen.llm.embedding import Embedder
from acumen.model.ids import fresh_id
from tests.world import Template, make_app

FACT = "I work in the Lisbon office."
CORRECTION = f"{FACT} We never deploy production to us-east-1, always use us-west-2."


class Serving(threading.Thread):
    """A server on a loopback port of its own choice."""

    def __init__(self, web: Any) -> None:
        super().__init__(daemon=True)
        self._server = uvicorn.Server(uvicorn.Config(web, host="127.0.0.1", port=0, log_level="warning"))

    def run(self) -> None:
        self._server.run()

    def __enter__(self) -> str:
        self.start()
        until(lambda: self._server.started)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self.join(10)


def until(true: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 20
    while not true():
        assert time.monotonic() < give_up_at, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def url(template: Template, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        template.copied(tmp_path_factory.mktemp("served")) as settings,
        Serving(web_app(make_app(settings, embedder))) as address,
    ):
        yield address


@pytest.fixture
def peer(reflexio: ModuleType, url: str) -> Iterator[Any]:
    client = reflexio.ReflexioClient(url_endpoint=url, api_key="any", timeout=30)
    yield client
    client.session.close()


@pytest.fixture
def user() -> str:
    return fresh_id("user")


def learned(peer: Any, user: str) -> Any:
    """Teaches the example of the README and returns what publish answered."""
    turns = [{"role": "user", "content": CORRECTION}, {"role": "assistant", "content": "Understood."}]
    return peer.publish_interaction(user, turns, session_id=f"s-{user}", source="slack", wait_for_response=True)


def a_profile(user: str, content: str = "Likes zebras") -> dict[str, Any]:
    now = int(time.time())
    return {
        "profile_id": fresh_id("prof"),
        "user_id": user,
        "content": content,
        "last_modified_timestamp": now,
        "generated_from_request_id": "r1",
    }


def a_user_playbook(user: str, content: str = "Mention zebras") -> dict[str, Any]:
    return {"user_id": user, "agent_version": "v1", "request_id": "r1", "content": content, "trigger": "when asked"}


# --- observe -------------------------------------------------------------------------------------------------------


def test_publish_learns_and_tells_what_it_learned(peer: Any, user: str):
    answer = learned(peer, user)

    assert answer.success
    assert answer.request_id
    assert (answer.profiles_added, answer.playbooks_added) == (1, 1)


def test_publish_without_waiting_is_learned_in_the_background(peer: Any, user: str):
    peer.publish_interaction(user, [{"role": "user", "content": CORRECTION}], session_id="s1")

    until(lambda: peer.get_profiles(user_id=user, force_refresh=True).user_profiles)


def test_every_field_of_a_turn_of_the_peer_is_understood(peer: Any, reflexio: ModuleType, user: str):
    turn = reflexio.InteractionData(
        role="assistant",
        content="done",
        user_action="click",
        user_action_description="pressed it",
        interacted_image_url="data:image/png;base64,iVBORw0KGgo=",
        tools_used=[{"tool_name": "bash", "tool_data": {"input": "ls"}}],
    )

    answer = peer.publish_interaction(user, [turn], session_id="s1", agent_version="v2", force_extraction=True)

    (stored,) = peer.get_interactions(user_id=user).interactions
    assert answer.warnings == []
    assert (stored.content, stored.user_action_description) == ("done", "pressed it")
    assert stored.tools_used[0].tool_name == "bash"


def test_requests_and_interactions_are_read_back(peer: Any, user: str):
    published = learned(peer, user)

    sessions = peer.get_requests(user_id=user, top_k=5).sessions
    turns = peer.get_interactions(user_id=user, top_k=1).interactions
    everyone = peer.get_all_interactions(limit=1_000).interactions

    assert [one.request.request_id for session in sessions for one in session.requests] == [published.request_id]
    assert [turn.content for turn in turns] == ["Understood."]
    assert user in {turn.user_id for turn in everyone}


# --- recall --------------------------------------------------------------------------------------------------------


def test_search_finds_what_was_learned(peer: Any, user: str):
    learned(peer, user)

    found = peer.search(
        query="which region do I deploy to",
        user_id=user,
        top_k=3,
        entity_types=["profiles", "user_playbooks", "agent_playbooks"],
        agent_playbook_status_filter=["pending", "approved"],
        search_mode="hybrid",
    )

    assert "us-west-2" in found.user_playbooks[0].content


def test_each_kind_is_searched_by_itself(peer: Any, user: str):
    learned(peer, user)
    name = fresh_id("playbook")
    shared = {"agent_version": name, "content": "Check the region first", "playbook_status": "pending"}
    peer.add_agent_playbooks([{**shared, "playbook_metadata": ""}])

    with pytest.deprecated_call():
        profiles = peer.search_profiles(user_id=user, query="Lisbon office", threshold=0.05)
    same = peer.search_user_profiles(user_id=user, query="Lisbon office", threshold=0.05)
    lessons = peer.search_user_playbooks(user_id=user, query="us-west-2 deploy", status_filter=[None])
    for_all = peer.search_agent_playbooks(query="region", agent_version=name)
    turns = peer.search_interactions(user_id=user, query="us-west-2", top_k=1)

    assert len(profiles.user_profiles) == len(same.user_profiles) == 1
    assert len(lessons.user_playbooks) == 1
    first = for_all.agent_playbooks[0]
    assert (first.content, first.agent_version) == ("Check the region first", name)
    assert [turn.content for turn in turns.interactions] == [CORRECTION]


# --- how sessions end ----------------------------------------------------------------------------------------------


def test_how_sessions_ended_is_read_back(peer: Any, url: str, user: str):
    turns = [
        {"role": "user", "content": "When do you open?"},
        {"role": "assistant", "content": "At nine."},
        {"role": "user", "content": "That's wrong, you open at ten!"},
    ]
    peer.publish_interaction(user, turns, session_id=f"s-{user}", agent_version=user)
    requests.post(f"{url}/api/finalize_session", json={"user_id": user, "session_id": f"s-{user}"}, timeout=30)

    def listed() -> Any:
        return peer.get_agent_success_evaluation_results(agent_version=user).agent_success_evaluation_results

    until(listed)
    (found,) = listed()
    assert (found.session_id, found.is_success, found.failure_type) == (f"s-{user}", False, "wrong_answer")
    assert (found.number_of_correction_per_session, found.is_escalated) == (1, False)


def test_the_shapes_of_the_peer_take_what_has_no_method(peer: Any, reflexio: ModuleType, url: str, user: str):
    shapes = importlib.import_module("reflexio.models.api_schema.eval_overview_schema")
    wanted = importlib.import_module("reflexio.models.api_schema.retriever_schema")
    learned(peer, user)
    now = int(time.time())

    def asked(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        reply = requests.request(method, f"{url}{path}", json=body, timeout=30)
        reply.raise_for_status()
        return reply.json()

    started = shapes.RegenerateStartResponse(
        **asked("POST", "/api/evaluations/regenerate", {"evaluation_name": None, "from_ts": 0, "to_ts": now + 9})
    )
    job = f"/api/evaluations/regenerate/{started.job_id}"
    running = shapes.RegenerateStatusResponse(**asked("GET", job))
    cancelled = asked("DELETE", job)
    session = {"session_id": f"s-{user}", "outcome": "success", "occurred_at": now}
    stated = asked("POST", "/api/session_outcome", {**session, "label": None, "value": None, "metadata": None})
    graded = asked("POST", "/api/evaluations/grade_on_demand", {"session_id": f"s-{user}", "agent_version": "unknown"})
    overview = asked("POST", "/api/get_evaluation_overview", {"from_ts": 0, "to_ts": now + 9})
    dashboard = asked("POST", "/api/get_dashboard_stats", {"days_back": 30})

    assert running.job_id == started.job_id
    assert all(isinstance(value, str) for value in cancelled.values())
    assert stated["recorded"]
    assert shapes.GradeOnDemandResponse(**graded).skipped_reason == "NO_REQUESTS"
    assert shapes.GetEvaluationOverviewResponse(**overview).hero.regular_success_rate_pp > 0
    assert wanted.GetDashboardStatsResponse(**dashboard).stats.current_period.total_interactions >= 2
    assert shapes.GetRecentShadowComparisonsResponse(
        **asked("GET", "/api/evaluations/shadow_comparisons/recent?limit=500")
    )


# --- memories ------------------------------------------------------------------------------------------------------


def test_profiles_are_added_read_and_deleted(peer: Any, reflexio: ModuleType, user: str):
    first, second, third = (a_profile(user, content) for content in ("Likes zebras", "Likes apples", "Likes pears"))

    added = peer.add_user_profile([first, reflexio.UserProfile(**second), third])
    listed = peer.get_profiles(user_id=user, force_refresh=True, status_filter=[None])
    everyone = peer.get_all_profiles(limit=1_000, status_filter="current")
    gone = peer.delete_profile(user, profile_id=first["profile_id"], wait_for_response=True)
    by_query = peer.delete_profile(user, search_query="apples", wait_for_response=True)
    many = peer.delete_profiles_by_ids([third["profile_id"]])

    assert (added.success, added.added_count) == (True, 3)
    assert {one.content for one in listed.user_profiles} == {"Likes zebras", "Likes apples", "Likes pears"}
    assert user in {one.user_id for one in everyone.user_profiles}
    assert gone.success
    assert by_query.success
    assert many.deleted_count == 1
    assert peer.get_profiles(user_id=user, force_refresh=True).user_profiles == []


def test_user_playbooks_are_added_read_changed_and_deleted(peer: Any, user: str):
    added = peer.add_user_playbook([a_user_playbook(user), a_user_playbook(user, "Mention apples")])
    listed = peer.get_user_playbooks(user_id=user, agent_version="v1", status_filter=[None]).user_playbooks
    first, second = sorted(one.user_playbook_id for one in listed)
    changed = peer.update_user_playbook(first, content="Mention pears", rationale="they asked")
    (after,) = [one for one in peer.get_user_playbooks(user_id=user).user_playbooks if one.user_playbook_id == first]
    old = peer.search_user_playbooks(user_id=user, query="zebras", search_mode="fts")
    gone = peer.delete_user_playbook(first, wait_for_response=True)
    many = peer.delete_user_playbooks_by_ids([second])

    assert added.added_count == 2
    assert changed.success
    assert (after.content, after.trigger, after.rationale) == ("Mention pears", "when asked", "they asked")
    assert old.user_playbooks == []
    assert gone.success
    assert many.deleted_count == 1


def test_agent_playbooks_are_added_read_changed_and_deleted(peer: Any, reflexio: ModuleType):
    name = fresh_id("name")
    new = {"agent_version": "v1", "playbook_name": name, "playbook_status": "pending", "playbook_metadata": ""}

    added = peer.add_agent_playbooks([{**new, "content": "one"}, {**new, "content": "two"}])
    listed = peer.get_agent_playbooks(playbook_name=name, force_refresh=True).agent_playbooks
    first, second = sorted(one.agent_playbook_id for one in listed)
    changed = peer.update_agent_playbook(first, content="changed")
    approved = peer.update_agent_playbook_status(first, playbook_status=reflexio.PlaybookStatus.APPROVED)
    after = peer.get_agent_playbooks(
        playbook_name=name, playbook_status_filter=reflexio.PlaybookStatus.APPROVED, force_refresh=True
    ).agent_playbooks
    gone = peer.delete_agent_playbook(first, wait_for_response=True)
    many = peer.delete_agent_playbooks_by_ids([second])

    assert added.added_count == 2
    assert changed.success
    assert approved.success
    assert [(one.content, one.playbook_name) for one in after] == [("changed", name)]
    assert gone.success
    assert many.deleted_count == 1


def test_turns_requests_sessions_and_users_are_deleted(peer: Any, user: str):
    published = [
        peer.publish_interaction(user, [{"role": "user", "content": f"turn {n}"}], session_id=f"{user}-{n}")
        for n in range(4)
    ]
    first, *_ = peer.get_interactions(user_id=user).interactions

    turn = peer.delete_interaction(user, first.interaction_id, wait_for_response=True)
    request = peer.delete_request(published[1].request_id, wait_for_response=True)
    session = peer.delete_session(f"{user}-2", wait_for_response=True)
    left = peer.get_interactions(user_id=user).interactions
    many = peer.delete_requests_by_ids([published[3].request_id])
    cleared = peer.clear_user_data(user)

    assert turn.success
    assert request.success
    assert session.deleted_requests_count == 1
    assert [one.content for one in left] == ["turn 3"]
    assert many.deleted_count == 1
    assert cleared.success
    assert cleared.deleted_counts["interactions"] == 0


def test_a_deletion_nobody_waits_for_happens_all_the_same(peer: Any, user: str):
    new = a_profile(user)
    peer.add_user_profile([new])

    assert peer.delete_profile(user, profile_id=new["profile_id"]) is None

    until(lambda: not peer.get_profiles(user_id=user, force_refresh=True).user_profiles)


def test_storage_stats_count_what_a_user_has(peer: Any, user: str):
    peer.add_user_profile([a_profile(user)])
    peer.add_user_playbook([a_user_playbook(user)])

    counted = peer.storage_stats(user)

    assert (counted.profile_count, counted.playbook_count) == (1, 1)
    assert counted.oldest_profile_modified is not None


def test_all_of_a_kind_are_deleted_and_counted(peer: Any, user: str):
    peer.publish_interaction(user, [{"role": "user", "content": "hello"}], session_id="s1")
    peer.add_user_profile([a_profile(user)])
    peer.add_user_playbook([a_user_playbook(user)])
    peer.add_agent_playbooks([{"agent_version": "v1", "content": "x", "playbook_status": "pending",
                               "playbook_metadata": ""}])  # fmt: skip

    gone = [
        peer.delete_all_interactions(),
        peer.delete_all_profiles(),
        peer.delete_all_user_playbooks(),
        peer.delete_all_agent_playbooks(),
    ]
    peer.add_user_playbook([a_user_playbook(user)])

    assert all(answer.success and answer.deleted_count >= 1 for answer in gone)
    assert peer.delete_all_playbooks().deleted_count == 1
    assert peer.get_all_profiles().user_profiles == []


# --- learn ---------------------------------------------------------------------------------------------------------


def test_a_rerun_is_waited_for_and_upgraded(peer: Any, user: str):
    learned(peer, user)
    (before,) = peer.get_profiles(user_id=user, force_refresh=True).user_profiles

    done = peer.rerun_profile_generation(user_id=user, wait_for_response=True)
    pending = peer.get_profiles(user_id=user, force_refresh=True, status_filter=["pending"]).user_profiles
    upgraded = peer.upgrade_profiles(user_id=user)
    (after,) = peer.get_profiles(user_id=user, force_refresh=True).user_profiles

    assert (done.success, done.profiles_generated) == (True, 1)
    assert [one.content for one in pending] == [before.content]
    assert (upgraded.profiles_promoted, upgraded.profiles_archived) == (1, 1)
    assert (after.profile_id, after.content) == (pending[0].profile_id, before.content)


def test_a_rerun_of_lessons_is_waited_for_and_upgraded(peer: Any, user: str):
    learned(peer, user)

    done = peer.rerun_playbook_generation(wait_for_response=True)
    upgraded = peer.upgrade_user_playbooks(agent_version="agent-v0")

    assert done.success
    assert upgraded.user_playbooks_promoted >= 1
    assert len(peer.get_user_playbooks(user_id=user).user_playbooks) == 1


def test_a_generation_by_hand_happens_though_nobody_waits(peer: Any, user: str, url: str):
    learned(peer, user)

    assert peer.manual_profile_generation(user_id=user) is None
    assert peer.manual_playbook_generation() is None

    def ended() -> bool:
        told = requests.get(f"{url}/api/get_operation_status", timeout=30).json()["operation_status"]
        return bool(told["request_params"]["user_id"] == user and told["status"] == "completed")

    until(ended)
    assert len(peer.get_profiles(user_id=user, force_refresh=True).user_profiles) == 1


def test_the_change_log_is_read_with_all_its_lists(peer: Any, user: str):
    learned(peer, user)
    learned(peer, user)

    logs = [one for one in peer.get_profile_change_log().profile_change_logs if one.user_id == user]

    assert [len(one.added_profiles) for one in logs] == [0, 1]
    # Later versions of the client no longer read what was mentioned again.
    mentioned = [len(one.mentioned_profiles) for one in logs if "mentioned_profiles" in type(one).model_fields]
    assert mentioned in ([1, 0], [])


def test_the_change_log_is_read_when_something_was_contradicted(peer: Any, user: str):
    for words in ("I live in Paris.", "I moved to Berlin."):
        turns = [{"role": "user", "content": words}]
        peer.publish_interaction(user, turns, session_id=f"s-{user}", wait_for_response=True)

    latest = next(one for one in peer.get_profile_change_log().profile_change_logs if one.user_id == user)

    assert ["Paris" in one.content for one in latest.removed_profiles] == [True]


def test_a_configuration_with_many_extractors_is_read_by_a_client_that_knows_one(peer: Any):
    many = [{"extraction_definition_prompt": "x", "extractor_name": name} for name in ("a", "b")]
    peer.update_config({"profile_extractor_configs": many})

    config = peer.get_config()
    peer.set_config(config)
    peer.update_config({"profile_extractor_configs": [{"extraction_definition_prompt": "x"}]})

    assert config.profile_extractor_config.extractor_name == "a"


# --- configuration and system --------------------------------------------------------------------------------------


def test_the_configuration_is_read_written_and_changed(peer: Any):
    config = peer.get_config()
    config.agent_context_prompt = "An assistant for deployments"

    written = peer.set_config(config)
    changed = peer.update_config({"window_size": 12})

    after = peer.get_config()
    assert written["success"]
    assert changed["success"]
    assert (after.agent_context_prompt, after.window_size) == ("An assistant for deployments", 12)


def test_a_configuration_that_cannot_be_is_refused(peer: Any):
    with pytest.raises(requests.HTTPError, match="422"):
        peer.update_config({"window_size": 0})


def test_whoami_and_my_config_answer(peer: Any):
    assert peer.whoami().org_id == "self-host-org"
    assert peer.whoami().storage_configured
    assert peer.get_my_config().success


def test_a_failure_is_a_status_that_the_client_raises(peer: Any):
    with pytest.raises(requests.HTTPError, match="404"):
        peer.update_user_playbook(987_654_321, content="x")


def test_the_endpoints_without_a_method_answer_too(peer: Any, url: str, user: str):
    learned(peer, user)
    profile = peer.get_profiles(user_id=user, force_refresh=True).user_profiles[0]
    request = profile.generated_from_request_id
    session = {"user_id": user, "session_id": f"s-{user}"}
    calls = [
        ("POST", "/api/finalize_session", session),
        ("GET", f"/api/learning_status?request_id={request}", None),
        ("GET", "/api/get_profile_statistics", None),
        ("POST", "/api/get_learning_provenance", {"kind": "profile", "id": profile.profile_id}),
        ("POST", "/api/downgrade_all_profiles", {"user_id": user, "profile_ids": None, "only_affected_users": False}),
        ("POST", "/api/downgrade_all_user_playbooks", {"agent_version": "none", "playbook_name": None}),
        ("POST", "/api/cancel_operation", {"service_name": None}),
        ("PUT", "/api/update_user_profile", {"user_id": user, "profile_id": profile.profile_id, "content": "New"}),
        ("GET", "/meta/version", None),
        ("GET", "/", None),
        ("GET", "/health", None),
        ("GET", "/health/live", None),
        ("GET", "/health/ready", None),
        ("GET", "/openapi.json", None),
        ("GET", "/docs", None),
    ]

    replies = [requests.request(method, url + path, json=body, timeout=30) for method, path, body in calls]

    assert [reply.status_code for reply in replies] == [200] * len(calls)


# --- awaiting ------------------------------------------------------------------------------------------------------


def test_deletions_from_within_a_running_loop_happen_too(peer: Any, user: str):
    new = a_profile(user)
    peer.add_user_profile([new])

    async def delete() -> None:
        peer.delete_profile(user, profile_id=new["profile_id"])
        await asyncio.sleep(0.2)

    asyncio.run(delete())

    until(lambda: not peer.get_profiles(user_id=user, force_refresh=True).user_profiles)


# --- lessons shared by all users -----------------------------------------------------------------------------------

TESTS_FIRST = ("Always run the tests before committing.", "Run the test suite before you commit anything.")


def taught(peer: Any, user: str) -> str:
    """Two users teach the same; returns the agent version they teach it for."""
    for number, content in enumerate(TESTS_FIRST):
        lesson = {**a_user_playbook(f"{user}-{number}", content), "agent_version": user, "playbook_name": "playbook"}
        peer.add_user_playbook([lesson])
    return user


def test_lessons_are_aggregated_approved_and_rejected(peer: Any, user: str):
    version = taught(peer, user)

    done = peer.run_playbook_aggregation(agent_version=version, playbook_name="playbook", wait_for_response=True)
    (lesson,) = peer.get_agent_playbooks(agent_version=version, force_refresh=True).agent_playbooks
    approved = peer.update_agent_playbook_status(lesson.agent_playbook_id, playbook_status="approved")
    found = peer.search_agent_playbooks(query="run the tests", agent_version=version).agent_playbooks
    peer.update_agent_playbook_status(lesson.agent_playbook_id, playbook_status="rejected")
    peer.run_playbook_aggregation(agent_version=version, playbook_name="playbook", wait_for_response=True)
    after = peer.get_agent_playbooks(agent_version=version, force_refresh=True).agent_playbooks

    assert (done.success, approved.success) == (True, True)
    assert (lesson.content in TESTS_FIRST, lesson.playbook_status) == (True, "pending")
    assert [one.agent_playbook_id for one in found] == [lesson.agent_playbook_id]
    assert [(one.agent_playbook_id, one.playbook_status) for one in after] == [(lesson.agent_playbook_id, "rejected")]


def test_an_aggregation_nobody_waits_for_happens_all_the_same(peer: Any, user: str):
    version = taught(peer, user)

    assert peer.run_playbook_aggregation(agent_version=version, playbook_name="playbook") is None

    until(lambda: peer.get_agent_playbooks(agent_version=version, force_refresh=True).agent_playbooks)


def test_an_aggregation_is_submitted_and_polled_as_newer_clients_do(peer: Any, user: str, url: str):
    """0.2.14 has no method for it; its way of speaking to a server is the same."""
    version = taught(peer, user)
    asked = {"request_id": user, "agent_version": version}

    begun = peer._make_request("POST", "/api/playbook_aggregation_operations", json=asked)
    path = f"/api/playbook_aggregation_operations/{begun['operation_id']}"
    until(lambda: peer._make_request("GET", path)["status"] == "succeeded")
    logs = requests.get(
        f"{url}/api/playbook_aggregation_change_logs",
        params={"playbook_name": "playbook", "agent_version": version},
        timeout=10,
    ).json()

    assert peer._make_request("GET", path)["result"]["playbooks_generated"] == 1
    assert len(logs["change_logs"][0]["added_agent_playbooks"]) == 1


def test_clearing_a_user_takes_them_out_of_what_is_shared(peer: Any, user: str):
    version = taught(peer, user)
    peer.run_playbook_aggregation(agent_version=version, playbook_name="playbook", wait_for_response=True)

    cleared = peer.clear_user_data(f"{user}-0")

    assert cleared.success
    assert cleared.deleted_counts["user_playbooks"] == 1
    assert peer.get_agent_playbooks(agent_version=version, force_refresh=True).agent_playbooks == []

"""A short story played through the real server, one call of every endpoint: the examples of the reference.

Volatile values are replaced: times by one moment, ids and hashes by numbers in order of appearance; fractions are
rounded.
"""

import asyncio
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from acumen.api.server import web_app
from acumen.app import App
from acumen.cli.demo.player import Clock
from acumen.model.ids import Millis
from acumen.settings import Settings
from acumen_client.calls import ENDPOINTS
from acumen_client.wire.shapes import LATEST_SECOND

BY_NAME = {endpoint.name: endpoint for endpoint in ENDPOINTS}
# 2026-01-05, a Monday, 09:00 UTC.
START = 1_767_603_600
HOUR = 3_600
# Everything within this many seconds of the start is shown as the start.
PLAYED_SECONDS = 24 * HOUR
Json = dict[str, Any]


@dataclass(frozen=True)
class Example:
    request: Json
    response: Json


@dataclass
class Recorder:
    """Calls endpoints by name; the first call of each is its example."""

    app: App
    clock: Clock
    http: httpx.AsyncClient
    examples: dict[str, Example] = field(default_factory=dict)

    async def call(self, endpoint: str, /, **fields: Any) -> Json:
        description = BY_NAME[endpoint]
        query = {name: str(fields[name]) for name in fields if name in description.query_fields}
        body = {name: fields[name] for name in fields if name not in description.query_fields | description.path_fields}
        path = description.path.format_map(fields)
        sent = body if description.reads_body else None
        reply = await self.http.request(description.method, path, params=query, json=sent)
        if reply.status_code != description.status and not endpoint.startswith("health"):
            raise RuntimeError(f"{endpoint} answered {reply.status_code}: {reply.text}")
        self.examples.setdefault(endpoint, Example(fields, reply.json()))
        return reply.json()  # type: ignore[no-any-return]

    async def learn(self, *, hours: int = 0) -> None:
        """Lets time pass and runs what is due."""
        self.clock.set(Millis(self.clock() + hours * HOUR * 1000))
        await self.app.flush_usage()
        await self.app.worker.run_due()

    async def say(self, user: str, session: str, *turns: str, **fields: Any) -> Json:
        """Publishes turns, the user's and the agent's by turns, and learns from them."""
        data = [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(turns)]
        reply = await self.call(
            "publish_interaction",
            request_id=f"{session}-1", user_id=user, session_id=session, interaction_data_list=data, **fields,
        )  # fmt: skip
        await self.learn()
        return reply


def play() -> dict[str, Example]:
    """Examples by endpoint, with fixed values."""
    with tempfile.TemporaryDirectory() as folder:
        examples = asyncio.run(_play(Path(folder)))
        fixed = Fixed(folder)
        return {
            name: Example(fixed.value(example.request), fixed.value(example.response))
            for name, example in examples.items()
        }


async def _play(folder: Path) -> dict[str, Example]:
    clock = Clock(Millis(START * 1000))
    app = App(Settings(data=folder), clock)
    transport = httpx.ASGITransport(web_app(app), client=("127.0.0.1", 0))
    await app.start(work=False)
    try:
        async with httpx.AsyncClient(base_url="http://127.0.0.1:8061", transport=transport) as http:
            recorder = Recorder(app, clock, http)
            for part in (_observe, _recall, _operations, _learn, _meter, _review, _system, _erase, _keys):
                await part(recorder)
            return recorder.examples
    finally:
        await app.stop()


# --- the story -----------------------------------------------------------------------------------------------------


async def _observe(r: Recorder) -> None:
    published = await r.say(
        "ada", "ses-1", "Deploy checkout to production.", "Deployed to us-east-1.",
        "No, always deploy to us-west-2. I prefer short answers.",
        source="ops", agent_version="1.0",
    )  # fmt: skip
    await r.call("learning_status", request_id=published["request_id"])
    await r.call("finalize_session", user_id="ada", session_id="ses-1")
    await r.say("ada", "ses-2", "Our standup is at 9:30.")
    await r.say("ada", "ses-3", "Our standup is at 10:00.")
    await r.say("ben", "ses-4", "Deploy search.", "Deployed to us-east-1.", "No, always deploy to us-west-2.")
    await r.call("get_requests", user_id="ada", top_k=1)
    await r.call("get_interactions", user_id="ada", top_k=1)
    await r.call("get_all_interactions", limit=1)


async def _recall(r: Recorder) -> None:
    found = await r.call("search", query="which region do I deploy to?", user_id="ada", session_id="ses-5", cite=True)
    handle = re.findall(r"\[(m\d+)\]", found["context"])[0]
    await r.call("search_profiles", query="short answers", user_id="ada", top_k=1)
    await r.call("search_user_playbooks", query="deploy", user_id="ada", top_k=1)
    await r.call("search_interactions", query="standup at 9:30", user_id="ada", top_k=1)
    await r.call("cite", user_id="ada", session_id="ses-5", citations=[{"real_id": handle}])
    shadowed = {"role": "assistant", "content": "Use us-east-1.", "shadow_content": "Use us-west-2."}
    question, correction = ({"role": "user", "content": text} for text in ("Which region?", "No, use us-west-2."))
    await r.call(
        "publish_interaction",
        request_id="ses-5-1", user_id="ada", session_id="ses-5", source="ops",
        interaction_data_list=[question, shadowed, correction],
    )  # fmt: skip
    ended = {"outcome": "success", "occurred_at": int(r.clock()) // 1000, "label": "deployed"}
    await r.call("session_outcome", session_id="ses-1", **ended)
    await r.learn()
    await r.call("grade_on_demand", session_id="ses-5")
    await r.call("start_retrieval_experiment", experiment_id="january", holdout_percentage=10)
    await r.call("list_retrieval_experiments")
    await r.call("get_retrieval_experiment_results", experiment_id="january")
    await r.call("stop_retrieval_experiment", experiment_id="january")


async def _operations(r: Recorder) -> None:
    failed = {
        "source": "ops", "endpoint": "query_ledger", "status": "error", "duration_ms": 30_000,
        "error_type": "TimeoutError", "error_message": "no answer within 30 s, 50000 rows wanted",
    }  # fmt: skip
    succeeded = {"source": "ops", "endpoint": "query_ledger", "status": "ok", "arguments": {"rows": 5_000}}
    for number in range(6):  # a source that is heard in six hours has a habit, whose end raises an alert
        session = f"ses-{number}"
        calls = [
            {**failed, "session_id": session, "arguments": {"rows": 50_000}},
            {**succeeded, "session_id": session},
        ]
        await r.call("record_operations", operations=calls)
        await r.learn(hours=1)
    await r.call("get_operations", endpoint="query_ledger", limit=1)
    await r.call(
        "record_verdict", subject="pull-request-7", overall="request_changes",
        findings=[{"severity": "warn", "message": "A test is missing."}],
    )  # fmt: skip
    await r.call("verdict_history", subject="pull-request-7")
    await r.call("export_outcomes", limit=1)
    await r.learn(hours=4)
    group = (await r.call("get_failures", source="ops"))["groups"][0]["group_id"]
    await r.call("get_failure", group_id=group)
    await r.call("change_failure", group_id=group, change="resolve")
    proposal = (await r.call("get_proposals", approval="pending"))["proposals"][0]["agent_playbook_id"]
    await r.call("decide_proposal", agent_playbook_id=proposal, decision="approve")
    await r.call("lesson_effect", agent_playbook_id=proposal)
    await r.call("get_alerts")


async def _learn(r: Recorder) -> None:
    await r.call("rerun_profile_generation", user_id="ada")
    await r.call("rerun_playbook_generation", user_id="ada")
    await r.learn()
    await r.call("get_operation_status", service_name="playbook_generation")
    for kind in ("profiles", "user_playbooks"):
        await r.call(f"upgrade_all_{kind}", user_id="ada")
        await r.call(f"downgrade_all_{kind}", user_id="ada")
    for kind in ("profile", "playbook"):
        await r.call(f"manual_{kind}_generation", user_id="ada")
    await r.call("cancel_operation", service_name="playbook_generation")
    await r.learn()
    profile = (await r.call("get_profiles", user_id="ada", top_k=1))["user_profiles"][0]["profile_id"]
    for name in ("get_learning_provenance", "read_learning_provenance"):
        await r.call(name, kind="profile", id=profile)
    await r.call("profile_change_log", user_id="ada", limit=1)
    await r.call("run_playbook_aggregation", agent_version="1.0")
    await r.say("cid", "ses-6", "Deploy.", "Deployed to us-east-1.", "No, always deploy to us-west-2.")
    submitted = await r.call("submit_playbook_aggregation", request_id="nightly-1", agent_version="agent-v0")
    await r.learn()
    await r.call("get_playbook_aggregation_operation", operation_id=submitted["operation_id"])
    await r.call("playbook_aggregation_change_logs", playbook_name="playbook", agent_version="agent-v0")
    await r.call("search_agent_playbooks", query="deploy", top_k=1)
    await r.call("get_agent_success_evaluation_results", session_id="ses-5")
    await r.call("recent_shadow_comparisons", limit=1)
    job = (await r.call("regenerate_evaluations", from_ts=START, to_ts=START + PLAYED_SECONDS))["job_id"]
    await r.call("get_evaluation_regeneration", job_id=job)
    await r.call("cancel_evaluation_regeneration", job_id=job)
    await r.learn()
    await r.call("get_session_outcomes", outcome="success")


async def _meter(r: Recorder) -> None:
    await r.learn()
    stat = (await r.call("get_injection_stats", days_back=30, limit=1))["stats"][0]
    await r.call("get_playbook_application_stats", days_back=30, limit=1)
    await r.call("get_memory_costs", group_by="memory", limit=1)
    await r.call("get_memory_lift", entity_type=stat["entity_type"], entity_id=stat["entity_id"])
    injection = r.examples["search"].response["injection_id"]
    await r.call("get_injection", injection_id=injection)
    await r.call("compare_injection", injection_id=injection, earlier=START - HOUR, later=START + 12 * HOUR)
    await r.call("get_evaluation_overview", from_ts=START, to_ts=START + PLAYED_SECONDS, bucket="day")
    await r.call("get_dashboard_stats", days_back=7)


async def _review(r: Recorder) -> None:
    await r.call("add_user_profile", user_profiles=[{"user_id": "ada", "content": "Works in the payments team."}])
    lesson = {"content": "Take a snapshot first.", "trigger": "before a migration"}
    await r.call("add_user_playbook", user_playbooks=[{"user_id": "ada", **lesson}])
    await r.call("add_agent_playbook", agent_playbooks=[lesson])
    await r.say("ada", "ses-7", "Remember that I work in the payments team in Berlin.")
    await r.call("get_all_profiles", limit=1)
    await r.call("get_profile_statistics")
    await r.call("storage_stats", user_id="ada")
    playbook = (await r.call("get_user_playbooks", user_id="ada", limit=1))["user_playbooks"][0]["user_playbook_id"]
    shared = (await r.call("get_agent_playbooks", limit=1))["agent_playbooks"][0]["agent_playbook_id"]
    profile = (await r.call("get_profiles", user_id="ada", top_k=1))["user_profiles"][0]["profile_id"]
    await r.call("update_user_profile", user_id="ada", profile_id=profile, content="Works in the payments team.")
    await r.call("update_user_playbook", user_playbook_id=playbook, content="Take a snapshot of the database first.")
    await r.call("update_agent_playbook", agent_playbook_id=shared, rationale="A migration cannot be undone.")
    await r.call("update_agent_playbook_status", agent_playbook_id=shared, playbook_status="approved")
    await r.learn(hours=1)
    await r.call("get_memory_review", user_id="ada", limit=1)
    await r.call("get_memory_duplicates", user_id="ada", limit=1)
    conflict = (await r.call("get_memory_conflicts", user_id="ada"))["conflicts"][0]["conflict_id"]
    await r.call("settle_conflict", conflict_id=conflict, keep="newer")
    items = [{"kind": "user_playbook", "id": str(playbook)}]
    acted = await r.call("review_memories", action="archive", items=items, reason="no longer needed")
    await r.call("undo_review", action_id=acted["action_id"])
    await r.call("get_review_actions", limit=1)
    page = await r.call("get_memory_changes", user_id="ada", kinds=["superseded"], limit=1)
    await r.call("undo_memory_change", change_id=page["changes"][0]["change_id"])


async def _system(r: Recorder) -> None:
    for name in ("whoami", "my_config", "status", "version", "welcome", "health", "health_live", "health_ready"):
        await r.call(name)
    await r.call("healthz")
    config = await r.call("get_config")
    await r.call("update_config", window_size=12, agent_context_prompt="Deploys services and answers questions.")
    await r.call("set_config", storage_config=config["storage_config"], window_size=12)


async def _erase(r: Recorder) -> None:
    turns = (await r.call("get_interactions", user_id="ben"))["interactions"]
    await r.call("delete_interaction", user_id="ben", interaction_id=turns[0]["interaction_id"])
    await r.call("delete_request", request_id=turns[0]["request_id"])
    await r.call("delete_session", session_id="ses-2")
    await r.call("delete_requests_by_ids", request_ids=[(await r.say("ben", "ses-8", "I like tea."))["request_id"]])
    profiles = (await r.call("get_profiles", user_id="ada"))["user_profiles"]
    await r.call("delete_profile", user_id="ada", profile_id=profiles[0]["profile_id"])
    await r.call("delete_profiles_by_ids", profile_ids=[profiles[-1]["profile_id"]])
    for kind, owner in (("user", {"user_id": "ada"}), ("agent", {})):
        lessons = (await r.call(f"get_{kind}_playbooks", **owner))[f"{kind}_playbooks"]
        ids = [lesson[f"{kind}_playbook_id"] for lesson in lessons]
        await r.call(f"delete_{kind}_playbook", **{f"{kind}_playbook_id": ids[0]})
        await r.call(f"delete_{kind}_playbooks_by_ids", **{f"{kind}_playbook_ids": ids[-1:]})
    await r.call("purge_operations", source="ops")
    await r.call("clear_user_data", user_id="ada")
    for kind in ("user_playbooks", "agent_playbooks", "playbooks", "profiles", "interactions"):
        await r.call(f"delete_all_{kind}")


async def _keys(r: Recorder) -> None:
    """Last: with the first key, callers without one are refused."""
    created = await r.call("create_key", name="laptop", role="admin")
    r.http.headers["Authorization"] = f"Bearer {created['secret']}"
    await r.call("list_keys")
    await r.call("revoke_key", key_id=created["key"]["key_id"])


# --- fixed values --------------------------------------------------------------------------------------------------

_ID = re.compile(r"\b([a-z]{2,5})_[0-9a-f]{20,}\b")
_HASH = re.compile(r"\b[0-9a-f]{16,}\b")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_HANDLE = re.compile(r"\bm\d{5}\b")
_CURSOR = re.compile(r"\b17\d{11}\b")
_MACHINE = {
    re.compile(r"\d+ MiB"): "20480 MiB",
    re.compile(r"SQLite \d+[\d.]*"): "SQLite 3.50.4",
    re.compile(r"acm_[\w-]{20,}"): "acm_EXAMPLE",
}
_MEASURED = {"size_bytes": 524_288, "hint": "acm_EXAM"}


class Fixed:
    """Replaces what differs from run to run; the same value gets the same replacement everywhere."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._numbers: dict[str, int] = {}

    def value(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {self._text(key): self.value(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner) for inner in value]
        if name in _MEASURED and value is not None:
            return _MEASURED[name]
        if isinstance(value, str):
            return self._text(value)
        return value if isinstance(value, bool) or value is None else _number(value)

    def _text(self, text: str) -> str:
        text = text.replace(self._folder, "/var/lib/acumen")
        for pattern, fixed in _MACHINE.items():
            text = pattern.sub(fixed, text)
        text = _ID.sub(lambda match: f"{match[1]}_{self._numbered(match[0]):04}", text)
        text = _HASH.sub(lambda match: f"{self._numbered(match[0]):08x}", text)
        text = _HANDLE.sub(lambda match: f"m{48_000 + self._numbered(match[0])}", text)
        text = _CURSOR.sub(f"{START}000", text)
        return _MOMENT.sub("2026-01-05T09:00:00Z", text)

    def _numbered(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers) + 1)


def _number(value: float) -> float:
    seconds = value if value < LATEST_SECOND else value / 1000
    if START <= seconds < START + PLAYED_SECONDS:
        return START if value < LATEST_SECOND else START * 1000
    return value if isinstance(value, int) else float(f"{value:.2g}")

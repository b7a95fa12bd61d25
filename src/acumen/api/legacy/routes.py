"""Legacy routes: a table of the earlier names of routes and fields.

A raw feedback is a user playbook, a feedback an agent playbook, a request group a session. A legacy request is renamed,
answered by the handler of today, and the reply is renamed back.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from acumen.errors import BadInput
from acumen_client.calls import Calls
from acumen_client.endpoint import Endpoint
from acumen_client.errors import in_words

Names = Mapping[str, str]

_LESSON = {
    "feedback_name": "playbook_name",
    "feedback_content": "content",
    "when_condition": "trigger",
    "do_not_action": "pitfall",
    "feedback_metadata": "playbook_metadata",
}
_OF_USER: Names = {**_LESSON, "raw_feedbacks": "user_playbooks", "raw_feedback_id": "user_playbook_id"}
_OF_AGENT: Names = {
    **_LESSON,
    "feedbacks": "agent_playbooks",
    "feedback_id": "agent_playbook_id",
    "feedback_status": "playbook_status",
    "feedback_status_filter": "playbook_status_filter",
}
_GENERATION: Names = {"feedback_name": "playbook_name", "feedbacks_generated": "playbooks_generated"}
_CHANGES: Names = {
    **_OF_AGENT,
    **{f"{what}_feedbacks": f"{what}_agent_playbooks" for what in ("added", "removed", "updated")},
}
_VERSIONS: Names = {
    "feedback_name": "playbook_name",
    **{
        f"raw_feedbacks_{what}": f"user_playbooks_{what}"
        for what in ("promoted", "archived", "deleted", "demoted", "restored")
    },
}
# Fields with free content of the caller, which is not renamed.
_FREE = frozenset(
    {"playbook_metadata", "feedback_metadata", "custom_features", "tool_data", "tool_input", "request_params", "stats"}
)
# Legacy lessons had the action next to the content, and the indexed text.
_DO, _INDEXED = "do_action", "indexed_content"


@dataclass(frozen=True, slots=True)
class LegacyRoute:
    """`constants` are fields that its replies have in addition."""

    path: str
    endpoint: Endpoint[..., Any]
    names: Names = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def _legacy_names(self) -> Names:
        return {name: legacy for legacy, name in self.names.items()}

    def parse(self, query: Mapping[str, str], body: Any) -> BaseModel:
        """Validation errors name the legacy fields."""
        try:
            return self.endpoint.parse(_renamed(query, self.names), _renamed(body, self.names))
        except ValidationError as error:
            raise BadInput(in_words(error, self._legacy_names, self.endpoint.request_model)) from None

    def rename_reply(self, reply: bytes) -> bytes:
        answer = _renamed(json.loads(reply), self._legacy_names)
        return json.dumps({**answer, **self.constants}, ensure_ascii=False).encode()


def _renamed(value: Any, names: Names) -> Any:
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    fields = _folded(value) if names.get("feedback_content") else value
    return {names.get(name, name): inner if name in _FREE else _renamed(inner, names) for name, inner in fields.items()}


def _folded(lesson: dict[str, Any]) -> dict[str, Any]:
    """The action is part of the content today."""
    if not {_DO, _INDEXED} & lesson.keys():
        return lesson
    fields = {name: value for name, value in lesson.items() if name not in (_DO, _INDEXED)}
    content, action = fields.get("feedback_content"), lesson.get(_DO)
    if isinstance(action, str) and action and not _contains(str(content or ""), action):
        fields["feedback_content"] = f"{content}\n{action}" if content else action
    return fields


def _contains(content: str, action: str) -> bool:
    """Ignores case and punctuation."""
    return action in content or _words_of(action) in _words_of(content)


def _words_of(text: str) -> str:
    words = " ".join(re.findall(r"\w+", text.casefold()))
    return f" {words} "


LEGACY_ROUTES: tuple[LegacyRoute, ...] = (
    LegacyRoute("/api/add_raw_feedback", Calls.add_user_playbooks, _OF_USER),
    LegacyRoute("/api/add_feedbacks", Calls.add_agent_playbooks, _OF_AGENT),
    LegacyRoute("/api/get_raw_feedbacks", Calls.user_playbooks, _OF_USER),
    LegacyRoute("/api/get_feedbacks", Calls.agent_playbooks, _OF_AGENT),
    LegacyRoute("/api/search_raw_feedbacks", Calls.search_user_playbooks, _OF_USER),
    LegacyRoute("/api/search_feedbacks", Calls.search_agent_playbooks, _OF_AGENT),
    LegacyRoute("/api/delete_raw_feedback", Calls.delete_user_playbook, _OF_USER),
    LegacyRoute("/api/delete_feedback", Calls.delete_agent_playbook, _OF_AGENT),
    LegacyRoute("/api/update_feedback_status", Calls.update_agent_playbook_status, _OF_AGENT),
    LegacyRoute("/api/update_playbook_status", Calls.update_agent_playbook_status),
    LegacyRoute(
        "/api/rerun_feedback_generation",
        Calls.rerun_playbooks,
        _GENERATION,
        {"operation_id": "rerun_feedback_generation"},
    ),
    LegacyRoute("/api/manual_feedback_generation", Calls.generate_playbooks, _GENERATION),
    LegacyRoute("/api/run_feedback_aggregation", Calls.run_playbook_aggregation, _GENERATION),
    LegacyRoute("/api/feedback_aggregation_change_logs", Calls.playbook_aggregation_changes, _CHANGES),
    LegacyRoute("/api/upgrade_all_raw_feedbacks", Calls.upgrade_user_playbooks, _VERSIONS),
    LegacyRoute("/api/downgrade_all_raw_feedbacks", Calls.downgrade_user_playbooks, _VERSIONS),
    LegacyRoute("/api/delete_request_group", Calls.delete_session, {"request_group": "session_id"}),
)

"""The older vocabulary: the routes and names of before, each a row that says what it is called today.

A raw feedback is a user playbook, a feedback an agent playbook, a request group a session. A call in older words is
put into today's, answered by the same handler, and its answer is put back into older words.
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
# What is inside is the caller's own; its names are not ours to change.
_FREE = frozenset(
    {"playbook_metadata", "feedback_metadata", "custom_features", "tool_data", "tool_input", "request_params", "stats"}
)
# Older lessons carried what to do beside the content, and the text they were indexed by.
_DO, _INDEXED = "do_action", "indexed_content"


@dataclass(frozen=True, slots=True)
class Older:
    """One older route. `says` is what its answers say in their own words."""

    path: str
    endpoint: Endpoint[..., Any]
    names: Names = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def _then(self) -> Names:
        return {today: older for older, today in self.names.items()}

    def parse(self, query: Mapping[str, str], body: Any) -> BaseModel:
        """The request under today's names; what is wrong with it is told under those it came with."""
        try:
            return self.endpoint.parse(self.asked(query), self.asked(body))
        except ValidationError as wrong:
            raise BadInput(in_words(wrong, self._then)) from None

    def asked(self, given: Any) -> Any:
        """A body or a query under today's names."""
        return _renamed(given, self.names)

    def answered(self, reply: bytes) -> bytes:
        """A reply under the names it had then."""
        answer = _renamed(json.loads(reply), self._then)
        return json.dumps({**answer, **self.says}, ensure_ascii=False).encode()


def _renamed(value: Any, names: Names) -> Any:
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    given = _folded(value) if names.get("feedback_content") else value
    return {names.get(name, name): inner if name in _FREE else _renamed(inner, names) for name, inner in given.items()}


def _folded(lesson: dict[str, Any]) -> dict[str, Any]:
    """What to do is part of the content today."""
    if not {_DO, _INDEXED} & lesson.keys():
        return lesson
    kept = {name: value for name, value in lesson.items() if name not in (_DO, _INDEXED)}
    said, do = kept.get("feedback_content"), lesson.get(_DO)
    if isinstance(do, str) and do and not _says(str(said or ""), do):
        kept["feedback_content"] = f"{said}\n{do}" if said else do
    return kept


def _says(content: str, do: str) -> bool:
    """Whether it is in there already, be it in other case and with other marks."""
    return do in content or _words_of(do) in _words_of(content)


def _words_of(text: str) -> str:
    words = " ".join(re.findall(r"\w+", text.casefold()))
    return f" {words} "


OLDER: tuple[Older, ...] = (
    Older("/api/add_raw_feedback", Calls.add_user_playbooks, _OF_USER),
    Older("/api/add_feedbacks", Calls.add_agent_playbooks, _OF_AGENT),
    Older("/api/get_raw_feedbacks", Calls.user_playbooks, _OF_USER),
    Older("/api/get_feedbacks", Calls.agent_playbooks, _OF_AGENT),
    Older("/api/search_raw_feedbacks", Calls.search_user_playbooks, _OF_USER),
    Older("/api/search_feedbacks", Calls.search_agent_playbooks, _OF_AGENT),
    Older("/api/delete_raw_feedback", Calls.delete_user_playbook, _OF_USER),
    Older("/api/delete_feedback", Calls.delete_agent_playbook, _OF_AGENT),
    Older("/api/update_feedback_status", Calls.update_agent_playbook_status, _OF_AGENT),
    Older("/api/update_playbook_status", Calls.update_agent_playbook_status),
    Older(
        "/api/rerun_feedback_generation",
        Calls.rerun_playbooks,
        _GENERATION,
        {"operation_id": "rerun_feedback_generation"},
    ),
    Older("/api/manual_feedback_generation", Calls.generate_playbooks, _GENERATION),
    Older("/api/run_feedback_aggregation", Calls.run_playbook_aggregation, _GENERATION),
    Older("/api/feedback_aggregation_change_logs", Calls.playbook_aggregation_changes, _CHANGES),
    Older("/api/upgrade_all_raw_feedbacks", Calls.upgrade_user_playbooks, _VERSIONS),
    Older("/api/downgrade_all_raw_feedbacks", Calls.downgrade_user_playbooks, _VERSIONS),
    Older("/api/delete_request_group", Calls.delete_session, {"request_group": "session_id"}),
)

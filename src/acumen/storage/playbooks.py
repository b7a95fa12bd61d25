"""User and agent playbooks, as rows."""

from typing import Any

from acumen.model.ids import Kind
from acumen.model.memory import Status
from acumen.model.playbook import AgentPlaybook, Approval, Lesson, UserPlaybook
from acumen.model.profile import NEVER
from acumen.model.search import Facet
from acumen.storage.memory_rows import Mapping, memory_columns, row_id, take_shared
from acumen.storage.tables import agent_playbooks, user_playbooks

_LESSON = ("content", "trigger", "rationale", "pitfall", "blocking_issue")


def _lesson_row(playbook: UserPlaybook | AgentPlaybook) -> dict[str, Any]:
    row = {
        **memory_columns(playbook),
        **{name: getattr(playbook.lesson, name) for name in _LESSON},
        "name": playbook.name,
        "agent_version": playbook.agent_version,
        "metadata": playbook.metadata or None,
    }
    # 0 until stored: the database numbers playbooks.
    return {**row, "playbook_id": playbook.id} if playbook.id else row


def _take_lesson(values: dict[str, Any]) -> Lesson:
    return Lesson(**{name: values.pop(name) for name in _LESSON})


def _user_to_row(playbook: UserPlaybook) -> dict[str, Any]:
    return {**_lesson_row(playbook), "user_id": playbook.user_id, "request_id": playbook.request_id}


def _user_from_row(values: dict[str, Any]) -> UserPlaybook:
    shared = take_shared(values)
    return UserPlaybook(
        id=values.pop("playbook_id"),
        lesson=_take_lesson(values),
        metadata=values.pop("metadata") or {},
        interaction_ids=values.pop("interaction_ids") or [],
        **shared,
        **values,
    )


def _agent_to_row(playbook: AgentPlaybook) -> dict[str, Any]:
    return {**_lesson_row(playbook), "approval": str(playbook.approval)}


def _agent_from_row(values: dict[str, Any]) -> AgentPlaybook:
    shared = take_shared(values)
    return AgentPlaybook(
        id=values["playbook_id"],
        lesson=_take_lesson(values),
        created_at=values["created_at"],
        updated_at=values["updated_at"],
        agent_version=values["agent_version"],
        name=values["name"],
        approval=Approval(values["approval"]),
        metadata=values["metadata"] or "",
        superseded_by=values["superseded_by"],
        merged_into=values["merged_into"],
        version=values["version"],
        **shared,
    )


def _shared_facets(row: Any) -> dict[str, Any]:
    return {
        "status": Status(row.status),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "expires_at": NEVER,
        "source": row.source or "",
        "agent_version": row.agent_version,
        "name": row.name,
        "tags": frozenset(row.tags or ()),
    }


def _user_facet(row: Any) -> Facet:
    return Facet(user_id=row.user_id or "", request_id=row.request_id, **_shared_facets(row))


def _agent_facet(row: Any) -> Facet:
    return Facet(user_id="", approval=Approval(row.approval), **_shared_facets(row))


USER_PLAYBOOKS = Mapping(
    kind=Kind.USER_PLAYBOOK,
    table=user_playbooks,
    id_column="playbook_id",
    to_row=_user_to_row,
    from_row=_user_from_row,
    facet=_user_facet,
    facet_columns=("user_id", "request_id", "agent_version", "name"),
    parse_id=row_id,
)
AGENT_PLAYBOOKS = Mapping(
    kind=Kind.AGENT_PLAYBOOK,
    table=agent_playbooks,
    id_column="playbook_id",
    to_row=_agent_to_row,
    from_row=_agent_from_row,
    facet=_agent_facet,
    facet_columns=("approval", "agent_version", "name"),
    parse_id=row_id,
)

"""User and agent playbooks, as rows."""

from functools import partial
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind
from acumen.model.memories.base import Category, Status
from acumen.model.memories.playbook import AgentPlaybook, Approval, Lesson, UserPlaybook
from acumen.model.memories.profile import NEVER, lesson_ends_at
from acumen.model.memories.search import Facet
from acumen.storage.memories.memory_rows import MemoryTable, memory_row, reading, row_id
from acumen.storage.tables import agent_playbooks, user_playbooks

_LESSON = Lesson.__struct_fields__
_the_lesson = itemgetter(*_LESSON)


def _to_row(table: sa.Table, playbook: UserPlaybook | AgentPlaybook) -> dict[str, Any]:
    lesson = {name: getattr(playbook.lesson, name) for name in _LESSON}
    # 0 until stored: the database numbers playbooks.
    number = {"playbook_id": playbook.id} if playbook.id else {}
    return memory_row(table, playbook, **lesson, **number, metadata=playbook.metadata or None)


def _complete_user(row: dict[str, Any]) -> None:
    row["lesson"] = Lesson(*_the_lesson(row))
    row["metadata"] = row["metadata"] or {}
    row["category"] = Category(row["category"])


def _complete_agent(row: dict[str, Any]) -> None:
    row["lesson"] = Lesson(*_the_lesson(row))
    row["approval"] = Approval(row["approval"])
    row["metadata"] = row["metadata"] or ""


def _shared_facets(row: Any) -> dict[str, Any]:
    return {
        "status": Status(row.status),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "source": row.source or "",
        "agent_version": row.agent_version,
        "name": row.name,
        "tags": frozenset(row.tags or ()),
        "scoped_version": row.scoped_version,
    }


def _user_facet(row: Any) -> Facet:
    return Facet(
        user_id=row.user_id or "",
        request_id=row.request_id,
        expires_at=lesson_ends_at(row.valid_until, row.category),
        standing=row.standing,
        **_shared_facets(row),
    )


def _agent_facet(row: Any) -> Facet:
    return Facet(user_id="", approval=Approval(row.approval), expires_at=NEVER, **_shared_facets(row))


USER_PLAYBOOKS = MemoryTable(
    kind=Kind.USER_PLAYBOOK,
    table=user_playbooks,
    id_column="playbook_id",
    to_row=partial(_to_row, user_playbooks),
    from_row=reading(UserPlaybook, "playbook_id", _complete_user),
    facet=_user_facet,
    facet_columns=(
        *("user_id", "request_id", "agent_version", "name", "scoped_version"),
        *("valid_until", "category", "standing"),
    ),
    parse_id=row_id,
)
AGENT_PLAYBOOKS = MemoryTable(
    kind=Kind.AGENT_PLAYBOOK,
    table=agent_playbooks,
    id_column="playbook_id",
    to_row=partial(_to_row, agent_playbooks),
    from_row=reading(AgentPlaybook, "playbook_id", _complete_agent),
    facet=_agent_facet,
    facet_columns=("approval", "agent_version", "name", "scoped_version"),
    parse_id=row_id,
)

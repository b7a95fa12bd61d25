"""Make a shared lesson of what one user taught."""

from typing import Any

from msgspec.structs import replace

from acumen.model.ids import Kind, PlaybookId
from acumen.model.memories.base import Status
from acumen.model.memories.playbook import AgentPlaybook, Approval, UserPlaybook
from acumen.model.memories.search import SearchRow
from acumen.model.review.action import ActionItem
from acumen.review.audit_log import changed_item
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx


def share(tx: Tx, taught: UserPlaybook, search_row: SearchRow, because: Because) -> ActionItem:
    """Approved, because a person has read it. It records its source, so that erasing the user erases their words.

    Its state before is `archived`, so that an undo of the sharing can itself be undone.
    """
    lesson = AgentPlaybook(
        id=PlaybookId(0),
        lesson=taught.lesson,
        created_at=tx.at,
        updated_at=tx.at,
        agent_version=taught.agent_version,
        name=taught.name,
        approval=Approval.APPROVED,
        tags=taught.tags,
    )
    ref = tx.memories.add(Kind.AGENT_PLAYBOOK, lesson, search_row, because)
    tx.sources.add(PlaybookId(int(ref.id)), [taught.id])
    stored: Any = tx.agent_playbooks.get(ref.id)
    return changed_item(tx, ref, replace(stored, status=Status.ARCHIVED), stored)

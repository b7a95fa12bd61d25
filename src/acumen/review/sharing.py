"""What one user taught, made a lesson for everyone by a person; and taken back."""

from typing import Any

from msgspec.structs import replace

from acumen.model.ids import Kind, MemoryRef, PlaybookId
from acumen.model.memories.base import Status
from acumen.model.memories.playbook import AgentPlaybook, Approval, UserPlaybook
from acumen.model.memories.search import SearchRow
from acumen.model.review.action import ActionItem
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx


def share(tx: Tx, taught: UserPlaybook, found_by: SearchRow, because: Because) -> ActionItem:
    """Approved, as a person has read it. It knows its source, so that erasing that user takes their words out again.

    As it is to be put back it is archived, not gone: taking back can itself be taken back.
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
    ref = tx.memories.add(Kind.AGENT_PLAYBOOK, lesson, found_by, because)
    tx.sources.add(PlaybookId(int(ref.id)), [taught.id])
    rows: Any = tx.agent_playbooks
    stored = rows.get(ref.id)
    before, after = (rows.mapping.to_row(one) for one in (replace(stored, status=Status.ARCHIVED), stored))
    return ActionItem(
        MemoryRef(Kind.AGENT_PLAYBOOK, ref.id), changed=True, before={"memory": before}, after={"memory": after}
    )

"""What a person says to a lesson that operations suggest."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from acumen.deps import Deps, Findable
from acumen.errors import BadInput, Conflict, NotFound
from acumen.model.hazards import hazards
from acumen.model.ids import Kind, MemoryRef
from acumen.model.memory import Status
from acumen.model.playbook import AgentPlaybook, Approval
from acumen.model.proposal import Proposal
from acumen.storage.lineage import Because
from acumen.storage.store import Tx


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal with its playbook, what is risky about its words, and lessons about the same call."""

    proposal: Proposal
    playbook: AgentPlaybook
    hazards: tuple[str, ...]
    similar: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WantedProposals:
    approval: Approval | None = None
    about: str | None = None
    flagged: bool = False


async def listed(wanted: WantedProposals, limit: int, deps: Deps) -> list[Proposed]:
    """The latest changed first; those whose playbook was deleted are left out."""

    def read(tx: Tx) -> list[Proposed]:
        found = tx.lessons.all()
        playbooks = tx.agent_playbooks.by_ids([str(one.playbook_id) for one in found])
        pairs = [(one, playbooks[str(one.playbook_id)]) for one in found if str(one.playbook_id) in playbooks]
        chosen = [pair for pair in pairs if _is_wanted(*pair, wanted)]
        return [_proposed(tx, *pair) for pair in chosen[:limit]]

    return await deps.store.read(read)


async def of_playbook(playbook_id: int, deps: Deps) -> Proposed:
    return await deps.store.read(lambda tx: _proposed(tx, *_existing(tx, playbook_id)))


async def decide(playbook_id: int, decision: str, words: Mapping[str, Any], actor: str, deps: Deps) -> None:
    """Approved, agents see it at once; edited, it waits on; rejected, it is not proposed again."""
    given = {name: text for name, text in words.items() if text is not None}
    _, before = await deps.store.read(lambda tx: _existing(tx, playbook_id))
    lesson = replace(before.lesson, **given)
    if not lesson.content.strip():
        raise BadInput("content must not be empty: a lesson without words says nothing.")
    (row,) = await deps.findable([Findable(Kind.AGENT_PLAYBOOK, "", lesson.searchable)])

    def store(tx: Tx) -> None:
        proposal, now = _existing(tx, playbook_id)
        if now.version != before.version:
            raise Conflict("It was changed by someone else meanwhile; read it again and retry.")
        approval, status = _DECIDED.get(decision, (now.approval, now.status))
        after = replace(now, lesson=lesson, approval=approval, status=status)
        ref = MemoryRef(Kind.AGENT_PLAYBOOK, str(playbook_id))
        tx.memories.change(ref, now, after, row, Because(f"{decision} by hand", actor=actor))
        tx.lessons.decided(proposal.key, tx.at)

    await deps.store.write(store)


_DECIDED = {
    "approve": (Approval.APPROVED, Status.CURRENT),
    "reject": (Approval.REJECTED, Status.ARCHIVED),
}


def _existing(tx: Tx, playbook_id: int) -> tuple[Proposal, AgentPlaybook]:
    proposal = tx.lessons.of_playbook(playbook_id)
    playbook = tx.agent_playbooks.get(str(playbook_id))
    if proposal is None or playbook is None:
        raise NotFound(f"There is no proposed lesson {playbook_id}.")
    return proposal, playbook


def _is_wanted(proposal: Proposal, playbook: AgentPlaybook, wanted: WantedProposals) -> bool:
    return (
        (wanted.approval is None or playbook.approval is wanted.approval)
        and (wanted.about is None or str(proposal.about) == wanted.about)
        and (not wanted.flagged or proposal.flag is not None)
    )


def _proposed(tx: Tx, proposal: Proposal, playbook: AgentPlaybook) -> Proposed:
    beside = tx.lessons.at_endpoint(proposal.source, proposal.endpoint)
    similar = tuple(one.playbook_id for one in beside if one.key != proposal.key)
    parts = (playbook.lesson.content, playbook.lesson.trigger, playbook.lesson.rationale, playbook.lesson.pitfall)
    found = {name: None for part in parts if part for name in hazards(part)}
    return Proposed(proposal, playbook, tuple(found), similar)

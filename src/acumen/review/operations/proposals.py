"""Proposed lessons: list them, compare one with existing lessons, and approve, edit or reject it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.index.documents import Document
from acumen.model.ids import Kind, MemoryRef
from acumen.model.memories.base import Status
from acumen.model.memories.playbook import AgentPlaybook, Approval
from acumen.model.operations.operation import Operation, OperationFilter
from acumen.model.operations.proposal import Proposal
from acumen.model.prompt_injection import detect
from acumen.model.review.action import Action, ActionKind, ActionRequest, Target
from acumen.review.actions import confirm
from acumen.storage.store import Tx


class Proposed(Struct, frozen=True):
    """`hazards`: what is risky about its words; `similar`: ids of lessons about the same call."""

    proposal: Proposal
    playbook: AgentPlaybook
    hazards: tuple[str, ...]
    similar: tuple[int, ...]


class ProposalFilter(Struct, frozen=True):
    approval: Approval | None = None
    about: str | None = None
    flagged: bool = False


async def listed(query: ProposalFilter, limit: int, deps: Deps) -> list[Proposed]:
    """Latest change first; without proposals whose playbook was deleted."""

    def read(tx: Tx) -> list[Proposed]:
        proposals = tx.proposals.all()
        playbooks = tx.agent_playbooks.get_many([str(proposal.playbook_id) for proposal in proposals])
        pairs = [
            (proposal, playbook)
            for proposal in proposals
            if (playbook := playbooks.get(str(proposal.playbook_id))) and _matches(proposal, playbook, query)
        ]
        return [_proposed(tx, *pair) for pair in pairs[:limit]]

    return await deps.store.read(read)


async def exists(playbook_id: int, deps: Deps) -> bool:
    """Whether the playbook was proposed from operations."""
    return await deps.store.read(lambda tx: tx.proposals.find_by_playbook(playbook_id)) is not None


async def of_playbook(playbook_id: int, deps: Deps) -> Proposed:
    return await deps.store.read(lambda tx: _proposed(tx, *_existing(tx, playbook_id)))


# Of a session from which no evidence is listed.
MOST_PER_SESSION = 2


async def evidence(proposal: Proposal, limit: int, deps: Deps) -> list[Operation]:
    """The operations that the lesson rests on, newest first; of its other sessions, their latest calls of the tool."""

    def read(tx: Tx) -> list[Operation]:
        listed = tx.operations.find(OperationFilter(ids=proposal.evidence[:limit]), limit)
        for session in proposal.scopes[:limit]:
            if len(listed) < limit and all(operation.session_id != session for operation in listed):
                calls = OperationFilter(source=proposal.source, endpoint=proposal.endpoint, session_id=session)
                listed += tx.operations.find(calls, MOST_PER_SESSION)
        return sorted(listed[:limit], key=lambda operation: (-operation.received_at, operation.id))

    return await deps.store.read(read)


# As many existing lessons as a person compares with a proposed one.
MOST_SIMILAR = 3
LEAST_SIMILARITY = 0.5


async def similar_lessons(proposed: Proposed, deps: Deps) -> list[tuple[AgentPlaybook, float | None]]:
    """Existing or proposed lessons about the same call or with similar text, and their similarity; closest first."""
    (row,) = await deps.index.rows([Document(Kind.AGENT_PLAYBOOK, "", proposed.playbook.lesson.searchable)])
    (scores,) = await deps.store.read(lambda tx: deps.index.similar(tx, Kind.AGENT_PLAYBOOK, None, [row]))
    close = {name for name, score in scores.items() if score is not None and score >= LEAST_SIMILARITY}
    names = {*close, *map(str, proposed.similar)} - {str(proposed.playbook.id)}
    lessons = (await deps.store.read(lambda tx: tx.agent_playbooks.get_many(sorted(names)))).values()
    in_use = [lesson for lesson in lessons if lesson.status in (Status.CURRENT, Status.PENDING)]
    in_use.sort(key=lambda lesson: (-(scores.get(str(lesson.id)) or 0.0), lesson.id))
    return [(lesson, scores.get(str(lesson.id))) for lesson in in_use[:MOST_SIMILAR]]


async def decide(playbook_id: int, decision: str, words: Mapping[str, Any], actor: str, deps: Deps) -> Action:
    """`approve` shows the lesson to agents at once, `edit` leaves it pending, `reject` never proposes it again.

    Can be undone from the audit log. A decision that changes nothing has no action id.
    """
    proposal, playbook = await deps.store.read(lambda tx: _existing(tx, playbook_id))
    ref = MemoryRef(Kind.AGENT_PLAYBOOK, str(playbook_id))
    changes = {**words, **_DECIDED.get(decision, {})}
    reason = f"{decision} of a proposed lesson"
    request = ActionRequest(ActionKind.EDIT, (Target(ref, playbook.version),), actor, reason, changes)
    return await confirm(request, {}, deps, also=lambda tx: tx.proposals.set_decided(proposal.key, tx.at))


_DECIDED: dict[str, dict[str, Any]] = {
    "approve": {"approval": Approval.APPROVED, "status": Status.CURRENT},
    "reject": {"approval": Approval.REJECTED, "status": Status.ARCHIVED},
}


def _existing(tx: Tx, playbook_id: int) -> tuple[Proposal, AgentPlaybook]:
    proposal = tx.proposals.find_by_playbook(playbook_id)
    playbook = tx.agent_playbooks.get(str(playbook_id))
    if proposal is None or playbook is None:
        raise NotFound(f"There is no proposed lesson {playbook_id}.")
    return proposal, playbook


def _matches(proposal: Proposal, playbook: AgentPlaybook, query: ProposalFilter) -> bool:
    return (
        (query.approval is None or playbook.approval is query.approval)
        and (query.about is None or str(proposal.about) == query.about)
        and (not query.flagged or proposal.flag is not None)
    )


def _proposed(tx: Tx, proposal: Proposal, playbook: AgentPlaybook) -> Proposed:
    same_call = tx.proposals.find_by_endpoint(proposal.source, proposal.endpoint)
    similar = tuple(lesson.playbook_id for lesson in same_call if lesson.key != proposal.key)
    parts = (playbook.lesson.content, playbook.lesson.trigger, playbook.lesson.rationale, playbook.lesson.pitfall)
    risks = dict.fromkeys(name for part in parts if part for name in detect(part))
    return Proposed(proposal, playbook, tuple(risks), similar)

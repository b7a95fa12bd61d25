"""What a person says to a lesson that operations suggest."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import BadInput, Conflict, NotFound
from acumen.index.documents import Document
from acumen.model.ids import Kind, MemoryRef, UserId
from acumen.model.memories.base import Cause, Status
from acumen.model.memories.playbook import AgentPlaybook, Approval
from acumen.model.operations.proposal import Proposal
from acumen.model.prompt_injection import detect
from acumen.model.review.action import Action, ActionId, ActionItem, ActionKind
from acumen.review.act import fresh_action
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx


class Proposed(Struct, frozen=True):
    """A proposal with its playbook, what is risky about its words, and lessons about the same call."""

    proposal: Proposal
    playbook: AgentPlaybook
    hazards: tuple[str, ...]
    similar: tuple[int, ...]


class WantedProposals(Struct, frozen=True):
    approval: Approval | None = None
    about: str | None = None
    flagged: bool = False


async def listed(wanted: WantedProposals, limit: int, deps: Deps) -> list[Proposed]:
    """The latest changed first; those whose playbook was deleted are left out."""

    def read(tx: Tx) -> list[Proposed]:
        found = tx.proposals.all()
        playbooks = tx.agent_playbooks.get_many([str(one.playbook_id) for one in found])
        pairs = [(one, playbooks[str(one.playbook_id)]) for one in found if str(one.playbook_id) in playbooks]
        chosen = [pair for pair in pairs if _is_wanted(*pair, wanted)]
        return [_proposed(tx, *pair) for pair in chosen[:limit]]

    return await deps.store.read(read)


async def of_playbook(playbook_id: int, deps: Deps) -> Proposed:
    return await deps.store.read(lambda tx: _proposed(tx, *_existing(tx, playbook_id)))


# As many lessons beside a proposed one as a person compares.
MOST_BESIDE = 3
NEAR = 0.5


async def beside(proposed: Proposed, deps: Deps) -> list[tuple[AgentPlaybook, float | None]]:
    """Lessons that agents have, or are proposed, about the same call or nearly in the same words; the nearest first."""
    (row,) = await deps.index.rows([Document(Kind.AGENT_PLAYBOOK, "", proposed.playbook.lesson.searchable)])
    (near,) = await deps.store.read(lambda tx: deps.index.similar(tx, Kind.AGENT_PLAYBOOK, UserId(""), [row]))
    close = {name: how for name, how in near.items() if how is not None and how >= NEAR}
    names = {*close, *map(str, proposed.similar)} - {str(proposed.playbook.id)}
    found = await deps.store.read(lambda tx: tx.agent_playbooks.get_many(sorted(names)))
    kept = [one for one in found.values() if one.status in (Status.CURRENT, Status.PENDING)]
    kept.sort(key=lambda one: (-(near.get(str(one.id)) or 0.0), one.id))
    return [(one, near.get(str(one.id))) for one in kept[:MOST_BESIDE]]


async def decide(playbook_id: int, decision: str, words: Mapping[str, Any], actor: str, deps: Deps) -> Action:
    """Approved, agents see it at once; edited, it waits on; rejected, it is not proposed again.

    Written to the audit log, from where it can be taken back; what changes nothing has no id.
    """
    given = {name: text for name, text in words.items() if text is not None}
    _, before = await deps.store.read(lambda tx: _existing(tx, playbook_id))
    lesson = replace(before.lesson, **given)
    if not lesson.content.strip():
        raise BadInput("content must not be empty: a lesson without words says nothing.")
    (row,) = await deps.index.rows([Document(Kind.AGENT_PLAYBOOK, "", lesson.searchable)])

    def store(tx: Tx) -> Action:
        proposal, now = _existing(tx, playbook_id)
        if now.version != before.version:
            raise Conflict("It was changed by someone else meanwhile; read it again and retry.")
        approval, status = _DECIDED.get(decision, (now.approval, now.status))
        after = replace(now, lesson=lesson, approval=approval, status=status)
        tx.proposals.set_decided(proposal.key, tx.at)
        done = _action(tx, decision, now, after, actor)
        if after == now:
            return replace(done, id=ActionId(""), items=())
        because = Because(done.reason, actor=actor, request_id=done.id, cause=Cause.PERSON)
        tx.memories.update(done.items[0].ref, now, after, row, because)
        tx.actions.add(done)
        return done

    return await deps.store.write(store)


def _action(tx: Tx, decision: str, before: AgentPlaybook, after: AgentPlaybook, actor: str) -> Action:
    rows = tx.agent_playbooks
    sides = {"memory": rows.mapping.to_row(before)}, {"memory": rows.mapping.to_row(after)}
    item = ActionItem(MemoryRef(Kind.AGENT_PLAYBOOK, str(before.id)), True, None, None, *sides)
    params = {"decision": decision}
    return Action(
        fresh_action(), ActionKind.EDIT, actor, tx.at, f"{decision} of a proposed lesson", params, items=(item,)
    )


_DECIDED = {
    "approve": (Approval.APPROVED, Status.CURRENT),
    "reject": (Approval.REJECTED, Status.ARCHIVED),
}


def _existing(tx: Tx, playbook_id: int) -> tuple[Proposal, AgentPlaybook]:
    proposal = tx.proposals.find_by_playbook(playbook_id)
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
    beside = tx.proposals.find_by_endpoint(proposal.source, proposal.endpoint)
    similar = tuple(one.playbook_id for one in beside if one.key != proposal.key)
    parts = (playbook.lesson.content, playbook.lesson.trigger, playbook.lesson.rationale, playbook.lesson.pitfall)
    found = {name: None for part in parts if part for name in detect(part)}
    return Proposed(proposal, playbook, tuple(found), similar)

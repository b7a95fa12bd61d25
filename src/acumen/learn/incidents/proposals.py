"""Lessons that operations suggest, one per key: proposed, and approved by people only."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.index.documents import Document
from acumen.model.ids import Kind, MemoryRef, PlaybookId, fresh_id
from acumen.model.memories.base import Origin, Status
from acumen.model.memories.playbook import AgentPlaybook, Approval, Lesson
from acumen.model.memories.search import SearchRow
from acumen.model.operations.operation import Operation
from acumen.model.operations.proposal import About, Analysis, AnalysisState, Proposal
from acumen.model.plural import counted
from acumen.model.prompt_injection import commands, detect
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

# Operations that are listed with a proposal; `count` has all of them.
MOST_EVIDENCE = 50


class Suggestion(Struct, frozen=True):
    """A lesson and its evidence, before it is compared with the proposal of the same key."""

    key: str
    about: About
    lesson: Lesson
    evidence: Sequence[Operation]
    sessions: Sequence[str]
    count: int
    origin: Origin
    state: AnalysisState
    diagnosis: dict[str, Any]
    group_id: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(operation.id for operation in self.evidence)

    @property
    def because(self) -> Because:
        count, sessions = counted(self.count, f"{self.about} operation"), counted(len(self.sessions), "session")
        return Because(f"suggested by {count} in {sessions}", sources=self.ids)


def evidence_hash(key: str, ids: Sequence[str]) -> str:
    return hashlib.sha256("\x1f".join((key, *sorted(ids))).encode()).hexdigest()


def is_harmless(lesson: Lesson) -> bool:
    parts = (lesson.content, lesson.trigger, lesson.rationale, lesson.pitfall)
    return not any(detect(part) for part in parts if part)


def state_of(lesson: Lesson, texts: Iterable[str], *, enough: bool) -> AnalysisState:
    """`texts` are words of the evidence that the lesson is about."""
    if not is_harmless(lesson) or any(map(commands, texts)):
        return AnalysisState.QUARANTINED
    return AnalysisState.DONE if enough else AnalysisState.WEAK


async def conclude(suggestion: Suggestion, deps: Deps, also: Callable[[Tx], None] = lambda _tx: None) -> None:
    """Stores the analysis, and proposes the lesson if it is DONE. The same evidence is concluded once."""
    analysis = Analysis(
        id=fresh_id("an"),
        about=suggestion.about,
        key=suggestion.key,
        evidence_hash=evidence_hash(suggestion.key, suggestion.ids),
        evidence=suggestion.ids,
        scopes=tuple(suggestion.sessions),
        state=suggestion.state,
        diagnosis=suggestion.diagnosis,
        origin=suggestion.origin,
        created_at=deps.now(),
    )
    document = Document(Kind.AGENT_PLAYBOOK, "", suggestion.lesson.searchable)
    rows = await deps.index.rows([document]) if suggestion.state is AnalysisState.DONE else []

    def store(tx: Tx) -> None:
        if tx.proposals.add_analysis(analysis):
            also(tx)
            for row in rows:
                tx.proposals.upsert(_proposal(tx, suggestion, row))

    await deps.store.write(store)


def _proposal(tx: Tx, suggestion: Suggestion, row: SearchRow) -> Proposal:
    """New under its key, or more evidence for what was proposed, approved or rejected before."""
    proposal = tx.proposals.get(suggestion.key)
    if proposal is None:
        return _new(tx, suggestion, row)
    _revise(tx, proposal, suggestion, row)
    return replace(
        proposal,
        evidence=tuple(dict.fromkeys((*suggestion.ids, *proposal.evidence)))[:MOST_EVIDENCE],
        scopes=tuple(dict.fromkeys((*proposal.scopes, *suggestion.sessions))),
        count=max(proposal.count, suggestion.count),
        replays=proposal.replays + 1,
        confidence=suggestion.origin.confidence,
        detail={**proposal.detail, **suggestion.detail},
    )


def _new(tx: Tx, suggestion: Suggestion, row: SearchRow) -> Proposal:
    last = suggestion.evidence[0]
    playbook = AgentPlaybook(
        id=PlaybookId(0),
        lesson=suggestion.lesson,
        created_at=tx.at,
        updated_at=tx.at,
        agent_version=last.agent_version or "",
        approval=Approval.PENDING,
        status=Status.PENDING,  # no search returns it before a person has approved it
        tags=[str(suggestion.about)],
        origin=suggestion.origin,
    )
    ref = tx.memories.add(Kind.AGENT_PLAYBOOK, playbook, row, suggestion.because)
    return Proposal(
        key=suggestion.key,
        about=suggestion.about,
        playbook_id=PlaybookId(int(ref.id)),
        source=last.source,
        endpoint=last.endpoint,
        evidence=suggestion.ids[:MOST_EVIDENCE],
        scopes=tuple(suggestion.sessions),
        count=suggestion.count,
        confidence=suggestion.origin.confidence,
        created_at=tx.at,
        group_id=suggestion.group_id,
        schema_hash=last.schema_hash,
        agent_version=last.agent_version,
        detail=suggestion.detail,
    )


def _revise(tx: Tx, proposal: Proposal, suggestion: Suggestion, row: SearchRow) -> None:
    """New words replace the old ones until a person has decided."""
    ref = MemoryRef(Kind.AGENT_PLAYBOOK, str(proposal.playbook_id))
    before = tx.agent_playbooks.get(ref.id)
    if before is None or before.approval is not Approval.PENDING or proposal.decided_at is not None:
        return
    if before.lesson != suggestion.lesson:
        after = replace(before, lesson=suggestion.lesson, origin=suggestion.origin)
        tx.memories.update(ref, before, after, row, suggestion.because)

"""Lessons that operations suggest, kept one per key: proposed, never approved by themselves."""

import hashlib
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from acumen.deps import Deps, Findable
from acumen.model.hazards import hazards
from acumen.model.ids import Kind, MemoryRef, PlaybookId, fresh_id
from acumen.model.memory import Origin, Status
from acumen.model.operation import Operation
from acumen.model.playbook import AgentPlaybook, Approval, Lesson
from acumen.model.proposal import About, Analysis, AnalysisState, Proposal
from acumen.model.search import SearchRow
from acumen.storage.lineage import Because
from acumen.storage.store import Tx

# Enough to see what a lesson rests on; what was counted is counted.
MOST_EVIDENCE = 50


class Suggested(Struct, frozen=True):
    """A lesson, and what it rests on, before it meets what is known under its key."""

    key: str
    about: About
    lesson: Lesson
    evidence: Sequence[Operation]
    scopes: Sequence[str]
    count: int
    origin: Origin
    group_id: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


def evidence_hash(key: str, ids: Sequence[str]) -> str:
    return hashlib.sha256("\x1f".join((key, *sorted(ids))).encode()).hexdigest()


def analysis(suggested: Suggested, state: AnalysisState, diagnosis: dict[str, Any], deps: Deps) -> Analysis:
    ids = tuple(one.id for one in suggested.evidence)
    return Analysis(
        id=fresh_id("an"),
        about=suggested.about,
        key=suggested.key,
        evidence_hash=evidence_hash(suggested.key, ids),
        evidence=ids,
        scopes=tuple(suggested.scopes),
        state=state,
        diagnosis=diagnosis,
        origin=suggested.origin,
        created_at=deps.now(),
    )


async def findable(suggested: Suggested, deps: Deps) -> SearchRow:
    (row,) = await deps.findable([Findable(Kind.AGENT_PLAYBOOK, "", suggested.lesson.searchable)])
    return row


def is_harmless(lesson: Lesson) -> bool:
    """No part of it tries to do anything to its reader."""
    parts = (lesson.content, lesson.trigger, lesson.rationale, lesson.pitfall)
    return not any(hazards(part) for part in parts if part)


def propose(tx: Tx, suggested: Suggested, found_by: SearchRow) -> None:
    """New under its key, or more evidence for what was proposed, approved or rejected before."""
    known = tx.lessons.get(suggested.key)
    if known is None:
        tx.lessons.propose(_first(tx, suggested, found_by))
        return
    _revise(tx, known, suggested, found_by)
    seen = tuple(dict.fromkeys((*(one.id for one in suggested.evidence), *known.evidence)))[:MOST_EVIDENCE]
    scopes = tuple(dict.fromkeys((*known.scopes, *suggested.scopes)))
    tx.lessons.propose(
        replace(
            known,
            evidence=seen,
            scopes=scopes,
            count=max(known.count, suggested.count),
            replays=known.replays + 1,
            confidence=suggested.origin.confidence,
            detail={**known.detail, **suggested.detail},
        )
    )


def _first(tx: Tx, suggested: Suggested, found_by: SearchRow) -> Proposal:
    last = suggested.evidence[0]
    playbook = AgentPlaybook(
        id=PlaybookId(0),
        lesson=suggested.lesson,
        created_at=tx.at,
        updated_at=tx.at,
        agent_version=last.agent_version or "",
        approval=Approval.PENDING,
        status=Status.PENDING,  # no search finds it before a person has approved it
        tags=[str(suggested.about)],
        origin=suggested.origin,
    )
    ref = tx.memories.add(Kind.AGENT_PLAYBOOK, playbook, found_by, _because(suggested))
    return Proposal(
        key=suggested.key,
        about=suggested.about,
        playbook_id=PlaybookId(int(ref.id)),
        source=last.source,
        endpoint=last.endpoint,
        evidence=tuple(one.id for one in suggested.evidence)[:MOST_EVIDENCE],
        scopes=tuple(suggested.scopes),
        count=suggested.count,
        confidence=suggested.origin.confidence,
        created_at=tx.at,
        group_id=suggested.group_id,
        schema_hash=last.schema_hash,
        agent_version=last.agent_version,
        detail=suggested.detail,
    )


def _revise(tx: Tx, known: Proposal, suggested: Suggested, found_by: SearchRow) -> None:
    """Better words replace the old ones as long as no person has spoken; what a person decided stands."""
    ref = MemoryRef(Kind.AGENT_PLAYBOOK, str(known.playbook_id))
    before = tx.agent_playbooks.get(ref.id)
    waits = before is not None and before.approval is Approval.PENDING and known.decided_at is None
    if before is not None and waits and before.lesson != suggested.lesson:
        after = replace(before, lesson=suggested.lesson, origin=suggested.origin)
        tx.memories.change(ref, before, after, found_by, _because(suggested))


def _because(suggested: Suggested) -> Because:
    reason = f"{suggested.count} {suggested.about} operation(s) in {len(suggested.scopes)} session(s) suggest it"
    return Because(reason, sources=[one.id for one in suggested.evidence])

"""Learn from failures: each group is explained once per evidence, and its lesson proposed."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.learn.incidents import proposals
from acumen.learn.incidents.diagnosis import Diagnosis, diagnose
from acumen.learn.incidents.proposals import Suggestion
from acumen.model.ids import Millis
from acumen.model.jobs.events import Failed
from acumen.model.memories.base import Origin
from acumen.model.memories.playbook import Lesson
from acumen.model.operations.failure import COOL_DOWN_MS, LEAST_SESSIONS, WORTH_ANALYSING, FailureGroup, GroupState
from acumen.model.operations.operation import Operation, OperationFilter
from acumen.model.operations.proposal import LEAST_CONFIDENCE, About, AnalysisState, confidence
from acumen.model.prompt_injection import commands
from acumen.storage.store import Tx

MOST_EXAMPLES, MOST_OF_A_SESSION, LOOKED_AT = 10, 3, 200
QUOTED = 200
# Lessons about the same call that are shown to a model next to the failures.
MOST_LESSONS = 5
QUARANTINE = {"cause": "the words of the failures try to command their reader; a person looks first"}


class Case(Struct, frozen=True):
    """A group with those merged into it, its sessions, and the failures that are examples of all."""

    group: FailureGroup
    members: Sequence[FailureGroup]
    sessions: Sequence[str]
    examples: Sequence[Operation]
    lessons: Sequence[str]  # about the same call

    @property
    def count(self) -> int:
        return sum(member.count for member in self.members)

    @property
    def is_ready(self) -> bool:
        unexplained = self.count - sum(member.analysed_count for member in self.members)
        enough = unexplained >= WORTH_ANALYSING or self.group.state is GroupState.ESCALATING
        return enough and len(self.sessions) >= LEAST_SESSIONS and bool(self.examples)

    @property
    def tries_to_command(self) -> bool:
        texts = {self.group.endpoint, self.group.source, self.group.error_type}
        texts |= {text for example in self.examples for text in (example.error_message, example.input_summary) if text}
        return any(map(commands, texts))


async def explain(event: Failed, deps: Deps) -> None:
    """Explain a group of failures, when enough of them are not analysed yet."""
    case = await deps.store.read(lambda tx: _case(tx, event.group_id))
    if case is None or not case.is_ready:
        return
    cooled_at = (case.group.analysed_at or 0) + COOL_DOWN_MS
    if case.group.analysed_at is not None and deps.now() < cooled_at:
        await deps.store.write(lambda tx: tx.jobs.add(event, Millis(cooled_at)), hold_org=False)
        return
    hashed = proposals.evidence_hash(case.group.id, [example.id for example in case.examples])
    if not await deps.store.read(lambda tx: tx.proposals.is_analysed(hashed)):
        await _conclude(case, deps)


def _case(tx: Tx, group_id: str) -> Case | None:
    root_id = tx.failures.get_root(group_id)
    members = tx.failures.find_members(root_id)
    root = next((member for member in members if member.id == root_id), None)
    if root is None:
        return None
    ids = tuple(member.id for member in members)
    others = [lesson for lesson in tx.proposals.find_by_endpoint(root.source, root.endpoint) if lesson.key != root.id]
    playbooks = tx.agent_playbooks.get_many([str(lesson.playbook_id) for lesson in others[:MOST_LESSONS]])
    lessons = [playbook.lesson.content for playbook in playbooks.values()]
    latest = tx.operations.find(OperationFilter(group_ids=ids), LOOKED_AT)
    return Case(root, members, tx.failures.find_sessions(ids), diverse(latest), lessons)


def diverse(failures: Sequence[Operation]) -> list[Operation]:
    """A few that differ: in turn from every session, and no message twice while there are others."""
    by_session: dict[str, list[Operation]] = {}
    for failure in failures:
        by_session.setdefault(failure.session_id or "", []).append(failure)
    chosen: list[Operation] = []
    messages: set[str | None] = set()
    for _ in range(MOST_OF_A_SESSION):
        for of_session in filter(None, by_session.values()):
            place = next((n for n, failure in enumerate(of_session) if failure.error_message not in messages), 0)
            chosen.append(of_session.pop(place))
            messages.add(chosen[-1].error_message)
    return chosen[:MOST_EXAMPLES]


async def _conclude(case: Case, deps: Deps) -> None:
    """Failures that contain a prompt injection are shown to reviewers only: not to a model, not as a lesson."""

    def analysed(tx: Tx) -> None:
        counts = {member.id: member.count for member in case.members}
        for group in tx.failures.get_for_update(list(counts)).values():
            tx.failures.update(replace(group, analysed_count=min(counts[group.id], group.count), analysed_at=tx.at))

    if case.tries_to_command:
        nothing = Lesson(""), Origin("rules", confidence=0.0)
        suggestion = _suggestion(case, *nothing, AnalysisState.QUARANTINED, QUARANTINE)
    else:
        diagnosis, origin = await diagnose(case.group, case.examples, case.lessons, deps)
        share = confidence(len(_sessions(case)), len(case.examples))
        origin = replace(origin, confidence=round(diagnosis.confidence * min(1.0, 2 * share), 4))
        lesson = _lesson(diagnosis, case)
        state = proposals.state_of(lesson, (), enough=share >= LEAST_CONFIDENCE)
        suggestion = _suggestion(case, lesson, origin, state, diagnosis.stored)
    await proposals.conclude(suggestion, deps, analysed)


def _sessions(case: Case) -> list[str]:
    return sorted({example.session_id for example in case.examples if example.session_id})


def _suggestion(
    case: Case, lesson: Lesson, origin: Origin, state: AnalysisState, diagnosis: dict[str, Any]
) -> Suggestion:
    endpoints = sorted({example.endpoint for example in case.examples})
    return Suggestion(
        key=case.group.id,
        about=About.FAILURE,
        lesson=lesson,
        evidence=case.examples,
        sessions=_sessions(case),
        count=case.count,
        origin=origin,
        state=state,
        diagnosis=diagnosis,
        group_id=case.group.id,
        detail={"endpoints": endpoints, "sessions": len(case.sessions)},
    )


def _lesson(diagnosis: Diagnosis, case: Case) -> Lesson:
    """Its words are ours or checked; those of the failures are quoted only where they are harmless."""
    cause = diagnosis.cause.strip().rstrip(".")
    lesson = Lesson(
        content=f"Do not {_clause(diagnosis.dont)}. Instead, {_clause(diagnosis.adjust)}.",
        trigger=diagnosis.trigger,
        rationale=f"{cause[:1].upper()}{cause[1:]}: {case.count} times in {len(case.sessions)} sessions.",
        pitfall=f"{diagnosis.trigger} failed with: {case.group.template[:QUOTED]}",
    )
    return lesson if proposals.is_harmless(lesson) else replace(lesson, pitfall=None)


def _clause(text: str) -> str:
    """As part of a sentence: `Do not` and a full stop are added around it."""
    text = text.strip().rstrip(".")
    for start in ("do not ", "don't ", "never "):
        if text.lower().startswith(start):
            text = text[len(start) :]
    return text[:1].lower() + text[1:]

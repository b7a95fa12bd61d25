"""Learn from failures: each group is explained once per evidence, and its lesson proposed."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.learn.incidents import proposals
from acumen.learn.incidents.diagnose_llm import by_model
from acumen.learn.incidents.diagnosis import Diagnosis, by_rules
from acumen.learn.incidents.proposals import Suggested
from acumen.model.facts import Failed
from acumen.model.failure import COOL_DOWN_MS, LEAST_SESSIONS, WORTH_ANALYSING, FailureGroup, GroupState
from acumen.model.hazards import commands
from acumen.model.ids import Millis
from acumen.model.memory import Origin
from acumen.model.operation import Operation
from acumen.model.playbook import Lesson
from acumen.model.proposal import LEAST_CONFIDENCE, About, AnalysisState, confidence
from acumen.storage.operations import Wanted
from acumen.storage.store import Tx

MOST_EXAMPLES, MOST_OF_A_SESSION, LOOKED_AT = 10, 3, 200
QUOTED = 200
# So many lessons about the same call are shown to a model beside the failures.
KNOWN = 5


class Case(Struct, frozen=True):
    """A group with those merged into it, its sessions, and the failures that stand for all."""

    group: FailureGroup
    members: Sequence[FailureGroup]
    sessions: Sequence[str]
    examples: Sequence[Operation]
    known: Sequence[str]

    @property
    def count(self) -> int:
        return sum(one.count for one in self.members)

    @property
    def unexplained(self) -> int:
        return self.count - sum(one.analysed_count for one in self.members)


async def explain(fact: Failed, deps: Deps) -> None:
    """Explain a group of failures, when there is enough that no analysis has seen."""
    case = await deps.store.read(lambda tx: _case(tx, fact.group_id))
    if case is None or not _is_ready(case):
        return
    cooled_at = (case.group.analysed_at or 0) + COOL_DOWN_MS
    if case.group.analysed_at is not None and deps.now() < cooled_at:
        await deps.store.write(lambda tx: tx.jobs.add(fact, Millis(cooled_at)))
        return
    hashed = proposals.evidence_hash(case.group.id, [one.id for one in case.examples])
    if await deps.store.read(lambda tx: tx.lessons.is_analysed(hashed)):
        return
    if _tries_to_command(case):
        await _quarantine(case, deps)
    else:
        await _conclude(case, deps)


def _case(tx: Tx, group_id: str) -> Case | None:
    members = tx.failures.members(tx.failures.root_of(group_id))
    root = next((one for one in members if one.id == tx.failures.root_of(group_id)), None)
    if root is None:
        return None
    ids = tuple(one.id for one in members)
    lately = tx.operations.find(Wanted(group_ids=ids), LOOKED_AT)
    beside = [one for one in tx.lessons.at_endpoint(root.source, root.endpoint) if one.key != root.id]
    playbooks = tx.agent_playbooks.by_ids([str(one.playbook_id) for one in beside[:KNOWN]])
    known = [playbook.lesson.content for playbook in playbooks.values()]
    return Case(root, members, tx.failures.sessions_of(ids), diverse(lately), known)


def diverse(failures: Sequence[Operation]) -> list[Operation]:
    """A few that differ: in turn from every session, and no message twice while there are others."""
    by_session: dict[str, list[Operation]] = {}
    for one in failures:
        by_session.setdefault(one.session_id or "", []).append(one)
    chosen: list[Operation] = []
    for place in range(MOST_OF_A_SESSION):
        for of_session in by_session.values():
            fresh = [one for one in of_session if one not in chosen]
            said = {one.error_message for one in chosen}
            new = next((one for one in fresh if one.error_message not in said), fresh[0] if fresh else None)
            if new is not None and sum(one in of_session for one in chosen) == place:
                chosen.append(new)
    return chosen[:MOST_EXAMPLES]


def _is_ready(case: Case) -> bool:
    enough = case.unexplained >= WORTH_ANALYSING or case.group.state is GroupState.ESCALATING
    return enough and len(case.sessions) >= LEAST_SESSIONS and bool(case.examples)


def _tries_to_command(case: Case) -> bool:
    texts = {case.group.endpoint, case.group.source, case.group.error_type}
    texts |= {text for one in case.examples for text in (one.error_message, one.input_summary) if text}
    return any(commands(text) for text in texts)


async def _quarantine(case: Case, deps: Deps) -> None:
    """Told to whoever reviews, and to nobody else: no model reads it, no lesson comes of it."""
    suggested = _suggested(case, Lesson(""), Origin("rules", confidence=0.0))
    told = {"cause": "the failures' own words try to command whoever reads them; a person looks first"}
    await _store(case, suggested, AnalysisState.QUARANTINED, told, deps)


async def _conclude(case: Case, deps: Deps) -> None:
    diagnosis, origin = by_rules(case.group, [one.id for one in case.examples]), Origin("rules")
    told = await by_model(case.group, case.examples, case.known, deps)
    if told is not None:
        diagnosis, origin = told
    scopes = {one.session_id for one in case.examples if one.session_id}
    share = confidence(len(scopes), len(case.examples))
    origin = replace(origin, confidence=round(diagnosis.confidence * min(1.0, 2 * share), 4))
    suggested = _suggested(case, _lesson(diagnosis, case), origin)
    strong = share >= LEAST_CONFIDENCE and proposals.is_harmless(suggested.lesson)
    state = AnalysisState.DONE if strong else AnalysisState.WEAK
    await _store(case, suggested, state, diagnosis.told(), deps)


def _suggested(case: Case, lesson: Lesson, origin: Origin) -> Suggested:
    endpoints = sorted({one.endpoint for one in case.examples})
    return Suggested(
        key=case.group.id,
        about=About.FAILURE,
        lesson=lesson,
        evidence=case.examples,
        scopes=sorted({one.session_id for one in case.examples if one.session_id}),
        count=case.count,
        origin=origin,
        group_id=case.group.id,
        detail={"endpoints": endpoints, "sessions": len(case.sessions)},
    )


def _lesson(diagnosis: Diagnosis, case: Case) -> Lesson:
    """Its words are ours or checked; the failures' own are quoted only where they are harmless."""
    lesson = Lesson(
        content=f"Do not {_lowered(diagnosis.dont)}. Instead, {_lowered(diagnosis.adjust)}.",
        trigger=diagnosis.trigger,
        rationale=f"{_raised(diagnosis.cause)}: {case.count} times in {len(case.sessions)} sessions.",
        pitfall=f"{diagnosis.trigger} failed with: {case.group.template[:QUOTED]}",
    )
    return lesson if proposals.is_harmless(lesson) else replace(lesson, pitfall=None)


def _lowered(text: str) -> str:
    """As it stands inside a sentence: `Do not` and a full stop are added around it."""
    text = text.strip().rstrip(".")
    for start in ("do not ", "don't ", "never "):
        if text.lower().startswith(start):
            text = text[len(start) :]
    return text[:1].lower() + text[1:]


def _raised(text: str) -> str:
    return text.strip().rstrip(".")[:1].upper() + text.strip().rstrip(".")[1:]


async def _store(case: Case, suggested: Suggested, state: AnalysisState, diagnosis: dict[str, Any], deps: Deps) -> None:
    concluded = proposals.analysis(suggested, state, diagnosis, deps)
    row = await proposals.findable(suggested, deps) if state is AnalysisState.DONE else None

    def store(tx: Tx) -> None:
        if not tx.lessons.conclude(concluded):
            return
        for group in tx.failures.held([one.id for one in case.members]).values():
            seen = next(one.count for one in case.members if one.id == group.id)
            tx.failures.save(replace(group, analysed_count=min(seen, group.count), analysed_at=tx.at))
        if row is not None:
            proposals.propose(tx, suggested, row)

    await deps.store.write(store)

"""Learn from recoveries: what was changed when a call that had failed in a session succeeded in it."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from acumen.deps import Deps
from acumen.learn.incidents import proposals
from acumen.learn.incidents.proposals import Suggested
from acumen.model.facts import Recovered
from acumen.model.failure import LEAST_SESSIONS
from acumen.model.hazards import commands, hazards
from acumen.model.memory import Origin
from acumen.model.operation import Operation
from acumen.model.playbook import Lesson
from acumen.model.proposal import About, Analysis, AnalysisState
from acumen.storage.store import Tx

LONGEST_VALUE = 60
MOST_CALLS = 500
CONFIDENCE = 0.6


class Recovery(Struct, frozen=True):
    failed: Operation
    succeeded: Operation
    changed: dict[str, Any]  # by name, the new value
    added: dict[str, Any]
    removed: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many arguments were other ones."""
        return len(self.changed) + len(self.added) + len(self.removed)

    @property
    def key(self) -> str:
        """The same change after the same kind of failure of the same call."""
        parts = (
            self.failed.source,
            self.failed.endpoint,
            self.failed.group_id or "",
            *(f"~{name}" for name in sorted(self.changed)),
            *(f"+{name}" for name in sorted(self.added)),
            *(f"-{name}" for name in self.removed),
        )
        return f"rec_{hashlib.sha256(chr(31).join(parts).encode()).hexdigest()[:24]}"


def recoveries(calls: Sequence[Operation]) -> list[Recovery]:
    """Of one call in one session, oldest first. Pure: each success, with other arguments, that followed failures."""
    found: list[Recovery] = []
    failed: list[Operation] = []
    for call in calls:
        if call.failed:
            failed.append(call)
        elif call.succeeded and failed:
            found += _recovered(failed, call)
            failed = []
    return found


def _recovered(failures: Sequence[Operation], succeeded: Operation) -> list[Recovery]:
    """Beside the failure that was most like it, the latest of several; none if the very same call had failed before."""
    compared = [_compared(failed, succeeded) for failed in reversed(failures)]
    recovered = [one for one in compared if one is not None]
    return [min(recovered, key=lambda one: one.size)] if len(recovered) == len(compared) else []


def _compared(failed: Operation, succeeded: Operation) -> Recovery | None:
    before, after = failed.arguments or {}, succeeded.arguments or {}
    changed = {name: after[name] for name in sorted(before.keys() & after.keys()) if before[name] != after[name]}
    added = {name: after[name] for name in sorted(after.keys() - before.keys())}
    removed = tuple(sorted(before.keys() - after.keys()))
    if not before or not (changed or added or removed):
        return None
    return Recovery(failed, succeeded, changed, added, removed)


async def learn(fact: Recovered, deps: Deps) -> None:
    """Remember each recovery once; a change that helped in two sessions is proposed."""
    call = (fact.session_id, fact.source, fact.endpoint)
    calls = await deps.store.read(lambda tx: tx.operations.since_failure(*call, MOST_CALLS))
    for recovery in recoveries(sorted(calls, key=lambda one: one.started_at or one.received_at)):
        await _remember(recovery, deps)


async def _remember(recovery: Recovery, deps: Deps) -> None:
    before = await deps.store.read(lambda tx: tx.lessons.analyses_of(recovery.key))
    suggested = _suggested(recovery, before)
    concluded = proposals.analysis(suggested, _state(recovery, suggested), _told(recovery), deps)
    row = await proposals.findable(suggested, deps)

    def store(tx: Tx) -> None:
        if tx.lessons.conclude(concluded) and concluded.state is AnalysisState.DONE:
            proposals.propose(tx, suggested, row)

    await deps.store.write(store)


def _state(recovery: Recovery, suggested: Suggested) -> AnalysisState:
    texts = (recovery.failed.error_message or "", *recovery.changed, *recovery.added, recovery.failed.endpoint)
    if any(commands(text) for text in texts):
        return AnalysisState.QUARANTINED
    enough = len(suggested.scopes) >= LEAST_SESSIONS and proposals.is_harmless(suggested.lesson)
    return AnalysisState.DONE if enough else AnalysisState.WEAK


def _suggested(recovery: Recovery, before: Sequence[Analysis]) -> Suggested:
    failed = recovery.failed
    scopes = {failed.session_id or "", *(scope for one in before for scope in one.scopes)}
    return Suggested(
        key=recovery.key,
        about=About.RECOVERY,
        lesson=_lesson(recovery, before),
        evidence=(failed, recovery.succeeded),
        scopes=sorted(scopes),
        count=len(before) + 1,
        origin=Origin("rules", confidence=CONFIDENCE),
        group_id=failed.group_id,
        detail={"endpoints": [failed.endpoint]},
    )


def _told(recovery: Recovery) -> dict[str, Any]:
    values = {**recovery.changed, **recovery.added}
    return {
        "values": {name: _value(value) for name, value in values.items()},
        "removed": list(recovery.removed),
        "cause": recovery.failed.error_type or "",
    }


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:LONGEST_VALUE]


def _lesson(recovery: Recovery, before: Sequence[Analysis]) -> Lesson:
    call = f"`{recovery.failed.endpoint}`"
    error = recovery.failed.error_type or "an error"
    steps = [
        *(f"change `{name}`{_always(name, recovery, before)}" for name in recovery.changed),
        *(f"set `{name}`{_always(name, recovery, before)}" for name in recovery.added),
        *(f"leave out `{name}`" for name in recovery.removed),
    ]
    return Lesson(
        content=f"When {call} fails with {error}, {' and '.join(steps)}, and call it again.",
        trigger=f"Calling {call} after it failed with {error}",
        rationale=f"That is what made the call succeed in the same session, {len(before) + 1} time(s).",
    )


def _always(name: str, recovery: Recovery, before: Sequence[Analysis]) -> str:
    """The value, where it was the same every time and is harmless; one time proves nothing."""
    value = _value({**recovery.changed, **recovery.added}[name])
    earlier = {one.diagnosis.get("values", {}).get(name) for one in before}
    return f" to {value}" if earlier == {value} and not hazards(value) else ""

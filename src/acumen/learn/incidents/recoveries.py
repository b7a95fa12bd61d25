"""Learn from recoveries: what was changed when a call that had failed in a session succeeded in it."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import Conflict
from acumen.learn.incidents import proposals
from acumen.learn.incidents.proposals import Suggestion
from acumen.model.jobs.events import Recovered
from acumen.model.memories.base import Origin
from acumen.model.memories.playbook import Lesson
from acumen.model.operations.failure import LEAST_SESSIONS
from acumen.model.operations.operation import Operation
from acumen.model.operations.proposal import About, Analysis
from acumen.model.plural import counted
from acumen.model.prompt_injection import detect
from acumen.storage.store import Tx

LONGEST_VALUE = 60
MOST_CALLS = 500
CONFIDENCE = 0.6


class Recovery(Struct, frozen=True):
    """Arguments by name, with their new value as JSON."""

    failed: Operation
    succeeded: Operation
    changed: dict[str, str]
    added: dict[str, str]
    removed: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many arguments differ."""
        return len(self.changed) + len(self.added) + len(self.removed)

    @property
    def key(self) -> str:
        """The same change after the same kind of failure of the same call."""
        call = (self.failed.source, self.failed.endpoint, self.failed.group_id or "")
        signed = (("~", self.changed), ("+", self.added), ("-", self.removed))
        parts = (*call, *(f"{sign}{name}" for sign, names in signed for name in sorted(names)))
        return f"rec_{hashlib.sha256(chr(31).join(parts).encode()).hexdigest()[:24]}"


def recoveries(calls: Sequence[Operation]) -> list[Recovery]:
    """Of one call in one session, oldest first. Pure: each success, with other arguments, that followed failures."""
    recovered: list[Recovery] = []
    failures: list[Operation] = []
    for call in calls:
        if call.failed:
            failures.append(call)
        elif call.succeeded and failures:
            recovered += _recovered(failures, call)
            failures = []
    return recovered


def _recovered(failures: Sequence[Operation], succeeded: Operation) -> list[Recovery]:
    """From the failure most like it, the latest of several; none if the very same call had failed before."""
    compared = [_compared(failed, succeeded) for failed in reversed(failures)]
    usable = all(recovery.failed.arguments and recovery.size for recovery in compared)
    return [min(compared, key=lambda recovery: recovery.size)] if usable else []


def _compared(failed: Operation, succeeded: Operation) -> Recovery:
    before, after = failed.arguments or {}, succeeded.arguments or {}
    changed = {name: _json(after[name]) for name in sorted(before.keys() & after.keys()) if before[name] != after[name]}
    added = {name: _json(after[name]) for name in sorted(after.keys() - before.keys())}
    return Recovery(failed, succeeded, changed, added, tuple(sorted(before.keys() - after.keys())))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:LONGEST_VALUE]


async def learn(event: Recovered, deps: Deps) -> None:
    """Remember each recovery once; a change that helped in two sessions is proposed."""
    call = (event.session_id, event.source, event.endpoint)
    calls = await deps.store.read(lambda tx: tx.operations.find_since_failure(*call, MOST_CALLS))
    for recovery in recoveries(sorted(calls, key=lambda operation: operation.started_at or operation.received_at)):
        await _remember(recovery, deps)


async def _remember(recovery: Recovery, deps: Deps) -> None:
    failed, values = recovery.failed, {**recovery.changed, **recovery.added}
    before = await deps.store.read(lambda tx: tx.proposals.find_analyses(recovery.key))
    lesson = _lesson(recovery, before)
    sessions = sorted({failed.session_id or "", *(session for analysis in before for session in analysis.scopes)})
    texts = (failed.error_message or "", failed.endpoint, *values)
    suggestion = Suggestion(
        key=recovery.key,
        about=About.RECOVERY,
        lesson=lesson,
        evidence=(failed, recovery.succeeded),
        sessions=sessions,
        count=len(before) + 1,
        origin=Origin("rules", confidence=CONFIDENCE),
        state=proposals.state_of(lesson, texts, enough=len(sessions) >= LEAST_SESSIONS),
        diagnosis={"values": values, "removed": list(recovery.removed), "cause": failed.error_type or ""},
        group_id=failed.group_id,
        detail={"endpoints": [failed.endpoint]},
    )

    def check_nothing_new(tx: Tx) -> None:
        """Of two sessions that are analysed at the same time, one has to count the other."""
        if len(tx.proposals.find_analyses(recovery.key)) > len(before) + 1:
            raise Conflict(f"The recovery {recovery.key} was analysed for another session at the same time.")

    await proposals.conclude(suggestion, deps, check_nothing_new)


def _lesson(recovery: Recovery, before: Sequence[Analysis]) -> Lesson:
    """A value is named where it was the same every time and is harmless; one time proves nothing."""

    def to(name: str, value: str) -> str:
        earlier = {analysis.diagnosis.get("values", {}).get(name) for analysis in before}
        return f"`{name}` to {value}" if earlier == {value} and not detect(value) else f"`{name}`"

    call, error = f"`{recovery.failed.endpoint}`", recovery.failed.error_type or "an error"
    steps = [
        *(f"change {to(*argument)}" for argument in recovery.changed.items()),
        *(f"set {to(*argument)}" for argument in recovery.added.items()),
        *(f"leave out `{name}`" for name in recovery.removed),
    ]
    return Lesson(
        content=f"When {call} fails with {error}, {' and '.join(steps)}, and call it again.",
        trigger=f"Calling {call} after it failed with {error}",
        rationale=f"This made the call succeed in the same session, {counted(len(before) + 1, 'time')}.",
    )

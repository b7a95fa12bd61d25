"""Learn from successes: a way of calling that works in several sessions is proposed, and counted from then on."""

import json
from collections.abc import Sequence
from statistics import median

from acumen.deps import Deps
from acumen.learn.incidents import proposals
from acumen.learn.incidents.proposals import Suggestion
from acumen.model.jobs.events import Worked
from acumen.model.memories.base import Origin
from acumen.model.memories.playbook import Lesson
from acumen.model.operations.failure import LEAST_SESSIONS
from acumen.model.operations.operation import Operation, OperationFilter
from acumen.model.operations.proposal import About
from acumen.model.prompt_injection import detect

LEAST_SUCCESSES = 3
MOST_FAILURES = 0.2
LOOKED_AT, MOST_EXAMPLES = 200, 10
LONGEST_VALUE = 60


async def consolidate(event: Worked, deps: Deps) -> None:
    """Propose a way of calling that works, or count that it works again."""
    calls = await deps.store.read(lambda tx: tx.operations.find(OperationFilter(way_key=event.way_key), LOOKED_AT))
    suggestion = _suggestion(event.way_key, [call for call in calls if call.succeeded], sum(c.failed for c in calls))
    if suggestion is not None:
        await proposals.conclude(suggestion, deps)


def _suggestion(key: str, successes: Sequence[Operation], failures: int) -> Suggestion | None:
    """None for a way that has not worked often enough, in enough sessions, or fails too often."""
    sessions = sorted({call.session_id for call in successes if call.session_id})
    calls = len(successes) + failures
    enough = len(successes) >= LEAST_SUCCESSES and len(sessions) >= LEAST_SESSIONS
    if not enough or failures >= MOST_FAILURES * calls:
        return None
    measured = [call.duration_ms for call in successes if call.duration_ms]  # 0: not measured
    endpoint, names, constant = successes[0].endpoint, sorted(successes[0].arguments or {}), _constant(successes)
    lesson = _lesson(f"`{endpoint}`", [f"`{n}` = {constant[n]}" if n in constant else f"`{n}`" for n in names])
    detail = {
        "endpoints": [endpoint],
        "successes": len(successes),
        "failures": failures,
        "median_ms": round(median(measured), 1) if measured else None,
        "arguments": names,
        "constant": constant,
    }
    return Suggestion(
        key=key,
        about=About.SUCCESS,
        lesson=lesson,
        evidence=successes[:MOST_EXAMPLES],
        sessions=sessions,
        count=len(successes),
        origin=Origin("rules", confidence=round(0.6 * len(successes) / calls, 4)),
        state=proposals.state_of(lesson, (endpoint, *names), enough=True),
        diagnosis=detail,
        detail=detail,
    )


def _constant(successes: Sequence[Operation]) -> dict[str, str]:
    """Arguments that had the same short and harmless value every time."""
    same = {
        name: json.dumps(value, ensure_ascii=False)
        for name, value in sorted((successes[0].arguments or {}).items())
        if all((call.arguments or {}).get(name) == value for call in successes)
    }
    return {name: value for name, value in same.items() if len(value) <= LONGEST_VALUE and not detect(value)}


def _lesson(call: str, arguments: Sequence[str]) -> Lesson:
    """Its words stay the same while the way does; how often it worked is in the detail."""
    return Lesson(f"Call {call} with {', '.join(arguments)}: called like this it works.", f"Calling {call}")

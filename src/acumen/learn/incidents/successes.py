"""Learn from successes: a way of calling that works in several sessions is proposed, and counted from then on."""

import json
from collections.abc import Sequence
from statistics import median
from typing import Any

from msgspec import Struct

from acumen.deps import Deps
from acumen.learn.incidents import proposals
from acumen.learn.incidents.proposals import Suggested
from acumen.model.facts import Worked
from acumen.model.failure import LEAST_SESSIONS
from acumen.model.hazards import commands, hazards
from acumen.model.memory import Origin
from acumen.model.operation import Operation
from acumen.model.playbook import Lesson
from acumen.model.proposal import About, AnalysisState
from acumen.storage.operations import Wanted
from acumen.storage.store import Tx

LEAST_SUCCESSES = 3
MOST_FAILURES = 0.2
LOOKED_AT, MOST_EXAMPLES = 200, 10
LONGEST_VALUE = 60


class Way(Struct, frozen=True):
    """One way of calling, over its latest calls."""

    successes: Sequence[Operation]
    failures: int

    @property
    def sessions(self) -> list[str]:
        return sorted({one.session_id for one in self.successes if one.session_id})

    @property
    def works(self) -> bool:
        enough = len(self.successes) >= LEAST_SUCCESSES and len(self.sessions) >= LEAST_SESSIONS
        return enough and self.failures < MOST_FAILURES * (self.failures + len(self.successes))

    @property
    def median_ms(self) -> float | None:
        """Of those that said how long they took; a call that took no time was not measured."""
        took = [one.duration_ms for one in self.successes if one.duration_ms]
        return round(median(took), 1) if took else None

    @property
    def names(self) -> list[str]:
        return sorted(self.successes[0].arguments or {})

    @property
    def constant(self) -> dict[str, str]:
        """Arguments that had the same short and harmless value every time."""
        first = self.successes[0].arguments or {}
        same = {
            name: json.dumps(value, ensure_ascii=False)
            for name, value in sorted(first.items())
            if all((one.arguments or {}).get(name) == value for one in self.successes)
        }
        return {name: value for name, value in same.items() if len(value) <= LONGEST_VALUE and not hazards(value)}


async def consolidate(fact: Worked, deps: Deps) -> None:
    """Propose a way of calling that works, or count that it works again."""
    calls = await deps.store.read(lambda tx: tx.operations.find(Wanted(way_key=fact.way_key), LOOKED_AT))
    way = Way([one for one in calls if one.succeeded], sum(one.failed for one in calls))
    if not way.works:
        return
    suggested = _suggested(fact.way_key, way)
    texts = (way.successes[0].endpoint, *way.names)
    harmless = proposals.is_harmless(suggested.lesson) and not any(commands(text) for text in texts)
    state = AnalysisState.DONE if harmless else AnalysisState.QUARANTINED
    concluded = proposals.analysis(suggested, state, suggested.detail, deps)
    row = await proposals.findable(suggested, deps)

    def store(tx: Tx) -> None:
        if tx.lessons.conclude(concluded) and state is AnalysisState.DONE:
            proposals.propose(tx, suggested, row)

    await deps.store.write(store)


def _suggested(key: str, way: Way) -> Suggested:
    detail: dict[str, Any] = {
        "endpoints": [way.successes[0].endpoint],
        "successes": len(way.successes),
        "failures": way.failures,
        "median_ms": way.median_ms,
        "arguments": way.names,
        "constant": way.constant,
    }
    share = len(way.successes) / (len(way.successes) + way.failures)
    return Suggested(
        key=key,
        about=About.SUCCESS,
        lesson=_lesson(way),
        evidence=way.successes[:MOST_EXAMPLES],
        scopes=way.sessions,
        count=len(way.successes),
        origin=Origin("rules", confidence=round(0.6 * share, 4)),
        detail=detail,
    )


def _lesson(way: Way) -> Lesson:
    """Its words stay the same while the way does; how often it worked is told beside them."""
    call = f"`{way.successes[0].endpoint}`"
    constant = way.constant
    given = [f"`{name}`" + (f" = {constant[name]}" if name in constant else "") for name in way.names]
    return Lesson(
        content=f"Call {call} with {', '.join(given)}: called like this it works.",
        trigger=f"Calling {call}",
    )

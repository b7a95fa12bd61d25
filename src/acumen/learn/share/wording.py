"""Who words a shared lesson: a model where there is one, else the rules; the rules too when the model fails."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import ModelUnavailable
from acumen.learn.share import wording_llm, wording_rules
from acumen.learn.share.groups import UserLesson
from acumen.learn.share.shareable import shareable
from acumen.learn.share.wording_rules import Names
from acumen.model.memory import Origin
from acumen.model.playbook import Lesson

BY_RULES = Origin("rules")


class Worded(Struct, frozen=True):
    """`notes` tell why rules have worded what a model should have."""

    lesson: Lesson
    origin: Origin
    notes: str | None = None


async def word(taught: Sequence[UserLesson], names: Names, deps: Deps) -> Worded | None:
    """None when a model finds that these are several lessons, or when what is written is no lesson for all."""
    notes = None
    if deps.llm is not None:
        try:
            written = await wording_llm.write(taught, names, deps.llm)
        except ModelUnavailable as why:
            notes = f"Worded by rules: {why}"
        else:
            if written is None or not shareable(written[0].content):
                return None
            return Worded(written[0], sure(written[1], taught))
    # Some milliseconds of pure Python: callers need the event loop meanwhile.
    written_by_rules = await asyncio.to_thread(wording_rules.write, taught, names)
    return Worded(written_by_rules, sure(BY_RULES, taught), notes)


def sure(origin: Origin, taught: Sequence[UserLesson]) -> Origin:
    """The more users teach a lesson by themselves, the surer it is."""
    users = len({one.user for one in taught})
    return replace(origin, confidence=round(1 - 0.5 / users, 2))

"""Words a shared lesson: by a model where there is one, else by rules; by rules too when the model fails."""

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
    lesson: Lesson
    origin: Origin
    notes: str | None = None  # why rules worded what a model should have


async def word(taught: Sequence[UserLesson], names: Names, deps: Deps) -> Worded | None:
    """None when a model finds that these are several lessons, or writes what is no lesson for all."""
    notes = None
    if deps.llm is not None:
        try:
            written = await wording_llm.write(taught, names, deps.llm)
        except ModelUnavailable as why:
            notes = f"Worded by rules: {why}"
        else:
            usable = written is not None and shareable(written[0].content)
            return Worded(written[0], confident(written[1], taught)) if written and usable else None
    # Some milliseconds of pure Python: callers need the event loop meanwhile.
    by_rules = await asyncio.to_thread(wording_rules.write, taught, names)
    return Worded(by_rules, confident(BY_RULES, taught), notes)


def confident(origin: Origin, taught: Sequence[UserLesson]) -> Origin:
    """The more users teach a lesson independently, the higher its confidence."""
    return replace(origin, confidence=round(1 - 0.5 / len({lesson.user for lesson in taught}), 2))

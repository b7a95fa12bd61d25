"""What is read out of a window, and by whom."""

import asyncio
from dataclasses import dataclass
from typing import Generic, TypeVar

from acumen.deps import Deps
from acumen.learn import extract_rules
from acumen.model.config import Extractor
from acumen.model.conversation import Window
from acumen.model.memory import Origin
from acumen.model.playbook import PlaybookNote
from acumen.model.profile import ProfileNote

N = TypeVar("N", ProfileNote, PlaybookNote)

BY_RULES = Origin("rules")


@dataclass(frozen=True, slots=True)
class Heard(Generic[N]):
    """Notes in the order in which they were said; each has a confidence of its own."""

    notes: list[N]
    origin: Origin


async def profile_notes(window: Window, _extractor: Extractor, _deps: Deps) -> Heard[ProfileNote]:
    # Reading takes some milliseconds of pure Python: callers need the event loop meanwhile.
    return Heard(await asyncio.to_thread(extract_rules.profile_notes, window), BY_RULES)


async def playbook_notes(window: Window, _extractor: Extractor, _deps: Deps) -> Heard[PlaybookNote]:
    return Heard(await asyncio.to_thread(extract_rules.playbook_notes, window), BY_RULES)

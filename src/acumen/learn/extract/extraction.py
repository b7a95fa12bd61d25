"""What is read out of a window, and by whom: by the model where there is one, else, or when it fails, by rules."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import ModelUnavailable
from acumen.learn import extract_rules
from acumen.learn.extract import extract_llm, gate
from acumen.llm.gateway import Llm
from acumen.model.config import Extractor
from acumen.model.conversation import Window
from acumen.model.memory import Origin
from acumen.model.playbook import PlaybookNote
from acumen.model.profile import ProfileNote

N = TypeVar("N", ProfileNote, PlaybookNote)

BY_RULES = Origin("rules")


class Heard(Struct, Generic[N], frozen=True):
    """Notes in the order in which they were said; each has a confidence of its own.

    `because` tells why rules have read what a model should have; it is kept with the memories.
    """

    notes: list[N]
    origin: Origin
    because: str = ""


# A model's reading: the notes, and which model and prompt made them.
Reading = Callable[[Window, Extractor, Llm, str], Awaitable[tuple[list[N], Origin]]]


async def profile_notes(window: Window, extractor: Extractor, deps: Deps) -> Heard[ProfileNote]:
    # Reading takes some milliseconds of pure Python: callers need the event loop meanwhile.
    by_rules = await asyncio.to_thread(extract_rules.profile_notes, window, deps.meaning.chances)
    return await _heard(window, extractor, deps, by_rules, extract_llm.profile_notes)


async def playbook_notes(window: Window, extractor: Extractor, deps: Deps) -> Heard[PlaybookNote]:
    by_rules = await asyncio.to_thread(extract_rules.playbook_notes, window, deps.meaning.chances)
    return await _heard(window, extractor, deps, by_rules, extract_llm.playbook_notes)


async def _heard(window: Window, extractor: Extractor, deps: Deps, by_rules: list[N], by_model: Reading[N]) -> Heard[N]:
    """What the rules have found already is what remains when the model gives no answer."""
    if deps.llm is None or not gate.says_something(window):
        return Heard(by_rules, BY_RULES)
    try:
        found = any(not note.denies for note in by_rules)
        if not found and _gated(window, deps) and not await gate.vote(window, extractor, deps.llm):
            return Heard(by_rules, BY_RULES)
        notes, origin = await by_model(window, extractor, deps.llm, deps.config.agent_context)
    except ModelUnavailable as why:
        return Heard(by_rules, BY_RULES, f"Read by rules: {why}")
    return Heard(notes, origin)


def _gated(window: Window, deps: Deps) -> bool:
    """Where the rules found something there is no need to ask; nor where somebody has asked for the reading."""
    return deps.settings.llm.gate and not deps.config.skip_gate and not window.forced

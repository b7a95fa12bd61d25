"""Extraction of a window: by the model where there is one, else, or when it fails, by rules."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import ModelUnavailable
from acumen.learn.extract import by_model, by_rules, gate
from acumen.learn.extract.notes import Extraction
from acumen.model.config import Extractor
from acumen.model.conversation import Window
from acumen.model.ids import Kind
from acumen.model.memories.memory import Memory


async def extract(
    window: Window, extractors: Mapping[Kind, Extractor], memories: Sequence[Memory], deps: Deps
) -> Extraction:
    """The model alone decides; the rules gate, and take over, labelled, when it fails."""
    # Some milliseconds of pure Python: callers need the event loop meanwhile.
    by_rule = await asyncio.to_thread(by_rules.extract, window)
    if deps.llm is None or not gate.says_something(window):
        return by_rule
    try:
        nothing = not (by_rule.notes or by_rule.endings)
        if nothing and _gated(window, deps) and not await _worth_reading(window, extractors, deps):
            return by_rule
        return await by_model.extract(window, extractors, memories, deps.llm, deps.config.agent_context)
    except ModelUnavailable as failure:
        return replace(by_rule, because=f"Read by rules: {failure}")


def _gated(window: Window, deps: Deps) -> bool:
    """Where the rules read something, or the caller forces extraction, the model is not asked for its vote."""
    return deps.settings.llm.gate and not deps.config.skip_gate and not window.forced


async def _worth_reading(window: Window, extractors: Mapping[Kind, Extractor], deps: Deps) -> bool:
    """The first extractor for which the model votes yes decides: the others are not asked."""
    for extractor in extractors.values():
        if deps.llm and await gate.vote(window, extractor, deps.llm):
            return True
    return False

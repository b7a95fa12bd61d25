"""Which of two answers was better: the regular one, or the shadow that was only written down.

A model sees them in random places, so that its liking for the first one cancels out. Without a model there is a verdict
only where the data has one: an expert wrote the right answer, or the user corrected the one they got.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from pydantic import BaseModel, Field

from acumen.learn.evaluate.reactions import Reaction, content_words, plain, reaction, rejected_words
from acumen.llm import prompt
from acumen.llm.gateway import Llm
from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId
from acumen.model.memories.base import Origin
from acumen.model.metering.evaluation import Preference
from acumen.model.secrets import redact

# Of one session; each costs a question.
MOST_COMPARED = 20
# How much closer to the expert's words an answer must be: slightly, and clearly. Below that they are alike.
SLIGHTLY, CLEARLY = 0.1, 0.3
LONGEST_REASON = 500
BY_RULES = Origin("rules", confidence=0.6)
# From the regular answer to the shadow.
_SCALE = {
    2: Preference.REGULAR,
    1: Preference.REGULAR_SLIGHTLY,
    0: Preference.TIED,
    -1: Preference.SHADOW_SLIGHTLY,
    -2: Preference.SHADOW,
}


class AnswerPair(Struct, frozen=True):
    """An answer with its shadow, what the user had asked before, and what they said after."""

    turn: Interaction
    request: str
    reply: str


class Compared(Struct, frozen=True):
    preference: Preference
    reason: str
    origin: Origin = BY_RULES


class Choice(BaseModel):
    better: Literal["1", "2", "tie"]
    significantly: bool = False
    reason: str = Field("", description="one sentence")


COMPARE = prompt.beside(__file__, "compare_answers", Choice)


def pairs(turns: Sequence[Interaction]) -> list[AnswerPair]:
    """The newest ones, oldest first."""
    return list(_pairs(turns))[-MOST_COMPARED:]


def _pairs(turns: Sequence[Interaction]) -> Iterator[AnswerPair]:
    request = ""
    for place, turn in enumerate(turns):
        if turn.by_user:
            request = turn.content
        elif turn.shadow_content.strip() and turn.content.strip():
            reply = next((later.content for later in turns[place + 1 :] if later.by_user), "")
            yield AnswerPair(turn, request, reply)


def regular_first(turn: InteractionId) -> bool:
    """Random, but the same each time."""
    return bool(hashlib.sha256(f"shadow:{turn}".encode()).digest()[0] & 1)


async def by_model(pair: AnswerPair, llm: Llm) -> Compared:
    """Raises ModelUnavailable when the model cannot be asked or makes no sense."""
    turn, first = pair.turn, regular_first(pair.turn.id)
    answers = (turn.content, turn.shadow_content) if first else (turn.shadow_content, turn.content)
    shown = dict(zip(("request", "first", "second"), map(redact, (pair.request, *answers)), strict=True))
    answer = await llm.ask(COMPARE.question(shown, user_id=turn.user_id, request_id=turn.request_id))
    preference = mapped_back(answer.value, regular_is_first=first)
    return Compared(preference, answer.value.reason[:LONGEST_REASON], answer.origin)


def mapped_back(choice: Choice, *, regular_is_first: bool) -> Preference:
    """From places to answers."""
    if choice.better == "tie":
        return Preference.TIED
    regular = (choice.better == "1") == regular_is_first
    return _SCALE[(1 if regular else -1) * (2 if choice.significantly else 1)]


def by_rules(pair: AnswerPair) -> Compared | None:
    """None where the data does not say which one was better."""
    turn = pair.turn
    if turn.content.split() == turn.shadow_content.split():
        return Compared(Preference.TIED, "Both answers are the same, word for word.")
    return _by_expert(turn) if turn.expert_content.strip() else _by_correction(pair)


def _by_expert(turn: Interaction) -> Compared:
    expert = content_words(turn.expert_content)
    regular, shadow = (_jaccard(content_words(text), expert) for text in (turn.content, turn.shadow_content))
    ahead = regular - shadow
    steps = (abs(ahead) >= SLIGHTLY) + (abs(ahead) >= CLEARLY)
    shares = f"{regular:.0%} of the expert's words for the regular answer, {shadow:.0%} for the shadow"
    return Compared(_SCALE[steps if ahead > 0 else -steps], f"By likeness to the expert's answer: {shares}.")


def _jaccard(words: frozenset[str], expert: frozenset[str]) -> float:
    return len(words & expert) / len(words | expert) if words and expert else 0.0


def _by_correction(pair: AnswerPair) -> Compared | None:
    """A user says what it should have been, and the shadow had said just that."""
    if not pair.reply or reaction(pair.reply, pair.turn.content) is not Reaction.CORRECTION:
        return None
    wanted = content_words(pair.reply) - rejected_words(plain(pair.reply))
    named = (wanted - content_words(pair.turn.content)) & content_words(pair.turn.shadow_content)
    if not named:
        return None
    words = ", ".join(sorted(named)[:5])
    return Compared(Preference.SHADOW, f"The user's correction asks for what the shadow had: {words}.")


def overall(preferences: Sequence[Preference]) -> Preference | None:
    """Of all answers of a session together; None where none was compared."""
    if not preferences:
        return None
    points = {preference: point for point, preference in _SCALE.items()}
    mean = sum(points[preference] for preference in preferences) / len(preferences)
    return min(points, key=lambda preference: abs(points[preference] - mean))

"""Which of two answers was better: the one that was given, or the shadow that was only written down.

A model sees them in random places, so that its liking for the first one cancels out. Without a model there is a verdict
only where somebody told: an expert who wrote the right answer, or a user who corrected the one they got.
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
from acumen.model.evaluation import Preference
from acumen.model.ids import InteractionId
from acumen.model.memory import Origin
from acumen.model.secrets import redact

# Of one session; each costs a question.
MOST_COMPARED = 20
# How much closer to the expert's words an answer must be: slightly, and clearly. Below that they are alike.
SLIGHTLY, CLEARLY = 0.1, 0.3
LONGEST_REASON = 500
BY_RULES = Origin("rules", confidence=0.6)


class Pair(Struct, frozen=True):
    """One answer with its shadow, what the user had asked before, and what they said after."""

    turn: Interaction
    request: str
    reply: str


class Compared(Struct, frozen=True):
    preference: Preference
    reason: str
    origin: Origin


class Choice(BaseModel):
    better: Literal["1", "2", "tie"]
    significantly: bool = False
    reason: str = Field("", description="one sentence")


COMPARE = prompt.beside(__file__, "compare_answers", Choice)


def pairs(turns: Sequence[Interaction]) -> list[Pair]:
    """The newest ones, oldest first."""
    return list(_pairs(turns))[-MOST_COMPARED:]


def _pairs(turns: Sequence[Interaction]) -> Iterator[Pair]:
    asked = ""
    for place, turn in enumerate(turns):
        if turn.by_user:
            asked = turn.content
        elif turn.shadow_content.strip() and turn.content.strip():
            reply = next((later.content for later in turns[place + 1 :] if later.by_user), "")
            yield Pair(turn, asked, reply)


def regular_first(turn: InteractionId) -> bool:
    """Chance, but the same each time."""
    return bool(hashlib.sha256(f"shadow:{turn}".encode()).digest()[0] & 1)


# --- by a model ----------------------------------------------------------------------------------------------------


async def by_model(pair: Pair, llm: Llm) -> Compared:
    """Raises ModelUnavailable when the model cannot be asked or makes no sense."""
    turn = pair.turn
    answers = (turn.content, turn.shadow_content) if regular_first(turn.id) else (turn.shadow_content, turn.content)
    first, second = (redact(text) for text in answers)
    question = COMPARE.question(
        {"request": redact(pair.request), "first": first, "second": second},
        user_id=turn.user_id,
        request_id=turn.request_id,
    )
    answer = await llm.ask(question)
    preference = mapped_back(answer.value, regular_is_first=regular_first(turn.id))
    return Compared(preference, answer.value.reason[:LONGEST_REASON], answer.origin)


def mapped_back(choice: Choice, *, regular_is_first: bool) -> Preference:
    """From places to answers."""
    if choice.better == "tie":
        return Preference.TIED
    regular = (choice.better == "1") == regular_is_first
    if choice.significantly:
        return Preference.REGULAR if regular else Preference.SHADOW
    return Preference.REGULAR_SLIGHTLY if regular else Preference.SHADOW_SLIGHTLY


# --- by rules ------------------------------------------------------------------------------------------------------


def by_rules(pair: Pair) -> Compared | None:
    """None where nobody told which one was better."""
    turn = pair.turn
    if turn.content.split() == turn.shadow_content.split():
        return Compared(Preference.TIED, "Both answers are the same, word for word.", BY_RULES)
    if turn.expert_content.strip():
        return _by_expert(turn)
    return _by_correction(pair)


def _by_expert(turn: Interaction) -> Compared:
    expert = content_words(turn.expert_content)
    regular, shadow = (_likeness(content_words(text), expert) for text in (turn.content, turn.shadow_content))
    ahead = regular - shadow
    preference = Preference.TIED
    if abs(ahead) >= SLIGHTLY:
        strong, slight = (
            (Preference.REGULAR, Preference.REGULAR_SLIGHTLY)
            if ahead > 0
            else (Preference.SHADOW, Preference.SHADOW_SLIGHTLY)
        )
        preference = strong if abs(ahead) >= CLEARLY else slight
    shares = f"{regular:.0%} of the expert's words for the regular answer, {shadow:.0%} for the shadow"
    return Compared(preference, f"By likeness to the expert's answer: {shares}.", BY_RULES)


def _likeness(words: frozenset[str], expert: frozenset[str]) -> float:
    """Words shared, of all words of both: an answer that only adds words does not come closer."""
    return len(words & expert) / len(words | expert) if words and expert else 0.0


def _by_correction(pair: Pair) -> Compared | None:
    """A user who says what it should have been, and the shadow had said just that."""
    if not pair.reply or reaction(pair.reply, pair.turn.content) is not Reaction.CORRECTION:
        return None
    regular, shadow = content_words(pair.turn.content), content_words(pair.turn.shadow_content)
    wanted = content_words(pair.reply) - rejected_words(plain(pair.reply))
    named = wanted - regular
    if named & shadow:
        words = ", ".join(sorted(named & shadow)[:5])
        return Compared(Preference.SHADOW, f"The user's correction asks for what the shadow had: {words}.", BY_RULES)
    return None


# --- of a session --------------------------------------------------------------------------------------------------

_POINTS = {
    Preference.REGULAR: 2,
    Preference.REGULAR_SLIGHTLY: 1,
    Preference.TIED: 0,
    Preference.SHADOW_SLIGHTLY: -1,
    Preference.SHADOW: -2,
}


def overall(preferences: Sequence[Preference]) -> Preference | None:
    """Of all answers of a session together; None where none was compared."""
    if not preferences:
        return None
    mean = sum(_POINTS[one] for one in preferences) / len(preferences)
    return min(_POINTS, key=lambda one: abs(_POINTS[one] - mean))

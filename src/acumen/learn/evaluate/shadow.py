"""Which of two answers was better: the regular one, or the shadow that was stored and not shown to the user.

A model sees them in random order, so that its preference for the first one cancels out. Without a model there is a
verdict only where an expert wrote the right answer, or the user corrected the one they got.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct
from pydantic import BaseModel, Field

from acumen.errors import ModelUnavailable
from acumen.learn.evaluate.reactions import Reaction, content_words, plain, reaction, rejected_words
from acumen.llm import prompt
from acumen.llm.gateway import Llm
from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId, Millis
from acumen.model.memories.base import Origin
from acumen.model.metering.evaluation import EvaluatedSession, Preference, ShadowVerdict

# Of one session; each costs a question.
MOST_COMPARED = 20
# How much closer to the expert's words an answer must be: slightly, and clearly. Below that they are equal.
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
    """An answer with its shadow, and the user's turns before and after it."""

    turn: Interaction
    request: str
    reply: str


class Comparison(Struct, frozen=True):
    preference: Preference
    reason: str
    origin: Origin = BY_RULES


class Choice(BaseModel):
    better: Literal["1", "2", "tie"]
    significantly: bool = False
    reason: str = Field("", description="one sentence")


COMPARE = prompt.load(__file__, "compare_answers", Choice)


async def compare(
    session: EvaluatedSession, earlier: Sequence[ShadowVerdict], llm: Llm | None, at: Millis
) -> list[ShadowVerdict]:
    """Answers that a model has compared already are left as they are: their words do not change."""
    settled = {verdict.interaction_id for verdict in earlier if verdict.origin.engine == "model"}
    verdicts: list[ShadowVerdict] = []
    for pair in pairs(session.turns):
        comparison = None if pair.turn.id in settled else await _comparison(pair, llm)
        if comparison is not None:
            verdict = ShadowVerdict(
                id=0,
                user_id=session.user_id,
                session_id=session.session_id,
                interaction_id=pair.turn.id,
                agent_version=session.last_request.agent_version,
                preference=comparison.preference,
                reason=comparison.reason,
                regular_first=regular_first(pair.turn.id),
                created_at=at,
                origin=comparison.origin,
            )
            verdicts.append(verdict)
    return verdicts


async def _comparison(pair: AnswerPair, llm: Llm | None) -> Comparison | None:
    if llm is not None:
        with suppress(ModelUnavailable):  # the rules take over, labelled as such
            return await by_model(pair, llm)
    return by_rules(pair)


def pairs(turns: Sequence[Interaction]) -> list[AnswerPair]:
    """The newest ones, oldest first."""
    answer_pairs: list[AnswerPair] = []
    request = ""
    for place, turn in enumerate(turns):
        if turn.by_user:
            request = turn.content
        elif turn.shadow_content.strip() and turn.content.strip():
            reply = next((later.content for later in turns[place + 1 :] if later.by_user), "")
            answer_pairs.append(AnswerPair(turn, request, reply))
    return answer_pairs[-MOST_COMPARED:]


def regular_first(turn: InteractionId) -> bool:
    """Random, but the same each time."""
    return bool(hashlib.sha256(f"shadow:{turn}".encode()).digest()[0] & 1)


async def by_model(pair: AnswerPair, llm: Llm) -> Comparison:
    turn, first = pair.turn, regular_first(pair.turn.id)
    answers = (turn.content, turn.shadow_content) if first else (turn.shadow_content, turn.content)
    values = dict(zip(("request", "first", "second"), (pair.request, *answers), strict=True))
    answer = await llm.ask(COMPARE.question(values, user_id=turn.user_id, request_id=turn.request_id))
    preference = mapped_back(answer.value, regular_is_first=first)
    return Comparison(preference, answer.value.reason[:LONGEST_REASON], answer.origin)


def mapped_back(choice: Choice, *, regular_is_first: bool) -> Preference:
    """From places to answers."""
    if choice.better == "tie":
        return Preference.TIED
    regular = (choice.better == "1") == regular_is_first
    return _SCALE[(1 if regular else -1) * (2 if choice.significantly else 1)]


def by_rules(pair: AnswerPair) -> Comparison | None:
    """None where the data does not say which one was better."""
    turn = pair.turn
    if turn.content.split() == turn.shadow_content.split():
        return Comparison(Preference.TIED, "Both answers are the same, word for word.")
    return _by_expert(turn) if turn.expert_content.strip() else _by_correction(pair)


def _by_expert(turn: Interaction) -> Comparison:
    expert = content_words(turn.expert_content)
    regular, shadow = (_jaccard(content_words(text), expert) for text in (turn.content, turn.shadow_content))
    ahead = regular - shadow
    steps = (abs(ahead) >= SLIGHTLY) + (abs(ahead) >= CLEARLY)
    shares = f"{regular:.0%} of the expert's words for the regular answer, {shadow:.0%} for the shadow"
    return Comparison(_SCALE[steps if ahead > 0 else -steps], f"By similarity to the expert's answer: {shares}.")


def _jaccard(words: frozenset[str], expert: frozenset[str]) -> float:
    return len(words & expert) / len(words | expert) if words and expert else 0.0


def _by_correction(pair: AnswerPair) -> Comparison | None:
    """The user's correction asks for words that only the shadow had."""
    if not pair.reply or reaction(pair.reply, pair.turn.content) is not Reaction.CORRECTION:
        return None
    requested = content_words(pair.reply) - rejected_words(plain(pair.reply))
    named = (requested - content_words(pair.turn.content)) & content_words(pair.turn.shadow_content)
    if not named:
        return None
    words = ", ".join(sorted(named)[:5])
    return Comparison(Preference.SHADOW, f"The user's correction asks for what the shadow had: {words}.")


def overall(preferences: Sequence[Preference]) -> Preference | None:
    """Of all answers of a session together; None where none was compared."""
    if not preferences:
        return None
    points = {preference: point for point, preference in _SCALE.items()}
    mean = sum(points[preference] for preference in preferences) / len(preferences)
    return min(points, key=lambda preference: abs(points[preference] - mean))

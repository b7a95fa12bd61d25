"""The outcome of a session, by a language model: the counterpart of `judge_rules.py`."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from acumen.deps import Deps
from acumen.learn.evaluate.reactions import tool_failed
from acumen.llm import prompt
from acumen.llm.gateway import Llm
from acumen.llm.tokens import count_tokens
from acumen.model.conversation import Interaction
from acumen.model.memories.base import Origin
from acumen.model.metering.evaluation import EvaluatedSession, FailureType, Judgement
from acumen.model.secrets import redact

# Of a long turn the beginning is shown.
LONGEST_TURN = 2_000
LONGEST_REASON = 500


def _known_type(value: Any) -> Any:
    """An unknown type is none."""
    return value if value in set(FailureType) else None


class Verdict(BaseModel):
    is_success: bool
    failure_type: Annotated[FailureType | None, BeforeValidator(_known_type)] = None
    failure_reason: str | None = None
    corrections: int = Field(0, ge=0)
    user_turns_to_resolution: int | None = None
    is_escalated: bool = False
    confidence: float = Field(0.7, ge=0, le=1)


JUDGE = prompt.load(__file__, "judge", Verdict)


async def judge(session: EvaluatedSession, llm: Llm, deps: Deps) -> tuple[Judgement, Origin]:
    """Raises ModelUnavailable when the model cannot be asked or its answer is invalid."""
    context = deps.config.agent_context
    question = JUDGE.question(
        {
            "definition": deps.config.judging.definition,
            "context": f"What the agent is for: {context}" if context else "",
            "talk": talk(session.turns, JUDGE.room("talk")),
        },
        user_id=session.user_id,
        request_id=session.last_request.id,
    )
    answer = await llm.ask(question)
    verdict, user_turns = answer.value, sum(turn.by_user for turn in session.turns)
    failed, needed = not verdict.is_success, verdict.user_turns_to_resolution
    judgement = Judgement(  # what the model says, within what is possible
        is_success=verdict.is_success,
        failure_type=verdict.failure_type if failed else None,
        failure_reason=(verdict.failure_reason or "")[:LONGEST_REASON] or None if failed else None,
        corrections=min(verdict.corrections, user_turns),
        turns_to_resolution=None if failed or needed is None else max(1, min(needed, user_turns)),
        is_escalated=verdict.is_escalated,
        confidence=verdict.confidence,
    )
    return judgement, answer.origin


def talk(turns: Sequence[Interaction], tokens: int) -> str:
    """The session as text without secrets. Where it is too long, its beginning goes: the end decides."""
    lines: list[str] = []
    left = tokens
    for turn in reversed(turns):
        line = _line(turn)
        left -= count_tokens(line) + 1
        if left < 0:
            lines.append("[earlier turns are left out]")
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def _line(turn: Interaction) -> str:
    text = redact(turn.content)
    short = text if len(text) <= LONGEST_TURN else f"{text[:LONGEST_TURN]} […]"
    outcomes = [tool.get("status") or ("failed" if tool_failed(tool) else "no status") for tool in turn.tools_used]
    names = [tool.get("tool_name") for tool in turn.tools_used]
    tools = "".join(f" [used {name}: {outcome}]" for name, outcome in zip(names, outcomes, strict=True))
    return f"{'User' if turn.by_user else 'Agent'}{tools}: {short}"

"""How a session ended, by a language model: the twin of `judge_rules.py`."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from acumen.deps import Deps
from acumen.learn.evaluate.reactions import tool_failed
from acumen.llm import prompt
from acumen.llm.gateway import Llm
from acumen.llm.tokens import count_tokens
from acumen.model.conversation import Interaction
from acumen.model.evaluation import FailureType, Judgement, Session
from acumen.model.memory import Origin
from acumen.model.secrets import redact

# Of a long turn its opening tells what it is about.
LONGEST_TURN = 2_000
LONGEST_REASON = 500


def _known_type(said: Any) -> Any:
    """Models say nothing in many ways; what is no type of ours is none."""
    return said if said in set(FailureType) else None


class Verdict(BaseModel):
    is_success: bool
    failure_type: Annotated[FailureType | None, BeforeValidator(_known_type)] = None
    failure_reason: str | None = None
    corrections: int = Field(0, ge=0)
    user_turns_to_resolution: int | None = None
    is_escalated: bool = False
    confidence: float = Field(0.7, ge=0, le=1)


JUDGE = prompt.beside(__file__, "judge", Verdict)


async def judge(session: Session, llm: Llm, deps: Deps) -> tuple[Judgement, Origin]:
    """Raises ModelUnavailable when the model cannot be asked or makes no sense."""
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
    return _judgement(answer.value, session), answer.origin


def _judgement(verdict: Verdict, session: Session) -> Judgement:
    """What the model says, within what can be: a session has no more corrections than turns of its user."""
    spoken = sum(turn.by_user for turn in session.turns)
    needed = verdict.user_turns_to_resolution
    return Judgement(
        is_success=verdict.is_success,
        failure_type=None if verdict.is_success else verdict.failure_type,
        failure_reason=None if verdict.is_success else (verdict.failure_reason or "")[:LONGEST_REASON] or None,
        corrections=min(verdict.corrections, spoken),
        turns_to_resolution=max(1, min(needed, spoken)) if verdict.is_success and needed is not None else None,
        is_escalated=verdict.is_escalated,
        confidence=verdict.confidence,
    )


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
    tools = "".join(f" [used {tool.get('tool_name')}: {_outcome(tool)}]" for tool in turn.tools_used)
    return f"{'User' if turn.by_user else 'Agent'}{tools}: {short}"


def _outcome(tool: dict[str, Any]) -> str:
    return str(tool.get("status") or ("failed" if tool_failed(tool) else "no status"))

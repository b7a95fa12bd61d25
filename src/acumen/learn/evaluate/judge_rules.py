"""How a session ended, by rules: corrections, repetitions, thanks, escalations, failed tools, loose ends. Pure."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from acumen.learn.evaluate.reactions import (
    Admission,
    Reaction,
    admission,
    content_words,
    leaves_open,
    only_asks,
    plain,
    reaction,
    rejected_words,
    tool_failed,
)
from acumen.model.conversation import Interaction
from acumen.model.metering.evaluation import FailureType, Judgement
from acumen.model.secrets import redact

# A request with nearly all the words of an earlier one is the same request again.
SAME_REQUEST = 0.75
# An answer with this share of its words in an earlier one is the same answer again.
SAME_ANSWER = 0.7
MANY = 2
LONGEST_QUOTE = 140
# Of a long session the end decides; so much of it is read.
MOST_TURNS = 400
MOST_CHARACTERS = 20_000

_SATISFIED = frozenset({Reaction.SOLVED, Reaction.PLEASED})
_DISSATISFIED = {
    Reaction.GIVES_UP: "The user gave up",
    Reaction.CORRECTION: "The user had to correct the agent",
    Reaction.COMPLAINT: "The user was left dissatisfied",
    Reaction.ESCALATION: "The user asked for a person",
}
_FAULTS = {
    Admission.BROKEN: FailureType.SYSTEM_ERROR,
    Admission.NOTHING_FOUND: FailureType.INSUFFICIENT_INFO,
    Admission.UNABLE: FailureType.MISSING_TOOL,
}


class Exchange(Struct, frozen=True):
    """A user's turns, and all turns of the agent until the user's next one."""

    user: str
    agent: str  # empty where it never answered
    reaction: Reaction  # to the exchange before
    repeats: bool  # the user asks again for what they had asked before
    admits: Admission | None
    broken: bool  # the last tool it used in this exchange failed
    tools: tuple[str, ...]

    @property
    def dissatisfied(self) -> bool:
        return self.reaction in _DISSATISFIED or self.repeats

    @property
    def fault(self) -> FailureType | None:
        """By the agent's words and by its tools."""
        return FailureType.SYSTEM_ERROR if self.broken else _FAULTS.get(self.admits) if self.admits else None

    @property
    def fault_reason(self) -> str:
        if self.broken:
            return f"The tool {self.tools[-1]!r} failed, and nothing after it succeeded: {_quote(self.agent)}"
        return f"The agent could not do it: {_quote(self.agent)}"


def judge(turns: Sequence[Interaction]) -> Judgement | None:
    """None where there is nothing to judge: the agent or the user never spoke."""
    session = exchanges(turns)
    if not any(exchange.agent or exchange.tools for exchange in session):
        return None
    escalated = _escalated(session)
    judgement = escalated or _ended_by_user(session) or _ended_by_agent(session)
    return replace(
        judgement,
        corrections=sum(exchange.reaction is Reaction.CORRECTION for exchange in session),
        turns_to_resolution=_turns_to_resolution(session) if judgement.is_success else None,
        is_escalated=escalated is not None,
        signals=tuple(signal for number, exchange in enumerate(session, 1) for signal in _signals(number, exchange)),
    )


def exchanges(turns: Sequence[Interaction]) -> list[Exchange]:
    """Without turns of the agent before the first one of the user, which are greetings."""
    session: list[Exchange] = []
    requests: list[frozenset[str]] = []  # that were not answered to the user's satisfaction
    for user, agent in _paired(turns[-MOST_TURNS:]):
        text = "\n".join(turn.content[:MOST_CHARACTERS] for turn in user)
        answers = [turn.content[:MOST_CHARACTERS] for turn in agent if turn.content]
        request, answered = content_words(text), session[-1].agent if session else ""
        admissions = [admission(answer) for answer in answers]
        handed_over = Admission.HANDOVER in admissions  # in any of its turns
        tools = [tool for turn in agent for tool in turn.tools_used]
        exchange = Exchange(
            user=text,
            agent="\n".join(answers),
            reaction=reaction(text, answered) if answered else Reaction.NEUTRAL,
            repeats=_repeated(request, requests),
            admits=Admission.HANDOVER if handed_over else admissions[-1] if admissions else None,
            broken=bool(tools) and tool_failed(tools[-1]),
            tools=tuple(str(tool.get("tool_name", "")) for tool in tools),
        )
        session.append(exchange)
        if exchange.reaction not in _SATISFIED:
            requests.append(request)
    return session


def _paired(turns: Sequence[Interaction]) -> list[tuple[list[Interaction], list[Interaction]]]:
    pairs: list[tuple[list[Interaction], list[Interaction]]] = []
    for turn in turns:
        if turn.by_user and (not pairs or pairs[-1][1]):
            pairs.append(([], []))
        if pairs:
            pairs[-1][0 if turn.by_user else 1].append(turn)
    return pairs


def _repeated(request: frozenset[str], requests: Sequence[frozenset[str]]) -> bool:
    return bool(request) and any(
        len(request & earlier) >= SAME_REQUEST * min(len(request), len(earlier)) and len(request) <= len(earlier) + 1
        for earlier in requests
        if earlier
    )


# --- deciding ------------------------------------------------------------------------------------------------------


def _escalated(session: Sequence[Exchange]) -> Judgement | None:
    for exchange in reversed(session):
        if exchange.reaction is Reaction.ESCALATION:
            return _failure(None, f"The user asked for a person: {_quote(exchange.user)}", 0.9)
    for exchange in reversed(session[-2:]):
        if exchange.admits is Admission.HANDOVER:
            return _failure(None, f"The agent handed over to a person: {_quote(exchange.agent)}", 0.85)
    return None


def _ended_by_user(session: Sequence[Exchange]) -> Judgement | None:
    """None where the agent had the last word."""
    last = session[-1]
    if last.agent or last.tools or len(session) == 1:
        return None
    if last.reaction is Reaction.SOLVED:
        return Judgement(is_success=True, confidence=0.95)
    if last.dissatisfied:
        return _failure(_type_of(session), _reason(session), 0.9)
    if session[-2].fault:
        return _failure(session[-2].fault, session[-2].fault_reason, 0.8)
    if leaves_open(last.user):
        return _failure(None, f"The last request was never answered: {_quote(last.user)}", 0.6)
    return Judgement(is_success=True, confidence=0.9 if last.reaction is Reaction.PLEASED else 0.6)


def _ended_by_agent(session: Sequence[Exchange]) -> Judgement:
    last = session[-1]
    if last.fault:
        return _failure(last.fault, last.fault_reason, 0.8)
    if last.reaction is Reaction.GIVES_UP:
        return _failure(_type_of(session), _reason(session), 0.85)
    if last.dissatisfied and (_complaints(session) >= MANY or _same_answer(session)):
        return _failure(_type_of(session), _reason(session), 0.7)
    if only_asks(last.agent):
        return _failure(None, f"The session ended with an unanswered question: {_quote(last.agent)}", 0.5)
    return Judgement(is_success=True, confidence=0.55 if last.dissatisfied else 0.65)


def _failure(kind: FailureType | None, reason: str, confidence: float) -> Judgement:
    return Judgement(is_success=False, failure_type=kind, failure_reason=reason, confidence=confidence)


def _complaints(session: Sequence[Exchange]) -> int:
    return sum(exchange.dissatisfied for exchange in session)


def _same_answer(session: Sequence[Exchange]) -> bool:
    """Whether the agent's last answer repeats an earlier one."""
    last = content_words(session[-1].agent)
    earlier = (content_words(exchange.agent) for exchange in session[:-1] if exchange.agent)
    return bool(last) and any(len(last & words) >= SAME_ANSWER * len(last) for words in earlier)


def _type_of(session: Sequence[Exchange]) -> FailureType:
    done = [exchange for exchange in session if exchange.agent or exchange.tools]
    if done and done[-1].fault:
        return done[-1].fault
    rejected = any(_rejects_tool(exchange, after) for exchange, after in pairwise(session))
    return FailureType.WRONG_TOOL if rejected else FailureType.WRONG_ANSWER


def _rejects_tool(exchange: Exchange, after: Exchange) -> bool:
    """Whether the user's next turn rejects a tool that the agent used."""
    named = content_words(" ".join(exchange.tools).replace("_", " "))
    lines = plain(after.user)
    return bool(exchange.tools) and ("wrong tool" in " ".join(lines) or bool(rejected_words(lines) & named))


def _reason(session: Sequence[Exchange]) -> str:
    words = _DISSATISFIED.get(session[-1].reaction, "The user had to ask again")
    times = _complaints(session)
    often = f" ({times} times in all)" if times >= MANY else ""
    return f"{words}{often}: {_quote(session[-1].user)}"


def _turns_to_resolution(session: Sequence[Exchange]) -> int:
    """The user's turns until they had it; a thank-you at the end is not one of them."""
    last = session[-1]
    closing = not leaves_open(last.user) and (last.reaction in _SATISFIED or not last.agent)
    return max(1, len(session) - closing)


def _signals(number: int, exchange: Exchange) -> list[str]:
    signals = []
    if exchange.reaction is not Reaction.NEUTRAL:
        signals.append(f"user turn {number}: {exchange.reaction.name.lower()}")
    elif exchange.repeats:
        signals.append(f"user turn {number}: repeats a request")
    if exchange.broken:
        signals.append(f"after user turn {number}: tool {exchange.tools[-1]} failed")
    if exchange.admits is not None:
        signals.append(f"after user turn {number}: agent {exchange.admits.name.lower().replace('_', ' ')}")
    return signals


def _quote(text: str) -> str:
    """The speaker's words, shortened, and without secrets."""
    line = " ".join(redact(text).split())
    return f'"{line}"' if len(line) <= LONGEST_QUOTE else f'"{line[:LONGEST_QUOTE].rstrip()}…"'

"""How a session ended, by rules: corrections, repeated requests, thanks, escalations, tools that failed, loose ends.

Pure. A session is read as a talk: what the user asked, how they took each answer, and where it was left.
"""

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
    overlap,
    plain,
    reaction,
    rejected_words,
    tool_failed,
)
from acumen.model.conversation import Interaction
from acumen.model.evaluation import FailureType, Judgement
from acumen.model.secrets import redact

# A request whose words were nearly all said before is the same request again.
SAME_REQUEST = 0.75
# An answer of which this much was said before is the same answer again.
SAME_ANSWER = 0.7
# A turn of a single telling word counts as a repetition only if it is hardly longer than that.
SHORT_TURN = 5
MANY = 2
LONGEST_QUOTE = 140
# Of a long session its end decides; this much of it is read.
MOST_TURNS = 400
MOST_CHARACTERS = 20_000

_SATISFIED = frozenset({Reaction.SOLVED, Reaction.PLEASED})
_DISSATISFIED = frozenset({Reaction.CORRECTION, Reaction.COMPLAINT, Reaction.GIVES_UP, Reaction.ESCALATION})


class Exchange(Struct, frozen=True):
    """What the user said, and all that the agent did about it before the user spoke again."""

    user: str
    agent: str  # what it said last; empty where it never answered
    reaction: Reaction  # to the exchange before
    repeats: bool  # the user asks again for what they had asked before
    admits: Admission | None
    broken: bool  # the last tool it used in this exchange failed
    tools: tuple[str, ...]

    @property
    def dissatisfied(self) -> bool:
        return self.reaction in _DISSATISFIED or self.repeats


def judge(turns: Sequence[Interaction]) -> Judgement | None:
    """None where there is nothing to judge: the agent never spoke, or nobody asked it anything."""
    talk = exchanges(turns)
    if not talk or not any(one.agent or one.tools for one in talk):
        return None
    escalated = _escalated(talk)
    judgement = escalated or _ended_by_user(talk) or _ended_by_agent(talk)
    corrections = sum(one.reaction is Reaction.CORRECTION for one in talk)
    turns_needed = _turns_to_resolution(talk) if judgement.is_success else None
    return replace(
        judgement,
        corrections=corrections,
        turns_to_resolution=turns_needed,
        is_escalated=escalated is not None,
        signals=tuple(_signals(talk)),
    )


# --- reading -------------------------------------------------------------------------------------------------------


def exchanges(turns: Sequence[Interaction]) -> list[Exchange]:
    """The talk, exchange by exchange. What the agent said before the user first spoke is a greeting."""
    read: list[Exchange] = []
    asked: list[frozenset[str]] = []
    for user, agent in _paired(turns[-MOST_TURNS:]):
        text = "\n".join(turn.content[:MOST_CHARACTERS] for turn in user)
        wanted = content_words(text)
        before = read[-1] if read else None
        took = reaction(text, before.agent) if before and before.agent else Reaction.NEUTRAL
        read.append(
            Exchange(
                user=text,
                agent="\n".join(turn.content[:MOST_CHARACTERS] for turn in agent if turn.content),
                reaction=took,
                repeats=bool(before) and _repeated(text, wanted, asked),
                admits=_admitted(agent),
                broken=_broken(agent),
                tools=tuple(str(tool.get("tool_name", "")) for turn in agent for tool in turn.tools_used),
            )
        )
        if took not in _SATISFIED:
            asked.append(wanted)
    return read


def _paired(turns: Sequence[Interaction]) -> list[tuple[list[Interaction], list[Interaction]]]:
    pairs: list[tuple[list[Interaction], list[Interaction]]] = []
    for turn in turns:
        if turn.by_user:
            if not pairs or pairs[-1][1]:
                pairs.append(([], []))
            pairs[-1][0].append(turn)
        elif pairs:
            pairs[-1][1].append(turn)
    return pairs


def _repeated(text: str, wanted: frozenset[str], asked: Sequence[frozenset[str]]) -> bool:
    if not wanted or (len(wanted) == 1 and len(text.split()) > SHORT_TURN):
        return False
    return any(
        wanted and overlap(wanted, earlier) >= SAME_REQUEST and len(wanted) <= len(earlier) + 1 for earlier in asked
    )


def _admitted(agent: Sequence[Interaction]) -> Admission | None:
    """What the last of its turns owns up to; a handover counts wherever it was said."""
    owned = [admission(turn.content[:MOST_CHARACTERS]) for turn in agent if turn.content]
    if Admission.HANDOVER in owned:
        return Admission.HANDOVER
    return owned[-1] if owned else None


def _broken(agent: Sequence[Interaction]) -> bool:
    used = [tool for turn in agent for tool in turn.tools_used]
    return bool(used) and tool_failed(used[-1])


# --- deciding ------------------------------------------------------------------------------------------------------


def _escalated(talk: Sequence[Exchange]) -> Judgement | None:
    asked = [one for one in talk if one.reaction is Reaction.ESCALATION]
    if asked:
        return _failure(None, f"The user asked for a person: {_quote(asked[-1].user)}", 0.9)
    if talk[-1].admits is Admission.HANDOVER or (len(talk) > 1 and talk[-2].admits is Admission.HANDOVER):
        handed = talk[-1] if talk[-1].admits is Admission.HANDOVER else talk[-2]
        return _failure(None, f"The agent handed over to a person: {_quote(handed.agent)}", 0.85)
    return None


def _ended_by_user(talk: Sequence[Exchange]) -> Judgement | None:
    """Where the user had the last word, it decides."""
    last = talk[-1]
    if last.agent or last.tools:
        return None
    before = talk[-2] if len(talk) > 1 else None
    if before is None:
        return None
    if last.reaction is Reaction.SOLVED:
        return Judgement(is_success=True, confidence=0.95)
    if last.dissatisfied:
        return _failure(_type_of(talk), _reason(last, talk), 0.9)
    if fault := _fault(before):
        return _failure(fault, _fault_reason(before), 0.8)
    if leaves_open(last.user):
        return _failure(None, f"The last request was never answered: {_quote(last.user)}", 0.6)
    return Judgement(is_success=True, confidence=0.9 if last.reaction is Reaction.PLEASED else 0.6)


def _ended_by_agent(talk: Sequence[Exchange]) -> Judgement:
    """Where the agent had the last word, it counts what it admits and whether it had been told before."""
    last = talk[-1]
    if fault := _fault(last):
        return _failure(fault, _fault_reason(last), 0.8)
    told = [one for one in talk if one.dissatisfied]
    if last.reaction is Reaction.GIVES_UP:
        return _failure(_type_of(talk), _reason(last, talk), 0.85)
    if last.dissatisfied and (len(told) >= MANY or _same_answer(talk)):
        return _failure(_type_of(talk), _reason(last, talk), 0.7)
    if only_asks(last.agent):
        return _failure(None, f"It ended with a question back that nobody answered: {_quote(last.agent)}", 0.5)
    return Judgement(is_success=True, confidence=0.55 if last.dissatisfied else 0.65)


def _failure(kind: FailureType | None, reason: str, confidence: float) -> Judgement:
    return Judgement(is_success=False, failure_type=kind, failure_reason=reason, confidence=confidence)


def _same_answer(talk: Sequence[Exchange]) -> bool:
    """Whether the agent's last answer says nothing that an earlier one had not said."""
    said = content_words(talk[-1].agent)
    earlier = [content_words(one.agent) for one in talk[:-1] if one.agent]
    return bool(said) and any(len(said & words) >= SAME_ANSWER * len(said) for words in earlier)


def _fault(one: Exchange) -> FailureType | None:
    """What kept the agent from doing what it was asked to, by its own words and by its tools."""
    if one.broken or one.admits is Admission.BROKEN:
        return FailureType.SYSTEM_ERROR
    if one.admits is Admission.NOTHING_FOUND:
        return FailureType.INSUFFICIENT_INFO
    return FailureType.MISSING_TOOL if one.admits is Admission.UNABLE else None


def _fault_reason(one: Exchange) -> str:
    if one.broken:
        return f"The tool {one.tools[-1]!r} failed, and nothing after it succeeded: {_quote(one.agent)}"
    return f"The agent could not do it: {_quote(one.agent)}"


def _type_of(talk: Sequence[Exchange]) -> FailureType:
    """Of a failure that the user complained of: by what the agent had done before."""
    before = [one for one in talk if one.agent or one.tools]
    fault = _fault(before[-1]) if before else None
    if fault is not None:
        return fault
    wrong_tool = any(_rejects_tool(one, then) for one, then in pairwise(talk))
    return FailureType.WRONG_TOOL if wrong_tool else FailureType.WRONG_ANSWER


def _rejects_tool(one: Exchange, then: Exchange) -> bool:
    """Whether the user, in their next turn, put away what the agent had worked with."""
    named = content_words(" ".join(one.tools).replace("_", " "))
    said = plain(then.user)
    return bool(one.tools) and ("wrong tool" in " ".join(said) or bool(rejected_words(said) & named))


_WORDS = {
    Reaction.GIVES_UP: "The user gave up",
    Reaction.CORRECTION: "The user had to correct the agent",
    Reaction.COMPLAINT: "The user was left dissatisfied",
}


def _reason(last: Exchange, talk: Sequence[Exchange]) -> str:
    words = _WORDS.get(last.reaction, "The user had to ask again")
    times = sum(one.dissatisfied for one in talk)
    often = f" ({times} times in all)" if times >= MANY else ""
    return f"{words}{often}: {_quote(last.user)}"


def _turns_to_resolution(talk: Sequence[Exchange]) -> int:
    """The user's turns until they had it; a thank-you at the end is not one of them."""
    last = talk[-1]
    closing = not leaves_open(last.user) and (last.reaction in _SATISFIED or not last.agent)
    return max(1, len(talk) - closing)


def _signals(talk: Sequence[Exchange]) -> list[str]:
    """The grounds, in words."""
    found = []
    for number, one in enumerate(talk, start=1):
        if one.reaction is not Reaction.NEUTRAL:
            found.append(f"user turn {number}: {one.reaction.name.lower()}")
        elif one.repeats:
            found.append(f"user turn {number}: repeats a request")
        if one.broken:
            found.append(f"after user turn {number}: tool {one.tools[-1]} failed")
        if one.admits is not None:
            found.append(f"after user turn {number}: agent {one.admits.name.lower().replace('_', ' ')}")
    return found


def _quote(text: str) -> str:
    """The speaker's words, shortened, and without secrets."""
    one_line = " ".join(redact(text).split())
    return f'"{one_line}"' if len(one_line) <= LONGEST_QUOTE else f'"{one_line[:LONGEST_QUOTE].rstrip()}…"'

"""Outcomes of sessions: graded by a judge, reported by callers, and comparisons of two answers."""

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NewType

from msgspec import Struct, field
from msgspec.structs import replace

from acumen.model.conversation import Interaction, Request
from acumen.model.ids import InteractionId, Millis, RequestId, SessionId, UserId
from acumen.model.memories.base import Origin

EvaluationId = NewType("EvaluationId", int)
# Session ids are the callers' own, so the same one may occur with two users.
SessionKey = tuple[UserId, SessionId]


def as_item(key: SessionKey) -> str:
    """A session as an item of a run."""
    return json.dumps(key, ensure_ascii=False)


def key_of(item: str) -> SessionKey:
    user, session = json.loads(item)
    return UserId(user), SessionId(session)


def items_of(user: UserId) -> str:
    """What the items of all sessions of a user begin with, and those of no other user."""
    return as_item((user, SessionId(""))).removesuffix('"]')


class Outcome(StrEnum):
    """How a session ended, in its caller's own word."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"  # the caller cannot tell: a judge's guess counts


class FailureType(StrEnum):
    SYSTEM_ERROR = "system_error"
    MISSING_TOOL = "missing_tool"
    WRONG_TOOL = "wrong_tool"
    INSUFFICIENT_INFO = "insufficient_info_from_tool"
    WRONG_ANSWER = "wrong_answer"


class Preference(StrEnum):
    """Which of two answers was better: the one that was given, or its shadow."""

    REGULAR = "regular_is_better"
    REGULAR_SLIGHTLY = "regular_is_slightly_better"
    TIED = "tied"
    SHADOW_SLIGHTLY = "shadow_is_slightly_better"
    SHADOW = "shadow_is_better"


class Judgement(Struct, frozen=True):
    """What a judge makes of one session. `signals` are its grounds in words, the weightiest first."""

    is_success: bool
    failure_type: FailureType | None = None
    failure_reason: str | None = None
    corrections: int = 0
    turns_to_resolution: int | None = None
    is_escalated: bool = False
    confidence: float = 0.5
    signals: tuple[str, ...] = ()


class Stated(Struct, frozen=True):
    """What a caller said of how a session ended; a later word of theirs is a new revision."""

    user_id: UserId
    session_id: SessionId
    outcome: Outcome
    occurred_at: Millis
    stated_at: Millis
    source: str = ""
    label: str | None = None
    value: float | None = None
    metadata: dict[str, Any] | None = None
    revision: int = 1
    contract_digest: str = ""
    trajectory_digest: str = ""
    through_request: RequestId | None = None

    @property
    def is_success(self) -> bool | None:
        """None where the caller could not tell."""
        return None if self.outcome is Outcome.UNKNOWN else self.outcome is Outcome.SUCCESS


def effective(judged: Judgement | None, stated: Outcome | None) -> bool | None:
    """The verdict that counts: a caller knows, a judge guesses; None where neither can tell."""
    if stated in (None, Outcome.UNKNOWN):
        return None if judged is None else judged.is_success
    return stated is Outcome.SUCCESS


class Extent(Struct, frozen=True):
    """A session's newest turn and how many there are: by both one sees that nothing was added or taken away."""

    last_id: InteractionId = InteractionId(0)
    turns: int = 0
    first_at: Millis = Millis(0)


class EvaluatedSession(Struct, frozen=True):
    """A session so far: its turns, whether it is over, and the outcome that its caller reports.

    Of a long one only the newest turns are loaded; `extent` is the number of all.
    """

    user_id: UserId
    session_id: SessionId
    requests: list[Request]
    turns: list[Interaction]
    extent: Extent
    finished_at: Millis | None = None
    stated: Stated | None = None

    @property
    def last_request(self) -> Request:
        return self.requests[-1]

    @property
    def source(self) -> str:
        """The last that was named: a request that names none is of the same."""
        return next((request.source for request in reversed(self.requests) if request.source), "")

    @property
    def last_id(self) -> InteractionId:
        return self.extent.last_id

    @property
    def is_over(self) -> bool:
        """Whether the caller reported it, and no turn came since."""
        last = self.last_request
        return last.session_finished or (self.finished_at is not None and self.finished_at >= last.created_at)


class Evaluation(Struct, frozen=True):
    """A session's verdict. `is_success` is what counts: what the caller stated, or else what was judged."""

    id: EvaluationId
    user_id: UserId
    session_id: SessionId
    is_success: bool
    ended_at: Millis  # when its last request came
    created_at: Millis
    updated_at: Millis
    judged: Judgement | None = None  # None: stated before it was judged
    stated: Outcome | None = None
    agent_version: str = ""
    source: str = ""
    name: str | None = None
    last_id: InteractionId = InteractionId(0)  # the last turn that was judged
    shadow: Preference | None = None
    origin: Origin = field(default_factory=Origin)


def evaluated(
    session: EvaluatedSession, judged: Judgement | None, stated: Outcome | None, at: Millis
) -> Evaluation | None:
    """None where there is nothing to judge and the caller could not tell."""
    is_success = effective(judged, stated)
    if is_success is None:
        return None
    return Evaluation(
        id=EvaluationId(0),
        user_id=session.user_id,
        session_id=session.session_id,
        is_success=is_success,
        ended_at=session.last_request.created_at,
        created_at=at,
        updated_at=at,
        judged=judged,
        stated=stated,
        agent_version=session.last_request.agent_version,
        source=session.source,
    )


def restated(evaluation: Evaluation, outcome: Outcome, at: Millis) -> Evaluation | None:
    """The same evaluation after a caller's report; None where neither a judge nor the caller knows the outcome."""
    is_success = effective(evaluation.judged, outcome)
    return None if is_success is None else replace(evaluation, stated=outcome, is_success=is_success, updated_at=at)


class SessionVerdict(Struct, frozen=True):
    """The part of an evaluation that others count by."""

    user_id: UserId
    session_id: SessionId
    is_success: bool
    stated: bool  # by the caller, and so no guess
    confidence: float
    engine: str
    agent_version: str
    source: str
    ended_at: Millis


class ShadowVerdict(Struct, frozen=True):
    """One turn's answer against its shadow. `regular_first` tells in which place the judge saw the regular one."""

    id: int
    user_id: UserId
    session_id: SessionId
    interaction_id: InteractionId
    agent_version: str
    preference: Preference
    reason: str
    regular_first: bool
    created_at: Millis
    origin: Origin = field(default_factory=Origin)


class EvaluationFilter(Struct, frozen=True):
    """Which evaluations; None means "any". Times are those at which they were first made."""

    user_id: UserId | None = None
    session_id: SessionId | None = None
    agent_version: str | None = None
    since: Millis | None = None
    until: Millis | None = None


class OutcomeFilter(Struct, frozen=True):
    """Which stated outcomes; None means "any". Times are those at which the caller says it ended."""

    sessions: Sequence[SessionId] | None = None
    user_id: UserId | None = None
    source: str | None = None
    outcome: Outcome | None = None
    label: str | None = None
    since: Millis | None = None
    until: Millis | None = None

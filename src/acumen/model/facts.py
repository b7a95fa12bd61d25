"""Facts: what happened, in the past tense. `loop.py` says which step each one causes."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from acumen.model.ids import RequestId, SessionId, UserId
from acumen.model.run import RunId


@dataclass(frozen=True, slots=True)
class Fact:
    """Facts of one name and one scope coalesce: the step reads the state of the data, not the message."""

    name: ClassVar[str]

    @property
    def scope(self) -> str:
        """The first field, unless a fact says otherwise."""
        first, *_ = fields(self)
        return str(getattr(self, first.name))

    def payload(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, payload: dict[str, Any]) -> Self:
        return cls(**payload)


@dataclass(frozen=True, slots=True)
class Published(Fact):
    """A user's conversation grew; it is committed and can be read."""

    name: ClassVar[str] = "published"
    user_id: UserId
    request_id: RequestId


@dataclass(frozen=True, slots=True)
class SessionEnded(Fact):
    """Nothing more will be said in this session."""

    name: ClassVar[str] = "session_ended"
    user_id: UserId
    session_id: SessionId


@dataclass(frozen=True, slots=True)
class SessionQuiet(Fact):
    """Nothing has been said in this session for a while, or nothing more will be."""

    name: ClassVar[str] = "session_quiet"
    user_id: UserId
    session_id: SessionId

    @property
    def scope(self) -> str:
        return f"{self.all_of(self.user_id)}{self.session_id}"

    @staticmethod
    def all_of(user: UserId) -> str:
        """What the scopes of all sessions of a user begin with, and those of no other user."""
        return f"{len(user)}:{user}:"


@dataclass(frozen=True, slots=True)
class Failed(Fact):
    """A group of failures has enough new evidence to be worth explaining."""

    name: ClassVar[str] = "failed"
    group_id: str


@dataclass(frozen=True, slots=True)
class Recovered(Fact):
    """A call that had failed in a session has succeeded in it."""

    name: ClassVar[str] = "recovered"
    session_id: str
    source: str
    endpoint: str

    @property
    def scope(self) -> str:
        return f"{self.session_id}\x1f{self.source}\x1f{self.endpoint}"


@dataclass(frozen=True, slots=True)
class Ended(Fact):
    """An outcome or a verdict was recorded for a session."""

    name: ClassVar[str] = "ended"
    op_id: str


@dataclass(frozen=True, slots=True)
class Worked(Fact):
    """One way of calling an endpoint has succeeded often enough to be looked at."""

    name: ClassVar[str] = "worked"
    way_key: str


@dataclass(frozen=True, slots=True)
class ReviewOpened(Fact):
    """Somebody wants to review memories of which too many to wait for have not been looked at yet."""

    name: ClassVar[str] = "review_opened"

    @property
    def scope(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class RunAsked(Fact):
    """Somebody asked for long work; each service has its own kind of this."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class GenerationAsked(RunAsked):
    """Memories are to be made anew from what was said before."""

    name: ClassVar[str] = "generation_asked"


@dataclass(frozen=True, slots=True)
class RegenerationAsked(RunAsked):
    """Sessions that were judged before, or never, are to be judged anew."""

    name: ClassVar[str] = "regeneration_asked"


@dataclass(frozen=True, slots=True)
class Hour(Fact):
    """An hour has passed: time for what runs on a schedule."""

    name: ClassVar[str] = "hour"

    @property
    def scope(self) -> str:
        return "hour"


@dataclass(frozen=True, slots=True)
class Minutes(Fact):
    """Some minutes have passed: time to look whether something is wrong."""

    name: ClassVar[str] = "minutes"

    @property
    def scope(self) -> str:
        return "minutes"


@dataclass(frozen=True, slots=True)
class Alerted(Fact):
    """There is something to tell the owner's webhook."""

    name: ClassVar[str] = "alerted"
    delivery_id: str


@dataclass(frozen=True, slots=True)
class LessonsGrew(Fact):
    """Enough new lessons came for an agent version to look again for those that several users share."""

    name: ClassVar[str] = "lessons_grew"
    agent_version: str


@dataclass(frozen=True, slots=True)
class AggregationAsked(RunAsked):
    """Lessons of users shall become lessons for all."""

    name: ClassVar[str] = "aggregation_asked"

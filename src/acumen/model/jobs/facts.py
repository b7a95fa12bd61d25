"""Facts: what happened, in the past tense. `loop.py` says which step each one causes."""

from typing import Any, ClassVar, Self

from msgspec import Struct
from msgspec.structs import asdict

from acumen.model.ids import RequestId, SessionId, UserId
from acumen.model.jobs.run import RunId


class Fact(Struct, frozen=True):
    """Facts of one name and one scope coalesce: the step reads the state of the data, not the message."""

    name: ClassVar[str]

    @property
    def scope(self) -> str:
        """The first field, unless a fact says otherwise."""
        return str(getattr(self, self.__struct_fields__[0]))

    def payload(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, payload: dict[str, Any]) -> Self:
        return cls(**payload)


class Published(Fact, frozen=True):
    """A user's conversation grew; it is committed and can be read."""

    name: ClassVar[str] = "published"
    user_id: UserId
    request_id: RequestId


class SessionEnded(Fact, frozen=True):
    """Nothing more will be said in this session."""

    name: ClassVar[str] = "session_ended"
    user_id: UserId
    session_id: SessionId


class SessionQuiet(Fact, frozen=True):
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


class Failed(Fact, frozen=True):
    """A group of failures has enough new evidence to be worth explaining."""

    name: ClassVar[str] = "failed"
    group_id: str


class Recovered(Fact, frozen=True):
    """A call that had failed in a session has succeeded in it."""

    name: ClassVar[str] = "recovered"
    session_id: str
    source: str
    endpoint: str

    @property
    def scope(self) -> str:
        return f"{self.session_id}\x1f{self.source}\x1f{self.endpoint}"


class Ended(Fact, frozen=True):
    """An outcome or a verdict was recorded for a session."""

    name: ClassVar[str] = "ended"
    op_id: str


class Worked(Fact, frozen=True):
    """One way of calling an endpoint has succeeded often enough to be looked at."""

    name: ClassVar[str] = "worked"
    way_key: str


class ReviewOpened(Fact, frozen=True):
    """Somebody wants to review memories of which too many to wait for have not been looked at yet."""

    name: ClassVar[str] = "review_opened"

    @property
    def scope(self) -> str:
        return ""


class RunAsked(Fact, frozen=True):
    """Somebody asked for long work; each service has its own kind of this."""

    run_id: RunId


class GenerationAsked(RunAsked, frozen=True):
    """Memories are to be made anew from what was said before."""

    name: ClassVar[str] = "generation_asked"


class RegenerationAsked(RunAsked, frozen=True):
    """Sessions that were judged before, or never, are to be judged anew."""

    name: ClassVar[str] = "regeneration_asked"


class Hour(Fact, frozen=True):
    """An hour has passed: time for what runs on a schedule."""

    name: ClassVar[str] = "hour"

    @property
    def scope(self) -> str:
        return "hour"


class Minutes(Fact, frozen=True):
    """Some minutes have passed: time to look whether something is wrong."""

    name: ClassVar[str] = "minutes"

    @property
    def scope(self) -> str:
        return "minutes"


class Alerted(Fact, frozen=True):
    """There is something to tell the owner's webhook."""

    name: ClassVar[str] = "alerted"
    delivery_id: str


class LessonsGrew(Fact, frozen=True):
    """Enough new lessons came for an agent version to look again for those that several users share."""

    name: ClassVar[str] = "lessons_grew"
    agent_version: str


class AggregationAsked(RunAsked, frozen=True):
    """Lessons of users shall become lessons for all."""

    name: ClassVar[str] = "aggregation_asked"

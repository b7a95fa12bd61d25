"""Events: what happened. `loop.py` says which steps each one triggers."""

from typing import Any, ClassVar, Self

from msgspec import Struct
from msgspec.structs import asdict

from acumen.model.ids import RequestId, SessionId, UserId
from acumen.model.jobs.run import RunId

# Between the parts of a scope.
SEPARATOR = "\x1f"


class Event(Struct, frozen=True):
    """Events of one name and scope coalesce into one job: a step reads the state of the data, not the event."""

    name: ClassVar[str]

    @property
    def scope(self) -> str:
        """The first field, unless a subclass overrides it."""
        return str(getattr(self, self.__struct_fields__[0]))

    def payload(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, payload: dict[str, Any]) -> Self:
        return cls(**payload)


class Published(Event, frozen=True):
    """A user's new turns are committed."""

    name: ClassVar[str] = "published"
    user_id: UserId
    request_id: RequestId


class SessionEnded(Event, frozen=True):
    """The caller said that the session is over."""

    name: ClassVar[str] = "session_ended"
    user_id: UserId
    session_id: SessionId


class SessionQuiet(Event, frozen=True):
    """Nothing was published in this session for a while, or it is over."""

    name: ClassVar[str] = "session_quiet"
    user_id: UserId
    session_id: SessionId

    @property
    def scope(self) -> str:
        return f"{self.all_of(self.user_id)}{self.session_id}"

    @staticmethod
    def all_of(user: UserId) -> str:
        """The common prefix of the scopes of all sessions of a user, and of no other user."""
        return f"{len(user)}:{user}:"


class Failed(Event, frozen=True):
    """A failure group has enough new evidence for a diagnosis."""

    name: ClassVar[str] = "failed"
    group_id: str


class Recovered(Event, frozen=True):
    """A call that failed in a session has succeeded in it."""

    name: ClassVar[str] = "recovered"
    session_id: str
    source: str
    endpoint: str

    @property
    def scope(self) -> str:
        return SEPARATOR.join((self.session_id, self.source, self.endpoint))


class Ended(Event, frozen=True):
    """An outcome or a verdict was recorded for a session."""

    name: ClassVar[str] = "ended"
    op_id: str


class Worked(Event, frozen=True):
    """One way of calling an endpoint has succeeded often enough to propose a lesson."""

    name: ClassVar[str] = "worked"
    way_key: str


class ReviewOpened(Event, frozen=True):
    """A reviewer opened the queue while many memories were not scanned yet."""

    name: ClassVar[str] = "review_opened"

    @property
    def scope(self) -> str:
        return ""


class RunAsked(Event, frozen=True):
    """A run was requested; each service has a subclass."""

    run_id: RunId


class GenerationAsked(RunAsked, frozen=True):
    """Rebuild memories from the conversation history."""

    name: ClassVar[str] = "generation_asked"


class RegenerationAsked(RunAsked, frozen=True):
    """Evaluate sessions again."""

    name: ClassVar[str] = "regeneration_asked"


class Hour(Event, frozen=True):
    """An hour has passed."""

    name: ClassVar[str] = "hour"

    @property
    def scope(self) -> str:
        return "hour"


class Minutes(Event, frozen=True):
    """A few minutes have passed: check for problems."""

    name: ClassVar[str] = "minutes"

    @property
    def scope(self) -> str:
        return "minutes"


class BackupDue(Event, frozen=True):
    """The last scheduled backup is old."""

    name: ClassVar[str] = "backup"

    @property
    def scope(self) -> str:
        return "backup"


class Alerted(Event, frozen=True):
    """An alert waits for delivery to the webhook."""

    name: ClassVar[str] = "alerted"
    delivery_id: str


class Erased(Event, frozen=True):
    """Rows were erased; their bytes are still in the files of the database."""

    name: ClassVar[str] = "erased"

    @property
    def scope(self) -> str:
        return "bytes"


class LessonsGrew(Event, frozen=True):
    """An agent version has enough new user playbooks for an aggregation."""

    name: ClassVar[str] = "lessons_grew"
    agent_version: str


class AggregationAsked(RunAsked, frozen=True):
    """Aggregate user playbooks into shared ones."""

    name: ClassVar[str] = "aggregation_asked"


# A worker leaves jobs of other events to the version that knows them: during a rolling upgrade there are two.
EVENT_NAMES = tuple(kind.name for kind in (*Event.__subclasses__(), *RunAsked.__subclasses__()) if kind is not RunAsked)


# Every org has one job of each, which schedules the next.
PERIODIC = (Hour.name, Minutes.name)

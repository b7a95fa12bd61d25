"""What the wire's shapes share: base models, checked types, and the words of the API."""

import math
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Optional, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from typing_extensions import Self

from acumen_client.compat import UTC, StrEnum

# What a signed 64-bit database column can hold.
LARGEST_INT = 2**63 - 1
# Epoch seconds of 2100-01-01: the wire's way of saying "never".
NEVER = 4_102_444_800
# Epoch seconds up to the year 2230; anything later is most likely milliseconds sent by mistake.
LATEST_SECOND = 2 * NEVER
# Deeper JSON than this is no tool's output, and walking it costs more than it gains.
DEEPEST_JSON = 64
# Beyond this a JSON number no longer fits a float, and readers disagree on what it says.
LARGEST_JSON_INT = 10**300


# --- checked types -------------------------------------------------------------------------------------------------


def storable(value: Any) -> Any:
    """Refuse text no database can keep: NUL characters and halves of surrogate pairs. Other types pass untouched."""
    if not isinstance(value, str) or (value.isascii() and "\x00" not in value):
        return value
    if "\x00" in value:
        raise ValueError(f"must not contain NUL characters (one is at position {value.index(chr(0))})")
    try:
        value.encode()
    except UnicodeEncodeError as broken:
        raise ValueError(f"must be valid Unicode (a lone surrogate is at position {broken.start})") from None
    return value


def blank_is_none(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


def utc(value: datetime) -> datetime:
    """The same moment in UTC; a time without a zone is taken to be UTC already."""
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError("is outside the years 1 to 9999") from None


def plain_json(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse what JSON cannot carry or a database cannot keep, however deep it hides."""
    for part in _parts_of(value):
        _check_part(part)
    return value


def _parts_of(value: Any) -> Iterator[Any]:
    """Every key and value inside, without recursion: depth is the caller's to choose and ours to bound."""
    waiting = [(value, 1)]
    while waiting:
        part, depth = waiting.pop()
        if depth > DEEPEST_JSON:
            raise ValueError(f"must not be nested deeper than {DEEPEST_JSON} levels")
        if isinstance(part, dict):
            yield from part
            waiting += [(inner, depth + 1) for inner in part.values()]
        elif isinstance(part, (list, tuple)):
            waiting += [(inner, depth + 1) for inner in part]
        else:
            yield part


def _check_part(part: Any) -> None:
    if isinstance(part, float) and not math.isfinite(part):
        raise ValueError("must contain finite numbers only")
    if isinstance(part, int) and abs(part) > LARGEST_JSON_INT:
        raise ValueError("must not contain integers of more than 300 digits")
    if part is not None and not isinstance(part, (str, int, float)):
        raise ValueError(f"must be plain JSON, and {type(part).__name__} is not")
    storable(part)


# Addresses at which clouds hand out machine credentials; nothing a caller names may lead there.
_METADATA_HOSTS = frozenset({"metadata.google.internal", "169.254.169.254", "fd00:ec2::254"})


def web_address(value: str) -> str:
    """Raises `ValueError`, also for a port that cannot be."""
    address = urlsplit(value)
    if address.scheme not in {"http", "https"}:
        raise ValueError("must be an http or https URL")
    if not address.hostname or address.port == 0 or any(map(str.isspace, value)):
        raise ValueError("must name a host that can be called")
    return _harmless(value)


def image_address(value: str) -> str:
    """An image may also be given inline, as a data URL."""
    scheme = urlsplit(value).scheme
    if value and scheme not in {"http", "https", "data"}:
        raise ValueError(f"must be an http, https or data URL, not {scheme or 'a bare path'}")
    return value if scheme == "data" else _harmless(value)


def _harmless(value: str) -> str:
    if (urlsplit(value).hostname or "").lower() in _METADATA_HOSTS:
        raise ValueError("must not point at a cloud metadata service")
    return value


Str = Annotated[str, BeforeValidator(storable)]
# A short label: a name, a role, a version.
Label = Annotated[str, Field(max_length=1_000), BeforeValidator(storable)]
# What someone said or wrote.
Text = Annotated[str, Field(max_length=1_000_000), BeforeValidator(storable)]
NonEmpty = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000_000), BeforeValidator(storable)
]
# Four bytes a character at most, so two of them fit one index entry of every database we use.
Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=255), BeforeValidator(storable)]
MaybeId = Annotated[Optional[Id], BeforeValidator(blank_is_none)]
Source = Annotated[str, Field(max_length=128, pattern=r"^([a-z0-9][a-z0-9._:-]{0,127})?$"), BeforeValidator(storable)]
Tags = Annotated[list[Annotated[str, Field(max_length=255), BeforeValidator(storable)]], Field(max_length=100)]
JsonObject = Annotated[dict[str, Any], AfterValidator(plain_json)]
WebUrl = Annotated[str, Field(max_length=2_048), AfterValidator(web_address), BeforeValidator(storable)]
ImageUrl = Annotated[str, Field(max_length=2_048), AfterValidator(image_address), BeforeValidator(storable)]

RowId = Annotated[int, Field(gt=0, le=LARGEST_INT)]
RowIds = Annotated[list[RowId], Field(max_length=10_000)]
Seconds = Annotated[int, Field(ge=0, le=LATEST_SECOND)]
When = Annotated[datetime, AfterValidator(utc)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
HowMany = Annotated[int, Field(gt=0, le=1_000_000)]
Offset = Annotated[int, Field(ge=0, le=2**31 - 1)]
Days = Annotated[int, Field(gt=0, le=36_500)]
Positive = Annotated[int, Field(gt=0, le=2**31 - 1)]
NotNegative = Annotated[int, Field(ge=0, le=2**31 - 1)]
Labels = Annotated[list[Label], Field(max_length=1_000)]


# --- base models ---------------------------------------------------------------------------------------------------

# Schemas are built when first used, so that importing every shape stays cheap.
_SHAPE = ConfigDict(
    defer_build=True, allow_inf_nan=False, validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
)


class WireModel(BaseModel):
    """Takes null for any field that has a default, and reads it as that default. Fields keep the names they had."""

    model_config = _SHAPE
    older_names: ClassVar[dict[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _null_means_default(cls, data: Any) -> Any:
        data = modern(data, cls.older_names)
        if not isinstance(data, dict) or None not in data.values():
            return data
        defaulted = _defaulted(cls)
        return {name: value for name, value in data.items() if value is not None or name not in defaulted}


def modern(data: Any, older_names: dict[str, str]) -> Any:
    """The same data under today's names. Where both are given, today's wins."""
    if not older_names or not isinstance(data, dict) or older_names.keys().isdisjoint(data):
        return data
    renamed = {name: value for name, value in data.items() if name not in older_names}
    for older, name in older_names.items():
        if older in data:
            renamed.setdefault(name, data[older])
    return renamed


@cache
def _defaulted(shape: type[BaseModel]) -> frozenset[str]:
    """Names (and aliases) of the fields for which null itself is no value."""
    return frozenset(
        key
        for name, field in shape.model_fields.items()
        for key in (name, field.alias)
        if key and not field.is_required() and type(None) not in get_args(field.annotation)
    )


class RequestModel(WireModel):
    """What a caller asks. A field we do not know is an error that names it."""

    model_config = ConfigDict(extra="forbid")


class Nothing(RequestModel):
    """The request of an endpoint that takes no parameters."""


class Tolerant(WireModel):
    """Drops fields we do not know and remembers their names, so that one typo does not lose a conversation."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": True})

    # Ids that callers repeat on every turn; leaving them out changes nothing, so there is no warning.
    _harmless_extras: ClassVar[frozenset[str]] = frozenset({"user_id", "session_id"})

    @model_validator(mode="after")
    def _set_unknown_aside(self) -> Self:
        if self.__pydantic_extra__:
            self._note("unknown", sorted(self.__pydantic_extra__))
            self.__pydantic_extra__ = {}
        return self

    def unknown_fields(self) -> list[str]:
        return [name for name in self._noted("unknown") if name not in self._harmless_extras]

    def _note(self, name: str, said: list[str]) -> None:
        """Kept where private attributes are: to declare one would cost every request, and few have anything to note."""
        object.__setattr__(self, "__pydantic_private__", {**(self.__pydantic_private__ or {}), name: said})

    def _noted(self, name: str) -> list[str]:
        noted: list[str] = (self.__pydantic_private__ or {}).get(name, [])
        return noted


class AnswerModel(BaseModel):
    """What we reply. A client skips fields that a newer server added."""

    model_config = ConfigDict(defer_build=True, extra="ignore")


class NullsSent:
    """Marks a reply in which null fields are sent; all others leave them out."""


class Done(AnswerModel):
    """It worked; a failure is an error with a status of its own, never `success=False`."""

    success: bool = True


class PageModel(Done):
    """Part of a longer list: `total` counts the whole of it."""

    limit: int = 0
    offset: int = 0
    total: int = 0


class ErrorBody(AnswerModel):
    """The body of every reply that is not a success."""

    detail: str
    code: str = ""
    request_id: str = ""


class OperationInTheWayBody(ErrorBody):
    """The same where another operation is the reason; `message` is the detail again."""

    message: str
    operation_id: str


class TimeRange(RequestModel):
    """From `start_time` on, up to but not including `end_time`. A time without a zone is UTC."""

    start_time: Optional[When] = None
    end_time: Optional[When] = None

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.start_time and self.end_time and self.end_time <= self.start_time:
            raise ValueError("end_time must be after start_time")
        return self


# --- words ---------------------------------------------------------------------------------------------------------


class Role(StrEnum):
    """What a key may do; each role may do all that the ones before it may."""

    PUBLIC = "public"  # no key needed
    READER = "reader"
    AGENT = "agent"
    REVIEWER = "reviewer"
    ADMIN = "admin"

    def allows(self, needed: "Role") -> bool:
        return _RANKS[self] >= _RANKS[needed]


_RANKS = {role: rank for rank, role in enumerate(Role)}


class MemoryStatus(StrEnum):
    """The status of a memory. Replies leave the field out for a current one."""

    CURRENT = "current"
    PENDING = "pending"
    ARCHIVED = "archived"
    ARCHIVE_IN_PROGRESS = "archive_in_progress"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"


def _status_word(value: Any) -> Any:
    """Null means current in filters, and some clients spell their null as the word None."""
    return MemoryStatus.CURRENT if value is None or value == "None" else value


def _current_is_none(value: Any) -> Any:
    return None if value == MemoryStatus.CURRENT else value


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class PlaybookStatus(StrEnum):
    """Whether a person has approved a shared lesson."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


StatusWord = Annotated[MemoryStatus, BeforeValidator(_status_word)]
StatusFilter = Annotated[list[StatusWord], BeforeValidator(_as_list), Field(max_length=50)]
ShownStatus = Annotated[Optional[MemoryStatus], BeforeValidator(_current_is_none)]
ApprovalFilter = Annotated[list[PlaybookStatus], BeforeValidator(_as_list), Field(max_length=50)]


class ProfileTimeToLive(StrEnum):
    ONE_DAY = "one_day"
    ONE_WEEK = "one_week"
    ONE_MONTH = "one_month"
    ONE_QUARTER = "one_quarter"
    ONE_YEAR = "one_year"
    INFINITY = "infinity"


class SearchMode(StrEnum):
    """Semantic (`vector`), keyword (`fts`), or both (`hybrid`)."""

    VECTOR = "vector"
    FTS = "fts"
    HYBRID = "hybrid"


class CallerType(StrEnum):
    """Who searches: only what a production agent was shown counts as use of a memory."""

    PRODUCTION_AGENT = "production_agent"
    INTERNAL = "internal"
    DASHBOARD = "dashboard"


class MemoryKind(StrEnum):
    PROFILE = "profile"
    USER_PLAYBOOK = "user_playbook"
    AGENT_PLAYBOOK = "agent_playbook"


class ExperimentArm(StrEnum):
    """Who gets memories in a retrieval experiment, and who does not."""

    TREATMENT = "treatment"
    HOLDOUT = "holdout"


class ExperimentAssignment(AnswerModel):
    experiment_id: str
    arm: ExperimentArm


class InQuery:
    """Marks a field that travels in the query string although the rest is a body."""

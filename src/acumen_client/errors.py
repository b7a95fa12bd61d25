"""Every failure a caller can act on; the server raises the same names.

AcumenError
├── BadInput           400, 422  the request cannot be understood; the detail names the field
├── NotAuthenticated   401       no key, or one that is unknown, expired or revoked
├── NotAllowed         403       the key's role does not reach this far
├── NotFound           404       there is no such thing
├── Conflict           409       it contradicts what is stored
├── TooLarge           413       the request is larger than the server takes
├── ServerFailed       500       the fault is ours; quote the request id
├── Unavailable        503       not now, or not reachable; try again later
└── StorageFull        507       the disk is full; reading still works
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union, get_args

from pydantic import BaseModel, ValidationError


class AcumenError(Exception):
    """Base of all errors. `status` is 0 if no response came."""

    def __init__(self, detail: str, *, code: str = "", request_id: str = "", status: int = 0) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code
        self.request_id = request_id
        self.status = status

    def __str__(self) -> str:
        return f"{self.detail} (request {self.request_id})" if self.request_id else self.detail


class BadInput(AcumenError):
    """The request is invalid; the detail names the field."""


class NotAuthenticated(AcumenError):
    """There is no key, or it is unknown, expired or revoked."""


class NotAllowed(AcumenError):
    """The role of the key is not sufficient."""


class NotFound(AcumenError):
    """It does not exist."""


class Conflict(AcumenError):
    """It conflicts with what is stored."""


class TooLarge(AcumenError):
    """The request is larger than the server accepts."""


class ServerFailed(AcumenError):
    """The server failed, or the response is not Acumen's."""


class Unavailable(AcumenError):
    """The server cannot be reached, or is temporarily unavailable."""


class StorageFull(AcumenError):
    """The server's disk is full."""


_BY_STATUS: dict[int, type[AcumenError]] = {
    400: BadInput,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: BadInput,
    429: Unavailable,
    500: ServerFailed,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
    507: StorageFull,
}
_CALLERS_FAULT = range(400, 500)


def error_for(status: int) -> type[AcumenError]:
    """The error that a status means, also where we have no name for it."""
    return _BY_STATUS.get(status, BadInput if status in _CALLERS_FAULT else ServerFailed)


# A request can be wrong in a thousand places; the first few tell what to correct.
_FAULTS_SHOWN = 5
_FAULT_LENGTH = 300
_AS_THEY_ARE: Mapping[str, str] = {}


def in_words(
    wrong: ValidationError, called: Mapping[str, str] = _AS_THEY_ARE, shape: Optional[type[BaseModel]] = None
) -> str:
    """What is wrong with a request, naming each field, without repeating what was sent.

    `called` is what the caller calls fields that have another name there. With the `shape` of the request, unknown
    fields are compared with those that exist.
    """
    faults = wrong.errors(include_url=False, include_input=False, include_context=False)
    shown = [_printable(_fault(fault, called, shape)) for fault in faults[:_FAULTS_SHOWN]]
    more = len(faults) - len(shown)
    return " ".join([*shown, f"And {more} more."] if more else shown)


def _place(parts: Sequence[Union[str, int]], called: Mapping[str, str]) -> str:
    return ".".join(called.get(str(part), str(part)) for part in parts)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:_FAULT_LENGTH])


def _fault(fault: Mapping[str, Any], called: Mapping[str, str], shape: Optional[type[BaseModel]]) -> str:
    """One sentence."""
    parts = fault["loc"]
    field = _place(parts, called)
    problem = fault["msg"].removeprefix("Value error, ").rstrip(".")
    if not field:
        return "The body must be a JSON object." if fault["type"] in _NO_OBJECT else f"{problem}."
    if fault["type"] == "extra_forbidden":
        return f"Unknown field `{field}`{_suggestion(parts, called, shape)}"
    if fault["type"] in _NO_OBJECT:
        problem = "must be a JSON object"
    elif fault["type"] == "missing":
        problem = "is required"
    elif fault["type"] in _TOO_SHORT and " at least 1 " in problem:
        problem = "must not be empty"
    problem = re.sub("^Input should ", "must ", problem)
    return f"`{field}` {problem}." if problem.startswith(("must ", "is ")) else f"`{field}`: {problem}."


_NO_OBJECT = ("model_type", "model_attributes_type", "dict_type")
_TOO_SHORT = ("too_short", "string_too_short")


def _suggestion(parts: Sequence[Union[str, int]], called: Mapping[str, str], shape: Optional[type[BaseModel]]) -> str:
    """The end of the sentence."""
    names = [called.get(name, name) for name in _fields_at(parts[:-1], shape)]
    similar = difflib.get_close_matches(str(parts[-1]), names, n=1)
    return f"; did you mean `{_place([*parts[:-1], similar[0]], called)}`?" if similar else "."


def _fields_at(parts: Sequence[Union[str, int]], shape: Optional[type[BaseModel]]) -> Iterable[str]:
    """The fields of the model at that place of a request."""
    for part in parts:
        field = shape.model_fields.get(part) if shape is not None and isinstance(part, str) else None
        if field is not None:
            shape = _model_in(field.annotation)
    return () if shape is None else shape.model_fields


def _model_in(annotation: Any) -> Optional[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)

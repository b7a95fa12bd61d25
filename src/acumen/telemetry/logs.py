"""Logs as text or JSON, without texts of users: what an unexpected error says is left out, its place is not."""

import asyncio
import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime

from acumen.errors import BadSettings, ModelUnavailable, Unavailable
from acumen.settings import Settings

Fields = Mapping[str, str | int | float]

TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
# Errors whose message says what happened, and repeats nothing that was sent or stored.
SPEAKABLE = (OSError, Unavailable, BadSettings, ModelUnavailable)

# Describes the request or the job under way; asked only when something is logged.
work: ContextVar[Callable[[], Fields] | None] = ContextVar("acumen.work", default=None)


def to_stderr(settings: Settings) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter(TEXT))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    logging.getLogger("uvicorn.error").addFilter(_unless_cancelled)
    if settings.log_level != "debug":
        for chatty in ("alembic", "uvicorn"):
            logging.getLogger(chatty).setLevel(logging.WARNING)


def _unless_cancelled(record: logging.LogRecord) -> bool:
    """A request that outlives the drain is cancelled on purpose: logged, but without a traceback."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


class TextFormatter(logging.Formatter):
    """The request or the job comes last, in brackets."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - a name of the standard library
        fields = {name: value for name, value in _fields(record).items() if str(value) not in record.message}
        about = " ".join(f"{name}={value}" for name, value in fields.items())
        return super().formatMessage(record) + (f" [{about}]" if about else "")

    def formatException(self, ei: object) -> str:  # noqa: N802 - as above
        error = ei[1] if isinstance(ei, tuple) else None
        return "\n".join([*(f"  {place}" for place in places(error)), brief(error)]) if error else ""


class JsonFormatter(logging.Formatter):
    """One object per line."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
            **({"error": brief(error), "stack": places(error)} if error else {}),
        }
        return json.dumps(line, ensure_ascii=False, default=str)


def _fields(record: logging.LogRecord) -> Fields:
    describe = work.get()
    return {**(describe() if describe else {}), **getattr(record, "fields", {})}


def brief(error: BaseException) -> str:
    """The type, and what it says where that cannot be a text of a user."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(brief(cause) for cause in error.exceptions)
    told = isinstance(error, SPEAKABLE) or logging.getLogger().isEnabledFor(logging.DEBUG)
    return f"{type(error).__name__}: {error}" if told else type(error).__name__


def places(error: BaseException | None) -> list[str]:
    """Where the error was raised, outermost first, and where its causes were."""
    if error is None:
        return []
    frames = traceback.extract_tb(error.__traceback__)
    own = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return own if cause is None else [*places(cause), f"{brief(cause)}, then:", *own]

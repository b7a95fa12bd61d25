"""Failures as one sentence for the person at the terminal."""

from acumen.errors import AcumenError, Unavailable
from acumen_client import errors as client


def sentence(failure: BaseException) -> str:
    """What is wrong and what to do, on one line and without a traceback."""
    return " ".join(_text(failure).split())


def _text(failure: BaseException) -> str:
    if isinstance(failure, Unavailable) and failure.__cause__ is not None:
        return f"{failure} ({_cause(failure.__cause__)})"
    if isinstance(failure, client.Unavailable) and failure.code == "unreachable":
        return f"{str(failure).rstrip('.')}. Is the server running? Start it with `acumen serve`."
    if isinstance(failure, client.NotAuthenticated):
        return "The server requires a valid API key: pass --key or set ACUMEN_KEY."
    if isinstance(failure, AcumenError | client.AcumenError):
        return str(failure)
    if isinstance(failure, OSError) and failure.strerror:
        return f"{failure.strerror}: {failure.filename}" if failure.filename else failure.strerror
    if hasattr(failure, "orig"):
        return f"The database failed: {_cause(failure)}."
    return f"Unexpected error: {type(failure).__name__}: {failure}. Set ACUMEN_LOG_LEVEL=debug to see the traceback."


def _cause(error: BaseException) -> str:
    """The message of the database, without the statement that SQLAlchemy adds."""
    return str(getattr(error, "orig", None) or error).strip().split("\n")[0].rstrip(".")

"""Failures as one sentence for the person at the terminal."""

from acumen.errors import AcumenError, Unavailable
from acumen_client import errors as client


def sentence(failure: BaseException) -> str:
    """What went wrong, on one line and without a traceback."""
    return " ".join(_said(failure).split())


def _said(failure: BaseException) -> str:
    if isinstance(failure, Unavailable) and failure.__cause__ is not None:
        return f"{failure} ({_cause(failure.__cause__)})"
    if isinstance(failure, client.Unavailable) and failure.code == "unreachable":
        return f"{str(failure).rstrip('.')}. Is the server running there? `acumen serve` starts one."
    if isinstance(failure, client.NotAuthenticated):
        return "This server asks for a key, or does not know this one: give it with --key, or in ACUMEN_KEY."
    if isinstance(failure, AcumenError | client.AcumenError):
        return str(failure)
    if isinstance(failure, OSError) and failure.strerror:
        return f"{failure.strerror}: {failure.filename}" if failure.filename else failure.strerror
    if hasattr(failure, "orig"):
        return f"The database failed: {_cause(failure)}."
    return (
        f"Something unexpected went wrong: {type(failure).__name__}: {failure}. "
        "With ACUMEN_LOG_LEVEL=debug you see where."
    )


def _cause(error: BaseException) -> str:
    """The database's own words, without the statement that SQLAlchemy adds to them."""
    return str(getattr(error, "orig", None) or error).strip().split("\n")[0].rstrip(".")

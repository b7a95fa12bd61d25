"""Logs of servers and workers, on standard error."""

import asyncio
import logging
import sys

LOG_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


def log_to_stderr(level: str) -> None:
    logging.basicConfig(level=level.upper(), format=LOG_FORMAT, stream=sys.stderr)
    logging.getLogger("uvicorn.error").addFilter(_unless_cancelled)
    if level != "debug":
        for chatty in ("alembic", "uvicorn"):
            logging.getLogger(chatty).setLevel(logging.WARNING)


def _unless_cancelled(record: logging.LogRecord) -> bool:
    """A request that outlives the drain is cancelled on purpose: logged, but without a traceback."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))

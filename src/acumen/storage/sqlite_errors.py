"""Failures of the SQLite file as errors of ours."""

import logging

import sqlalchemy as sa

from acumen.errors import StorageFull, Unavailable

log = logging.getLogger(__name__)

SQLITE_FULL = 13
SQLITE_CORRUPT, SQLITE_NOTADB = 11, 26
# The primary code of an error sits in its low byte.
PRIMARY_CODE = 0xFF


def is_of_the_database(wrong: BaseException) -> bool:
    """Locked, full, unreadable or damaged, as opposed to a statement that is wrong."""
    return isinstance(wrong, sa.exc.OperationalError) or type(wrong) is sa.exc.DatabaseError


def means_damage(error: BaseException) -> bool:
    """Whether the file is not what SQLite has written. The driver passes on the words, but not always the code."""
    original = getattr(error, "orig", error)
    code = getattr(original, "sqlite_errorcode", None)
    if code is not None:
        return code & PRIMARY_CODE in (SQLITE_CORRUPT, SQLITE_NOTADB)
    return "malformed" in str(original) or "not a database" in str(original)


def translated(wrong: BaseException) -> Exception:
    original = getattr(wrong, "orig", wrong)
    code = getattr(original, "sqlite_errorcode", None)
    if (code is not None and code & PRIMARY_CODE == SQLITE_FULL) or "disk is full" in str(original):
        return StorageFull()
    log.error("the database failed: %s", original)
    return Unavailable("The database did not answer. Nothing was stored; try again.")

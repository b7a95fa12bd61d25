"""Whether the file can be written and is whole: asked by health checks, so it answers from what it has seen lately."""

import asyncio
import contextlib
import logging
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pysqlite3 import dbapi2

from acumen.errors import AcumenError
from acumen.storage.engine.group_commit import GroupCommit
from acumen.storage.sqlite_errors import means_damage

log = logging.getLogger(__name__)

# A commit that is not older shows that the disk takes writes.
FRESH_SECONDS = 5.0
# A commit that takes longer is as good as none.
PATIENCE_SECONDS = 10.0
# The whole file is checked at most this often, and for at most this share of the time.
CHECK_SECONDS = 60.0
CHECK_SHARE = 0.01


class SqliteHealth:
    def __init__(self, path: Path, writer: GroupCommit) -> None:
        self._path = path
        self._writer = writer
        self._probe: asyncio.Task[str | None] | None = None
        self._check: asyncio.Task[None] | None = None
        self._check_due = 0.0
        self._damage: str | None = None

    async def problem(self) -> str | None:
        """None while commits reach the disk and no damage is known. Starts a check of the file when one is due."""
        if self._check is None or (self._check.done() and time.monotonic() >= self._check_due):
            self._check = asyncio.create_task(self._check_file())
        if self._damage is not None:
            return f"the database file is damaged: {self._damage}"
        if time.monotonic() - self._writer.committed_at < FRESH_SECONDS:
            return None
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._commit())
        try:
            return await asyncio.wait_for(asyncio.shield(self._probe), PATIENCE_SECONDS)
        except TimeoutError:
            return f"no commit within {PATIENCE_SECONDS:.0f} seconds"

    def saw(self, error: BaseException) -> None:
        """A read that failed may have met damage."""
        if means_damage(error):
            self._damage = str(getattr(error, "orig", error))

    async def _commit(self) -> str | None:
        try:
            await self._writer.write(_touch)
        except AcumenError as problem:
            return f"a commit failed: {problem}"
        return None

    async def _check_file(self) -> None:
        began = time.monotonic()
        self._damage = await asyncio.to_thread(self._find_damage)
        ended = time.monotonic()
        self._check_due = ended + max(CHECK_SECONDS, (ended - began) / CHECK_SHARE)
        if self._damage is not None:
            log.error("the database file is damaged: %s. See `acumen doctor`.", self._damage)

    def _find_damage(self) -> str | None:
        """On a connection of its own, which has no page in its cache yet."""
        try:
            with contextlib.closing(dbapi2.connect(f"file:{self._path}?mode=ro", uri=True, timeout=1)) as conn:
                lines = [line for (line,) in conn.execute("PRAGMA quick_check(1)") if line != "ok"]
        except dbapi2.DatabaseError as error:
            return str(error) if means_damage(error) else self._damage
        return lines[0] if lines else None


def _touch(conn: sa.Connection) -> None:
    """The smallest change that is synced to the disk: a number in the header of the file that nobody reads."""
    raw: Any = conn.connection.dbapi_connection
    raw.execute("PRAGMA user_version = 1")

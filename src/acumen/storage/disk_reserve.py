"""Room on the disk that only deletes may use: on a full disk, what frees space needs some first."""

import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

log = logging.getLogger(__name__)

# On a small disk the reserve is smaller: this share of what is free.
MOST_OF_FREE = 8
LOOK_SECONDS = 1.0
_freeing: ContextVar[bool] = ContextVar("freeing", default=False)


@contextmanager
def freeing_space() -> Iterator[None]:
    """Writes of this task delete: they may use the reserve."""
    token = _freeing.set(True)
    try:
        yield
    finally:
        _freeing.reset(token)


def frees_space() -> bool:
    return _freeing.get()


class DiskReserve:
    """A file next to the database. Processes see that it was released by its absence, and keep their writes back."""

    def __init__(self, database: Path, most_bytes: int) -> None:
        self._path = database.with_name(f"{database.name}-reserve")
        self._most = most_bytes
        self._look_at = 0.0
        self._serves = False  # commands do without a reserve

    def is_released(self) -> bool:
        """Makes it again, at most once a second, when there is room for it and as much besides."""
        if not self._serves or self._path.exists():
            return False
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_SECONDS
            return not self._make()
        return True

    def release(self) -> bool:
        """False when there is none to release."""
        try:
            held = self._path.stat().st_size
            self._path.unlink()
        except OSError:
            return False
        self._look_at = time.monotonic() + LOOK_SECONDS
        log.warning("the disk is full: %d bytes that were kept for it are released for deletes", held)
        return True

    def make(self) -> None:
        """At the start of a server or worker."""
        self._serves = self._most > 0
        self.is_released()

    def _make(self) -> bool:
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            size = min(self._most, shutil.disk_usage(self._path.parent).free // MOST_OF_FREE)
            with part.open("wb") as file:
                os.fchmod(file.fileno(), 0o600)
                if hasattr(os, "posix_fallocate") and size:
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.write(bytes(size))
            if shutil.disk_usage(self._path.parent).free < size or size < self._most // MOST_OF_FREE**2:
                return False
            part.rename(self._path)
        except OSError:
            return False
        finally:
            part.unlink(missing_ok=True)
        return True

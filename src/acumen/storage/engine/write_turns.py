"""Processes that write the same SQLite file take turns.

SQLite alone lets a process that waits for the file sleep and try again, up to 100 ms at a time: one that writes
without a pause keeps all others out for seconds. Here who waits is next: a writer waits for the file while it holds
the place of the next one, and who comes back at once waits behind it. A process that dies leaves both places.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType


class WriteTurns:
    """`with turns:` around each transaction. Other programs do without: SQLite's own lock decides in the end."""

    def __init__(self, database: Path) -> None:
        self._paths = [database.with_name(f"{database.name}-{name}") for name in ("next", "turn")]
        self._files: list[int] = []

    def __enter__(self) -> None:
        try:
            self._wait()
        except OSError:  # without the files, nobody takes turns, and all goes on
            self.close()

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._leave()

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []

    if sys.platform == "win32":

        def _wait(self) -> None: ...

        def _leave(self) -> None: ...

    else:

        def _wait(self) -> None:
            import fcntl  # noqa: PLC0415 - not on Windows

            self._files = self._files or [os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for path in self._paths]
            following, turn = self._files
            fcntl.flock(following, fcntl.LOCK_EX)
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(following, fcntl.LOCK_UN)

        def _leave(self) -> None:
            import fcntl  # noqa: PLC0415 - not on Windows

            if self._files:
                fcntl.flock(self._files[1], fcntl.LOCK_UN)

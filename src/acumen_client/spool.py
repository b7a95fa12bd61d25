"""Where operations wait on disk while the server is away."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any


class Spool:
    """Batches on disk, one file each, oldest first, up to a limit in bytes."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most = most_bytes

    def add(self, batch: list[dict[str, Any]]) -> bool:
        try:
            content = json.dumps(batch, default=str).encode()
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._size() + len(content) > self._most:
                return False
            path = self._folder / f"{time.time_ns():020}-{os.getpid()}.json"
            part = path.with_suffix(".part")
            part.write_bytes(content)
            part.rename(path)  # whole or not at all
        except (OSError, TypeError, ValueError, RecursionError):
            return False
        return True

    def batches(self) -> list[tuple[Path, list[dict[str, Any]]]]:
        found = []
        for path in sorted(self._folder.glob("*.json")):
            with suppress(OSError, ValueError):
                found.append((path, json.loads(path.read_bytes())))
        return found

    def waiting(self) -> int:
        return sum(len(batch) for _, batch in self.batches()) if self._folder.exists() else 0

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self._folder.glob("*.json"))

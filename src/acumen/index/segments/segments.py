"""Which segment answers for an org's memories of a kind, and when one is built: in the background, by one process."""

import asyncio
import logging
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock, Thread

from msgspec import Struct

from acumen.errors import Unavailable
from acumen.index.documents import ANALYSER
from acumen.index.segments.segment import Segment
from acumen.index.segments.segment_builder import SegmentOutdated, build, build_at_once
from acumen.index.segments.segment_files import UNFINISHED, Header, SegmentDamaged, headers, remove
from acumen.model.ids import Kind, OrgId
from acumen.storage.store import Store, Tx

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: two processes may build the same segment, the later one is used
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

# The folder is looked through again after so many seconds: another process may have built a newer segment.
LOOK_AGAIN = 10.0
# After a build that failed, as on a full disk.
TRY_AGAIN = 60.0
# A segment is built again when this share of it has changed; the changes are searched in memory meanwhile.
CHANGED_SHARE = 0.05
LEAST_CHANGES = 10_000

# Opened at a time: each takes a descriptor.
MOST_OPEN = 16

Key = tuple[OrgId, Kind]


class _Opened(Struct):
    segment: Segment | None
    looked_at: float


class Segments:
    """The segments below one folder. Rows are the truth: a segment that does not fit them is removed."""

    def __init__(self, folder: Path, store: Store, model: str, least_changes: int = LEAST_CHANGES) -> None:
        self._folder = folder
        self._store = store
        self._model = model
        self._least_changes = least_changes
        self._opened: dict[Key, _Opened] = {}
        self._locks: dict[Key, Lock] = {}
        self._building: dict[Key, Thread] = {}
        self._failed_at: dict[Key, float] = {}
        self._lock = Lock()
        self._stopped = False

    def current(self, tx: Tx, kind: Kind) -> Segment | None:
        """The newest one. Of an older generation it is built again, and used meanwhile: rows decide what is found."""
        key = (tx.scope.org, kind)
        opened = self._opened.get(key)
        if opened is None or time.monotonic() - opened.looked_at > LOOK_AGAIN:
            before = opened.segment if opened else None
            opened = _Opened(self._find(tx, key, before) or before, time.monotonic())
            self._remember(key, opened)
        if opened.segment is not None and not opened.segment.is_of_generation(tx.index_version.generation):
            remove(opened.segment.path)
            self._build_in_background(key)
        return opened.segment

    def _remember(self, key: Key, opened: _Opened) -> None:
        with self._lock:
            self._opened.pop(key, None)
            self._opened[key] = opened
            if len(self._opened) > MOST_OPEN:
                del self._opened[next(iter(self._opened))]

    def build_now(self, tx: Tx, kind: Kind) -> Segment | None:
        """From what the transaction sees; whoever else waits for it gets the same one. None without room on disk."""
        key = (tx.scope.org, kind)
        with self._lock:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            segment = self.current(tx, kind)
            if segment is not None:
                return segment
            log.info("building the search files of %s", kind)
            try:
                self._replace(key, build_at_once(tx, kind, self._path(key), self._model))
            except OSError as error:
                log.warning("the search files of %s could not be written: %s", kind, error)
                return None
            self._opened.pop(key, None)
            return self.current(tx, kind)

    def is_behind(self, segment: Segment, changes: int) -> bool:
        return changes > max(self._least_changes, CHANGED_SHARE * segment.header.rows)

    def build_soon(self, tx: Tx, kind: Kind) -> None:
        """In the background."""
        self._build_in_background((tx.scope.org, kind))

    def erase(self, org: OrgId) -> None:
        """Nothing of an org is left on disk."""
        for kind in Kind:
            for path, _ in headers(self._path((org, kind))):
                remove(path)

    def close(self) -> None:
        self._stopped = True
        for thread in list(self._building.values()):
            thread.join()

    def wait(self) -> None:
        """Until nothing is being built."""
        for thread in list(self._building.values()):
            thread.join()

    def _path(self, key: Key) -> Path:
        org, kind = key
        return self._folder / f"{kind}-{blake2b(org.encode(), digest_size=12).hexdigest()}"

    def _find(self, tx: Tx, key: Key, opened: Segment | None) -> Segment | None:
        """The newest on disk, if it is newer than the one that is open."""
        fitting = []
        for path, header in headers(self._path(key)):
            if opened is not None and path == opened.path:
                continue
            if header is not None and header.seq > tx.index_version.seq:
                continue  # finished after the transaction began
            if header is not None and self._fits(tx, key, header):
                fitting.append((header.seq, path, header))
            else:
                remove(path)
        for _, path, header in sorted(fitting, key=lambda each: -each[0]):
            try:
                return Segment(path, header)
            except (OSError, SegmentDamaged) as error:
                log.warning("search files are built again: %s", error)
                remove(path)
        return None

    def _fits(self, tx: Tx, key: Key, header: Header) -> bool:
        """Of another generation, model or database, it says nothing; rows that changed since are read again."""
        same = (header.org, header.kind, header.model, header.analyser) == (*key, self._model, ANALYSER)
        if not same or header.generation != tx.index_version.generation:
            return False
        ids = [mark.entity_id for mark in header.landmarks]
        stored = tx.search_rows.find_numbers(header.kind, ids)
        now = [stored.get(mark.entity_id, (-1, 0)) for mark in header.landmarks]
        return all(
            row == (mark.seq, mark.updated_at) or row[0] > header.seq
            for row, mark in zip(now, header.landmarks, strict=True)
        )

    def _replace(self, key: Key, path: Path) -> None:
        for other, _ in headers(self._path(key)):
            if other != path:
                remove(other)

    def _build_in_background(self, key: Key) -> None:
        with self._lock:
            failed_at = self._failed_at.get(key)
            if self._stopped or key in self._building or (failed_at and time.monotonic() - failed_at < TRY_AGAIN):
                return
            thread = self._building[key] = Thread(target=self._build, args=(key,), name="segment-build", daemon=True)
        thread.start()

    def _build(self, key: Key) -> None:
        org, kind = key
        try:
            with self._only_builder(key) as alone:
                if alone:
                    building = build(self._store.of(org), kind, self._path(key), self._model, lambda: self._stopped)
                    self._replace(key, asyncio.run(building))
        except SegmentOutdated:
            log.info("the search files of %s were outdated while they were built", kind)
        except (OSError, Unavailable) as error:
            self._failed_at[key] = time.monotonic()
            log.warning("the search files of %s could not be built: %s", kind, error)
        finally:
            with self._lock:
                if key in self._opened:
                    self._opened[key].looked_at = 0.0
                del self._building[key]

    @contextmanager
    def _only_builder(self, key: Key) -> Iterator[bool]:
        """False while another process builds it. What a process left unfinished is removed."""
        folder = self._path(key)
        folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"{folder.name}.lock").open("wb") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    yield False
                    return
                for left in folder.glob(f"*{UNFINISHED}"):
                    with suppress(OSError):
                        shutil.rmtree(left)
            yield True

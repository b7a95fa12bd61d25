"""Scan changed memories for prompt injection, excessive length and duplicates."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from acumen.deps import Deps
from acumen.index.similar_pairs import Pair, Vectors, similar_vectors, similar_words, unit_vectors
from acumen.llm.tokens import count_tokens
from acumen.model.ids import Kind
from acumen.model.jobs.events import Hour, ReviewOpened
from acumen.model.memories.base import Status
from acumen.model.memories.memory import Memory, owner, searchable
from acumen.model.prompt_injection import detect_in_lesson
from acumen.model.review.signal import INSTRUCTION_LIKE, LOOKED_AT_SIMILARITY, LOOKED_AT_TOKENS, OVERSIZED
from acumen.storage.memories.change_numbers import IndexVersion
from acumen.storage.memories.search_rows import TextRow
from acumen.storage.review.memory_flags import MemoryFlag, SimilarPair
from acumen.storage.store import Tx

AT_ONCE = 500
# Up to this many are scanned while a person waits for the queue; more are scanned by a job.
MOST_PENDING = 200
# A copied text may have thousands of duplicates.
MOST_DUPLICATES = 10
# Rows that are held at once, with their vectors (some 10 MB).
PAGE = 4_000
# Larger scopes are compared by a job, however few of their memories changed.
MOST_COMPARED = 5_000
TEXT_SIGNALS = (INSTRUCTION_LIKE, OVERSIZED)


# Two ids in order, their similarity, and what it was found by.
Named = tuple[str, str, float, str]


class _Batch(Struct, frozen=True):
    """Memories that changed since the last scan, up to an index version."""

    generation: int
    seq: int
    changed: Mapping[Kind, Sequence[str]]
    more: bool  # whether changes are left for the next batch

    @property
    def count(self) -> int:
        return sum(len(ids) for ids in self.changed.values())


async def scan(_event: Hour | ReviewOpened, deps: Deps) -> None:
    while batch := await deps.store.read(_changed):
        await _scan(batch, deps)
        if not batch.more:
            break
        await deps.stand_back()


async def scan_pending(deps: Deps) -> int:
    """Scans the latest changes before the queue is shown; returns how many memories a job is still scanning."""
    batch = await deps.store.read(_changed)
    if batch is None:
        return 0
    if batch.count <= MOST_PENDING and await deps.store.read(lambda tx: _is_small(tx, batch)):
        await _scan(batch, deps)
        return 0
    await deps.store.write(lambda tx: tx.jobs.add(ReviewOpened()), hold_org=False)
    return await deps.store.read(
        lambda tx: tx.search_rows.count_after(IndexVersion(*tx.memory_flags.get_scanned()), list(Kind))
    )


async def _scan(batch: _Batch, deps: Deps) -> None:
    """A transaction may have changed any number of memories: their batch is scanned in parts."""
    for kind, ids in batch.changed.items():
        for start in range(0, len(ids), AT_ONCE):
            await _scan_part(kind, ids[start : start + AT_ONCE], deps)
            await deps.stand_back()
    await deps.store.write(lambda tx: tx.memory_flags.set_scanned(batch.generation, batch.seq))


async def _scan_part(kind: Kind, ids: Sequence[str], deps: Deps) -> None:
    flags, pairs = await deps.store.read(lambda tx: _flags_and_pairs(tx, kind, ids, deps))

    def store(tx: Tx) -> None:
        tx.memory_flags.replace(kind, ids, TEXT_SIGNALS, flags)
        tx.memory_flags.replace_pairs(kind, ids, pairs)

    await deps.store.write(store)


def _is_small(tx: Tx, batch: _Batch) -> bool:
    rows = 0
    for kind, ids in batch.changed.items():
        owners = {owner(memory) for memory in tx.by_kind[kind].get_many(ids).values()}
        rows += sum(tx.search_rows.count(kind, user, MOST_COMPARED + 1) for user in owners)
    return rows <= MOST_COMPARED


def _changed(tx: Tx) -> _Batch | None:
    generation, seq = tx.memory_flags.get_scanned()
    version = tx.index_version
    if generation != version.generation:
        seq = 0
    rows, more = tx.search_rows.find_changed_after(seq, list(Kind), AT_ONCE)
    if not rows and generation == version.generation:
        return None
    changed: dict[Kind, list[str]] = {}
    for kind, entity_id, _ in rows:
        changed.setdefault(Kind(kind), []).append(entity_id)
    return _Batch(version.generation, rows[-1][2] if more else version.seq, changed, more)


def _flags_and_pairs(tx: Tx, kind: Kind, ids: Sequence[str], deps: Deps) -> tuple[list[MemoryFlag], list[SimilarPair]]:
    current = {
        name: memory for name, memory in tx.by_kind[kind].get_many(ids).items() if memory.status is Status.CURRENT
    }
    flags = [flag for name, memory in current.items() for flag in _flags(kind, name, memory, deps)]
    users = {owner(memory) for memory in current.values()}
    pairs = [pair for user in sorted(users) for pair in _pairs(tx, kind, user, set(current), deps)]
    return flags, pairs


def _flags(kind: Kind, name: str, memory: Memory, deps: Deps) -> list[MemoryFlag]:
    text, user = searchable(memory), owner(memory) or None
    flags = []
    finding = detect_in_lesson(text)
    if finding is not None:
        flags.append(MemoryFlag(kind, name, INSTRUCTION_LIKE, user, finding.detail(text)))
    most = min(deps.thresholds.oversized_tokens, LOOKED_AT_TOKENS)
    # A token has at least one byte: short texts need not be tokenized.
    tokens = count_tokens(text) if len(text.encode()) > most else 0
    if tokens > most:
        flags.append(MemoryFlag(kind, name, OVERSIZED, user, {"tokens": tokens}))
    return flags


def _pairs(tx: Tx, kind: Kind, user: str, changed: set[str], deps: Deps) -> list[SimilarPair]:
    """Of one user's memories, at least one of them changed."""
    current, model = tx.by_kind[kind].find_current_ids(user), deps.local_models.name
    scanned = [
        TextRow(row.entity_id, row.terms, row.vector if row.model == model else None)
        for row in tx.search_rows.get_many(kind, sorted(changed & current)).values()
    ]
    comparison = _Comparison(scanned, min(deps.thresholds.similarity, LOOKED_AT_SIMILARITY))
    for page in tx.search_rows.pages(kind, user, model, PAGE):
        comparison.add([row for row in page if row.entity_id in current])
    return [
        SimilarPair(kind, min(left, right), max(left, right), user or None, similarity, how)
        for left, right, similarity, how in comparison.nearest
    ]


class _Comparison:
    """Compares some texts with all of a user, of which it holds a page at a time."""

    def __init__(self, scanned: Sequence[TextRow], least: float) -> None:
        self._least = least
        self._embedded, self._worded = _by_form(scanned)
        self._vectors, self._words = _vectors(self._embedded), _words(self._worded)
        self.nearest: list[Named] = []

    def add(self, page: Sequence[TextRow]) -> None:
        embedded, worded = _by_form(page)
        by_vector = similar_vectors(self._vectors, _vectors(embedded), self._least)
        by_words = similar_words(self._words, _words(worded))
        pairs = {
            **_named(self._embedded, embedded, by_vector, "meaning"),
            **_named(self._worded, worded, by_words, "words"),
        }
        self.nearest = _nearest([*self.nearest, *pairs.values()])


def _by_form(rows: Sequence[TextRow]) -> tuple[list[TextRow], list[TextRow]]:
    return [row for row in rows if row.vector is not None], [row for row in rows if row.vector is None and row.terms]


def _vectors(rows: Sequence[TextRow]) -> Vectors:
    return unit_vectors([row.vector or b"" for row in rows]) if rows else np.zeros((0, 0), np.float32)


def _words(rows: Sequence[TextRow]) -> list[frozenset[str]]:
    return [frozenset(row.terms.split()) for row in rows]


def _named(
    left: Sequence[TextRow], right: Sequence[TextRow], pairs: Sequence[Pair], how: str
) -> dict[tuple[str, str], Named]:
    """Ids instead of rows; each pair once, and no text with itself."""
    named = {}
    for row, match, similarity in pairs:
        first, second = sorted((left[row].entity_id, right[match].entity_id))
        if first != second:
            named[first, second] = (first, second, similarity, how)
    return named


def _nearest(pairs: Sequence[Named]) -> list[Named]:
    """The closest few of each memory."""
    counts: Counter[str] = Counter()
    nearest = []
    for pair in sorted(pairs, key=lambda pair: (-pair[2], pair)):
        counts.update(pair[:2])
        if min(counts[pair[0]], counts[pair[1]]) <= MOST_DUPLICATES:
            nearest.append(pair)
    return nearest

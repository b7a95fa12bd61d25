"""Scan changed memories for prompt injection, excessive length and duplicates."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from acumen.deps import Deps
from acumen.index.similar_pairs import Pair, similar_vectors, similar_words
from acumen.llm.tokens import count_tokens
from acumen.model.ids import Kind
from acumen.model.jobs.events import Hour, ReviewOpened
from acumen.model.memories.base import Status
from acumen.model.memories.memory import Memory, owner, searchable
from acumen.model.memories.search import SearchRow
from acumen.model.prompt_injection import detect_in_lesson
from acumen.model.review.signal import INSTRUCTION_LIKE, LOOKED_AT_SIMILARITY, LOOKED_AT_TOKENS, OVERSIZED
from acumen.storage.memories.change_numbers import IndexVersion
from acumen.storage.review.memory_flags import MemoryFlag, SimilarPair
from acumen.storage.store import Tx

AT_ONCE = 500
# Up to this many are scanned while a person waits for the queue; more are scanned by a job.
MOST_PENDING = 200
# A copied text may have thousands of duplicates.
MOST_DUPLICATES = 10
TEXT_SIGNALS = (INSTRUCTION_LIKE, OVERSIZED)


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
    if batch.count <= MOST_PENDING:
        await _scan(batch, deps)
        return 0
    await deps.store.write(lambda tx: tx.jobs.add(ReviewOpened()), hold_org=False)
    return await deps.store.read(
        lambda tx: tx.search_rows.count_after(IndexVersion(*tx.memory_flags.get_scanned()), list(Kind))
    )


async def _scan(batch: _Batch, deps: Deps) -> None:
    results = await deps.store.read(
        lambda tx: {kind: _flags_and_pairs(tx, kind, ids, deps) for kind, ids in batch.changed.items()}
    )

    def store(tx: Tx) -> None:
        for kind, (flags, pairs) in results.items():
            ids = batch.changed[kind]
            tx.memory_flags.replace(kind, ids, TEXT_SIGNALS, flags)
            tx.memory_flags.replace_pairs(kind, ids, pairs)
        tx.memory_flags.set_scanned(batch.generation, batch.seq)

    await deps.store.write(store)


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
    current = tx.by_kind[kind].find_current_ids(user)
    rows = [row for row, _, gone in tx.search_rows.find_since(kind, user, 0) if not gone and row.entity_id in current]
    model = deps.local_models.name
    with_vector = [row for row in rows if row.vector is not None and row.model == model]
    embedded = {row.entity_id for row in with_vector}
    without = [row for row in rows if row.entity_id not in embedded]
    by_vector = _by_vector(with_vector, changed, min(deps.thresholds.similarity, LOOKED_AT_SIMILARITY))
    named = [(*pair, "meaning") for pair in by_vector] + [(*pair, "words") for pair in _by_words(without, changed)]
    return [
        SimilarPair(kind, min(left, right), max(left, right), user or None, similarity, how)
        for left, right, similarity, how in named
    ]


def _by_vector(rows: Sequence[SearchRow], changed: set[str], least: float) -> list[tuple[str, str, float]]:
    if len(rows) < 2:
        return []
    vectors = np.stack([np.frombuffer(row.vector or b"", np.float16).astype(np.float32) for row in rows])
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-9))
    scanned = [place for place, row in enumerate(rows) if row.entity_id in changed]
    return _nearest(rows, similar_vectors(vectors, scanned, least))


def _by_words(rows: Sequence[SearchRow], changed: set[str]) -> list[tuple[str, str, float]]:
    texts = [frozenset(row.terms.split()) for row in rows]
    scanned = [place for place, row in enumerate(rows) if row.entity_id in changed and texts[place]]
    return _nearest(rows, similar_words(texts, scanned))


def _nearest(rows: Sequence[SearchRow], pairs: Sequence[Pair]) -> list[tuple[str, str, float]]:
    """Ids instead of row numbers; the closest few of each memory."""
    counts: dict[int, int] = {}
    nearest = []
    for left, right, similarity in sorted(pairs, key=lambda pair: -pair[2]):
        counts[left], counts[right] = counts.get(left, 0) + 1, counts.get(right, 0) + 1
        if min(counts[left], counts[right]) <= MOST_DUPLICATES:
            nearest.append((rows[left].entity_id, rows[right].entity_id, similarity))
    return nearest

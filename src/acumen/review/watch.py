"""Watch over memories as they change: texts that give orders, texts that are too long, texts that say the same."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from acumen.deps import Deps
from acumen.llm.tokens import count_tokens
from acumen.model.ids import Kind
from acumen.model.jobs.events import Hour, ReviewOpened
from acumen.model.memories.base import Status
from acumen.model.memories.memory import Memory, owner, searchable
from acumen.model.memories.search import SearchRow
from acumen.model.prompt_injection import detect_in_lesson
from acumen.model.review.signal import INSTRUCTION_LIKE, LOOKED_AT_SIMILARITY, LOOKED_AT_TOKENS, OVERSIZED
from acumen.review.duplicates import near, same_words
from acumen.storage.memories.search_rows import IndexVersion
from acumen.storage.review.memory_flags import MemoryFlag, SimilarPair
from acumen.storage.store import Tx

AT_ONCE = 500
# So many a person who opens the queue waits for; more are a job's.
BEFORE_A_REVIEW = 200
# More near-duplicates than this of one memory tell nothing more, and a copied text may have thousands.
MOST_TWINS = 10
TEXT_SIGNALS = (INSTRUCTION_LIKE, OVERSIZED)


class _Seen(Struct, frozen=True):
    """Memories that changed since the watch last looked, up to a number of search's own count."""

    generation: int
    seq: int
    changed: Mapping[Kind, Sequence[str]]

    @property
    def count(self) -> int:
        return sum(len(ids) for ids in self.changed.values())


async def look_on(_fact: Hour | ReviewOpened, deps: Deps) -> None:
    while seen := await deps.store.read(_changed):
        await _look_at(seen, deps)
        await deps.stand_back()


async def before_review(deps: Deps) -> int:
    """So that the queue knows of what was stored a moment ago; how many memories are still being looked at."""
    seen = await deps.store.read(_changed)
    if seen is None:
        return 0
    if seen.count <= BEFORE_A_REVIEW:
        await _look_at(seen, deps)
        return 0
    await deps.store.write(lambda tx: tx.jobs.add(ReviewOpened()))
    return await deps.store.read(
        lambda tx: tx.search_rows.count_after(IndexVersion(*tx.memory_flags.get_scanned()), list(Kind))
    )


async def _look_at(seen: _Seen, deps: Deps) -> None:
    found = await deps.store.read(lambda tx: {kind: _found(tx, kind, ids, deps) for kind, ids in seen.changed.items()})

    def store(tx: Tx) -> None:
        for kind, (flags, pairs) in found.items():
            ids = seen.changed[kind]
            tx.memory_flags.replace(kind, ids, TEXT_SIGNALS, flags)
            tx.memory_flags.replace_pairs(kind, ids, pairs)
        tx.memory_flags.set_scanned(seen.generation, seen.seq)

    await deps.store.write(store)


def _changed(tx: Tx) -> _Seen | None:
    generation, seq = tx.memory_flags.get_scanned()
    mark = tx.index_version
    if generation != mark.generation:
        seq = 0
    elif seq >= mark.seq:
        return None
    rows = tx.search_rows.find_changed_after(seq, list(Kind), AT_ONCE)
    changed: dict[Kind, list[str]] = {}
    for kind, entity_id, _ in rows:
        changed.setdefault(Kind(kind), []).append(entity_id)
    return _Seen(mark.generation, rows[-1][2] if len(rows) == AT_ONCE else mark.seq, changed)


def _found(tx: Tx, kind: Kind, ids: Sequence[str], deps: Deps) -> tuple[list[MemoryFlag], list[SimilarPair]]:
    current = {
        name: memory for name, memory in tx.by_kind[kind].get_many(ids).items() if memory.status is Status.CURRENT
    }
    flags = [flag for name, memory in current.items() for flag in _flags(kind, name, memory, deps)]
    users = {owner(memory) for memory in current.values()}
    pairs = [pair for user in sorted(users) for pair in _pairs(tx, kind, user, set(current), deps)]
    return flags, pairs


def _flags(kind: Kind, name: str, memory: Memory, deps: Deps) -> list[MemoryFlag]:
    text, user = searchable(memory), owner(memory) or None
    found = []
    finding = detect_in_lesson(text)
    if finding is not None:
        found.append(MemoryFlag(kind, name, INSTRUCTION_LIKE, user, finding.detail(text)))
    most = min(deps.thresholds.oversized_tokens, LOOKED_AT_TOKENS)
    # A token is at least one byte, so short texts need not be counted.
    tokens = count_tokens(text) if len(text.encode()) > most else 0
    if tokens > most:
        found.append(MemoryFlag(kind, name, OVERSIZED, user, {"tokens": tokens}))
    return found


def _pairs(tx: Tx, kind: Kind, user: str, changed: set[str], deps: Deps) -> list[SimilarPair]:
    """Of one user's memories: those that one of the changed ones is nearly the same as."""
    current = tx.by_kind[kind].find_current_ids(user)
    rows = [row for row, _, gone in tx.search_rows.find_since(kind, user, 0) if not gone and row.entity_id in current]
    model = deps.local_models.name
    with_vector = [row for row in rows if row.vector is not None and row.model == model]
    known = {row.entity_id for row in with_vector}
    without = [row for row in rows if row.entity_id not in known]
    by_meaning = _by_meaning(with_vector, changed, min(deps.thresholds.similarity, LOOKED_AT_SIMILARITY))
    named = [(*pair, "meaning") for pair in by_meaning] + [(*pair, "words") for pair in _by_words(without, changed)]
    return [
        SimilarPair(kind, min(left, right), max(left, right), user or None, alike, how)
        for left, right, alike, how in named
    ]


def _by_meaning(rows: Sequence[SearchRow], changed: set[str], least: float) -> list[tuple[str, str, float]]:
    if len(rows) < 2:
        return []
    vectors = np.stack([np.frombuffer(row.vector or b"", np.float16).astype(np.float32) for row in rows])
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-9))
    own = [place for place, row in enumerate(rows) if row.entity_id in changed]
    return _nearest(rows, near(vectors, own, least))


def _by_words(rows: Sequence[SearchRow], changed: set[str]) -> list[tuple[str, str, float]]:
    texts = [frozenset(row.terms.split()) for row in rows]
    own = [place for place, row in enumerate(rows) if row.entity_id in changed and texts[place]]
    return _nearest(rows, same_words(texts, own))


def _nearest(rows: Sequence[SearchRow], found: Sequence[tuple[int, int, float]]) -> list[tuple[str, str, float]]:
    """Names instead of places; of each memory the nearest few."""
    counts: dict[int, int] = {}
    kept = []
    for left, right, alike in sorted(found, key=lambda pair: -pair[2]):
        counts[left], counts[right] = counts.get(left, 0) + 1, counts.get(right, 0) + 1
        if min(counts[left], counts[right]) <= MOST_TWINS:
            kept.append((rows[left].entity_id, rows[right].entity_id, alike))
    return kept

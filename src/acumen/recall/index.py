"""Make text findable: its words always, its meaning when there is a model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from acumen.deps import Deps, Findable
from acumen.llm.meaning import Meaning, Vector
from acumen.model.facts import Hour, Published
from acumen.model.ids import InteractionId, Kind, UserId
from acumen.model.memories import owner, searchable
from acumen.model.search import TURN, SearchRow
from acumen.recall.words import terms
from acumen.storage.store import Tx

# Changes when the analyser does: rows of another version are analysed anew when they are read.
ANALYSER = "w1"
# Turns indexed in one go: bounds the time between two commits, so that progress survives a kill.
TURNS_AT_ONCE = 32
BACKFILL_AT_ONCE = 200
READER = "index"


class Indexer:
    """The store's `MakeFindable`."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning

    async def __call__(self, texts: Sequence[Findable]) -> list[SearchRow]:
        vectors = await self._meaning.of_texts([text.text for text in texts])
        return [_row(text, vector, self._meaning.name) for text, vector in zip(texts, vectors, strict=True)]


async def turns(fact: Published, deps: Deps) -> None:
    """Give the user's new turns their vectors. By words they can be found before that."""
    while await _next_turns(fact.user_id, deps):
        pass


async def _next_turns(user: UserId, deps: Deps) -> bool:
    seen, new = await deps.store.read(lambda tx: _unindexed(tx, user))
    if not new:
        return False
    rows = await deps.findable([Findable(TURN, user, text) for _, text in new])
    last = new[-1][0]

    def store(tx: Tx) -> None:
        tx.conversations.move_bookmark(user, READER, seen, last)
        still_there = {turn.id for turn in tx.conversations.by_ids([turn_id for turn_id, _ in new])}
        tx.search_rows.put(
            [
                SearchRow(TURN, str(turn_id), user, row.terms, row.analyser, row.vector, row.model)
                for (turn_id, _), row in zip(new, rows, strict=True)
                if turn_id in still_there
            ]
        )

    await deps.store.write(store)
    return True


def _unindexed(tx: Tx, user: UserId) -> tuple[InteractionId, list[tuple[InteractionId, str]]]:
    seen = tx.conversations.bookmark(user, READER)
    return seen, [(turn.id, turn.content) for turn in tx.conversations.after(user, seen, TURNS_AT_ONCE)]


async def backfill(_fact: Hour, deps: Deps) -> None:
    """Give memories and turns a vector that have none, or one of another model."""
    if deps.meaning.problem:
        return
    for kind in (*Kind, TURN):
        while await _backfill_some(kind, deps):
            pass


async def _backfill_some(kind: str, deps: Deps) -> bool:
    name = deps.meaning.name
    found = await deps.store.read(
        lambda tx: _texts(tx, kind, tx.search_rows.without_vector_of(name, kind, BACKFILL_AT_ONCE))
    )
    if not found or deps.meaning.problem:
        return False
    rows = await deps.findable(list(found.values()))

    def store(tx: Tx) -> None:
        """What was changed or deleted meanwhile is somebody else's to file."""
        now = _texts(tx, kind, list(found))
        filed = zip(found.items(), rows, strict=True)
        tx.search_rows.put([replace(row, entity_id=key) for (key, text), row in filed if now.get(key) == text])

    await deps.store.write(store)
    return True


def _texts(tx: Tx, kind: str, ids: Sequence[str]) -> dict[str, Findable]:
    """What there is under these ids, as it is to be found."""
    if kind == TURN:
        turns = tx.conversations.by_ids([InteractionId(int(turn_id)) for turn_id in ids])
        return {str(turn.id): Findable(TURN, turn.user_id, turn.content) for turn in turns}
    memories = tx.by_kind[Kind(kind)].by_ids(ids)
    return {key: Findable(kind, owner(memory), searchable(memory)) for key, memory in memories.items()}


def vector_of(row: SearchRow, model: str) -> Vector | None:
    """None also for a vector that another model made: the two cannot be compared."""
    if row.vector is None or row.model != model:
        return None
    return np.frombuffer(row.vector, np.float16).astype(np.float32)


def words_of(row: SearchRow) -> list[str]:
    return row.terms.split(" ") if row.terms else []


def _row(text: Findable, vector: NDArray[np.float32] | None, model: str) -> SearchRow:
    return SearchRow(
        kind=text.kind,
        entity_id="",
        user_id=text.user_id,
        terms=" ".join(terms(text.text)),
        analyser=ANALYSER,
        vector=None if vector is None else vector.astype(np.float16).tobytes(),
        model="" if vector is None else model,
    )

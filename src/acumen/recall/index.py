"""Make text findable: its words always, its meaning when there is a model."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from acumen.deps import Deps, Findable
from acumen.llm.embed import DIMS
from acumen.llm.meaning import Meaning, Vector
from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId, Kind, UserId
from acumen.model.jobs.events import Hour, Published
from acumen.model.memories.memory import owner, searchable
from acumen.model.memories.search import TURN, SearchRow
from acumen.recall.passages import of_turn
from acumen.recall.words import terms
from acumen.storage.store import Tx

# Changes when the analyser does: rows of another version are analysed anew when they are read.
ANALYSER = "w2"
# Turns indexed in one go: few, because meaning is what costs most here, and callers go first.
TURNS_AT_ONCE = 3
BACKFILL_AT_ONCE = 200
READER = "index"


class Indexer:
    """The store's `MakeFindable`."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning

    async def __call__(self, texts: Sequence[Findable]) -> list[SearchRow]:
        passages = [text.passages or (text.text,) for text in texts]
        vectors = iter(await self._meaning.of_texts([passage for own in passages for passage in own]))
        gathered = [[next(vectors) for _ in own] for own in passages]
        return [_row(text, own, self._meaning.name) for text, own in zip(texts, gathered, strict=True)]


async def turns(event: Published, deps: Deps) -> None:
    """Give the user's new turns their vectors. By words they can be found before that."""
    while await _next_turns(event.user_id, deps):
        await deps.stand_back()


async def _next_turns(user: UserId, deps: Deps) -> bool:
    seen, new = await deps.store.read(lambda tx: _unindexed(tx, user))
    if not new:
        return False
    rows = await deps.findable([_turn(turn) for turn in new])
    filed = [replace(row, entity_id=str(turn.id)) for turn, row in zip(new, rows, strict=True)]

    def store(tx: Tx) -> None:
        tx.bookmarks.move(user, READER, seen, new[-1].id)
        findable = _texts(tx, TURN, [row.entity_id for row in filed])
        tx.search_rows.put([row for row in filed if row.entity_id in findable])

    await deps.store.write(store)
    return len(new) == TURNS_AT_ONCE  # what came meanwhile has a job of its own


def _unindexed(tx: Tx, user: UserId) -> tuple[InteractionId, list[Interaction]]:
    seen = tx.bookmarks.of(user, READER)
    return seen, tx.conversations.after(user, seen, TURNS_AT_ONCE)


def _turn(turn: Interaction) -> Findable:
    return Findable(TURN, turn.user_id, turn.content, tuple(of_turn(turn.role, turn.content)))


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
        wanted = {InteractionId(int(turn_id)) for turn_id in ids}
        turns = tx.conversations.by_ids(sorted(wanted - tx.hidden_turns.hidden(wanted)))
        return {str(turn.id): _turn(turn) for turn in turns}
    memories = tx.by_kind[Kind(kind)].by_ids(ids)
    return {key: Findable(kind, owner(memory), searchable(memory)) for key, memory in memories.items()}


def vector_of(row: SearchRow, model: str) -> Vector | None:
    """A line for each passage. None also for vectors that another model made: the two cannot be compared."""
    if row.vector is None or row.model != model:
        return None
    return np.frombuffer(row.vector, np.float16).astype(np.float32).reshape(-1, DIMS)


def words_of(row: SearchRow) -> list[str]:
    return row.terms.split(" ") if row.terms else []


def _row(text: Findable, vectors: Sequence[Vector | None], model: str) -> SearchRow:
    stored = b"".join(vector.astype(np.float16).tobytes() for vector in vectors if vector is not None)
    return SearchRow(
        kind=text.kind,
        entity_id="",
        user_id=text.user_id,
        # The words of turns are read off the turns themselves, which are searched before this row is made.
        terms="" if text.kind == TURN else " ".join(terms(text.text)),
        analyser=ANALYSER,
        vector=stored or None,
        model=model if stored else "",
    )

"""Index what was published and learned: turns get their vectors, and what lacks one gets it later."""

from collections.abc import Sequence

from msgspec.structs import replace

from acumen.deps import Deps
from acumen.index.documents import Document
from acumen.index.passages import of_turn
from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId, Kind, UserId
from acumen.model.jobs.events import Hour, Published
from acumen.model.memories.search import TURN
from acumen.storage.store import Tx

# Turns indexed at a time: few, because embedding is expensive, and callers go first.
TURNS_AT_ONCE = 3
BACKFILL_AT_ONCE = 200
BOOKMARK = "index"


async def turns(event: Published, deps: Deps) -> None:
    """Give the user's new turns their vectors. They can be found by words before that."""
    while await _next_turns(event.user_id, deps):
        await deps.stand_back()


async def _next_turns(user: UserId, deps: Deps) -> bool:
    last, new = await deps.store.read(lambda tx: _unindexed(tx, user))
    if not new:
        return False
    made = await deps.index.rows([_document(turn) for turn in new])
    rows = [replace(row, entity_id=str(turn.id)) for turn, row in zip(new, made, strict=True)]

    def store(tx: Tx) -> None:
        tx.bookmarks.move(user, BOOKMARK, last, new[-1].id)
        visible = _documents(tx, TURN, [row.entity_id for row in rows])
        tx.search_rows.upsert([row for row in rows if row.entity_id in visible])

    await deps.store.write_for_user(user, store)
    return len(new) == TURNS_AT_ONCE  # turns that arrive meanwhile have a job of their own


def _unindexed(tx: Tx, user: UserId) -> tuple[InteractionId, list[Interaction]]:
    last = tx.bookmarks.get(user, BOOKMARK)
    return last, tx.hidden_turns.blank(user, tx.conversations.find_after(user, last, TURNS_AT_ONCE))


def _document(turn: Interaction) -> Document:
    return Document(TURN, turn.user_id, turn.content, tuple(of_turn(turn.role, turn.content)))


async def backfill(_event: Hour, deps: Deps) -> None:
    """Give memories and turns a vector that have none, or one of another model."""
    if deps.local_models.problem:
        return
    for kind in (*Kind, TURN):
        while await _backfill_batch(kind, deps):
            pass


async def _backfill_batch(kind: str, deps: Deps) -> bool:
    model = deps.local_models.name
    documents = await deps.store.read(
        lambda tx: _documents(tx, kind, tx.search_rows.find_without_vector(model, kind, BACKFILL_AT_ONCE))
    )
    if not documents or deps.local_models.problem:
        return False
    rows = await deps.index.rows(list(documents.values()))

    def store(tx: Tx) -> None:
        """What was changed or deleted meanwhile is left to the step that did so."""
        now = _documents(tx, kind, list(documents))
        made = zip(documents.items(), rows, strict=True)
        tx.search_rows.upsert(
            [replace(row, entity_id=key) for (key, document), row in made if now.get(key) == document]
        )

    await deps.store.write(store)
    return True


def _documents(tx: Tx, kind: str, ids: Sequence[str]) -> dict[str, Document]:
    """Of what exists under these ids; hidden turns are left out."""
    if kind == TURN:
        turn_ids = {InteractionId(int(turn_id)) for turn_id in ids}
        visible = tx.conversations.get_many(sorted(turn_ids - tx.hidden_turns.find_hidden(turn_ids)))
        users = {turn.user_id for turn in visible}
        shown = [turn for user in users for turn in tx.hidden_turns.blank(user, _of_user(visible, user))]
        return {str(turn.id): _document(turn) for turn in shown}
    return {key: Document.of(Kind(kind), memory) for key, memory in tx.by_kind[Kind(kind)].get_many(ids).items()}


def _of_user(turns: Sequence[Interaction], user: UserId) -> list[Interaction]:
    return [turn for turn in turns if turn.user_id == user]

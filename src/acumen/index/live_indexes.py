"""The indexes held in memory, brought into step with the committed rows before each answer."""

from collections.abc import Iterator, Sequence
from threading import Lock

from msgspec import Struct

from acumen.index.documents import ANALYSER, vectors_of
from acumen.index.excerpts import Excerpt, excerpts
from acumen.index.partition import Partition, RankQuery
from acumen.index.tokenizer import terms
from acumen.index.turn_partition import TurnPartition
from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId, Kind, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.memory import searchable
from acumen.model.memories.profile import NEVER
from acumen.model.memories.search import TURN, Facet, Filter, Found
from acumen.storage.memories.change_numbers import IndexVersion
from acumen.storage.memories.search_rows import Change
from acumen.storage.store import Tx

# Rows read at a time: a scope that is read for the first time may be large, and is needed in memory only once.
PAGE = 4000
# Turns of a user whose pieces are held (the most recently used), and about how much memory the pieces of one take.
# Cutting a long turn takes half a millisecond: with 400 a history of 500 turns spent two thirds of a search on it.
MOST_EXCERPTS = 1000
BYTES_PER_EXCERPT = 4000

FROM_THE_BEGINNING = IndexVersion(0, 0)


class _ChangeReader:
    """Reads the rows of a scope that changed since the last time: exactly what a transaction sees."""

    def __init__(self, kind: str, user: UserId | None, since: IndexVersion) -> None:
        self._kind = kind
        self._user = user
        self._version = since
        self._read_early: dict[str, int] = {}  # numbers above the version's, which are found again

    def begin(self, version: IndexVersion) -> bool:
        """Whether the generation is another one: everything has to be read again."""
        if version.generation == self._version.generation:
            return False
        self._version, self._read_early = IndexVersion(version.generation, 0), {}
        return True

    def is_ahead_of(self, version: IndexVersion) -> bool:
        """Whether the index shows more than a snapshot that is still open."""
        return version.moment < self._version.moment

    def pages(self, tx: Tx, version: IndexVersion) -> Iterator[Sequence[Change]]:
        """None to a snapshot that shows less than one that was read."""
        if version.moment <= self._version.moment:
            return
        early: dict[str, int] = {}
        seq = self._version.seq
        while changed := tx.search_rows.find_changes(self._kind, self._user, seq, PAGE):
            seq = changed[-1][1]
            if self._read_early:
                yield [change for change in changed if self._read_early.get(change[0]) != change[1]]
            else:
                yield changed
            if seq > version.seq:
                early |= {change[0]: change[1] for change in changed if change[1] > version.seq}
        self._version, self._read_early = version, early


class Ranked(Struct, frozen=True):
    """Rows of a scope, best first, with what they may be filtered by."""

    matches: list[Found]
    facets: dict[str, Facet]


class MemoryIndex:
    """One kind of memory of one user, or of the whole org."""

    def __init__(self, kind: Kind, user: UserId | None, since: IndexVersion = FROM_THE_BEGINNING) -> None:
        self.lock = Lock()
        self._kind = kind
        self._changes = _ChangeReader(kind, user, since)
        self.rows: Partition[Facet] = Partition()

    @property
    def bytes(self) -> int:
        return self.rows.bytes

    def rank(self, tx: Tx, query: RankQuery, limit: int, criteria: Filter, threshold: float | None = None) -> Ranked:
        """The best rows that fit; only of those that could be among them the facets are read."""
        matches = self.rows.rank(query, limit, criteria.admits, threshold, tx.by_kind[self._kind].get_facets)
        ranked = Ranked(matches, {match.entity_id: self.rows.facet(match.entity_id) for match in matches})
        if self._changes.is_ahead_of(tx.index_version):
            self.rows.forget_facets()  # some were those of an older snapshot
        return ranked

    def refresh(self, tx: Tx, model: str) -> None:
        """To exactly what this transaction sees, no matter which process wrote it."""
        version = tx.index_version
        if self._changes.begin(version):
            self.rows = Partition()
        for changed in self._changes.pages(tx, version):
            self._read(tx, changed, model)

    def _read(self, tx: Tx, changed: Sequence[Change], model: str) -> None:
        gone, rows = [row[0] for row in changed if row[2]], [row for row in changed if not row[2]]
        for key in gone:
            self.rows.drop(key)
        if rows:
            ids, _, _, analysers, words, models, vectors = zip(*rows, strict=True)
            if set(analysers) != {ANALYSER}:
                words = tuple(self._words(tx, *each) for each in zip(ids, analysers, words, strict=True))
            self.rows.put_all(ids, words, *vectors_of(vectors, models, model))

    def _words(self, tx: Tx, entity_id: str, analyser: str, words: str) -> str:
        """As they were stored, unless the tokenizer has changed since."""
        if analyser == ANALYSER:
            return words
        memory = tx.by_kind[self._kind].get(entity_id)
        return " ".join(terms(searchable(memory))) if memory else ""


class TurnIndex:
    """The turns of one user: found by words from the moment they are published, by vector once they have one."""

    def __init__(self, user: UserId) -> None:
        self.lock = Lock()
        self._user = user
        self._changes = _ChangeReader(TURN, user, FROM_THE_BEGINNING)
        self._last = InteractionId(0)
        self.rows: TurnPartition[Facet] = TurnPartition()
        self._excerpts: dict[str, Excerpt] = {}

    @property
    def bytes(self) -> int:
        return self.rows.bytes + len(self._excerpts) * BYTES_PER_EXCERPT

    def excerpts(self, tx: Tx, keys: Sequence[str]) -> dict[str, Excerpt]:
        """The pieces of turns that can be quoted; cut once, for turns do not change."""
        missing = [InteractionId(int(key)) for key in keys if key not in self._excerpts]
        if missing:
            turns = tx.hidden_turns.blank(self._user, tx.conversations.get_many(missing))
            made = excerpts(tx, self._user, turns)
            self._excerpts |= {str(excerpt.turn): excerpt for excerpt in made}
        used = {key: self._excerpts.pop(key) for key in keys if key in self._excerpts}
        self._excerpts |= used
        for key in list(self._excerpts)[:-MOST_EXCERPTS]:
            del self._excerpts[key]
        return used

    def refresh(self, tx: Tx, model: str) -> None:
        """To exactly what this transaction sees, no matter which process wrote it."""
        version = tx.index_version
        if self._changes.begin(version):
            self.rows, self._last, self._excerpts = TurnPartition(), InteractionId(0), {}
        for turn in tx.hidden_turns.blank(self._user, tx.conversations.find_after(self._user, self._last)):
            self._put(turn)
            self._last = turn.id
        for changed in self._changes.pages(tx, version):
            self._read(tx, changed, model)

    def _put(self, turn: Interaction) -> None:
        facet = Facet(
            user_id=turn.user_id,
            status=Status.CURRENT,
            created_at=turn.created_at,
            updated_at=turn.created_at,
            expires_at=NEVER,
            request_id=turn.request_id,
            session_id=turn.session_id,
        )
        self.rows.put_turn(str(turn.id), turn.session_id, turn.content, None, facet, role=turn.role, at=turn.created_at)

    def _read(self, tx: Tx, changed: Sequence[Change], model: str) -> None:
        self._read_again(tx, [Change(*row) for row in changed if not row[2]])
        for entity_id, _, gone, _, _, made_by, vector in changed:
            if gone:
                self.rows.drop(entity_id)
                self._excerpts.pop(entity_id, None)
            elif vector is not None and made_by == model:
                self.rows.set_vector(entity_id, vectors_of((vector,), (made_by,), model)[0])

    def _read_again(self, tx: Tx, rows: Sequence[Change]) -> None:
        """Turns that are shown again, or without words that were forgotten; deleted ones are not found."""
        ids = [row.entity_id for row in rows if row.vector is None or row.entity_id not in self.rows]
        turns = tx.conversations.get_many([InteractionId(int(turn_id)) for turn_id in ids]) if ids else []
        for turn in tx.hidden_turns.blank(self._user, turns):
            self._put(turn)
            self._excerpts.pop(str(turn.id), None)

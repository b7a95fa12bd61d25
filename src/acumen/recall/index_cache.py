"""What search holds in memory: partitions, brought into step with the committed rows before each answer."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import TypeVar, cast

from acumen.model.conversation import Interaction
from acumen.model.echoes import RenderedMemory
from acumen.model.ids import InteractionId, Kind, Millis, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.memory import searchable
from acumen.model.memories.profile import NEVER
from acumen.model.memories.search import TURN, Facet, Filter, SearchRow
from acumen.model.times import DAY_MS
from acumen.recall.index import ANALYSER, vector_of, words_of
from acumen.recall.partition import Partition
from acumen.recall.quotes import Excerpt, excerpt
from acumen.recall.turns import TurnPartition
from acumen.recall.words import terms
from acumen.storage.memories.search_rows import IndexVersion
from acumen.storage.metering.injections import ECHO_DAYS, ECHO_INJECTIONS
from acumen.storage.store import Tx

# Rows read at a time: a scope that is read for the first time may be large, and is needed in memory only once.
PAGE = 1000
# Turns of a user whose pieces are kept, and about how much memory the pieces of one take.
MOST_EXCERPTS = 400
BYTES_PER_EXCERPT = 4000


class HeldMemories:
    """One kind of memory of one user, or of the whole org."""

    def __init__(self, kind: Kind, user: UserId | None) -> None:
        self.lock = Lock()
        self._kind = kind
        self._user = user
        self._mark = IndexVersion(0, 0)
        self.rows: Partition[Facet] = Partition()
        self._standing: set[str] = set()

    @property
    def bytes(self) -> int:
        return self.rows.bytes

    def standing(self, wanted: Filter) -> list[str]:
        """The ids of the memories that belong into every prompt."""
        return [name for name in self._standing if wanted.admits(self.rows.facet(name))]

    def catch_up(self, tx: Tx, model: str) -> None:
        """Exactly what this transaction sees, no matter which process wrote it."""
        mark = tx.index_version
        if mark.generation != self._mark.generation:
            self.rows, self._standing, self._mark = Partition(), set(), IndexVersion(mark.generation, 0)
        if mark.seq > self._mark.seq:
            for changed in _pages(tx, self._kind, self._user, self._mark.seq):
                self._read(tx, changed, model)
            self._mark = mark

    def _read(self, tx: Tx, changed: Sequence[tuple[SearchRow, int, bool]], model: str) -> None:
        ids = tuple(row.entity_id for row, _, gone in changed if not gone)
        facets = tx.by_kind[self._kind].facets(Filter(statuses=None, ids=ids)) if ids else {}
        for row, _, gone in changed:
            facet = facets.get(row.entity_id)
            self._standing.discard(row.entity_id)
            if facet is not None and facet.standing and not gone:
                self._standing.add(row.entity_id)
            if gone or facet is None:
                self.rows.drop(row.entity_id)
            else:
                self.rows.put(row.entity_id, "", vector_of(row, model), facet, words=self._words(tx, row))

    def _words(self, tx: Tx, row: SearchRow) -> list[str]:
        """As they were stored, unless the analyser has changed since."""
        if row.analyser == ANALYSER:
            return words_of(row)
        memory = tx.by_kind[self._kind].get(row.entity_id)
        return terms(searchable(memory)) if memory else []


class HeldTurns:
    """The turns of one user: by words from the moment they are published, by meaning when their vectors follow."""

    def __init__(self, user: UserId) -> None:
        self.lock = Lock()
        self._user = user
        self._mark = IndexVersion(0, 0)
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
            if len(self._excerpts) + len(missing) > MOST_EXCERPTS:
                self._excerpts = {key: self._excerpts[key] for key in keys if key in self._excerpts}
            turns = tx.conversations.by_ids(missing)
            echoes = _Echoes(tx, self._user, turns)
            self._excerpts |= {str(turn.id): excerpt(turn, echoes.before(turn)) for turn in turns}
        return {key: self._excerpts[key] for key in keys if key in self._excerpts}

    def catch_up(self, tx: Tx, model: str) -> None:
        """Exactly what this transaction sees, no matter which process wrote it."""
        mark = tx.index_version
        if mark.generation != self._mark.generation:
            self.rows, self._last, self._mark = TurnPartition(), InteractionId(0), IndexVersion(mark.generation, 0)
            self._excerpts = {}
        for turn in tx.conversations.after(self._user, self._last):
            self._put(turn)
            self._last = turn.id
        if mark.seq > self._mark.seq:
            for changed in _pages(tx, TURN, self._user, self._mark.seq):
                self._read(tx, changed, model)
            self._mark = mark

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

    def _read(self, tx: Tx, changed: Sequence[tuple[SearchRow, int, bool]], model: str) -> None:
        self._put_back(tx, [row.entity_id for row, _, gone in changed if not gone and row.entity_id not in self.rows])
        for row, _, gone in changed:
            vector = vector_of(row, model)
            if gone:
                self.rows.drop(row.entity_id)
                self._excerpts.pop(row.entity_id, None)
            elif vector is not None:
                self.rows.set_vector(row.entity_id, vector)

    def _put_back(self, tx: Tx, ids: Sequence[str]) -> None:
        """Turns that were hidden and are shown again; of deleted ones nothing is left to put."""
        for turn in tx.conversations.by_ids([InteractionId(int(turn_id)) for turn_id in ids]) if ids else ():
            self._put(turn)


class _Echoes:
    """The memories that a user's agents were given around the time of some turns."""

    def __init__(self, tx: Tx, user: UserId, turns: Sequence[Interaction]) -> None:
        self._tx = tx
        self._user = user
        times = [turn.created_at for turn in turns]
        self._all = self._between(min(times), max(times)) if times else []
        self._complete = len(self._all) < ECHO_INJECTIONS
        self._by_day: dict[int, list[RenderedMemory]] = {}

    def before(self, turn: Interaction) -> Sequence[RenderedMemory]:
        if self._complete:
            return [line for lines in self._all for line in lines]
        day = turn.created_at // DAY_MS
        if day not in self._by_day:
            lines = self._between(Millis(day * DAY_MS), Millis(day * DAY_MS))
            self._by_day[day] = [line for injected in lines for line in injected]
        return self._by_day[day]

    def _between(self, first: Millis, last: Millis) -> list[list[RenderedMemory]]:
        """A day later too: the clock of the caller who dated the turn is not ours."""
        since, until = Millis(first - ECHO_DAYS * DAY_MS), Millis(last + 2 * DAY_MS)
        return self._tx.injections.shown_between(self._user, since, until)


def _pages(tx: Tx, kind: str, user: UserId | None, seq: int) -> Iterator[Sequence[tuple[SearchRow, int, bool]]]:
    """What changed after `seq`, in order, a page at a time."""
    while changed := tx.search_rows.since(kind, user, seq, PAGE):
        yield changed
        seq = changed[-1][1]


H = TypeVar("H", HeldMemories, HeldTurns)
Key = tuple[str, str, UserId | None]


class IndexCache:
    """The partitions held, up to a number of bytes; the least recently asked go first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held: OrderedDict[Key, HeldMemories | HeldTurns] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self._total = 0
        self._lock = Lock()

    def memories(self, tx: Tx, kind: Kind, user: UserId | None) -> HeldMemories:
        """As they are held; `catch_up` under its lock before use."""
        return self._take((tx.scope.org, kind, user), lambda: HeldMemories(kind, user))

    def turns(self, tx: Tx, user: UserId) -> HeldTurns:
        return self._take((tx.scope.org, TURN, user), lambda: HeldTurns(user))

    def _take(self, key: Key, make: Callable[[], H]) -> H:
        with self._lock:
            # The kind within the key tells which of the two is held under it.
            held = cast("H | None", self._held.pop(key, None)) or make()
            self._held[key] = held
            # What it grew to while it was last used is known only now.
            size = held.bytes
            self._total += size - self._sizes.get(key, 0)
            self._sizes[key] = size
            self._make_room(keep=key)
        return held

    def _make_room(self, keep: Key) -> None:
        while self._total > self._most_bytes and next(iter(self._held)) != keep:
            key, _ = self._held.popitem(last=False)
            self._total -= self._sizes.pop(key)

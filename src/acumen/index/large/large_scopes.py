"""The one place that decides how a scope is searched: exactly in memory, or among candidates from the database."""

import time
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TypeVar

from msgspec import Struct

from acumen.index.documents import ANALYSER, terms_of, vector_of
from acumen.index.large.scoring import Candidate, Corpus, rank_candidates, with_counts
from acumen.index.large.statistics import ScopeStatistics
from acumen.index.live_indexes import Ranked
from acumen.index.partition import RankQuery
from acumen.index.tokenizer import terms
from acumen.model.ids import Kind
from acumen.model.memories.memory import searchable
from acumen.model.memories.search import Filter, SearchRow
from acumen.storage.memories.candidates.engine import CandidateQuery, QueryTerm, SearchScope
from acumen.storage.memories.candidates.postgres import PostgresCandidates
from acumen.storage.store import Tx

# Candidates of each arm. Measured with `bench million-memories`.
CANDIDATES = 100
# A scope that was small is counted again after so many seconds, and the statistics of a large one are read again.
COUNT_AGAIN = 10.0
STATISTICS_SECONDS = 600.0
# Scopes whose size or statistics are remembered; the statistics of one take about half a megabyte.
MOST_COUNTED = 10_000
MOST_STATISTICS = 32

V = TypeVar("V")
Key = tuple[str, SearchScope]


class _Counted(Struct, frozen=True):
    large: bool
    at: float


class LargeScopes:
    """Scopes with more than `most_rows` rows, where the database can find candidates."""

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self._counted: OrderedDict[Key, _Counted] = OrderedDict()
        self._statistics: OrderedDict[Key, tuple[float, int, ScopeStatistics]] = OrderedDict()
        self._lock = Lock()

    def candidates(self, tx: Tx, scope: SearchScope) -> PostgresCandidates | None:
        """None where the scope is to be searched in memory."""
        return tx.candidates(scope) if self.is_large(tx, scope) else None

    def clear(self) -> None:
        with self._lock:
            self._counted.clear()
            self._statistics.clear()

    def is_large(self, tx: Tx, scope: SearchScope) -> bool:
        """Counting stops at the limit; a scope that is large stays so until the process ends."""
        key, now = (tx.scope.org, scope), time.monotonic()
        counted = self._counted.get(key)
        if counted is None or (not counted.large and now - counted.at > COUNT_AGAIN):
            rows = tx.search_rows.count(scope.kind, scope.user, self._most_rows + 1)
            counted = _Counted(rows > self._most_rows, now)
            with self._lock:
                _remember(self._counted, key, counted, MOST_COUNTED)
        return counted.large

    def statistics(self, tx: Tx, scope: SearchScope) -> ScopeStatistics:
        """At most a few minutes old."""
        key, now, generation = (tx.scope.org, scope), time.monotonic(), tx.index_version.generation
        at, of_generation, statistics = self._statistics.get(key, (0.0, -1, None))
        if statistics is None or of_generation != generation or now - at > STATISTICS_SECONDS:
            statistics = ScopeStatistics.read(tx, scope)
            with self._lock:
                _remember(self._statistics, key, (now, generation, statistics), MOST_STATISTICS)
        return statistics


class LargeScope(Struct, frozen=True):
    """A scope as a transaction sees it."""

    tx: Tx
    candidates: PostgresCandidates
    statistics: ScopeStatistics

    def rank(self, query: RankQuery, limit: int, criteria: Filter, threshold: float | None, model: str) -> Ranked:
        """The best rows that fit: those of the candidates, exactly scored."""
        terms: Sequence[QueryTerm] = self.statistics.query_terms(query.terms) if query.by_words else ()
        vector = None if query.query_vector is None else query.query_vector.unit
        asked = CandidateQuery(self.statistics.rows, terms, vector, model, max(CANDIDATES, limit))
        found = self.candidates.find(criteria, asked)
        corpus = Corpus(self.statistics.mean_length, with_counts(terms, found.matching, self.statistics.rows))
        scored = [_candidate(self.tx, row, model) for row in found.rows]
        matches = rank_candidates(query, scored, corpus, limit, threshold)
        return Ranked(matches, self.candidates.get_facets([match.entity_id for match in matches]))


def _remember(remembered: OrderedDict[Key, V], key: Key, value: V, most: int) -> None:
    remembered[key] = value
    remembered.move_to_end(key)
    if len(remembered) > most:
        remembered.popitem(last=False)


def _candidate(tx: Tx, row: SearchRow, model: str) -> Candidate:
    """Its terms as they were stored, unless the tokenizer has changed since."""
    if row.analyser == ANALYSER:
        return Candidate(row.entity_id, terms_of(row), vector_of(row, model))
    memory = tx.by_kind[Kind(row.kind)].get(row.entity_id)
    return Candidate(row.entity_id, terms(searchable(memory)) if memory else [], vector_of(row, model))

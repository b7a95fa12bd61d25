"""The index of a process: text becomes rows of it, and what is stored is compared with new rows."""

from collections.abc import Mapping, Sequence

from acumen.index.cache import IndexCache
from acumen.index.documents import Document, search_row, terms_of, vector_of
from acumen.index.large.large_scopes import LargeScope, LargeScopes
from acumen.index.live_indexes import Ranked
from acumen.index.partition import RankQuery
from acumen.index.segments.segment import Segment
from acumen.index.segments.segment_search import SegmentSearch
from acumen.index.segments.segments import Segments
from acumen.llm.embedding import NAME
from acumen.llm.local_models import LocalModels
from acumen.model.ids import Kind, OrgId, UserId
from acumen.model.memories.search import Filter, SearchRow
from acumen.storage.memories.candidates.engine import SearchScope
from acumen.storage.store import Tx

# A row of a scope in memory, for the decision whether it fits there.
BYTES_PER_ROW = 800
# This many stored memories are compared with a new one.
MOST_SIMILAR = 24

# Ids of memories with their cosines; None for a memory without a vector.
CosineById = Mapping[str, float | None]


class SearchIndex:
    def __init__(
        self, local_models: LocalModels, most_bytes: int, large_scope_rows: int, segments: Segments | None = None
    ) -> None:
        self.cache = IndexCache(most_bytes)
        self._segments = segments
        self._most_in_memory = most_bytes // (2 * BYTES_PER_ROW)
        self.large_scopes = LargeScopes(large_scope_rows)
        self._local_models = local_models

    async def rows(self, documents: Sequence[Document]) -> list[SearchRow]:
        """Terms and vectors, computed before the transaction that stores them."""
        passages = [document.passages or (document.text,) for document in documents]
        embedded = iter(await self._local_models.embed_texts([text for texts in passages for text in texts]))
        grouped = [[next(embedded) for _ in texts] for texts in passages]
        model = self._local_models.name
        return [search_row(document, vectors, model) for document, vectors in zip(documents, grouped, strict=True)]

    def rank(
        self, tx: Tx, kind: Kind, queries: Sequence[RankQuery], limit: int, criteria: Filter, threshold: float | None
    ) -> list[Ranked]:
        """For each query the best memories of a kind that fit, of the filter's user or of the whole org."""
        scope = SearchScope(kind, criteria.user_id)
        if candidates := self.large_scopes.candidates(tx, scope):
            large = LargeScope(tx, candidates, self.large_scopes.statistics(tx, scope))
            return [large.rank(query, limit, criteria, threshold, NAME) for query in queries]
        if segment := self._segment(tx, scope):
            return self._rank_in_segment(tx, segment, kind, queries, limit, criteria, threshold)
        with self.cache.memories(tx, kind, criteria.user_id, NAME) as index:
            return [index.rank(tx, query, limit, criteria, threshold) for query in queries]

    def _segment(self, tx: Tx, scope: SearchScope) -> Segment | None:
        """None where the scope is to be searched in memory: also while a segment is built, if there is room."""
        if self._segments is None or not self.large_scopes.is_large(tx, scope):
            return None
        kind = Kind(scope.kind)
        if segment := self._segments.current(tx, kind):
            return segment
        if tx.search_rows.count(kind, scope.user, self._most_in_memory + 1) > self._most_in_memory:
            return self._segments.build_now(tx, kind)
        self._segments.build_soon(tx, kind)
        return None

    def _rank_in_segment(
        self,
        tx: Tx,
        segment: Segment,
        kind: Kind,
        queries: Sequence[RankQuery],
        limit: int,
        criteria: Filter,
        threshold: float | None,
    ) -> list[Ranked]:
        fresh = segment.is_of_generation(tx.index_version.generation)
        with self.cache.tail(tx, kind, criteria.user_id, NAME, segment) as tail:
            span, get_facets = segment.span(criteria.user_id), tx.by_kind[kind].get_facets
            search = SegmentSearch(segment, tail, span, fresh, get_facets)
            ranked = [search.rank(query, limit, criteria, threshold) for query in queries]
            changes = tail.changes
        segment.arrays.release()
        if self._segments is not None and self._segments.is_behind(segment, changes):
            self._segments.build_soon(tx, kind)
        return ranked

    def erase(self, org: OrgId) -> None:
        """What is kept beside the database about its memories: it is built again from the rows."""
        if self._segments is not None:
            self._segments.erase(org)

    def similar(self, tx: Tx, kind: Kind, user: UserId, rows: Sequence[SearchRow]) -> list[CosineById]:
        """For each new row the stored memories of the user, of any status, that are near it by words or by vector."""
        criteria = Filter(user_id=user, statuses=None)
        ranked = self.rank(tx, kind, [_query(row) for row in rows], MOST_SIMILAR, criteria, 0.0)
        return [{match.entity_id: match.reasons.get("vector") for match in near.matches} for near in ranked]


def _query(row: SearchRow) -> RankQuery:
    vectors = vector_of(row, NAME)
    return RankQuery(terms_of(row), None if vectors is None else vectors[0])

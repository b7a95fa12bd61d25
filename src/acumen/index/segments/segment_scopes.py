"""Which scopes are searched in a segment: large ones, and small ones that are not in memory yet."""

from collections.abc import Sequence

from msgspec import Struct

from acumen.index.cache import IndexCache
from acumen.index.large.large_scopes import LargeScopes
from acumen.index.live_indexes import Ranked
from acumen.index.partition import RankQuery
from acumen.index.segments.segment import Segment
from acumen.index.segments.segment_search import SegmentSearch
from acumen.index.segments.segments import Segments
from acumen.index.segments.tail import Tail
from acumen.model.ids import Kind, UserId
from acumen.model.memories.search import Filter
from acumen.storage.memories.candidates.engine import SearchScope
from acumen.storage.store import Tx

# A row of a scope in memory, for the decision whether the scope fits there.
BYTES_PER_ROW = 800
# To read 1,000 rows of a user into memory takes as long as so many searches of them in a segment.
FEW_SEARCHES = 4


class SegmentScopes(Struct, frozen=True):
    segments: Segments
    large_scopes: LargeScopes
    cache: IndexCache
    model: str
    most_in_memory: int  # rows
    few_rows: int  # in a scope of which a segment compares all rows

    def rank(
        self,
        tx: Tx,
        scope: SearchScope,
        queries: Sequence[RankQuery],
        limit: int,
        criteria: Filter,
        threshold: float | None,
    ) -> list[Ranked] | None:
        """For each query the best rows that fit; None where the scope is to be searched in memory."""
        kind, user = Kind(scope.kind), criteria.user_id
        segment = self.segments.current(tx, kind)
        large = self._is_large(tx, scope, segment)
        if large and segment is None:
            segment = self._first(tx, kind, user)
        if segment is None or not (large or self._is_worth_it(tx, segment, kind, user)):
            return None
        with self.cache.tail(tx, kind, user, self.model, segment) as tail:
            self._keep_up(tx, kind, segment, tail)
            if not large and (tail.changes or tail.searches >= FEW_SEARCHES):
                return None
            tail.searches += 1
            fresh = segment.is_of_generation(tx.index_version.generation)
            search = SegmentSearch(segment, tail, segment.span(user), fresh, tx.by_kind[kind].get_facets)
            ranked = [search.rank(query, limit, criteria, threshold) for query in queries]
        segment.arrays.release()
        return ranked

    def _is_large(self, tx: Tx, scope: SearchScope, segment: Segment | None) -> bool:
        is_small = segment is not None and 0 < len(segment.span(scope.user)) <= self.few_rows
        return not is_small and self.large_scopes.is_large(tx, scope)

    def _is_worth_it(self, tx: Tx, segment: Segment, kind: Kind, user: UserId | None) -> bool:
        """All rows of a user are compared, as in memory, without being read into it."""
        if not segment.is_of_generation(tx.index_version.generation) or self.cache.holds(tx, kind, user):
            return False
        return 0 < len(segment.span(user)) <= self.few_rows

    def _first(self, tx: Tx, kind: Kind, user: UserId | None) -> Segment | None:
        """Until there is one, scopes are searched in memory, if there is room."""
        if tx.search_rows.count(kind, user, self.most_in_memory + 1) > self.most_in_memory:
            return self.segments.build_now(tx, kind)
        self.segments.build_soon(tx, kind)
        return None

    def _keep_up(self, tx: Tx, kind: Kind, segment: Segment, tail: Tail) -> None:
        if self.segments.is_behind(segment, tail.changes):
            self.segments.build_soon(tx, kind)

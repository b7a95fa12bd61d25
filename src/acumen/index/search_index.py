"""The index of a process: text becomes rows of it, and what is stored is compared with new rows."""

from collections.abc import Mapping, Sequence

from acumen.index.cache import IndexCache
from acumen.index.documents import Document, search_row, terms_of, vector_of
from acumen.index.large.large_scopes import LargeScope, LargeScopes
from acumen.index.live_indexes import Ranked
from acumen.index.partition import RankQuery
from acumen.index.segments.segment import BY_VECTOR
from acumen.index.segments.segment_scopes import BYTES_PER_ROW, SegmentScopes
from acumen.index.segments.segments import Segments
from acumen.llm.embedding import NAME
from acumen.llm.local_models import LocalModels
from acumen.model.ids import Kind, OrgId, UserId
from acumen.model.memories.search import Filter, SearchRow
from acumen.storage.memories.candidates.engine import SearchScope
from acumen.storage.store import Tx

# This many stored memories are compared with a new one.
MOST_SIMILAR = 24

# Ids of memories with their cosines; None for a memory without a vector.
CosineById = Mapping[str, float | None]


class SearchIndex:
    def __init__(
        self, local_models: LocalModels, most_bytes: int, large_scope_rows: int, segments: Segments | None = None
    ) -> None:
        self.cache = IndexCache(most_bytes)
        self.large_scopes = LargeScopes(large_scope_rows)
        self._segment_scopes = (
            SegmentScopes(
                segments,
                self.large_scopes,
                self.cache,
                NAME,
                most_in_memory=most_bytes // (2 * BYTES_PER_ROW),
                few_rows=min(BY_VECTOR, large_scope_rows),
            )
            if segments
            else None
        )
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
        if self._segment_scopes is not None:
            ranked = self._segment_scopes.rank(tx, scope, queries, limit, criteria, threshold)
            if ranked is not None:
                return ranked
        with self.cache.memories(tx, kind, criteria.user_id, NAME) as index:
            return [index.rank(tx, query, limit, criteria, threshold) for query in queries]

    def erase(self, org: OrgId) -> None:
        """What is kept beside the database about its memories: it is built again from the rows."""
        if self._segment_scopes is not None:
            self._segment_scopes.segments.erase(org)

    def similar(self, tx: Tx, kind: Kind, user: UserId | None, rows: Sequence[SearchRow]) -> list[CosineById]:
        """For each new row the stored memories of the scope, of any status, that are near it by words or by vector."""
        criteria = Filter(user_id=user, statuses=None)
        ranked = self.rank(tx, kind, [_query(row) for row in rows], MOST_SIMILAR, criteria, 0.0)
        return [{match.entity_id: match.reasons.get("vector") for match in near.matches} for near in ranked]


def _query(row: SearchRow) -> RankQuery:
    vectors = vector_of(row, NAME)
    return RankQuery(terms_of(row), None if vectors is None else vectors[0])

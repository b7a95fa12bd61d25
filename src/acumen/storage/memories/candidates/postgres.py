"""Candidates from Postgres: pgvector for the vectors, a GIN index for the words (`postgres_schema.py`)."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from acumen.model.memories.search import Facet, Filter, SearchRow
from acumen.storage.engine.scope import OrgScope
from acumen.storage.memories.candidates.engine import CandidateQuery, Candidates, QueryTerm, SearchScope
from acumen.storage.memories.candidates.postgres_schema import scope_prefix, user_mark
from acumen.storage.memories.memory_rows import MemoryRows

# Rows whose words are compared with the question: those of its rarest terms.
MOST_MATCHES = 2_000
MOST_QUERY_TERMS = 16
# Where so few rows fit a filter, all of them are candidates; where not many more do, their words are compared.
FEW_FITTING = 2_000
MOST_FITTING = 20_000
# What HNSW may look at before the filter is applied first, and all that is left compared.
MOST_SCANNED = 5_000
# Comparing a row takes about a microsecond, a step through the graph seven; a graph over all scopes needs as many more
# steps as this scope is smaller. With 100 candidates both take the same time at this ratio.
STEPS_PER_ROW = 700

_FORBIDDEN = ("enable_sort", "enable_seqscan", "enable_hashjoin", "enable_mergejoin")
_PLAN = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": str(MOST_SCANNED),
    **dict.fromkeys(_FORBIDDEN, "off"),
}
_FREE = "SELECT " + ", ".join(f"set_config('{name}', 'on', true)" for name in _FORBIDDEN)
_VECTORS = "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = to_regclass('memory_vectors')"
_FIELDS = SearchRow.__struct_fields__
_LOAD = f"""
    SELECT {", ".join(_FIELDS)} FROM search_rows
    WHERE org_id = %s AND kind = %s AND entity_id = ANY(%s) AND NOT gone ORDER BY seq, entity_id
"""

v = sa.table("memory_vectors", *map(sa.column, ("org_id", "kind", "entity_id", "user_id", "model", "embedding"))).c


class _ByWords(Struct, frozen=True):
    """`falls_short`: rows that fit and contain only frequent terms may be missing, and there are too few others."""

    ids: Sequence[str]
    matching: dict[str, int]
    falls_short: bool


class PostgresCandidates:
    """Finds rows of a scope that may be the best ones, as its transaction sees them; the caller scores them exactly.

    Every committed row can be found, and nothing that is gone. Filters are applied before the limit. Of the best ten
    by the exact order at least 95 % are among the candidates, for each shape of filter (a test on 60,000 rows). By
    words the rows with the most information of the question are found: those that contain only its most frequent
    terms may be missing where there are enough others.
    """

    def __init__(self, scope: OrgScope, search_scope: SearchScope, rows: MemoryRows[Any]) -> None:
        self._conn = scope.conn
        self._org = scope.org
        self._scope = search_scope
        self._rows = rows
        self._prefix = scope_prefix(scope.org, search_scope.kind)

    def find(self, criteria: Filter, query: CandidateQuery) -> Candidates:
        """Of the rows that fit."""
        with self._planned(query.limit) as vectors:
            words = self._by_words(criteria, query)
            near = self._by_vector(criteria, query, vectors)
        ids = dict.fromkeys([*words.ids, *near])
        near_falls_short = query.vector is not None and len(near) < query.limit
        if words.falls_short or near_falls_short:
            ids |= dict.fromkeys(self._of_few_fitting(criteria, query, compare=near_falls_short))
        return Candidates(self._load(list(ids)), words.matching)

    def get_facets(self, ids: Sequence[str]) -> dict[str, Facet]:
        return self._rows.get_facets(ids)

    def _of_few_fitting(self, criteria: Filter, query: CandidateQuery, *, compare: bool) -> Sequence[str]:
        """Where few rows fit the filter, it is applied first: then all of them are compared.

        `compare`: by their vectors too, even if they are many.
        """
        fitting = self._rows.find_ids(criteria, MOST_FITTING + 1)
        if len(fitting) <= FEW_FITTING:
            return fitting
        near = self._nearest(criteria, query, by_graph=False) if compare else []
        if len(fitting) > MOST_FITTING or not query.terms:
            return near
        terms = query.terms[:MOST_QUERY_TERMS]
        return [*near, *(row[0] for row in self._matches(terms, terms, "|", among=fitting)[: query.limit])]

    def _load(self, ids: list[str]) -> list[SearchRow]:
        rows = self._conn.exec_driver_sql(_LOAD, (self._org, self._scope.kind, ids))
        return [SearchRow(*row) for row in rows]

    @contextmanager
    def _planned(self, limit: int) -> Iterator[int]:
        """The planner has one way only: its guesses about filters are too often wrong by a factor of a hundred.

        Yields about how many vectors there are of all scopes.
        """
        plan = {**_PLAN, "hnsw.ef_search": str(min(max(limit, 40), 1000))}
        settings = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in plan.items())
        yield int(self._conn.exec_driver_sql(f"SELECT ({_VECTORS}), {settings}").one()[0])
        self._conn.exec_driver_sql(_FREE)

    # --- vectors -----------------------------------------------------------------------------------------------------

    def _by_vector(self, criteria: Filter, query: CandidateQuery, vectors: int) -> Sequence[str]:
        if query.vector is None:
            return []
        return self._nearest(criteria, query, by_graph=query.rows**2 > STEPS_PER_ROW * vectors)

    def _nearest(self, criteria: Filter, query: CandidateQuery, *, by_graph: bool) -> Sequence[str]:
        """By the graph, or by comparing all rows that fit: then the order must not look like the one of the index."""
        literal = "[" + ",".join(map(repr, [] if query.vector is None else query.vector.tolist())) + "]"
        distance: Any = v.embedding.op("<=>")(sa.text("CAST(:literal AS halfvec)").bindparams(literal=literal))
        mine = [v.org_id == self._org, v.kind == self._scope.kind, v.model == query.model]
        if self._scope.user is not None:
            mine.append(v.user_id == self._scope.user)
        nearest = sa.select(v.entity_id).where(*mine, self._rows.exists_fitting(criteria, v.entity_id))
        nearest = nearest.order_by(distance if by_graph else distance + sa.text("0")).limit(query.limit)
        return list(dict.fromkeys(row[0] for row in self._conn.execute(nearest)))

    # --- words -------------------------------------------------------------------------------------------------------

    def _by_words(self, criteria: Filter, query: CandidateQuery) -> "_ByWords":
        """All rows with one of the rare terms; if these are too few, rows with several of the frequent ones."""
        terms = query.terms[:MOST_QUERY_TERMS]
        rare = _rarest(terms)
        frequent = terms[len(rare) :]
        ids: dict[str, None] = {}
        matching: dict[str, int] = {}
        if rare:
            rows = self._matches(terms, rare, "|")
            if len(rows) < MOST_MATCHES:
                matching = {term.text: sum(row[2 + place] for row in rows) for place, term in enumerate(rare)}
            ids |= self._first_fitting(criteria, rows, query.limit)
        for count in _combinations(frequent, query):
            if len(ids) >= query.limit:
                break
            ids |= self._first_fitting(criteria, self._matches(terms, frequent[:count], "&"), query.limit)
        return _ByWords(list(ids), matching, bool(frequent) and len(ids) < query.limit)

    def _matches(
        self, terms: Sequence[QueryTerm], of: Sequence[QueryTerm], operator: str, among: list[str] | None = None
    ) -> list[Any]:
        """Rows with one or all of some terms, with their weight: the information of all terms they contain.

        Best first, of equals the shortest. `among` are the only ids that count; without them, of very many any.
        """
        has = ", ".join(f"(words @@ %(t{place})s::tsquery)::int AS h{place}" for place in range(len(terms)))
        weight = " + ".join(f"{term.weight} * h{place}" for place, term in enumerate(terms))
        columns = ", ".join(f"h{place}" for place in range(len(terms)))
        # Without `|| ''` the planner might walk through the whole scope instead of using the index of the words.
        scope = (
            f"org_id || '' = %(org)s AND kind || '' = %(kind)s LIMIT {MOST_MATCHES}"
            if among is None
            else "org_id = %(org)s AND kind = %(kind)s AND entity_id = ANY(%(among)s)"
        )
        query = f"""
            WITH hits AS MATERIALIZED (
                SELECT entity_id, length, {has} FROM memory_words WHERE words @@ %(tsquery)s::tsquery AND {scope}
            ) SELECT entity_id, {weight} AS weight, {columns} FROM hits ORDER BY weight DESC, length
        """
        bound = {f"t{place}": self._any(term) for place, term in enumerate(terms)}
        tsquery = f"({f' {operator} '.join(map(self._any, of))}){self._of_user}"
        names = {"org": self._org, "kind": self._scope.kind, "tsquery": tsquery, "among": among}
        return list(self._conn.exec_driver_sql(query, {**bound, **names}))

    @property
    def _of_user(self) -> str:
        user = self._scope.user
        return "" if user is None else f" & {_quoted(user_mark(self._org, self._scope.kind, user))}"

    def _first_fitting(self, criteria: Filter, rows: Sequence[Any], limit: int) -> dict[str, None]:
        """The first of these that fit."""
        ids, size = [str(row[0]) for row in rows], 2 * limit
        fitting: dict[str, None] = {}
        while ids and len(fitting) < limit:
            batch, ids = ids[:size], ids[size:]
            facets = self._rows.get_facets(batch)
            fitting |= dict.fromkeys(name for name in batch if name in facets and criteria.admits(facets[name]))
            size *= 4
        return dict.fromkeys(list(fitting)[:limit])

    def _any(self, term: QueryTerm) -> str:
        forms = [_quoted(self._prefix + form) for form in term.forms]
        return forms[0] if len(forms) == 1 else f"({' | '.join(forms)})"


def _rarest(terms: Sequence[QueryTerm]) -> list[QueryTerm]:
    """Terms that together occur in no more rows than are compared."""
    rare, rows = [], 0
    for term in terms:
        rows += term.matching
        if rows > MOST_MATCHES:
            break
        rare.append(term)
    return rare


def _combinations(terms: Sequence[QueryTerm], query: CandidateQuery) -> list[int]:
    """How many of the rarest terms a row should contain: as many as enough rows would if terms were independent; fewer;
    and the rarest alone.
    """
    shares = [min(max(term.matching, 1) / max(query.rows, 1), 1.0) for term in terms]
    expected = [query.rows * math.prod(shares[:count]) for count in range(1, len(terms) + 1)]
    most = max(sum(rows >= query.limit for rows in expected), 1)
    return list(dict.fromkeys(count for count in (most, most // 2, 1) if 0 < count <= len(terms)))


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"

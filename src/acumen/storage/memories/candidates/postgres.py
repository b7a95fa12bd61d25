"""Candidates from Postgres: pgvector for the vectors, a GIN index for the words (`postgres_schema.py`)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace

from acumen.model.ids import Kind
from acumen.model.memories.search import Filter
from acumen.storage.engine.scope import OrgScope
from acumen.storage.memories.candidates.engine import QueryTerm, SearchScope, Vector, WordCandidates
from acumen.storage.memories.memory_rows import MemoryRows

# Rows whose words are compared with the question: those of its rarest terms.
MOST_MATCHES = 2_000
MOST_QUERY_TERMS = 16
# What HNSW may look at before the filter is applied first, and all that is left compared.
MOST_SCANNED = 20_000
# Comparing a row takes about a microsecond, a step through the graph seven; a graph over all scopes needs as many more
# steps as this scope is smaller. With 200 candidates that is equal at 1,400 rows of the table per row of the scope.
STEPS_PER_ROW = 1_400

_NO_SORT = ("enable_sort", "enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin")
_GRAPH = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": str(MOST_SCANNED),
    **dict.fromkeys(_NO_SORT, "off"),
}
_BITMAP = dict.fromkeys(("enable_seqscan", "enable_indexscan", "enable_indexonlyscan"), "off")

v = sa.table("memory_vectors", *map(sa.column, ("org_id", "kind", "entity_id", "user_id", "model", "embedding"))).c


class PostgresCandidates:
    """See `CandidateEngine`."""

    name = "pgvector and full text"

    def __init__(self, scope: OrgScope, rows: Mapping[Kind, MemoryRows[Any]]) -> None:
        self._scope = scope
        self._conn = scope.conn
        self._rows = rows

    # --- vectors -----------------------------------------------------------------------------------------------------

    def find_by_vector(
        self, scope: SearchScope, criteria: Filter, vector: Vector, model: str, limit: int
    ) -> Sequence[str]:
        literal = "[" + ",".join(map(repr, vector.tolist())) + "]"
        if self._is_worth_a_graph(scope):
            with self._planned({**_GRAPH, "hnsw.ef_search": str(min(max(limit, 40), 1000))}):
                ids = self._nearest(scope, criteria, literal, model, limit, by_graph=True)
            if len(ids) == limit:
                return ids
        return self._nearest(scope, criteria, literal, model, limit, by_graph=False)

    def _is_worth_a_graph(self, scope: SearchScope) -> bool:
        rows, everywhere = self._conn.exec_driver_sql(_SIZES, self._bound(scope)).one()
        return int(rows) ** 2 > STEPS_PER_ROW * int(everywhere)

    def _nearest(
        self, scope: SearchScope, criteria: Filter, literal: str, model: str, limit: int, *, by_graph: bool
    ) -> list[str]:
        """By the graph, or by comparing all rows that fit: then the order must not look like the one of the index."""
        distance: Any = v.embedding.op("<=>")(sa.text("CAST(:literal AS halfvec)").bindparams(literal=literal))
        mine = [v.org_id == self._scope.org, v.kind == scope.kind, v.model == model]
        if scope.user is not None:
            mine.append(v.user_id == scope.user)
        fitting = self._rows[Kind(scope.kind)].exists_fitting(criteria, v.entity_id)
        query = sa.select(v.entity_id).where(*mine, fitting)
        ordered = query.order_by(distance if by_graph else distance + sa.text("0"))
        return list(dict.fromkeys(row[0] for row in self._conn.execute(ordered.limit(limit))))

    # --- words -------------------------------------------------------------------------------------------------------

    def find_by_words(
        self, scope: SearchScope, criteria: Filter, terms: Sequence[QueryTerm], limit: int
    ) -> WordCandidates:
        """All rows with one of the rare terms; if these are too few, rows with several of the frequent ones."""
        terms = terms[:MOST_QUERY_TERMS]
        rare = _rarest(terms)
        matching: dict[str, int] = {}
        ids: dict[str, None] = {}
        for tsquery in self._queries(scope, terms, rare):
            rows = self._matches(scope, terms, tsquery)
            if not matching and rare and len(rows) < MOST_MATCHES:
                matching = {term.text: sum(row[2 + place] for row in rows) for place, term in enumerate(rare)}
            ids |= dict.fromkeys(self._first_fitting(scope, criteria, [row[0] for row in rows], limit - len(ids)))
            if len(ids) >= limit:
                break
        return WordCandidates(list(ids), matching)

    def _queries(self, scope: SearchScope, terms: Sequence[QueryTerm], rare: Sequence[QueryTerm]) -> Iterator[str]:
        user = "" if scope.user is None else f" & {_quoted(self._user_mark(scope))}"
        prefix = self._prefix(scope)
        forms = [_any(prefix, term) for term in terms]
        if rare:
            yield f"({' | '.join(forms[: len(rare)])}){user}"
        for count in range(len(forms), 0, -1):
            if count > len(rare) or count > 1:
                yield f"{' & '.join(forms[:count])}{user}"

    def _matches(self, scope: SearchScope, terms: Sequence[QueryTerm], tsquery: str) -> list[Any]:
        """Rows with their weight: the information of the terms they contain; of equals the shortest."""
        prefix = self._prefix(scope)
        has = [f"(words @@ %(t{place})s::tsquery)::int" for place in range(len(terms))]
        weight = " + ".join(f"{term.weight} * h{place}" for place, term in enumerate(terms))
        columns = ", ".join(f"h{place}" for place in range(len(terms)))
        query = f"""
            WITH hits AS MATERIALIZED (
                SELECT entity_id, length, {", ".join(f"{flag} AS h{place}" for place, flag in enumerate(has))}
                FROM memory_words
                WHERE words @@ %(tsquery)s::tsquery AND org_id || '' = %(org)s AND kind || '' = %(kind)s
                {"" if scope.user is None else "AND user_id || '' = %(user)s"} LIMIT {MOST_MATCHES}
            ) SELECT entity_id, {weight} AS weight, {columns} FROM hits ORDER BY weight DESC, length
        """
        bound = {f"t{place}": _any(prefix, term) for place, term in enumerate(terms)}
        with self._planned(_BITMAP):
            return list(self._conn.exec_driver_sql(query, {**bound, **self._bound(scope), "tsquery": tsquery}))

    def _first_fitting(self, scope: SearchScope, criteria: Filter, ids: Sequence[str], limit: int) -> list[str]:
        """The first of these that fit, in their order."""
        rows, size = self._rows[Kind(scope.kind)], 2 * limit
        fitting: list[str] = []
        while ids and len(fitting) < limit:
            batch, ids = ids[:size], ids[size:]
            admitted = rows.find_ids(replace(criteria, ids=tuple(batch)))
            fitting += [name for name in batch if name in admitted]
            size *= 4
        return fitting[:limit]

    def _prefix(self, scope: SearchScope) -> str:
        return str(
            self._conn.exec_driver_sql("SELECT memory_scope(%s, %s)", (self._scope.org, scope.kind)).scalar_one()
        )

    def _user_mark(self, scope: SearchScope) -> str:
        bound = (self._scope.org, scope.kind, scope.user)
        return str(self._conn.exec_driver_sql("SELECT memory_user(%s, %s, %s)", bound).scalar_one())

    def _bound(self, scope: SearchScope) -> dict[str, Any]:
        return {"org": self._scope.org, "kind": scope.kind, "user": scope.user}

    @contextmanager
    def _planned(self, settings: Mapping[str, str]) -> Iterator[None]:
        """The planner has one way only: its guesses about filters are too often wrong by a factor of a hundred."""
        names = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
        self._conn.exec_driver_sql(f"SELECT {names}")
        yield
        resets = (name for name in settings if name.startswith("enable_"))
        self._conn.exec_driver_sql("; ".join(f"SET LOCAL {name} = on" for name in resets))


# About how many vectors there are of the scope, up to a limit from which on the graph is always better, and of all.
_SIZES = """
    SELECT (SELECT count(*) FROM (
        SELECT 1 FROM memory_vectors WHERE org_id = %(org)s AND kind = %(kind)s
        AND (%(user)s::text IS NULL OR user_id = %(user)s) LIMIT 200000) AS counted),
    (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = to_regclass('memory_vectors'))
"""


def _rarest(terms: Sequence[QueryTerm]) -> list[QueryTerm]:
    """Terms that together occur in no more rows than are compared."""
    rare, rows = [], 0
    for term in terms:
        rows += term.matching
        if rows > MOST_MATCHES:
            break
        rare.append(term)
    return rare


def _any(prefix: str, term: QueryTerm) -> str:
    forms = [_quoted(prefix + form) for form in term.forms]
    return forms[0] if len(forms) == 1 else f"({' | '.join(forms)})"


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"

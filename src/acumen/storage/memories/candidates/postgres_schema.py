"""What Postgres keeps beside `search_rows` to find candidates: words for GIN, vectors for pgvector's HNSW.

Triggers write it in the transaction that writes `search_rows`, so it is in step with every commit, also of a server
that does not know it. It is no part of `tables.py`, because it needs an extension that a server may lack.
"""

import hashlib
from collections.abc import Callable, Iterator

import sqlalchemy as sa

from acumen.model.memories.search import TURN
from acumen.storage.engine.database import Database, Lock

Progress = Callable[[str], None]

# Rows that are copied in one transaction, which other writers of the org wait for.
FILL = 2_000
# The first with iterative scans: an older one returns too few rows that fit a filter.
OLDEST = (0, 8)
# Numbers of a vector; vectors of another length are not found by their direction.
DIMS = 384
# A text with more distinct terms is found by the first of them: Postgres limits a tsvector to a megabyte.
MOST_TERMS = 2_000
TABLES = ("memory_words", "memory_vectors", "memory_fills")
INDEXES = {
    "ix_memory_words_words": "memory_words USING gin (words)",
    "ix_memory_vectors_hnsw": "memory_vectors USING hnsw (embedding halfvec_cosine_ops)",
    # A filter that few rows fit is applied first.
    **{
        f"ix_{table}_tags": f"{table} USING gin ((tags::jsonb))"
        for table in ("profiles", "user_playbooks", "agent_playbooks")
    },
}
# What to do about each reason for searching in memory.
MISSING = (
    "pgvector 0.8 or newer is not on the Postgres server: install it (the package postgresql-18-pgvector, or the image "
    "pgvector/pgvector), then run `acumen migrate`"
)
NOT_CREATED = (
    "pgvector is not created in this database: run `acumen migrate` as a superuser, or let one run "
    "`CREATE EXTENSION vector` (or `ALTER EXTENSION vector UPDATE`) in it, then run `acumen migrate`"
)
NOT_INSTALLED = "the database has no index of large scopes yet: run `acumen migrate`"
FILLING = "the index of large scopes is incomplete: it is being filled, or `acumen migrate` continues where it stopped"

_TABLES = f"""
CREATE TABLE memory_words (
    org_id text, kind text, entity_id text, user_id text NOT NULL, length integer NOT NULL, words tsvector NOT NULL,
    PRIMARY KEY (org_id, kind, entity_id)
);
CREATE INDEX ix_memory_words_user ON memory_words (org_id, kind, user_id);
CREATE TABLE memory_vectors (
    org_id text, kind text, entity_id text, passage integer, user_id text NOT NULL, model text NOT NULL,
    embedding halfvec({DIMS}) NOT NULL,
    PRIMARY KEY (org_id, kind, entity_id, passage)
);
CREATE INDEX ix_memory_vectors_user ON memory_vectors (org_id, kind, user_id);
-- Orgs and kinds whose rows from before the triggers are still to be copied, with the last id that was.
CREATE TABLE memory_fills (org_id text, kind text, last_id text NOT NULL, PRIMARY KEY (org_id, kind));
"""


def _words(rows: str) -> str:
    """What is copied of these rows of `search_rows`."""
    return f"""SELECT org_id, kind, entity_id, user_id, cardinality(split), memory_lexemes(org_id, kind, user_id, split)
        FROM {rows} AS r, array_remove(string_to_array(terms, ' '), '') AS split WHERE true"""


def _vectors(rows: str) -> str:
    size = 2 * DIMS
    return f"""SELECT org_id, kind, entity_id, passage, user_id, model, numbers
        FROM {rows} AS r, generate_series(0, length(vector) / {size} - 1) AS passage,
            memory_halfvec(substring(vector FROM passage * {size} + 1 FOR {size})) AS numbers
        WHERE mod(length(vector), {size}) = 0 AND numbers IS NOT NULL"""


# A lexeme begins with its org and kind: GIN then finds the rows of this scope alone. What it is called by is also the
# prefix of a user's mark, which no term can be, since terms have no spaces.
_FUNCTIONS = f"""
CREATE FUNCTION memory_scope(org text, kind text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(md5(org || ' ' || kind), 8) $$;
CREATE FUNCTION memory_user(org text, kind text, user_id text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT memory_scope(org, kind) || ' ' || md5(user_id) $$;

-- float16, little endian, as halfvec; NULL for a vector of zeros or with what is not a number.
CREATE FUNCTION memory_halfvec(bytes bytea) RETURNS halfvec LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    numbers real[] := array_fill(0::real, ARRAY[length(bytes) / 2]);
    powers real[] := array(SELECT power(2.0::float8, exponent - 25)::real FROM generate_series(1, 30) AS exponent);
    half integer; exponent integer; nonzero boolean := false;
BEGIN
    FOR place IN 0 .. length(bytes) / 2 - 1 LOOP
        half := get_byte(bytes, 2 * place) + 256 * get_byte(bytes, 2 * place + 1);
        exponent := (half >> 10) & 31;
        IF exponent = 31 THEN RETURN NULL; END IF;
        nonzero := nonzero OR half & 32767 > 0;
        numbers[place + 1] := (CASE WHEN exponent = 0 THEN (half & 1023) * 5.9604644775390625e-08
            ELSE (1024 + (half & 1023)) * powers[exponent] END) * (CASE WHEN half >= 32768 THEN -1 ELSE 1 END);
    END LOOP;
    RETURN CASE WHEN nonzero THEN numbers::halfvec END;
END $$;

CREATE FUNCTION memory_lexemes(org text, kind text, user_id text, terms text[]) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    scope text := memory_scope(org, kind);
BEGIN
    RETURN array_to_tsvector(ARRAY(SELECT DISTINCT scope || term FROM unnest(terms[:{MOST_TERMS}]) AS term)
        || memory_user(org, kind, user_id));
END $$;

CREATE FUNCTION memory_candidates_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    old_row search_rows; was boolean := false;
BEGIN
    IF TG_OP <> 'INSERT' THEN old_row := OLD; was := NOT OLD.gone; END IF;
    IF TG_OP = 'DELETE' OR NEW.gone THEN
        DELETE FROM memory_words WHERE org_id = OLD.org_id AND kind = OLD.kind AND entity_id = OLD.entity_id;
        DELETE FROM memory_vectors WHERE org_id = OLD.org_id AND kind = OLD.kind AND entity_id = OLD.entity_id;
        RETURN NULL;
    END IF;
    IF NOT was OR (old_row.user_id, old_row.terms) IS DISTINCT FROM (NEW.user_id, NEW.terms) THEN
        DELETE FROM memory_words WHERE org_id = NEW.org_id AND kind = NEW.kind AND entity_id = NEW.entity_id;
        INSERT INTO memory_words {_words("(SELECT NEW.*)")};
    END IF;
    IF NOT was OR (old_row.user_id, old_row.model, old_row.vector) IS DISTINCT FROM (NEW.user_id, NEW.model, NEW.vector)
    THEN
        DELETE FROM memory_vectors WHERE org_id = NEW.org_id AND kind = NEW.kind AND entity_id = NEW.entity_id;
        INSERT INTO memory_vectors {_vectors("(SELECT NEW.*)")};
    END IF;
    RETURN NULL;
END $$;
"""
_TRIGGERS = f"""
CREATE TRIGGER memory_candidates_write AFTER INSERT OR UPDATE OF user_id, gone, terms, model, vector ON search_rows
    FOR EACH ROW WHEN (NEW.kind <> '{TURN}') EXECUTE FUNCTION memory_candidates_follow();
CREATE TRIGGER memory_candidates_delete AFTER DELETE ON search_rows
    FOR EACH ROW WHEN (OLD.kind <> '{TURN}') EXECUTE FUNCTION memory_candidates_follow();
INSERT INTO memory_fills SELECT DISTINCT org_id, kind, '' FROM search_rows WHERE kind <> '{TURN}';
"""


def scope_prefix(org: str, kind: str) -> str:
    """What the lexemes of a scope begin with: `memory_scope`."""
    return hashlib.md5(f"{org} {kind}".encode(), usedforsecurity=False).hexdigest()[:8]


def user_mark(org: str, kind: str, user: str) -> str:
    """The lexeme of all rows of a user: `memory_user`."""
    return f"{scope_prefix(org, kind)} {hashlib.md5(user.encode(), usedforsecurity=False).hexdigest()}"


def problem(conn: sa.Connection) -> str | None:
    """Why candidates cannot be found in the database, and what to do about it; None when they can."""
    made, valid = conn.exec_driver_sql(_MADE, (list(INDEXES),)).one()
    if not made:
        return _missing(conn) or NOT_INSTALLED
    filling = conn.exec_driver_sql("SELECT 1 FROM memory_fills LIMIT 1").first()
    return FILLING if filling or valid < len(INDEXES) else None


def existing_tables(conn: sa.Connection) -> set[str]:
    """Those of `TABLES` that are there."""
    query = "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL"
    return {str(row[0]) for row in conn.exec_driver_sql(query, (list(TABLES),))}


_MADE = """
    SELECT to_regclass('memory_fills') IS NOT NULL, (SELECT count(*) FROM pg_index WHERE indisvalid AND indexrelid IN (
        SELECT to_regclass(name) FROM unnest(%s::text[]) AS name))
"""


def _missing(conn: sa.Connection) -> str | None:
    """What a person has to do before anything can be created here."""
    row = conn.exec_driver_sql(_EXTENSION).first()
    if row is None or _version(row[0]) < OLDEST:
        return MISSING
    return None if row[1] and _version(row[1]) >= OLDEST else NOT_CREATED


_EXTENSION = "SELECT default_version, installed_version FROM pg_available_extensions WHERE name = 'vector'"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def install(database: Database, progress: Progress) -> None:
    """Everything that is not there yet, as far as the server allows; may be run again at any time."""
    if not _create_extension(database):
        return
    _create_tables(database)
    for lines in (_fill(database), _build_indexes(database)):
        for line in lines:
            progress(line)


def _create_extension(database: Database) -> bool:
    """Whether it is there now."""
    try:
        with database.engine().begin() as conn:
            if _missing(conn) == NOT_CREATED:
                conn.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector")
                conn.exec_driver_sql("ALTER EXTENSION vector UPDATE")
            return _missing(conn) is None
    except sa.exc.DBAPIError:
        return False


def _create_tables(database: Database) -> None:
    with database.engine().begin() as conn:
        database.lock(conn, Lock("migrate"))
        if conn.exec_driver_sql("SELECT to_regclass('memory_fills')").scalar() is None:
            # From here on nobody writes a row that the triggers would miss.
            conn.exec_driver_sql("LOCK TABLE search_rows IN SHARE ROW EXCLUSIVE MODE")
            for part in (_TABLES, _FUNCTIONS, _TRIGGERS):
                conn.exec_driver_sql(part)


def _fill(database: Database) -> Iterator[str]:
    with database.engine().connect() as conn:
        waiting = [tuple(row) for row in conn.exec_driver_sql("SELECT org_id, kind FROM memory_fills ORDER BY 1, 2")]
    for org, kind in waiting:
        copied = 0
        while count := _fill_some(database, org, kind):
            copied += count
            yield f"Copied {copied:,} rows of {kind} in {org}"


def _fill_some(database: Database, org: str, kind: str) -> int:
    """Under the lock of the org, so that no row changes meanwhile."""
    with database.engine().begin() as conn:
        database.lock(conn, Lock(f"org:{org}"))
        read = int(conn.exec_driver_sql(_FILL, {"org": org, "kind": kind, "most": FILL}).one()[0])
        if not read:
            conn.exec_driver_sql("DELETE FROM memory_fills WHERE org_id = %s AND kind = %s", (org, kind))
        return read


_FILL = f"""
    WITH page AS MATERIALIZED (
        SELECT r.* FROM search_rows AS r, memory_fills AS f
        WHERE f.org_id = %(org)s AND f.kind = %(kind)s
        AND r.org_id = %(org)s AND r.kind = %(kind)s AND r.entity_id > f.last_id
        ORDER BY r.entity_id LIMIT %(most)s
    ), moved AS (
        UPDATE memory_fills SET last_id = (SELECT max(entity_id) FROM page)
        WHERE org_id = %(org)s AND kind = %(kind)s AND EXISTS (SELECT 1 FROM page)
    ), words AS (
        INSERT INTO memory_words {_words("page")} AND NOT gone ON CONFLICT DO NOTHING
    ), vectors AS (
        INSERT INTO memory_vectors {_vectors("page")} AND NOT gone ON CONFLICT DO NOTHING
    )
    SELECT count(*) FROM page
"""


def _build_indexes(database: Database) -> Iterator[str]:
    """Beside writers; one that was interrupted is built again."""
    with database.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        for name, definition in INDEXES.items():
            valid = conn.exec_driver_sql(
                "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (name,)
            ).scalar()
            if not valid:
                yield f"Building the index {name}"
                conn.exec_driver_sql(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
                conn.exec_driver_sql(f"CREATE INDEX CONCURRENTLY {name} ON {definition}")

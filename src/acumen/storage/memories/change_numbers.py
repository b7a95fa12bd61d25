"""The numbers by which search finds what changed.

By transaction (Postgres): a row has the number of the transaction that wrote it, so writers never wait for each other.
Transactions do not commit in the order of their numbers: a reader remembers the oldest that was still running, and
reads what came from there on once more.

Counted (SQLite, and a Postgres to which servers of the first version are still connected): the org's row holds the
last number, and whoever takes one holds that row until COMMIT. Servers of the first version know no other way.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from acumen.model.ids import Kind
from acumen.model.memories.search import TURN
from acumen.storage.engine.compiled_statement import PlainStatement
from acumen.storage.engine.database import Database
from acumen.storage.engine.scope import OrgScope
from acumen.storage.tables import aggregation_bookmarks, orgs, search_rows

log = logging.getLogger(__name__)

# In place of the last number of an org whose changes have the numbers of transactions.
BY_TRANSACTION = -1
# Numbers of transactions begin above all that were counted.
FIRST_OF_TRANSACTIONS = 2**40
# Numbers of another cluster's transactions, from which a dump was restored, are moved below.
RESTORED_OFFSET = 2**39
# What connections of the first version are called in `pg_stat_activity`; ours have another name.
FIRST_VERSION_SESSIONS = "acumen"


class IndexVersion(Struct, frozen=True):
    """What a snapshot shows of an org's changes. A higher `generation` means: drop the cache and read again.

    All changes up to `seq` are visible; later ones may be. Of two snapshots, the one with the higher `moment` shows
    all that the other does, and more.
    """

    generation: int
    seq: int
    moment: tuple[int, int] = (0, 0)


_COUNTED = PlainStatement(sa.select(orgs.c.generation, orgs.c.search_seq).where(orgs.c.org_id == sa.bindparam("org")))
_COUNT_ON = PlainStatement(
    sa.update(orgs)
    .where(orgs.c.org_id == sa.bindparam("org"))
    .values(search_seq=orgs.c.search_seq + sa.bindparam("by"), updated_at=sa.bindparam("its_updated_at"))
    .returning(orgs.c.search_seq)
)
_SNAPSHOT = """
    SELECT generation, search_seq, pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint,
           (SELECT count(*) FROM pg_snapshot_xip(s))
    FROM orgs, pg_current_snapshot() AS s WHERE org_id = %s
"""
_TAKE = """
    WITH counted AS (
        UPDATE orgs SET search_seq = search_seq + %s, updated_at = %s WHERE org_id = %s AND search_seq >= 0
        RETURNING search_seq
    )
    SELECT (SELECT search_seq FROM counted), pg_current_xact_id()::text::bigint
"""


def version(scope: OrgScope) -> IndexVersion:
    """Of the transaction's snapshot."""
    if scope.db.name != "postgres":
        row = _COUNTED.first(scope.conn, org=scope.org)
        return _counted(*row) if row else IndexVersion(0, 0)
    row = scope.conn.exec_driver_sql(_SNAPSHOT, (scope.org,)).first()
    if row is None:
        return IndexVersion(0, 0)
    generation, last, oldest_running, next_, running = row
    if last >= 0:
        return _counted(generation, last)
    seen, moment = FIRST_OF_TRANSACTIONS + oldest_running - 1, (FIRST_OF_TRANSACTIONS + next_, -running)
    return IndexVersion(generation, seen, moment)


def _counted(generation: int, last: int) -> IndexVersion:
    return IndexVersion(generation, last, (last, 0))


def take(scope: OrgScope, many: int) -> Sequence[int]:
    """Numbers for so many changes of this transaction."""
    if scope.db.name != "postgres":
        (last,) = _COUNT_ON.first(scope.conn, org=scope.org, by=many, updated_at=scope.at)
    else:
        last, transaction = scope.conn.exec_driver_sql(_TAKE, (many, scope.at, scope.org)).one()
        if last is None:
            return [FIRST_OF_TRANSACTIONS + transaction] * many
    return range(last - many + 1, last + 1)


def first_number(conn: sa.Connection, database: Database) -> int:
    """What a new org begins with: it counts only where another one does."""
    if database.name != "postgres":
        return 0
    return 0 if _is_any_counted(conn) else BY_TRANSACTION


def replaced_in_copy(conn: sa.Connection, to: str) -> Mapping[sa.Column[Any], sa.ColumnElement[Any]]:
    """What a copy of this database stores in place of these columns, so that changes are numbered on behind them."""
    numbers = (search_rows.c.seq, aggregation_bookmarks.c.seq, orgs.c.scanned_seq)
    last = max(conn.execute(sa.select(sa.func.max(_below_transactions(number)))).scalar() or 0 for number in numbers)
    counted = sa.case((orgs.c.search_seq >= 0, orgs.c.search_seq), else_=last)
    return {
        **{number: _below_transactions(number) for number in numbers},
        orgs.c.search_seq: sa.literal(BY_TRANSACTION) if to == "postgres" else counted,
    }


def _below_transactions(number: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """Those of another cluster's transactions, still in their order and behind all that were counted."""
    moved = number - (FIRST_OF_TRANSACTIONS - RESTORED_OFFSET)
    return sa.case((number >= FIRST_OF_TRANSACTIONS, moved), else_=number)


def stop_counting(database: Database) -> None:
    """Once no server of the first version is connected, numbers come from transactions."""
    if database.name != "postgres":
        return
    with database.engine().begin() as conn:
        if not _is_any_counted(conn):
            _renumber_restored(conn)
        elif conn.execute(_FIRST_VERSION_CONNECTED).first():
            log.warning(
                "servers of an earlier version are connected; until they stop, writers of an org wait for each other"
            )
        else:
            conn.execute(sa.update(orgs).values(search_seq=BY_TRANSACTION))


def _is_any_counted(conn: sa.Connection) -> bool:
    return conn.execute(sa.select(orgs.c.org_id).where(orgs.c.search_seq >= 0).limit(1)).first() is not None


_FIRST_VERSION_CONNECTED = sa.text(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    f"AND application_name = '{FIRST_VERSION_SESSIONS}' LIMIT 1"
)
# In one statement, and so in one snapshot: it shows no row of a transaction that began later than it. Each org and kind
# is one look at the end of an index, however many rows there are.
_RESTORED = """
    SELECT org_id, kind
    FROM orgs CROSS JOIN unnest(%s::text[]) AS kind CROSS JOIN LATERAL (
        SELECT seq FROM search_rows AS r
        WHERE r.org_id = orgs.org_id AND r.kind = kind.kind ORDER BY seq DESC LIMIT 1
    ) AS last
    WHERE last.seq >= %s + pg_snapshot_xmax(pg_current_snapshot())::text::bigint
"""


def _renumber_restored(conn: sa.Connection) -> None:
    """Rows of a dump from another cluster may have numbers that no transaction of this one has reached yet."""
    c, kinds = search_rows.c, [*map(str, Kind), TURN]
    for org, kind in conn.exec_driver_sql(_RESTORED, (kinds, FIRST_OF_TRANSACTIONS)).all():
        mine: Any = sa.and_(c.org_id == org, c.kind == kind, c.seq >= FIRST_OF_TRANSACTIONS)
        conn.execute(sa.update(search_rows).where(mine).values(seq=_below_transactions(c.seq)))
        again = {"generation": orgs.c.generation + 1, "scanned_seq": 0}
        conn.execute(sa.update(orgs).where(orgs.c.org_id == org).values(**again))
        aggregated = aggregation_bookmarks.c
        behind = sa.update(aggregation_bookmarks).where(aggregated.org_id == org)
        conn.execute(behind.values(seq=_below_transactions(aggregated.seq)))

"""Orgs and their configuration, as rows."""

from typing import Any

import sqlalchemy as sa

from acumen.errors import Conflict
from acumen.model.account import StoredConfig
from acumen.model.config import REVIEW
from acumen.model.ids import Kind, Millis, OrgId
from acumen.model.jobs.events import PERIODIC, Event
from acumen.model.jobs.job import JobState
from acumen.model.memories.search import TURN
from acumen.storage.engine.compiled_statement import CompiledSelect
from acumen.storage.engine.scope import OrgScope
from acumen.storage.memories.change_numbers import first_number
from acumen.storage.tables import alerts, jobs, operation_hours, orgs, search_rows

# Asked before every job: built once.
_CONFIG = CompiledSelect(sa.select(orgs.c.config, orgs.c.config_version).where(orgs.c.org_id == sa.bindparam("org")))


class Orgs:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def ensure(self) -> None:
        """An org exists from the first time it is named."""
        first = first_number(self._scope.conn, self._scope.db)
        self._scope.insert_new(orgs, [{"config": None, "config_version": 0, "search_seq": first, "generation": 0}])

    def first_created_at(self) -> Millis:
        """When the first org of this database came to be, and with it the database."""
        return Millis(self._scope.conn.execute(sa.select(sa.func.min(orgs.c.created_at))).scalar_one())

    def is_idle(self, since: Millis) -> bool:
        """Nothing was said, learned or recorded since then, no alert is open, and no job waits but the schedule."""
        return not _ACTIVE.rows(self._scope.conn, org=self._scope.org, since=since)

    def get_config(self) -> StoredConfig:
        rows = _CONFIG.rows(self._scope.conn, org=self._scope.org)
        return StoredConfig(rows[0]["config_version"], rows[0]["config"]) if rows else StoredConfig(0, None)

    def set_config(self, config: dict[str, Any], seen_version: int) -> None:
        unchanged = orgs.c.config_version == seen_version
        texts_too = _looked_for(self.get_config().config) != _looked_for(config)
        again = {"scanned_seq": 0} if texts_too else {}  # every memory is looked at once more
        if not self._scope.update(orgs, unchanged, config=config, config_version=seen_version + 1, **again):
            raise Conflict("The configuration was changed by someone else meanwhile; read it again and retry.")


def _looked_for(config: dict[str, Any] | None) -> list[Any]:
    """The thresholds by which the texts of memories are looked at."""
    review = (config or {}).get(REVIEW) or {}
    return [review.get(name) for name in ("oversized_tokens", "similarity")]


def all_orgs(conn: sa.Connection) -> list[OrgId]:
    """Every org there is, for work that runs for all of them."""
    return [OrgId(row.org_id) for row in conn.execute(sa.select(orgs.c.org_id))]


def find_unscheduled(conn: sa.Connection, event: Event, latest: Millis) -> list[OrgId]:
    """Orgs whose periodic job of this event neither runs nor is due until then."""
    c = jobs.c
    comes = sa.or_(c.state == JobState.RUNNING, sa.and_(c.state == JobState.WAITING, c.run_at <= latest))
    scheduled = sa.exists().where(c.org_id == orgs.c.org_id, c.event == event.name, c.scope == event.scope, comes)
    return [OrgId(row.org_id) for row in conn.execute(sa.select(orgs.c.org_id).where(~scheduled))]


def find_metered(conn: sa.Connection, *, metered: bool) -> list[OrgId]:
    """Orgs that are metered, or those that are not."""
    since = orgs.c.metered_since
    query = sa.select(orgs.c.org_id).where(since.is_not(None) if metered else since.is_(None))
    return [OrgId(row.org_id) for row in conn.execute(query)]


def _active() -> sa.Select[Any]:
    """A row where something is going on. Of the rows that search reads, the newest of each kind decides."""
    org, since, rows = sa.bindparam("org", type_=sa.Text), sa.bindparam("since", type_=sa.BigInteger), search_rows.c
    newest = [
        sa.select(rows.updated_at)
        .where(rows.org_id == org, rows.kind == sa.literal(str(kind)))
        .order_by(rows.seq.desc())
        .limit(1)
        .scalar_subquery()
        >= since
        for kind in (*Kind, TURN)
    ]
    recorded = sa.exists().where(operation_hours.c.org_id == org, operation_hours.c.hour >= since)
    works = sa.exists().where(jobs.c.org_id == org, jobs.c.event.not_in([sa.literal(name) for name in PERIODIC]))
    alarmed = sa.exists().where(alerts.c.org_id == org, alerts.c.open_key.is_not(None))
    return sa.select(sa.literal_column("1").label("active")).where(sa.or_(*newest, recorded, works, alarmed))


# Asked at every periodic job: built once.
_ACTIVE = CompiledSelect(_active())

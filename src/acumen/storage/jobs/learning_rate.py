"""How many turns are learned per minute, and how many wait, as rows."""

from collections.abc import Callable
from functools import cache
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Millis, OrgId
from acumen.model.jobs.events import Published
from acumen.model.jobs.lag import RATE_MINUTES, LearningLag, turns_per_second
from acumen.model.times import DAY_MS, MINUTE_MS
from acumen.storage.engine.compiled_statement import CompiledStatement
from acumen.storage.engine.database import Database
from acumen.storage.tables import jobs, learned_turns

KEEP_MS = DAY_MS


def count_learned(conn: sa.Connection, db: Database, org: OrgId, turns: int, at: Millis) -> None:
    minute = Millis(at - at % MINUTE_MS)
    row = {"org_id": org, "minute": minute, "turns": turns, "created_at": at, "updated_at": at}
    _add_minute(db.insert).run(conn, [row])


@cache
def _add_minute(insert: Callable[[sa.Table], Any]) -> CompiledStatement:
    new = insert(learned_turns)
    added = {"turns": learned_turns.c.turns + new.excluded.turns, "updated_at": new.excluded.updated_at}
    return CompiledStatement(new.on_conflict_do_update(index_elements=["org_id", "minute"], set_=added))


def expire_learned(conn: sa.Connection, org: OrgId, at: Millis) -> None:
    c = learned_turns.c
    conn.execute(sa.delete(learned_turns).where(c.org_id == org, c.minute < at - KEEP_MS))


def learning_lag(conn: sa.Connection, at: Millis, org: OrgId | None = None) -> dict[OrgId, LearningLag]:
    """Of all orgs, or of one. Reads the due jobs by their index; orgs in which nothing waits and nothing was learned
    lately are left out.
    """
    waiting = {row.org_id: row for row in conn.execute(_waiting(org))}
    learned: dict[str, dict[Millis, int]] = {}
    for row in conn.execute(_learned(at, org)):
        learned.setdefault(row.org_id, {})[Millis(row.minute)] = row.turns
    names = waiting.keys() | learned.keys()
    return {OrgId(name): _lag(waiting.get(name), turns_per_second(learned.get(name, {}), at)) for name in names}


def _lag(waiting: Any, rate: float) -> LearningLag:
    return LearningLag(waiting.turns, waiting.run_at, rate) if waiting else LearningLag(turns_per_second=rate)


def _waiting(org: OrgId | None) -> sa.Select[Any]:
    c = jobs.c
    counted = (c.org_id, sa.func.sum(c.turns).label("turns"), sa.func.min(c.run_at).label("run_at"))
    due = sa.select(*counted).where(c.ready == 1, c.event == Published.name)
    return (due if org is None else due.where(c.org_id == org)).group_by(c.org_id)


def _learned(at: Millis, org: OrgId | None) -> sa.Select[Any]:
    c = learned_turns.c
    lately = sa.select(c.org_id, c.minute, c.turns).where(c.minute > at - RATE_MINUTES * MINUTE_MS, c.minute <= at)
    return lately if org is None else lately.where(c.org_id == org)

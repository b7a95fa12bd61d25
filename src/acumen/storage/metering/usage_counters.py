"""Use, summed: every memory's counters and how they stood when each day of its use began; by user and agent version."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.metering.usage import CITED, ECHOED, SEARCHED, SHOWN, GroupBy, Use
from acumen.model.times import DAY_MS
from acumen.storage.engine.bulk_insert import BulkInsert
from acumen.storage.engine.compiled_statement import CompiledStatement, PlainStatement, Row, SelectByIds
from acumen.storage.engine.database import Database
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.metering.usage_rollup import MEMORY_COUNTS, SHOWINGS, TIMES, USER_COUNTS, UsageRollup, day_of
from acumen.storage.tables import citing_versions, memory_days, memory_totals, usage_events, user_days

IDS_AT_ONCE = 512


class UsageCounters:
    """Of a memory's use from a day on, its counters tell all that was, less how they stood when that day began."""

    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def start_rollup(self) -> UsageRollup:
        return UsageRollup(dict(_CITING.all(self._scope.conn, org=self._scope.org)))

    def add(self, rollup: UsageRollup) -> None:
        s = self._scope
        if rollup.memories:
            self._add_memories(rollup)
        users = [
            s.stamp({"day": day, "user_id": user, "agent_version": version, **counts})
            for (day, user, version), counts in sorted(rollup.users.items())
        ]
        if users:
            _add_users(s.db.insert).run(s.conn, users)
        s.insert(citing_versions, [{"agent_version": name, "since": at} for name, at in rollup.newly_citing.items()])

    def _add_memories(self, rollup: UsageRollup) -> None:
        """Most count on a memory's latest day. What is counted on an earlier one moves the notes of later days."""
        s, open_days = self._scope, self._days_from(rollup.memories)
        last = {key: max(days) for key, days in open_days.items()}
        for kind, memory_id, day in rollup.memories:
            last[kind, memory_id] = max(day, last.get((kind, memory_id), day))
        rows: list[tuple[Any, ...]] = []
        late: list[Row] = []
        new: dict[bool, list[Row]] = {True: [], False: []}
        for (kind, memory_id, day), counts in sorted(rollup.memories.items()):
            is_late = day < last[kind, memory_id]
            row = {"org_id": s.org, "kind": kind, "entity_id": memory_id, "day": day, "updated_at": s.at, **counts}
            if is_late:
                late.append(row)
            else:
                rows.append((s.org, kind, memory_id, s.at, s.at, *counts.values()))
            if day not in open_days.get((kind, memory_id), ()):
                new[is_late].append(row)
        _OPEN_DAY.run(s.conn, new[True])
        _OPEN_LATEST_DAY.run(s.conn, new[False])
        add = _add_memories(s.db.insert)
        add.run(s.conn, rows)
        for row in late:  # one by one, as Postgres changes no row twice in one statement
            add.run(s.conn, [tuple(row.get(name, s.at) for name in _MEMORY_COLUMNS)])
        _MOVE_LATER_DAYS.run(s.conn, late)

    def _days_from(self, keys: Iterable[tuple[str, str, int]]) -> dict[tuple[str, str], set[int]]:
        """Of some memories, the days that are open, from the first of those named on."""
        days: dict[tuple[str, str], set[int]] = {}
        named: dict[str, list[str]] = {}
        for kind, memory_id, _ in keys:
            named.setdefault(kind, []).append(memory_id)
        first = min(day for _, _, day in keys)
        for kind, ids in named.items():
            for start in range(0, len(ids), IDS_AT_ONCE):
                batch = ids[start : start + IDS_AT_ONCE]
                for row in _DAYS_FROM.rows(self._scope.conn, self._scope.org, batch, kind=kind, day=first):
                    days.setdefault((kind, row["entity_id"]), set()).add(row["day"])
        return days

    # --- reading -------------------------------------------------------------------------------------------------

    def select_by_memory(
        self, since: Millis, kind: str | None = None, ids: Sequence[str] | None = None, *where: Any
    ) -> sa.Subquery:
        """Per memory that was ever used: its use from a moment on, and when it was first and last shown at all.

        Where only some are asked for by their totals (`where`), others may appear with a part of their use.
        """
        t = memory_totals.c
        # From the nearer end of the day, so that fewer events are read.
        day, sign = (day_of(since), -1) if since % DAY_MS < DAY_MS // 2 else (day_of(since) + 1, 1)
        joined, counted = from_day(day, memory_totals, self._scope.db)
        counts = [value.label(name) for name, value in counted.items()]
        whole = sa.select(t.kind, t.entity_id, *counts, *(t[name] for name in TIMES)).select_from(joined)
        whole = whole.where(t.org_id == self._scope.org, *_only(t.kind, t.entity_id, kind, ids), *where)
        if since % DAY_MS == 0:
            return whole.subquery("used")
        edge = day * DAY_MS
        part = self._part_of_day(min(edge, since), max(edge, since), sign)
        part = part.where(*_only(usage_events.c.entity_type, usage_events.c.entity_id, kind, ids))
        # Added up, not joined: where Postgres takes the part of a day for empty, it would compare all with all.
        both = sa.union_all(whole, part).subquery("both").c
        summed = [sa.cast(sa.func.sum(both[name]), sa.BigInteger).label(name) for name in MEMORY_COUNTS]
        times = [sa.func.max(both[name]).label(name) for name in TIMES]
        query = sa.select(both.kind, both.entity_id, *summed, *times).group_by(both.kind, both.entity_id)
        return query.subquery("used")

    def _part_of_day(self, since: int, until: int, sign: int) -> sa.Select[Any]:
        """What each event between two moments adds to its memory's use, or takes from it."""
        e, never = usage_events.c, sa.cast(sa.null(), sa.BigInteger)
        adds = {name: sa.case((condition, sign * value), else_=0) for name, condition, value in _cases()}
        counts = [adds[name].label(name) for name in MEMORY_COUNTS]
        query = sa.select(e.entity_type.label("kind"), e.entity_id, *counts, *(never.label(name) for name in TIMES))
        query = query.select_from(_EVENTS).where(e.org_id == self._scope.org, e.entity_id.is_not(None))
        return query.where(e.event_name.in_((SHOWN, CITED, ECHOED)), e.created_at >= since, e.created_at < until)

    def get_uses(self, kind: str, since: Millis, ids: Sequence[str] | None = None) -> dict[str, Use]:
        """By memory; memories that were never used are left out."""
        used = self.select_by_memory(since, kind, ids)
        columns = [used.c[name] for name in (*MEMORY_COUNTS, *TIMES)]
        # `Use` begins with these very fields.
        return {row[0]: Use(*row[1:]) for row in self._scope.all(sa.select(used.c.entity_id, *columns))}

    def page_groups(
        self, by: GroupBy, first_day: int, limit: int, offset: int
    ) -> tuple[list[tuple[Any, Use]], int, Use]:
        """From a day on: a page of groups (by wasted tokens, days by date), how many there are, and all together."""
        if by is GroupBy.MEMORY:
            used = self.select_by_memory(Millis(first_day * DAY_MS))
            keys = [used.c.kind, used.c.entity_id]
            any_use = sa.or_(used.c.shown > 0, used.c.citations > 0, used.c.echoes > 0)
            query = sa.select(used).where(any_use).order_by((used.c.tokens - used.c.cited_tokens).desc(), *keys)
        else:
            column = {GroupBy.USER: "user_id", GroupBy.AGENT_VERSION: "agent_version", GroupBy.DAY: "day"}[by]
            c, keys = user_days.c, [user_days.c[column]]
            query = sa.select(*keys, *(sa.func.sum(c[name]).label(name) for name in USER_COUNTS))
            query = query.where(c.org_id == self._scope.org, c.day >= first_day).group_by(*keys)
            wasted = sa.func.sum(c.tokens) - sa.func.sum(c.cited_tokens)
            query = query.order_by(*([c.day.desc()] if by is GroupBy.DAY else [wasted.desc(), *keys]))
        page, total = self._scope.page(query, limit, offset)
        return [(tuple(row[: len(keys)]), use_of(row)) for row in page], total, self.get_total(first_day)

    def get_days(self, ref: MemoryRef, first_day: int) -> list[tuple[int, Use]]:
        """One memory's days, the first first; days without any use are left out."""

        def its(table: sa.Table) -> sa.Select[Any]:
            c = table.c
            return sa.select(table).where(c.org_id == self._scope.org, c.kind == str(ref.kind), c.entity_id == ref.id)

        began = self._scope.all(its(memory_days).where(memory_days.c.day >= first_day).order_by(memory_days.c.day))
        stands = [*began, *self._scope.all(its(memory_totals))]
        return [
            (before.day, Use(**{name: getattr(after, name) - getattr(before, name) for name in MEMORY_COUNTS}))
            for before, after in pairwise(stands)
        ]

    def get_total(self, first_day: int) -> Use:
        c = user_days.c
        sums = [sa.func.coalesce(sa.func.sum(c[name]), 0).label(name) for name in USER_COUNTS]
        return use_of(self._scope.first(sa.select(*sums).where(c.org_id == self._scope.org, c.day >= first_day)))

    # --- forgetting ----------------------------------------------------------------------------------------------

    def expire(self, before_day: int) -> None:
        """The remaining days of a memory stay correct: each stores the counters at its beginning."""
        gone = [self._scope.delete(table, table.c.day < before_day) for table in (memory_days, user_days)]
        if any(gone):
            left = sa.exists().where(*_same(memory_days.c, memory_totals.c))
            self._scope.delete(memory_totals, ~left)

    def delete_user(self, user: str) -> None:
        self._scope.delete(user_days, user_days.c.user_id == user)

    def recount(self, refs: Iterable[MemoryRef], users: Iterable[str]) -> None:
        """From the events that are left, for memories and users of which some events were erased."""
        by_kind: dict[Kind, list[str]] = {}
        for ref in refs:
            by_kind.setdefault(ref.kind, []).append(ref.id)
        for kind, ids in by_kind.items():
            for batch in in_batches(ids):
                self._sum_memories_again(kind, batch)
        for user in users:
            self._sum_user_again(user)

    def _sum_memories_again(self, kind: Kind, ids: Sequence[str]) -> None:
        e, day = usage_events.c, usage_events.c.created_at // DAY_MS
        for table in (memory_days, memory_totals):
            self._scope.delete(table, table.c.kind == str(kind), table.c.entity_id.in_(ids))
        left = (
            sa.select(e.entity_id, day.label("day"), *_summed_events())
            .select_from(_EVENTS)
            .where(e.org_id == self._scope.org, e.entity_type == str(kind), e.entity_id.in_(ids))
            .where(e.event_name.in_((SHOWN, CITED, ECHOED)))
            .group_by(e.entity_id, day)
        ).subquery("by_day")
        same = {"kind": sa.literal(str(kind)), "entity_id": left.c.entity_id}
        earlier: dict[str, Any] = {"partition_by": left.c.entity_id, "order_by": left.c.day, "rows": (None, -1)}
        before = {name: sa.func.coalesce(sa.func.sum(left.c[name]).over(**earlier), 0) for name in MEMORY_COUNTS}
        self._insert(memory_days, {**same, "day": left.c.day, **before})
        ends = {name: (sa.func.min if name == "first_at" else sa.func.max)(left.c[name]) for name in TIMES}
        sums = {name: sa.func.sum(left.c[name]) for name in MEMORY_COUNTS}
        self._insert(memory_totals, {**same, **sums, **ends}, left.c.entity_id)

    def _sum_user_again(self, user: str) -> None:
        e = usage_events.c
        self.delete_user(user)
        day, version = e.created_at // DAY_MS, sa.func.coalesce(e.agent_version, "")
        searched = e.event_name == SEARCHED
        columns = {
            "day": day,
            "user_id": sa.literal(user),
            "agent_version": version,
            "searches": _where(searched, e.count_value),
            "zero_hits": _where(sa.and_(searched, e.prompt_tokens == 0), e.count_value),
            **{name: _where(condition, value) for name, condition, value in _cases() if name in SHOWINGS},
        }
        whose = e.user_id.is_(None) if not user else e.user_id == user
        where = (e.org_id == self._scope.org, whose, e.event_name.in_((SEARCHED, SHOWN)))
        self._insert(user_days, columns, day, version, where=where)

    def _insert(self, table: sa.Table, columns: dict[str, Any], *group_by: Any, where: Sequence[Any] = ()) -> None:
        """Rows of ours, from a query."""
        at = sa.literal(self._scope.at, sa.BigInteger)
        columns |= {"org_id": sa.literal(self._scope.org), "created_at": at, "updated_at": at}
        query = sa.select(*(value.label(name) for name, value in columns.items())).where(*where).group_by(*group_by)
        self._scope.conn.execute(sa.insert(table).from_select(list(columns), query))


def from_day(day: Any, base: sa.FromClause, db: Database) -> tuple[sa.Join, dict[str, Any]]:
    """What is known, memory_totals among it, with the counts from a day on."""
    t = memory_totals.c
    joined, opening = db.join_first(base, memory_totals, memory_days, lambda c: [*_same(c, t), c.day >= day], by="day")
    return joined, {name: t[name] - sa.func.coalesce(opening[name], t[name]) for name in MEMORY_COUNTS}


# --- statements ------------------------------------------------------------------------------------------------------

_KEY = ("org_id", "kind", "entity_id")
_MEMORY_COLUMNS = (*_KEY, "created_at", "updated_at", *MEMORY_COUNTS, *TIMES)


def _same(left: Any, right: Any) -> list[sa.ColumnElement[bool]]:
    """The same memory."""
    return [left[name] == right[name] for name in _KEY]


def _only(kind_column: Any, id_column: Any, kind: str | None, ids: Sequence[str] | None) -> list[Any]:
    of_kind = [] if kind is None else [kind_column == kind]
    return of_kind if ids is None else [*of_kind, id_column.in_(ids)]


def _its(table: Any) -> list[Any]:
    return [table.c[name] == sa.bindparam(f"its_{name}") for name in _KEY]


def _open_day(*, is_latest: bool) -> sa.Insert:
    """A memory's first use on a day notes how its counters stand: as on its next day, if there is one, or as now."""
    noted, later = memory_days.alias("known"), memory_days.alias("later")
    day, at = sa.bindparam("its_day", type_=sa.Integer), sa.bindparam("its_updated_at", type_=sa.BigInteger)
    following = sa.select(sa.func.min(noted.c.day)).where(*_its(noted), noted.c.day > day).scalar_subquery()
    stored: Any = sa.select(sa.literal_column("1").label("one")).subquery("one")
    stored = stored.outerjoin(memory_totals, sa.and_(*_its(memory_totals)))
    stands = [memory_totals.c]
    if not is_latest:
        stored, stands = stored.outerjoin(later, sa.and_(*_its(later), later.c.day == following)), [later.c, *stands]
    nothing: Any = sa.literal_column("0")
    counts = [sa.func.coalesce(*(columns[name] for columns in stands), nothing) for name in MEMORY_COUNTS]
    keys = [sa.bindparam(f"its_{name}", type_=sa.Text) for name in _KEY]
    names = [*_KEY, "day", *MEMORY_COUNTS, "created_at", "updated_at"]
    return sa.insert(memory_days).from_select(names, sa.select(*keys, day, *counts, at, at).select_from(stored))


def _move_later_days() -> sa.Update:
    """What is counted on a day that is over had not been counted when later days began."""
    c = memory_days.c
    more: dict[str, Any] = {name: c[name] + sa.bindparam(f"its_{name}") for name in MEMORY_COUNTS}
    later = sa.update(memory_days).where(*_its(memory_days), c.day > sa.bindparam("its_day"))
    return later.values({**more, "updated_at": sa.bindparam("its_updated_at")})


_OPEN_DAY, _OPEN_LATEST_DAY = (PlainStatement(_open_day(is_latest=latest)) for latest in (False, True))
_MOVE_LATER_DAYS = PlainStatement(_move_later_days())
_CITING = PlainStatement(
    sa.select(citing_versions.c.agent_version, citing_versions.c.since).where(
        citing_versions.c.org_id == sa.bindparam("org")
    )
)
_DAYS_FROM = SelectByIds(
    memory_days.c.entity_id,
    [memory_days.c.entity_id, memory_days.c.day],
    where=sa.and_(memory_days.c.kind == sa.bindparam("kind"), memory_days.c.day >= sa.bindparam("day")),
)


@cache
def _add_memories(insert: Callable[[sa.Table], Any]) -> BulkInsert:
    new, c = insert(memory_totals).prefix_with("OR FAIL", dialect="sqlite"), memory_totals.c
    summed = {name: c[name] + new.excluded[name] for name in MEMORY_COUNTS}
    extremes = {
        "first_at": _further(c.first_at, new.excluded.first_at, new.excluded.first_at < c.first_at),
        "last_at": _further(c.last_at, new.excluded.last_at, new.excluded.last_at > c.last_at),
        "last_cited_at": _further(
            c.last_cited_at, new.excluded.last_cited_at, new.excluded.last_cited_at > c.last_cited_at
        ),
    }
    changes = {**summed, **extremes, "updated_at": new.excluded.updated_at}
    return BulkInsert(new.on_conflict_do_update(index_elements=list(_KEY), set_=changes), _MEMORY_COLUMNS)


@cache
def _add_users(insert: Callable[[sa.Table], Any]) -> CompiledStatement:
    new, c = insert(user_days), user_days.c
    summed = {name: c[name] + new.excluded[name] for name in USER_COUNTS}
    keys = ["org_id", "day", "user_id", "agent_version"]
    changes = {**summed, "updated_at": new.excluded.updated_at}
    return CompiledStatement(new.on_conflict_do_update(index_elements=keys, set_=changes))


def _further(old: Any, new: Any, further: Any) -> Any:
    """The new value where there was none, or where it is further out."""
    return sa.case((sa.or_(old.is_(None), further), sa.func.coalesce(new, old)), else_=old)


# --- from events -----------------------------------------------------------------------------------------------------

# Each event with the time since when agents of its version have cited anything.
_EVENTS = usage_events.outerjoin(
    citing_versions,
    sa.and_(
        citing_versions.c.org_id == usage_events.c.org_id,
        citing_versions.c.agent_version == sa.func.coalesce(usage_events.c.agent_version, ""),
    ),
)


def _cases() -> Iterable[tuple[str, Any, Any]]:
    """Each count of a memory: when an event adds to it, and what."""
    e = usage_events.c
    shown = e.event_name == SHOWN
    cited, echoed = sa.and_(shown, e.cited_at.is_not(None)), sa.and_(shown, e.echoed_at.is_not(None))
    judged = sa.and_(shown, sa.or_(e.cited_at.is_not(None), e.created_at >= citing_versions.c.since))
    for name, condition in (("", shown), ("cited_", cited), ("echoed_", echoed), ("judged_", judged)):
        yield f"{name}shown", condition, e.count_value
        yield f"{name}tokens", condition, e.prompt_tokens
    yield "citations", e.event_name == CITED, e.count_value
    yield "echoes", e.event_name == ECHOED, e.count_value


def _where(condition: Any, value: Any) -> Any:
    # Postgres sums 64-bit numbers into decimals.
    return sa.cast(sa.func.sum(sa.case((condition, value), else_=0)), sa.BigInteger)


def _summed_events() -> list[Any]:
    e = usage_events.c
    shown_at = sa.case((e.event_name == SHOWN, e.created_at))
    return [
        *(_where(condition, value).label(name) for name, condition, value in _cases()),
        sa.func.min(shown_at).label("first_at"),
        sa.func.max(shown_at).label("last_at"),
        sa.func.max(sa.case((e.event_name == CITED, e.created_at))).label("last_cited_at"),
    ]


def use_of(row: Any) -> Use:
    columns = row._mapping  # noqa: SLF001 - SQLAlchemy's public name for a row as a mapping
    names = columns.keys() & set(Use._fields)
    values: dict[str, Any] = {name: columns[name] if columns[name] is None else int(columns[name]) for name in names}
    return Use(**values)

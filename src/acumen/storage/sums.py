"""Usage events summed by day, kept in step with the events: by memory, and by user and agent version."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.profile import DAY_MS
from acumen.model.usage import CITED, ECHOED, SEARCHED, SHOWN, GroupBy, UsageEvent, Use
from acumen.storage.prepared import Prepared
from acumen.storage.scope import Scope, in_batches
from acumen.storage.tables import memory_days, usage_events, user_days

SHOWINGS = ("shown", "tokens", "cited_shown", "cited_tokens", "echoed_shown", "echoed_tokens")
MEMORY_COUNTS = (*SHOWINGS, "citations", "echoes")
USER_COUNTS = ("searches", "zero_hits", *SHOWINGS)

MemoryKey = tuple[str, str, int]
UserKey = tuple[int, str, str]


def day_of(at: int) -> int:
    """UTC days since 1970."""
    return at // DAY_MS


class Deltas:
    """What some events add to the sums, gathered before it is written."""

    def __init__(self) -> None:
        self.memories: dict[MemoryKey, dict[str, Any]] = {}
        self.users: dict[UserKey, dict[str, Any]] = {}

    def count(self, event: UsageEvent) -> None:
        if event.name == SEARCHED:
            self._user(event, searches=event.count, zero_hits=0 if event.tokens else event.count)
        elif event.name == SHOWN:
            self._shown(event)
        elif event.name in (CITED, ECHOED) and event.kind and event.memory_id:
            row = self._memory(event.kind, event.memory_id, event.at)
            row["citations" if event.name == CITED else "echoes"] += event.count
            if event.name == CITED:
                row["last_cited_at"] = max(row["last_cited_at"] or 0, event.at)

    def _shown(self, event: UsageEvent) -> None:
        row = self._memory(event.kind or "", event.memory_id or "", event.at)
        row["shown"] += event.count
        row["tokens"] += event.tokens
        row["first_at"] = min(row["first_at"] or event.at, event.at)
        row["last_at"] = max(row["last_at"] or 0, event.at)
        self._user(event, shown=event.count, tokens=event.tokens)

    def came_back(self, name: str, showing: Any) -> None:
        """A showing was cited or echoed for the first time; it is counted on the day of the showing."""
        word = "cited" if name == CITED else "echoed"
        counts = {f"{word}_shown": showing.count_value, f"{word}_tokens": showing.prompt_tokens}
        row = self._memory(showing.entity_type, showing.entity_id, showing.created_at)
        _add(row, counts)
        key = (day_of(showing.created_at), showing.user_id or "", showing.agent_version or "")
        _add(self.users.setdefault(key, dict.fromkeys(USER_COUNTS, 0)), counts)

    def _memory(self, kind: str, memory_id: str, at: int) -> dict[str, Any]:
        key = (kind, memory_id, day_of(at))
        row = self.memories.get(key)
        if row is None:
            row = self.memories[key] = dict(_EMPTY)
        return row

    def _user(self, event: UsageEvent, **counts: int) -> None:
        key = (day_of(event.at), event.user_id or "", event.agent_version or "")
        _add(self.users.setdefault(key, dict.fromkeys(USER_COUNTS, 0)), counts)


_EMPTY: dict[str, Any] = {**dict.fromkeys(MEMORY_COUNTS, 0), "first_at": None, "last_at": None, "last_cited_at": None}


def _add(row: dict[str, Any], counts: dict[str, int]) -> None:
    for name, by in counts.items():
        row[name] += by


class Sums:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def add(self, deltas: Deltas) -> None:
        memories = [
            self._scope.stamp({"kind": kind, "entity_id": memory_id, "day": day, **counts})
            for (kind, memory_id, day), counts in sorted(deltas.memories.items())
        ]
        if memories:
            _add_memories(self._scope.db.insert).run(self._scope.conn, memories)
        users = [
            self._scope.stamp({"day": day, "user_id": user, "agent_version": version, **counts})
            for (day, user, version), counts in sorted(deltas.users.items())
        ]
        if users:
            _add_users(self._scope.db.insert).run(self._scope.conn, users)

    # --- reading -------------------------------------------------------------------------------------------------

    def by_memory(self, since: Millis, kind: str | None = None, ids: Sequence[str] | None = None) -> sa.Subquery:
        """Per memory from a moment on: whole days from the sums, what is left of the first day from its events."""
        first_whole = -(-since // DAY_MS)
        whole = self._whole_days(first_whole, kind, ids)
        if not since % DAY_MS:
            return whole.subquery("used")
        # Each half is summed in the order of an index; only what is left of them is sorted.
        both = sa.union_all(whole, self._part_of_day(since, first_whole, kind, ids)).subquery("both")
        return _grouped(both.c).subquery("used")

    def _whole_days(self, first: int, kind: str | None, ids: Sequence[str] | None) -> sa.Select[Any]:
        c = memory_days.c
        query = _grouped(c).where(c.org_id == self._scope.org, c.day >= first)
        if kind is not None:
            query = query.where(c.kind == kind)
        return query if ids is None else query.where(c.entity_id.in_(ids))

    def _part_of_day(
        self, since: Millis, first_whole: int, kind: str | None, ids: Sequence[str] | None
    ) -> sa.Select[Any]:
        """Not grouped: to have it in groups, SQLite would rather walk all events than those of a day."""
        e = usage_events.c
        query = (
            _counted_events()
            .where(e.org_id == self._scope.org, e.event_name.in_((SHOWN, CITED, ECHOED)))
            .where(e.created_at >= since, e.created_at < first_whole * DAY_MS, e.entity_id.is_not(None))
        )
        if kind is not None:
            query = query.where(sa.func.coalesce(e.entity_type, "") == kind)
        return query if ids is None else query.where(sa.func.coalesce(e.entity_id, "").in_(ids))

    def of_kind(self, kind: str, since: Millis, ids: Sequence[str] | None = None) -> dict[str, Use]:
        """By memory; those without any use are left out."""
        used = self.by_memory(since, kind, ids)
        columns = [used.c[name] for name in (*MEMORY_COUNTS, "first_at", "last_at", "last_cited_at")]
        # `Use` begins with these very fields; thousands of them are made at once.
        return {row[0]: Use(*row[1:]) for row in self._scope.all(sa.select(used.c.entity_id, *columns))}

    def grouped(self, by: GroupBy, first_day: int, limit: int, offset: int) -> tuple[list[tuple[Any, Use]], int, Use]:
        """From a day on: a page of groups (by wasted tokens, days by date), how many there are, and all together."""
        if by is GroupBy.MEMORY:
            table, counts, keys = memory_days, MEMORY_COUNTS, [memory_days.c.kind, memory_days.c.entity_id]
        else:
            column = {GroupBy.USER: "user_id", GroupBy.AGENT_VERSION: "agent_version", GroupBy.DAY: "day"}[by]
            table, counts, keys = user_days, USER_COUNTS, [user_days.c[column]]
        c = table.c
        sums = [sa.func.sum(c[name]).label(name) for name in counts]
        query = sa.select(*keys, *sums).where(c.org_id == self._scope.org, c.day >= first_day)
        wasted = sa.func.sum(c.tokens) - sa.func.sum(c.cited_tokens)
        order = [c.day.desc()] if by is GroupBy.DAY else [wasted.desc(), *keys]
        page, total = self._scope.page(query.group_by(*keys).order_by(*order), limit, offset)
        return [(tuple(row[: len(keys)]), use_of(row)) for row in page], total, self.all_together(first_day)

    def days_of(self, ref: MemoryRef, first_day: int) -> list[tuple[int, Use]]:
        """One memory's days, the first first; days without any use are left out."""
        c = memory_days.c
        query = sa.select(memory_days).where(
            c.org_id == self._scope.org, c.kind == str(ref.kind), c.entity_id == ref.id, c.day >= first_day
        )
        return [(row.day, use_of(row)) for row in self._scope.all(query.order_by(c.day))]

    def all_together(self, first_day: int) -> Use:
        c = user_days.c
        sums = [sa.func.coalesce(sa.func.sum(c[name]), 0).label(name) for name in USER_COUNTS]
        return use_of(self._scope.one(sa.select(*sums).where(c.org_id == self._scope.org, c.day >= first_day)))

    # --- forgetting ----------------------------------------------------------------------------------------------

    def expire(self, before_day: int) -> None:
        for table in (memory_days, user_days):
            self._scope.delete(table, table.c.day < before_day)

    def delete_user(self, user: str) -> None:
        self._scope.delete(user_days, user_days.c.user_id == user)

    def sum_again(self, refs: Iterable[MemoryRef], users: Iterable[str]) -> None:
        """From the events that are left, for memories and users of which some events were erased."""
        by_kind: dict[Kind, list[str]] = {}
        for ref in refs:
            by_kind.setdefault(ref.kind, []).append(ref.id)
        for kind, ids in by_kind.items():
            for some in in_batches(ids):
                self._sum_memories_again(kind, some)
        for user in users:
            self._sum_user_again(user)

    def _sum_memories_again(self, kind: Kind, ids: Sequence[str]) -> None:
        d, e = memory_days.c, usage_events.c
        self._scope.delete(memory_days, d.kind == str(kind), d.entity_id.in_(ids))
        day = e.created_at // DAY_MS
        left = (
            _summed_events(day.label("day"), sa.literal(self._scope.org).label("org_id"), *self._made())
            .where(e.org_id == self._scope.org, e.entity_type == str(kind), e.entity_id.in_(ids))
            .where(e.event_name.in_((SHOWN, CITED, ECHOED)))
            .group_by(e.entity_type, e.entity_id, day)
        )
        names = [column.name for column in left.selected_columns]
        self._scope.conn.execute(sa.insert(memory_days).from_select(names, left))

    def _sum_user_again(self, user: str) -> None:
        e = usage_events.c
        self.delete_user(user)
        day, version = e.created_at // DAY_MS, sa.func.coalesce(e.agent_version, "")
        whose = e.user_id.is_(None) if not user else e.user_id == user
        left = (
            sa.select(
                day.label("day"),
                sa.literal(user).label("user_id"),
                version.label("agent_version"),
                _where(e.event_name == SEARCHED, e.count_value).label("searches"),
                _where(sa.and_(e.event_name == SEARCHED, e.prompt_tokens == 0), e.count_value).label("zero_hits"),
                *_showings(),
                sa.literal(self._scope.org).label("org_id"),
                *self._made(),
            )
            .where(e.org_id == self._scope.org, whose, e.event_name.in_((SEARCHED, SHOWN)))
            .group_by(day, version)
        )
        self._scope.conn.execute(
            sa.insert(user_days).from_select([column.name for column in left.selected_columns], left)
        )

    def _made(self) -> tuple[sa.ColumnElement[int], ...]:
        return tuple(sa.literal(self._scope.at, sa.BigInteger).label(name) for name in ("created_at", "updated_at"))


@cache
def _add_memories(insert: Callable[[sa.Table], Any]) -> Prepared:
    new, c = insert(memory_days), memory_days.c
    summed = {name: c[name] + new.excluded[name] for name in MEMORY_COUNTS}
    extremes = {
        "first_at": _further(c.first_at, new.excluded.first_at, new.excluded.first_at < c.first_at),
        "last_at": _further(c.last_at, new.excluded.last_at, new.excluded.last_at > c.last_at),
        "last_cited_at": _further(
            c.last_cited_at, new.excluded.last_cited_at, new.excluded.last_cited_at > c.last_cited_at
        ),
    }
    keys = ["org_id", "kind", "entity_id", "day"]
    changes = {**summed, **extremes, "updated_at": new.excluded.updated_at}
    return Prepared(new.on_conflict_do_update(index_elements=keys, set_=changes))


@cache
def _add_users(insert: Callable[[sa.Table], Any]) -> Prepared:
    new, c = insert(user_days), user_days.c
    summed = {name: c[name] + new.excluded[name] for name in USER_COUNTS}
    keys = ["org_id", "day", "user_id", "agent_version"]
    changes = {**summed, "updated_at": new.excluded.updated_at}
    return Prepared(new.on_conflict_do_update(index_elements=keys, set_=changes))


def _further(old: Any, new: Any, further: Any) -> Any:
    """The new value where there was none, or where it lies further out."""
    return sa.case((sa.or_(old.is_(None), further), sa.func.coalesce(new, old)), else_=old)


def _where(condition: Any, value: Any) -> Any:
    return sa.func.sum(sa.case((condition, value), else_=0))


def _showing_cases() -> Iterable[tuple[str, Any, Any]]:
    """Each count of showings: when an event adds to it, and what."""
    e = usage_events.c
    shown = e.event_name == SHOWN
    cited, echoed = sa.and_(shown, e.cited_at.is_not(None)), sa.and_(shown, e.echoed_at.is_not(None))
    values = (e.count_value, e.prompt_tokens) * 3
    return zip(SHOWINGS, (shown, shown, cited, cited, echoed, echoed), values, strict=True)


def _showings() -> list[Any]:
    return [_where(condition, value).label(name) for name, condition, value in _showing_cases()]


def _grouped(c: Any) -> sa.Select[Any]:
    """Counts of memories, summed by memory."""
    return sa.select(
        c.kind,
        c.entity_id,
        # Postgres sums 64-bit numbers into decimals.
        *(sa.cast(sa.func.sum(c[name]), sa.BigInteger).label(name) for name in MEMORY_COUNTS),
        sa.func.min(c.first_at).label("first_at"),
        sa.func.max(c.last_at).label("last_at"),
        sa.func.max(c.last_cited_at).label("last_cited_at"),
    ).group_by(c.kind, c.entity_id)


def _counted_events() -> sa.Select[Any]:
    """The columns of `memory_days`, an event a row."""
    e = usage_events.c
    shown, cited = e.event_name == SHOWN, e.event_name == CITED
    columns = [
        *((name, condition, value) for name, condition, value in _showing_cases()),
        ("citations", cited, e.count_value),
        ("echoes", e.event_name == ECHOED, e.count_value),
    ]
    return sa.select(
        e.entity_type.label("kind"),
        e.entity_id,
        *(sa.case((condition, value), else_=0).label(name) for name, condition, value in columns),
        sa.case((shown, e.created_at)).label("first_at"),
        sa.case((shown, e.created_at)).label("last_at"),
        sa.case((cited, e.created_at)).label("last_cited_at"),
    )


def _summed_events(*more: Any) -> sa.Select[Any]:
    """The columns of `memory_days`, from events."""
    e = usage_events.c
    shown_at = sa.case((e.event_name == SHOWN, e.created_at))
    return sa.select(
        e.entity_type.label("kind"),
        e.entity_id,
        *_showings(),
        _where(e.event_name == CITED, e.count_value).label("citations"),
        _where(e.event_name == ECHOED, e.count_value).label("echoes"),
        sa.func.min(shown_at).label("first_at"),
        sa.func.max(shown_at).label("last_at"),
        sa.func.max(sa.case((e.event_name == CITED, e.created_at))).label("last_cited_at"),
        *more,
    )


def use_of(row: Any) -> Use:
    known = row._mapping  # noqa: SLF001 - SQLAlchemy's public name for a row as a mapping
    names = Use.__dataclass_fields__.keys() & known.keys()
    values: dict[str, Any] = {name: known[name] if known[name] is None else int(known[name]) for name in names}
    return Use(**values)

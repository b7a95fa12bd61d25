"""The rules of review: a query for each signal. Only these decide whether a memory has one, and its score."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from acumen.model.memories.conflict import ConflictState
from acumen.model.metering.intervals import Z95
from acumen.model.review.signal import (
    CONFLICT,
    DUPLICATE,
    HARMFUL,
    HIGH_COST_LOW_CITE,
    INSTRUCTION_LIKE,
    OVERSIZED,
    STALE,
    SUPERSEDEABLE,
)
from acumen.model.times import DAY_MS
from acumen.storage.engine.database import Database
from acumen.storage.tables import conflicts, duplicate_pairs, memory_flags

# What may do harm comes before what only costs. Stale ones score between 50 and 99, older ones higher; expensive ones
# between 30 and 49; then duplicates and oversized ones.
STALE_FLOOR, STALE_CEILING = 50, 99
COST_FLOOR, COST_CEILING = 30, 49
DUPLICATE_FLOOR, DUPLICATE_CEILING = 20, 29
OVERSIZED_SCORE = 10
SUPERSEDEABLE_SCORE, CONFLICT_SCORE, HARMFUL_SCORE, INSTRUCTION_SCORE = 100, 105, 110, 120
# Fewer injections prove nothing.
FEWEST_SHOWN = 3
# A dismissed signal returns when its number has grown by half.
MATERIAL = 1.5


# Parameters, since building these queries takes longer than running them.
def gap(name: str, kind: Any = sa.BigInteger) -> Any:
    return sa.bindparam(name, type_=kind)


ORG, AT, SINCE, BORN_BEFORE = gap("org", sa.Text), gap("at"), gap("since"), gap("born_before")
DAYS, SIMILARITY = gap("days", sa.Float), gap("similarity", sa.Float)
LEAST_WASTED, OVERSIZED_TOKENS = gap("least_wasted_tokens"), gap("oversized_tokens")


def signals(memory: sa.CTE, db: Database, *, covered: bool) -> Iterable[sa.Select[Any]]:
    """Kind, id, signal, score, saving and measure; not of pinned or snoozed memories, nor what was dismissed."""
    rules = _Rules(memory, db)
    if covered:
        yield rules.stale()
    yield rules.costly()
    yield rules.supersedeable()
    yield rules.duplicate()
    yield rules.conflict()
    yield from rules.flagged()


class _Rules:
    def __init__(self, memory: sa.CTE, db: Database) -> None:
        m = memory.c
        self._memory, self._db = memory, db
        self._awake = sa.and_(m.pinned.is_not(True), sa.or_(m.snoozed_until.is_(None), m.snoozed_until <= AT))
        self._unvouched = sa.or_(m.useful_at.is_(None), m.useful_at < SINCE)
        self._days = _days_in_use(m.first_at)
        self._tokens_per_day = m.tokens / self._days

    def stale(self) -> sa.Select[Any]:
        m = self._memory.c
        age = (AT - m.updated_at) // DAY_MS
        query = self._found(STALE, _at_most(STALE_CEILING, STALE_FLOOR + age // 7), sa.literal(0.0), age)
        return query.where(self._unvouched, m.shown == 0, m.updated_at < SINCE)

    def costly(self) -> sa.Select[Any]:
        m = self._memory.c
        idle, surplus = m.judged_tokens - m.cited_tokens, m.judged_shown - 2 * m.cited_shown
        score = _at_most(COST_CEILING, COST_FLOOR + m.judged_shown)
        return self._found(HIGH_COST_LOW_CITE, score, idle / self._days, idle).where(
            self._unvouched,
            m.judged_shown >= FEWEST_SHOWN,
            idle >= LEAST_WASTED,
            m.created_at <= BORN_BEFORE,
            # The upper end of Wilson's interval is below one half.
            surplus > 0,
            surplus * surplus > Z95 * Z95 * m.judged_shown,
        )

    def supersedeable(self) -> sa.Select[Any]:
        by = self._memory.c.replaced_by
        query = self._found(SUPERSEDEABLE, SUPERSEDEABLE_SCORE, self._tokens_per_day, sa.literal(1.0), by)
        return query.where(by.is_not(None))

    def conflict(self) -> sa.Select[Any]:
        """A row for each open conflict of the newer memory: one pair is one candidate."""
        m, c, older = self._memory.c, conflicts.c, self._memory.alias("older")
        is_open = (c.org_id == ORG, c.state == str(ConflictState.OPEN))
        query = self._found(CONFLICT, CONFLICT_SCORE, sa.literal(0.0), sa.literal(1.0), c.older_id)
        return query.select_from(
            self._memory.join(conflicts, sa.and_(*is_open, c.newer_kind == m.kind, c.newer_id == m.id)).join(
                older, sa.and_(older.c.kind == c.older_kind, older.c.id == c.older_id)
            )
        )

    def duplicate(self) -> sa.Select[Any]:
        """A row for each duplicate, with the score of the nearest: one duplicate that no person has seen is enough."""
        m, sides = self._memory.c, self._sides()
        eighth = sides.c.nearest * sides.c.nearest
        eighth = eighth * eighth
        near = sa.func.round((DUPLICATE_CEILING - DUPLICATE_FLOOR) * eighth * eighth)
        score = DUPLICATE_FLOOR + sa.cast(near, sa.Integer)
        query = self._found(DUPLICATE, score, self._tokens_per_day, sides.c.nearest, sides.c.other)
        return query.select_from(self._memory.join(sides, sa.and_(sides.c.kind == m.kind, sides.c.own == m.id)))

    def _sides(self) -> sa.Subquery:
        """Each memory with each of its duplicates that are in use, and how near the nearest of these is."""
        p = duplicate_pairs.c
        alike = sa.or_(p.similarity >= SIMILARITY, p.found_by != "meaning")
        both = sa.union_all(
            *(
                sa.select(p.kind, memory_id.label("own"), duplicate_id.label("other"), p.similarity).where(
                    p.org_id == ORG, alike
                )
                for memory_id, duplicate_id in ((p.left_id, p.right_id), (p.right_id, p.left_id))
            )
        ).subquery("both")
        nearest = sa.func.max(both.c.similarity).over(partition_by=[both.c.kind, both.c.own])
        other = self._memory.alias("other")
        duplicates = both.join(other, sa.and_(other.c.kind == both.c.kind, other.c.id == both.c.other))
        return sa.select(both, nearest.label("nearest")).select_from(duplicates).subquery("sides")

    def flagged(self) -> Iterable[sa.Select[Any]]:
        m, detail = self._memory.c, memory_flags.c.detail
        tokens = detail[("tokens",)].as_integer()
        saving = m.shown * (tokens - OVERSIZED_TOKENS) / self._days
        harm, digest = -detail[("high",)].as_float(), detail[("digest",)].as_string()
        yield self._of_flag(self._found(HARMFUL, HARMFUL_SCORE, self._tokens_per_day, harm), HARMFUL)
        orders = self._found(INSTRUCTION_LIKE, INSTRUCTION_SCORE, self._tokens_per_day, sa.literal(1.0), digest)
        yield self._of_flag(orders, INSTRUCTION_LIKE)
        yield self._of_flag(self._found(OVERSIZED, OVERSIZED_SCORE, saving, tokens), OVERSIZED).where(
            tokens > OVERSIZED_TOKENS
        )

    def _of_flag(self, query: sa.Select[Any], signal: str) -> sa.Select[Any]:
        m, f = self._memory.c, memory_flags.c
        its = sa.and_(f.org_id == ORG, f.signal == signal, f.kind == m.kind, f.entity_id == m.id)
        return query.select_from(self._memory.join(memory_flags, its))

    def _found(self, signal: str, score: Any, saving: Any, measure: Any, about: Any = None) -> sa.Select[Any]:
        """Not when a person has seen these numbers, or nearly these, about the same, and was not convinced."""
        m = self._memory.c
        dismissed_measure = m.dismissed[(signal, "measure")].as_float()
        new = sa.or_(dismissed_measure.is_(None), measure >= dismissed_measure * MATERIAL)
        if about is not None:
            new = sa.or_(new, ~self._db.json_contains(m.dismissed[(signal, "about")], about))
        columns = {
            "signal": sa.literal(signal),
            "score": sa.cast(score, sa.Integer),
            "saving": saving,
            "measure": sa.cast(measure, sa.Float),
        }
        named = [column.label(name) for name, column in columns.items()]
        return sa.select(m.kind, m.id, *named).where(self._awake, new)


def _days_in_use(first_at: Any) -> Any:
    """`metering.usage.days_in_use` in SQL."""
    elapsed = sa.cast(AT - first_at, sa.Float) / DAY_MS
    return sa.case((first_at.is_(None), DAYS), (elapsed > DAYS, DAYS), (elapsed < 1, 1.0), else_=elapsed)


def _at_most(ceiling: int, value: Any) -> Any:
    return sa.case((value > ceiling, ceiling), else_=value)

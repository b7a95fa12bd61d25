"""Which memories deserve a look, judged where they are stored: of thousands only a page leaves the database."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from msgspec import Struct

from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.memories.base import Status
from acumen.model.memories.conflict import OpenConflict
from acumen.model.memories.playbook import Approval
from acumen.model.metering.usage import Use
from acumen.model.review.action import ReviewState
from acumen.model.review.signal import (
    SIGNALS,
    QueueItem,
    Replaced,
    ReviewWindow,
    ScannedSignal,
    SignalInput,
    Thresholds,
    Twin,
)
from acumen.model.times import DAY_MS
from acumen.storage.engine.database import Database
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.memories.conflicts import Conflicts
from acumen.storage.memories.memory_tables import MEMORY_TABLES
from acumen.storage.metering.usage_counters import from_day
from acumen.storage.metering.usage_rollup import MEMORY_COUNTS, TIMES, day_of
from acumen.storage.review.memory_flags import MemoryFlags
from acumen.storage.review.review_signals import ORG, gap, signals
from acumen.storage.tables import agent_playbook_sources, agent_playbooks, memory_totals, review_states, user_playbooks

# What may take a memory's place, in words.
_REPLACED = {
    "pointer": "{kind} {by} supersedes it",
    "newer": "user_playbook {by} is newer and asks for something else",
    "folded": "it was folded into the shared lesson {by}",
}


class QueueFilter(Struct, frozen=True):
    """Which memories, by which rules, in which order; `user` None is everyone's, `signals` None is any."""

    kinds: Sequence[Kind]
    user: str | None
    window: ReviewWindow
    thresholds: Thresholds
    signals: Sequence[str] | None = None
    by_waste: bool = False


class QueuePage(Struct, frozen=True):
    """A page, in order; how many fit in all and what acting on them saves; and by signal, whatever was asked for."""

    page: Sequence[QueueItem]
    total: int
    saving: float
    by_signal: dict[str, int]


class ReviewQueue:
    def __init__(self, scope: OrgScope, flags: MemoryFlags, conflicts: Conflicts) -> None:
        self._scope = scope
        self._flags = flags
        self._conflicts = conflicts

    def page(self, criteria: QueueFilter, limit: int, offset: int) -> QueuePage:
        shape = _Shape(tuple(criteria.kinds), criteria.user is None, criteria.window.covered, criteria.by_waste)
        query = _STATEMENTS.get((self._scope.db.name, shape))
        if query is None:
            query = _STATEMENTS[self._scope.db.name, shape] = _statement(shape, self._scope.db)
        names = SIGNALS if criteria.signals is None else criteria.signals
        values = {**self._values(criteria), "wanted": list(names), "limit": limit, "offset": offset}
        with self._scope.db.planned_for_many(self._scope.conn):
            rows = self._scope.all(query, **values)
        counts = {name: int(rows[0]._mapping[f"all_{name}"] or 0) for name in SIGNALS}  # noqa: SLF001 - public
        return QueuePage(
            self._filed([row for row in rows if row.id is not None], criteria.thresholds),
            int(rows[0].total or 0),
            float(rows[0].all_saving or 0),
            {name: count for name, count in counts.items() if count},
        )

    def find(self, kind: Kind, ids: Sequence[str], criteria: QueueFilter) -> list[QueueItem]:
        """The cases of some memories, whether or not anything speaks against them."""
        query, memory_id = _memories(kind, self._scope.db, everyones=True), MEMORY_TABLES[kind].text_id
        values = self._values(criteria)
        rows = (
            row for batch in in_batches(ids) for row in self._scope.all(query.where(memory_id.in_(batch)), **values)
        )
        return self._filed(list(rows), criteria.thresholds)

    def _values(self, criteria: QueueFilter) -> dict[str, Any]:
        window, least = criteria.window, criteria.thresholds
        return {
            "org": self._scope.org,
            "user": criteria.user,
            "at": window.at,
            "since": window.since,
            # Whole days: of use on the window's first day, the hours before it count too.
            "first_day": day_of(window.since),
            "days": window.counted_days,
            "born_before": window.at - least.grace_days * DAY_MS,
            "least_wasted_tokens": least.least_wasted_tokens,
            "oversized_tokens": least.oversized_tokens,
            "similarity": least.similarity,
        }

    # --- a page of them ----------------------------------------------------------------------------------------------

    def _filed(self, rows: Sequence[Any], thresholds: Thresholds) -> list[QueueItem]:
        """With what only the memories of a page are asked for: what was found in their texts, and their likes."""
        flags: dict[MemoryRef, list[ScannedSignal]] = {}
        twins: dict[MemoryRef, list[Twin]] = {}
        for kind in {Kind(row.kind) for row in rows}:
            ids = [row.id for row in rows if row.kind == kind]
            for flag in self._flags.find(kind, ids):
                flags.setdefault(MemoryRef(kind, flag.id), []).append(
                    ScannedSignal(flag.signal, flag.detail, flag.since)
                )
            for pair in self._flags.find_pairs(kind, least=thresholds.similarity, ids=ids):
                for memory_id, twin_id in ((pair.left, pair.right), (pair.right, pair.left)):
                    twins.setdefault(MemoryRef(kind, memory_id), []).append(Twin(twin_id, pair.similarity, pair.since))
        refs = [MemoryRef(Kind(row.kind), row.id) for row in rows]
        conflicts = self._open_conflicts(refs)
        cases = [
            _case(row, flags.get(ref, ()), twins.get(ref, ()), conflicts.get(ref, ()))
            for ref, row in zip(refs, rows, strict=True)
        ]
        return [
            QueueItem(ref, row.user_id, row.version, case) for ref, row, case in zip(refs, rows, cases, strict=True)
        ]

    def _open_conflicts(self, refs: Sequence[MemoryRef]) -> dict[MemoryRef, list[OpenConflict]]:
        """By the newer memory."""
        page_refs, links = set(refs), self._conflicts.find(refs, only_open=True)
        by_newer: dict[MemoryRef, list[OpenConflict]] = {}
        for pair in self._conflicts.describe([link for link in links if link.newer in page_refs]):
            by_newer.setdefault(pair.conflict.newer, []).append(pair)
        return by_newer


# --- one statement for all of it -----------------------------------------------------------------------------------


class _Shape(NamedTuple):
    """What two questions must have in common to be the same query."""

    kinds: tuple[Kind, ...]
    everyones: bool
    covered: bool
    by_waste: bool


_STATEMENTS: dict[tuple[str, _Shape], sa.Select[Any]] = {}


def _statement(shape: _Shape, db: Database) -> sa.Select[Any]:
    """Totals beside each row of the page: an empty page tells them too."""
    every = sa.union_all(*(_memories(kind, db, everyones=shape.everyones) for kind in shape.kinds))
    memory = every.cte("memory").prefix_with("MATERIALIZED")  # lest SQLite reads it anew for each signal
    judged = _judged(sa.union_all(*signals(memory, db, covered=shape.covered)))
    page, totals = _page(memory, judged, by_waste=shape.by_waste), _totals(judged)
    query = sa.select(totals, page).select_from(totals.outerjoin(page, sa.true()))
    return query.order_by(*_order(page.c, page.c.score, by_waste=shape.by_waste))


def _memories(kind: Kind, db: Database, *, everyones: bool) -> sa.Select[Any]:
    """All that is known of the current memories of a kind."""
    mapping, marks = MEMORY_TABLES[kind], review_states.c
    c, memory_id = mapping.table.c, mapping.text_id
    joined: Any = mapping.table
    for table in (memory_totals, review_states):
        its = (table.c.org_id == ORG, table.c.kind == str(kind), table.c.entity_id == memory_id)
        joined = joined.outerjoin(table, sa.and_(*its))
    joined, used = from_day(gap("first_day", sa.Integer), joined, db)
    joined, replaced = _replaced(kind, joined)
    query = sa.select(
        sa.literal(str(kind)).label("kind"),
        memory_id.label("id"),
        mapping.owner.label("user_id"),
        c.version,
        c.created_at,
        c.updated_at,
        *(sa.func.coalesce(count, 0).label(name) for name, count in used.items()),
        *(memory_totals.c[name] for name in TIMES),
        *(marks[name] for name in ("pinned", "snoozed_until", "useful_at", "dismissed")),
        *replaced,
    ).select_from(joined)
    query = query.where(c.org_id == ORG, c.status == str(Status.CURRENT))
    return query if everyones else query.where(c.user_id == gap("user", sa.Text))


def _replaced(kind: Kind, joined: Any) -> tuple[Any, list[Any]]:
    """By pointer, by a newer lesson on the same subject, or by a shared lesson it was folded into."""
    c = MEMORY_TABLES[kind].table.c
    ways: list[tuple[str, Any, Any]] = [("pointer", sa.cast(c.superseded_by, sa.Text), c.updated_at)]
    if kind is Kind.USER_PLAYBOOK:
        for how, replacement in (("newer", _newer()), ("folded", _folded())):
            joined = joined.outerjoin(replacement, replacement.c.id == c.playbook_id)
            ways.append((how, replacement.c.by, replacement.c.since))
    columns = {
        "replaced_by": sa.case(*((by.is_not(None), by) for _, by, _ in ways)),
        "replaced_how": sa.case(*((by.is_not(None), how) for how, by, _ in ways)),
        "replaced_since": sa.case(*((by.is_not(None), since) for _, by, since in ways)),
    }
    return joined, [column.label(name) for name, column in columns.items()]


def _newer() -> sa.Subquery:
    """Lessons that the same user's newest one on the same subject contradicts."""
    c = user_playbooks.c
    newest: dict[str, Any] = {"partition_by": [c.user_id, c.subject], "order_by": [c.created_at.desc(), c.playbook_id]}
    lessons = sa.select(
        c.playbook_id.label("id"),
        c.value,
        c.created_at,
        sa.cast(sa.func.first_value(c.playbook_id).over(**newest), sa.Text).label("by"),
        sa.func.first_value(c.value).over(**newest).label("its_value"),
        sa.func.first_value(c.created_at).over(**newest).label("since"),
    ).where(c.org_id == ORG, c.status == str(Status.CURRENT), c.subject != "")
    t = lessons.subquery("told").c
    return sa.select(t.id, t.by, t.since).where(t.its_value != t.value, t.since > t.created_at).subquery("newer")


def _folded() -> sa.Subquery:
    """User playbooks that live on in a shared lesson which is in use."""
    s, a = agent_playbook_sources.c, agent_playbooks.c
    by, since = sa.cast(sa.func.max(s.agent_playbook_id), sa.Text), sa.func.max(s.created_at)
    query = (
        sa.select(s.user_playbook_id.label("id"), by.label("by"), since.label("since"))
        .join(agent_playbooks, sa.and_(a.org_id == s.org_id, a.playbook_id == s.agent_playbook_id))
        .where(s.org_id == ORG, a.status == str(Status.CURRENT), a.approval == str(Approval.APPROVED))
    )
    return query.group_by(s.user_playbook_id).subquery("folded")


def _judged(rows: sa.CompoundSelect[Any]) -> sa.CTE:
    """Memories against which anything speaks: how much, and whether it is what is asked for."""
    f = rows.subquery("found").c
    matches = f.signal.in_(sa.bindparam("wanted", expanding=True))
    columns = {
        "score": sa.func.max(f.score),
        "saving": sa.func.max(f.saving),
        "fits": sa.func.max(sa.case((matches, 1), else_=0)),
        **{name: sa.func.max(sa.case((f.signal == name, 1), else_=0)) for name in SIGNALS},
    }
    named = [column.label(name) for name, column in columns.items()]
    return sa.select(f.kind.label("its_kind"), f.id.label("its_id"), *named).group_by(f.kind, f.id).cte("judged")


def _totals(judged: sa.CTE) -> sa.Subquery:
    j = judged.c
    return sa.select(
        sa.func.sum(j.fits).label("total"),
        sa.func.sum(sa.case((j.fits == 1, j.saving), else_=0.0)).label("all_saving"),
        *(sa.func.sum(j[name]).label(f"all_{name}") for name in SIGNALS),
    ).subquery("totals")


def _page(memory: sa.CTE, judged: sa.CTE, *, by_waste: bool) -> sa.Subquery:
    m, j = memory.c, judged.c
    both = memory.join(judged, sa.and_(j.its_kind == m.kind, j.its_id == m.id))
    query = sa.select(memory, j.score).select_from(both).where(j.fits == 1)
    query = query.order_by(*_order(m, j.score, by_waste=by_waste))
    return query.limit(gap("limit", sa.Integer)).offset(gap("offset", sa.Integer)).subquery("page")


def _order(c: Any, score: Any, *, by_waste: bool) -> list[Any]:
    weight = [score.desc(), (c.tokens - c.cited_tokens).desc()]
    return [*(weight[::-1] if by_waste else weight), c.kind, c.id]


def _case(
    row: Any, flags: Sequence[ScannedSignal], twins: Sequence[Twin], conflicts: Sequence[OpenConflict]
) -> SignalInput:
    use = Use(*(getattr(row, name) for name in (*MEMORY_COUNTS, *TIMES)))  # `Use` begins with these very fields
    mark = ReviewState(bool(row.pinned), row.snoozed_until, row.useful_at, row.dismissed or {})
    replaced = None
    if row.replaced_by is not None:
        why = _REPLACED[row.replaced_how].format(kind=row.kind, by=row.replaced_by)
        replaced = Replaced(row.replaced_by, why, Millis(row.replaced_since))
    return SignalInput(Millis(row.created_at), Millis(row.updated_at), use, replaced, flags, twins, mark, conflicts)

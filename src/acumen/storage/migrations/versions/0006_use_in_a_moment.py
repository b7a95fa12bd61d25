"""Use in a moment: running counters by memory, which agent versions cite at all, and views that people saved."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

COUNTS = (
    "shown",
    "tokens",
    "cited_shown",
    "cited_tokens",
    "echoed_shown",
    "echoed_tokens",
    "citations",
    "echoes",
    "judged_shown",
    "judged_tokens",
)
KEY = "org_id, kind, entity_id"

_CITING = """
INSERT INTO citing_versions (org_id, agent_version, since, created_at, updated_at)
SELECT org_id, COALESCE(agent_version, ''), MIN(cited_at), MIN(cited_at), MIN(cited_at)
FROM usage_events WHERE cited_at IS NOT NULL GROUP BY org_id, COALESCE(agent_version, '')
"""


def upgrade() -> None:
    op.create_table(
        "citing_versions",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        *_made(),
        sa.PrimaryKeyConstraint("org_id", "agent_version", name="pk_citing_versions"),
    )
    op.create_table(
        "saved_views",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("page", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        *_made(),
        sa.PrimaryKeyConstraint("org_id", "page", "name", name="pk_saved_views"),
    )
    op.drop_table("memory_days")
    op.create_table(
        "memory_days",
        *_key(),
        sa.Column("day", sa.Integer(), nullable=False),
        *_counts(),
        *_made(),
        sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", "day", name="pk_memory_days"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "memory_totals",
        *_key(),
        *_counts(),
        *(sa.Column(name, sa.BigInteger(), nullable=True) for name in ("first_at", "last_at", "last_cited_at")),
        *_made(),
        sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", name="pk_memory_totals"),
        sqlite_with_rowid=False,
    )
    for statement in (_CITING, _days(), _totals()):
        op.execute(statement)


def _key() -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in ("org_id", "kind", "entity_id")]


def _counts() -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in COUNTS]


def _made() -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in ("created_at", "updated_at")]


def _of_each_day() -> str:
    """What the events of each memory's days add up to."""
    shown = "e.event_name = 'learning_injection'"
    conditions = {
        "": shown,
        "cited_": f"{shown} AND e.cited_at IS NOT NULL",
        "echoed_": f"{shown} AND e.echoed_at IS NOT NULL",
        "judged_": f"{shown} AND (e.cited_at IS NOT NULL OR e.created_at >= v.since)",
    }
    sums = {
        f"{prefix}{name}": f"CASE WHEN {condition} THEN e.{column} ELSE 0 END"
        for prefix, condition in conditions.items()
        for name, column in (("shown", "count_value"), ("tokens", "prompt_tokens"))
    }
    sums["citations"] = "CASE WHEN e.event_name = 'learning_citation' THEN e.count_value ELSE 0 END"
    sums["echoes"] = "CASE WHEN e.event_name = 'learning_echo' THEN e.count_value ELSE 0 END"
    summed = ", ".join(f"SUM({sums[name]}) AS {name}" for name in COUNTS)
    return (
        "SELECT e.org_id AS org_id, e.entity_type AS kind, e.entity_id AS entity_id, "
        f"e.created_at / 86400000 AS day, {summed}, "
        f"MIN(CASE WHEN {shown} THEN e.created_at END) AS first_at, "
        f"MAX(CASE WHEN {shown} THEN e.created_at END) AS last_at, "
        "MAX(CASE WHEN e.event_name = 'learning_citation' THEN e.created_at END) AS last_cited_at, "
        "MAX(e.created_at) AS made "
        "FROM usage_events e LEFT JOIN citing_versions v "
        "ON v.org_id = e.org_id AND v.agent_version = COALESCE(e.agent_version, '') "
        "WHERE e.entity_id IS NOT NULL "
        "AND e.event_name IN ('learning_injection', 'learning_citation', 'learning_echo') "
        "GROUP BY e.org_id, e.entity_type, e.entity_id, e.created_at / 86400000"
    )


def _days() -> str:
    earlier = f"OVER (PARTITION BY {KEY} ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    before = ", ".join(f"COALESCE(SUM({name}) {earlier}, 0)" for name in COUNTS)
    return (
        f"INSERT INTO memory_days ({KEY}, day, {', '.join(COUNTS)}, created_at, updated_at) "
        f"SELECT {KEY}, day, {before}, made, made FROM ({_of_each_day()}) AS by_day"
    )


def _totals() -> str:
    sums = ", ".join(f"SUM({name})" for name in COUNTS)
    return (
        f"INSERT INTO memory_totals ({KEY}, {', '.join(COUNTS)}, first_at, last_at, last_cited_at, created_at, "
        f"updated_at) SELECT {KEY}, {sums}, MIN(first_at), MAX(last_at), MAX(last_cited_at), MIN(made), MAX(made) "
        f"FROM ({_of_each_day()}) AS by_day GROUP BY {KEY}"
    )

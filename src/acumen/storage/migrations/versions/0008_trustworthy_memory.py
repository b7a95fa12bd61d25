"""When memories were said and when they hold, why they ended, which are in conflict; superseded turns are searchable.

Turns were hidden from search when every memory that rests on them had been superseded. Only forgotten ones stay hidden.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_LAST_TURN = """
UPDATE {table} SET said_at = COALESCE((
    SELECT MAX(i.created_at) FROM interactions i WHERE i.org_id = {table}.org_id AND i.request_id = {table}.request_id
    AND {table}.request_id <> ''), created_at)
"""

_HIDDEN = """
SELECT r.org_id, r.user_id, r.entity_id FROM search_rows r
JOIN interactions i ON i.org_id = r.org_id AND CAST(i.interaction_id AS TEXT) = r.entity_id
WHERE r.kind = 'turn' AND r.gone = :hidden
"""
_SHOW = """
UPDATE search_rows SET gone = :shown WHERE kind = 'turn' AND org_id = :org_id AND entity_id = :entity_id
"""


def upgrade() -> None:
    for table in ("profiles", "user_playbooks"):
        for name in ("said_at", "valid_from", "valid_until"):
            op.add_column(table, sa.Column(name, sa.BigInteger(), nullable=True))
        op.add_column(table, sa.Column("category", sa.Text(), nullable=False, server_default="fact"))
        op.add_column(table, sa.Column("standing", sa.Boolean(), nullable=False, server_default=sa.false()))
        op.execute(_LAST_TURN.format(table=table))
    op.execute("UPDATE user_playbooks SET category = 'rule'")
    for table in ("user_playbooks", "agent_playbooks"):
        op.add_column(table, sa.Column("scoped_version", sa.Text(), nullable=True))
    for name in ("cause", "quote"):
        op.add_column("lineage", sa.Column(name, sa.Text(), nullable=True))
    op.add_column("lineage", sa.Column("interaction_id", sa.BigInteger(), nullable=True))
    _create_conflicts()
    _show_superseded_turns()


def _create_conflicts() -> None:
    texts = ("org_id", "conflict_id", "user_id", "older_kind", "older_id", "newer_kind", "newer_id", "reason", "state")
    op.create_table(
        "conflicts",
        *(sa.Column(name, sa.Text(), nullable=False) for name in texts),
        sa.Column("quote", sa.Text(), nullable=True),
        sa.Column("settled_by", sa.Text(), nullable=True),
        sa.Column("interaction_id", sa.BigInteger(), nullable=True),
        sa.Column("settled_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "conflict_id", name="pk_conflicts"),
    )
    op.create_index("ix_conflicts_user", "conflicts", ["org_id", "user_id", "state"])
    op.create_index("ix_conflicts_older", "conflicts", ["org_id", "older_kind", "older_id"])
    op.create_index("ix_conflicts_newer", "conflicts", ["org_id", "newer_kind", "newer_id"])


def _show_superseded_turns() -> None:
    conn = op.get_bind()
    forgotten = set()
    for name in ("profiles", "user_playbooks"):
        table = sa.table(name, sa.column("org_id"), sa.column("status"), sa.column("interaction_ids", sa.JSON()))
        rows = conn.execute(sa.select(table.c.org_id, table.c.interaction_ids).where(table.c.status == "forgotten"))
        forgotten |= {(row.org_id, str(turn)) for row in rows for turn in row.interaction_ids or ()}
    hidden = conn.execute(sa.text(_HIDDEN), {"hidden": True}).all()
    shown = [row for row in hidden if (row.org_id, row.entity_id) not in forgotten]
    if shown:
        values = [{"org_id": row.org_id, "entity_id": row.entity_id, "shown": False} for row in shown]
        conn.execute(sa.text(_SHOW), values)
        conn.execute(sa.text("UPDATE orgs SET generation = generation + 1"))

"""The first release. It begins at the last unreleased schema (0010); an empty database is created from `tables.py`.

Tables and columns are named like what they hold: `review_states`, `aggregation_bookmarks`, `jobs.event`,
`orgs.scanned_seq`. Nothing read `jobs.wishes`.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = None


def upgrade() -> None:
    _rename_review_marks()
    _rename_aggregation_marks()
    for name in ("generation", "seq"):
        op.alter_column("orgs", f"watched_{name}", new_column_name=f"scanned_{name}")
    op.drop_index("ix_jobs_scope", "jobs")
    op.alter_column("jobs", "fact", new_column_name="event")
    op.create_index("ix_jobs_scope", "jobs", ["org_id", "event", "scope", "state"])
    op.drop_column("jobs", "wishes")


def _rename_review_marks() -> None:
    _copy(
        "review_marks",
        "review_states",
        *_columns(sa.Text(), "org_id", "kind", "entity_id"),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.Column("snoozed_until", sa.BigInteger(), nullable=True),
        sa.Column("useful_at", sa.BigInteger(), nullable=True),
        sa.Column("dismissed", sa.JSON(none_as_null=True), nullable=True),
        *_columns(sa.BigInteger(), "created_at", "updated_at"),
        sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", name="pk_review_states"),
    )
    op.create_index("ix_review_states_user", "review_states", ["org_id", "user_id"])


def _rename_aggregation_marks() -> None:
    _copy(
        "aggregation_marks",
        "aggregation_bookmarks",
        *_columns(sa.Text(), "org_id", "agent_version"),
        *_columns(sa.BigInteger(), "last_id", "seq"),
        *_columns(sa.Float(), "duration_ms"),
        *_columns(sa.Text(), "basis"),
        *_columns(sa.BigInteger(), "created_at", "updated_at"),
        sa.PrimaryKeyConstraint("org_id", "agent_version", name="pk_aggregation_bookmarks"),
    )


def _columns(kind: sa.types.TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def _copy(old: str, new: str, *parts: sa.schema.SchemaItem) -> None:
    """A copy, since SQLite cannot rename the primary key of a table."""
    op.create_table(new, *parts)
    names = ", ".join(part.name for part in parts if isinstance(part, sa.Column))
    op.execute(f"INSERT INTO {new} ({names}) SELECT {names} FROM {old}")
    op.drop_table(old)

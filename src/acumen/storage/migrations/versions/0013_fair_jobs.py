"""Jobs are claimed fairly and their backlog is measured: whose they are, whether they are due, how many turns they wait
with, and how many turns were learned per minute.

A job that an older version adds is of no user and not ready; the next claim makes it ready when it is due.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("user_id", sa.Text(), nullable=False, server_default=sa.text("''")))
    for name in ("ready", "turns"):
        op.add_column("jobs", sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.drop_index("ix_jobs_due", "jobs")
    op.create_index("ix_jobs_due", "jobs", ["state", "ready", "run_at"])
    op.create_index("ix_jobs_ready", "jobs", ["ready", "org_id", "user_id", "run_at", "event", "turns"])
    op.create_table(
        "learned_turns",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("minute", sa.BigInteger(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "minute", name="pk_learned_turns"),
    )

"""Standing memories of a user are found by an index instead of being remembered by every process."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    only = sa.text("standing")
    for table in ("profiles", "user_playbooks"):
        op.create_index(
            f"ix_{table}_standing",
            table,
            ["org_id", "user_id", "status", "updated_at"],
            sqlite_where=only,
            postgresql_where=only,
        )

"""Operations are looked up by time, whosever they are; only failures also by session."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    for name in ("time", "user", "session"):
        op.drop_index(f"ix_operations_{name}", "operations")
    op.create_index("ix_operations_time", "operations", ["org_id", "created_at", "session_id", "user_id"])
    failed = sa.text("status = 'error'")
    columns = ["org_id", "session_id", "created_at"]
    op.create_index("ix_operations_failed", "operations", columns, sqlite_where=failed, postgresql_where=failed)

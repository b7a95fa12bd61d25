"""Operations are looked up by time, whosever they are; only failures and what models wrote also by session."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    for name in ("time", "user", "session"):
        op.drop_index(f"ix_operations_{name}", "operations")
    op.create_index("ix_operations_time", "operations", ["org_id", "created_at", "session_id", "user_id"])
    _of_sessions("ix_operations_failed", "status = 'error'")
    _of_sessions("ix_operations_wrote", "tokens_out IS NOT NULL")


def _of_sessions(name: str, condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "operations", ["org_id", "session_id"], sqlite_where=where, postgresql_where=where)

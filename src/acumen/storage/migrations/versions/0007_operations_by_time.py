"""Operations are looked up by time, whosever they are; only failures and what models wrote also by session."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    for name in ("time", "user", "session"):
        op.drop_index(f"ix_operations_{name}", "operations")
    op.create_index("ix_operations_time", "operations", ["org_id", "created_at", "session_id", "user_id"])
    _create("ix_operations_failed", ["org_id", "session_id", "created_at"], "status = 'error'")
    _create("ix_operations_wrote", ["org_id", "session_id"], "tokens_out IS NOT NULL")


def _create(name: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "operations", columns, sqlite_where=where, postgresql_where=where)

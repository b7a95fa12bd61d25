"""Aggregation reads only lessons that changed after its bookmark, as long as it is configured as it was then."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("aggregation_marks", sa.Column("seq", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("aggregation_marks", sa.Column("basis", sa.Text(), nullable=False, server_default=""))

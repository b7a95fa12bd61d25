"""Memory health: what a person did and can take back, what each memory cost by day, holdouts."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

# What was counted before is summed by day; which showing a citation belongs to was not kept.
_SUM_MEMORIES = """
INSERT INTO memory_days (org_id, kind, entity_id, day, shown, tokens, cited_shown, cited_tokens, echoed_shown,
    echoed_tokens, citations, echoes, first_at, last_at, last_cited_at, created_at, updated_at)
SELECT org_id, entity_type, entity_id, created_at / 86400000,
    SUM(CASE WHEN event_name = 'learning_injection' THEN count_value ELSE 0 END),
    SUM(CASE WHEN event_name = 'learning_injection' THEN prompt_tokens ELSE 0 END),
    0, 0, 0, 0,
    SUM(CASE WHEN event_name = 'learning_citation' THEN count_value ELSE 0 END),
    SUM(CASE WHEN event_name = 'learning_echo' THEN count_value ELSE 0 END),
    MIN(CASE WHEN event_name = 'learning_injection' THEN created_at END),
    MAX(CASE WHEN event_name = 'learning_injection' THEN created_at END),
    MAX(CASE WHEN event_name = 'learning_citation' THEN created_at END),
    MAX(created_at), MAX(created_at)
FROM usage_events WHERE entity_id IS NOT NULL
GROUP BY org_id, entity_type, entity_id, created_at / 86400000
"""
_SUM_USERS = """
INSERT INTO user_days (org_id, day, user_id, agent_version, searches, zero_hits, shown, tokens, cited_shown,
    cited_tokens, echoed_shown, echoed_tokens, created_at, updated_at)
SELECT org_id, created_at / 86400000, COALESCE(user_id, ''), '',
    SUM(CASE WHEN event_name = 'learning_applied' THEN count_value ELSE 0 END),
    SUM(CASE WHEN event_name = 'learning_applied' AND prompt_tokens = 0 THEN count_value ELSE 0 END),
    SUM(CASE WHEN event_name = 'learning_injection' THEN count_value ELSE 0 END),
    SUM(CASE WHEN event_name = 'learning_injection' THEN prompt_tokens ELSE 0 END),
    0, 0, 0, 0, MAX(created_at), MAX(created_at)
FROM usage_events WHERE event_name IN ('learning_applied', 'learning_injection')
GROUP BY org_id, created_at / 86400000, COALESCE(user_id, '')
"""


def upgrade() -> None:
    op.create_table(
        "action_items",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("action_id", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("changed", sa.Boolean(), nullable=False),
        sa.Column("why", sa.Text(), nullable=True),
        sa.Column("before", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("after", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "action_id", "place", name="pk_action_items"),
    )
    with op.batch_alter_table("action_items", schema=None) as batch_op:
        batch_op.create_index("ix_action_items_entity", ["org_id", "kind", "entity_id"], unique=False)
        batch_op.create_index("ix_action_items_user", ["org_id", "user_id"], unique=False)

    op.create_table(
        "duplicate_pairs",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("left_id", sa.Text(), nullable=False),
        sa.Column("right_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("similarity", sa.Float(), nullable=False),
        sa.Column("found_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "kind", "left_id", "right_id", name="pk_duplicate_pairs"),
    )
    with op.batch_alter_table("duplicate_pairs", schema=None) as batch_op:
        batch_op.create_index("ix_duplicate_pairs_right", ["org_id", "kind", "right_id"], unique=False)
        batch_op.create_index("ix_duplicate_pairs_user", ["org_id", "user_id"], unique=False)

    op.create_table(
        "experiments",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("experiment_id", sa.Text(), nullable=False),
        sa.Column("holdout_percentage", sa.Float(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("active_key", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "experiment_id", name="pk_experiments"),
    )
    with op.batch_alter_table("experiments", schema=None) as batch_op:
        batch_op.create_index("ix_experiments_active_key", ["org_id", "active_key"], unique=True)

    op.create_table(
        "memory_days",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("shown", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("cited_shown", sa.BigInteger(), nullable=False),
        sa.Column("cited_tokens", sa.BigInteger(), nullable=False),
        sa.Column("echoed_shown", sa.BigInteger(), nullable=False),
        sa.Column("echoed_tokens", sa.BigInteger(), nullable=False),
        sa.Column("citations", sa.BigInteger(), nullable=False),
        sa.Column("echoes", sa.BigInteger(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=True),
        sa.Column("last_at", sa.BigInteger(), nullable=True),
        sa.Column("last_cited_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", "day", name="pk_memory_days"),
        sqlite_with_rowid=False,
    )

    op.create_table(
        "memory_flags",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("signal", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("detail", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", "signal", name="pk_memory_flags"),
    )
    with op.batch_alter_table("memory_flags", schema=None) as batch_op:
        batch_op.create_index("ix_memory_flags_user", ["org_id", "user_id"], unique=False)

    op.create_table(
        "review_marks",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.Column("snoozed_until", sa.BigInteger(), nullable=True),
        sa.Column("useful_at", sa.BigInteger(), nullable=True),
        sa.Column("dismissed", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", name="pk_review_marks"),
    )
    with op.batch_alter_table("review_marks", schema=None) as batch_op:
        batch_op.create_index("ix_review_marks_user", ["org_id", "user_id"], unique=False)

    op.create_table(
        "user_days",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("searches", sa.BigInteger(), nullable=False),
        sa.Column("zero_hits", sa.BigInteger(), nullable=False),
        sa.Column("shown", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("cited_shown", sa.BigInteger(), nullable=False),
        sa.Column("cited_tokens", sa.BigInteger(), nullable=False),
        sa.Column("echoed_shown", sa.BigInteger(), nullable=False),
        sa.Column("echoed_tokens", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "day", "user_id", "agent_version", name="pk_user_days"),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("user_days", schema=None) as batch_op:
        batch_op.create_index("ix_user_days_user", ["org_id", "user_id"], unique=False)

    # Nothing wrote to it so far.
    op.drop_table("actions")
    op.create_table(
        "actions",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("action_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("params", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("undoes", sa.Text(), nullable=True),
        sa.Column("undone_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "action_id", name="pk_actions"),
    )
    with op.batch_alter_table("actions", schema=None) as batch_op:
        batch_op.create_index("ix_actions_time", ["org_id", "created_at"], unique=False)

    with op.batch_alter_table("injections", schema=None) as batch_op:
        batch_op.add_column(sa.Column("ask", sa.JSON(none_as_null=True), nullable=True))
        batch_op.add_column(sa.Column("agent_version", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("degraded", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("experiment_id", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("experiment_arm", sa.Text(), nullable=True))
        batch_op.create_index("ix_injections_time", ["org_id", "created_at"], unique=False)

    with op.batch_alter_table("orgs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("watched_generation", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("watched_seq", sa.BigInteger(), nullable=True))

    with op.batch_alter_table("usage_events", schema=None) as batch_op:
        batch_op.add_column(sa.Column("agent_version", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("cited_at", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("echoed_at", sa.BigInteger(), nullable=True))
        batch_op.drop_index("ix_usage_events_entity")
        batch_op.create_index(
            "ix_usage_events_entity",
            ["org_id", "entity_type", "entity_id", "event_name", "created_at", "session_id"],
            unique=False,
        )
        batch_op.drop_index("ix_usage_events_user")
        batch_op.create_index("ix_usage_events_user", ["org_id", "user_id", "session_id", "entity_id"], unique=False)

    op.execute(_SUM_MEMORIES)
    op.execute(_SUM_USERS)

"""Learning in full: runs, shared lessons and their history, verdicts on shadows, calls to models."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "aggregation_changes",
        sa.Column(
            "change_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("added", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("updated", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("removed", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("change_id", name=op.f("pk_aggregation_changes")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("aggregation_changes", schema=None) as batch_op:
        batch_op.create_index(
            "ix_aggregation_changes_version", ["org_id", "agent_version", "name", "created_at"], unique=False
        )

    op.create_table(
        "aggregation_marks",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.Column("duration_ms", sa.Float(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "agent_version", name="pk_aggregation_marks"),
    )
    with op.batch_alter_table("agent_playbook_sources", schema=None) as batch_op:
        batch_op.create_index("ix_agent_playbook_sources_user_playbook", ["org_id", "user_playbook_id"], unique=False)

    op.create_table(
        "clusters",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("cluster_id", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("members", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("agent_playbook_id", sa.BigInteger(), nullable=True),
        sa.Column("wording", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "cluster_id", name="pk_clusters"),
    )
    with op.batch_alter_table("clusters", schema=None) as batch_op:
        batch_op.create_index("ix_clusters_playbook", ["org_id", "agent_playbook_id"], unique=False)
        batch_op.create_index("ix_clusters_version", ["org_id", "agent_version", "name"], unique=False)

    op.create_table(
        "llm_calls",
        sa.Column("call_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("duration_ms", sa.Float(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("call_id", name=op.f("pk_llm_calls")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("llm_calls", schema=None) as batch_op:
        batch_op.create_index("ix_llm_calls_time", ["org_id", "created_at"], unique=False)
        batch_op.create_index("ix_llm_calls_user", ["org_id", "user_id"], unique=False)

    op.create_table(
        "run_items",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("detail", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "run_id", "place", name="pk_run_items"),
    )
    with op.batch_alter_table("run_items", schema=None) as batch_op:
        batch_op.create_index("ix_run_items_item", ["org_id", "run_id", "item"], unique=False)
        batch_op.create_index("ix_run_items_state", ["org_id", "run_id", "state", "place"], unique=False)

    op.create_table(
        "runs",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("service", sa.Text(), nullable=False),
        sa.Column("active_key", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("request", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("cause", sa.Text(), nullable=True),
        sa.Column("cancel_asked", sa.Boolean(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "run_id", name="pk_runs"),
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index("ix_runs_active_key", ["org_id", "active_key"], unique=True)
        batch_op.create_index("ix_runs_service", ["org_id", "service", "created_at"], unique=False)

    op.create_table(
        "shadow_verdicts",
        sa.Column(
            "verdict_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("interaction_id", sa.BigInteger(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("preference", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("regular_first", sa.Boolean(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("verdict_id", name=op.f("pk_shadow_verdicts")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("shadow_verdicts", schema=None) as batch_op:
        batch_op.create_index("ix_shadow_verdicts_session", ["org_id", "user_id", "session_id"], unique=False)
        batch_op.create_index("ix_shadow_verdicts_time", ["org_id", "created_at"], unique=False)
        batch_op.create_index("ix_shadow_verdicts_turn", ["org_id", "interaction_id"], unique=True)

    # Nothing has been written to it so far.
    op.drop_table("evaluations")
    op.create_table(
        "evaluations",
        sa.Column(
            "evaluation_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("is_success", sa.Boolean(), nullable=False),
        sa.Column("judged_success", sa.Boolean(), nullable=True),
        sa.Column("stated", sa.Text(), nullable=True),
        sa.Column("failure_type", sa.Text(), nullable=True),
        sa.Column("failure_reason", sa.Text(), nullable=True),
        sa.Column("corrections", sa.Integer(), nullable=False),
        sa.Column("turns_to_resolution", sa.Integer(), nullable=True),
        sa.Column("is_escalated", sa.Boolean(), nullable=False),
        sa.Column("shadow", sa.Text(), nullable=True),
        sa.Column("signals", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("evaluation_id", name=op.f("pk_evaluations")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("evaluations", schema=None) as batch_op:
        batch_op.create_index("ix_evaluations_created", ["org_id", "created_at"], unique=False)
        batch_op.create_index("ix_evaluations_ended", ["org_id", "ended_at"], unique=False)
        batch_op.create_index("ix_evaluations_session", ["org_id", "user_id", "session_id"], unique=True)

    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.add_column(sa.Column("outcome_source", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("outcome_label", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("outcome_revision", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("outcome_at", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("outcome_stated_at", sa.BigInteger(), nullable=True))
        batch_op.create_index("ix_sessions_outcome", ["org_id", "outcome_at"], unique=False)

    # ### end Alembic commands ###

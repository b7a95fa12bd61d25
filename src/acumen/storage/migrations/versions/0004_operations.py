"""Operations in full: what agents did, failures that are one, and the lessons they suggest."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "analyses",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("analysis_id", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("evidence_hash", sa.Text(), nullable=False),
        sa.Column("evidence", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("scopes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("diagnosis", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "analysis_id", name="pk_analyses"),
    )
    op.create_index("ix_analyses_evidence", "analyses", ["org_id", "evidence_hash"], unique=True)
    op.create_index("ix_analyses_key", "analyses", ["org_id", "key", "created_at"], unique=False)
    op.create_table(
        "failure_aliases",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("merged_into", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "group_id", name="pk_failure_aliases"),
    )
    op.create_index("ix_failure_aliases_into", "failure_aliases", ["org_id", "merged_into"], unique=False)
    op.create_table(
        "failure_groups",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("error_type", sa.Text(), nullable=False),
        sa.Column("bucket", sa.Text(), nullable=False),
        sa.Column("leaf", sa.Text(), nullable=True),
        sa.Column("template", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("sessions", sa.BigInteger(), nullable=False),
        sa.Column("analysed_count", sa.BigInteger(), nullable=False),
        sa.Column("analysed_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "group_id", name="pk_failure_groups"),
    )
    op.create_index("ix_failure_groups_bucket", "failure_groups", ["org_id", "bucket"], unique=False)
    op.create_index("ix_failure_groups_leaf", "failure_groups", ["org_id", "leaf"], unique=False)
    op.create_index("ix_failure_groups_seen", "failure_groups", ["org_id", "last_seen"], unique=False)
    op.create_table(
        "failure_hours",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "group_id", "hour", name="pk_failure_hours"),
    )
    op.create_table(
        "failure_keys",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "key", name="pk_failure_keys"),
    )
    op.create_index("ix_failure_keys_group", "failure_keys", ["org_id", "group_id"], unique=False)
    op.create_table(
        "failure_sessions",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "group_id", "session_id", name="pk_failure_sessions"),
    )
    op.create_table(
        "findings",
        sa.Column(
            "finding_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("op_id", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("overall", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("finding_id", name=op.f("pk_findings")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_findings_operation", "findings", ["org_id", "op_id"], unique=False)
    op.create_index("ix_findings_signature", "findings", ["org_id", "signature"], unique=False)
    op.create_index("ix_findings_subject", "findings", ["org_id", "subject"], unique=False)
    op.create_table(
        "operation_hours",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "hour", "source", "kind", "status", name="pk_operation_hours"),
    )
    op.create_table(
        "proposals",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("playbook_id", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=True),
        sa.Column("schema_hash", sa.Text(), nullable=True),
        sa.Column("agent_version", sa.Text(), nullable=True),
        sa.Column("evidence", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("scopes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("replays", sa.BigInteger(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("detail", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("flag", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "key", name="pk_proposals"),
    )
    op.create_index("ix_proposals_endpoint", "proposals", ["org_id", "source", "endpoint"], unique=False)
    op.create_index("ix_proposals_playbook", "proposals", ["org_id", "playbook_id"], unique=False)
    op.create_table(
        "tool_versions",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("schema_hash", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "org_id", "source", "endpoint", "schema_hash", "agent_version", name="pk_tool_versions"
        ),
    )
    op.create_table(
        "ways",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("way_key", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("successes", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "way_key", name="pk_ways"),
    )
    op.add_column("operations", sa.Column("agent", sa.Text(), nullable=True))
    op.add_column("operations", sa.Column("trace_id", sa.Text(), nullable=True))
    op.add_column("operations", sa.Column("span_id", sa.Text(), nullable=True))
    op.add_column("operations", sa.Column("parent_span_id", sa.Text(), nullable=True))
    op.add_column("operations", sa.Column("skew_ms", sa.BigInteger(), nullable=True))
    op.add_column("operations", sa.Column("input_summary", sa.Text(), nullable=True))
    op.add_column("operations", sa.Column("output_summary", sa.Text(), nullable=True))
    op.add_column("operations", sa.Column("arguments", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("operations", sa.Column("schema_hash", sa.Text(), nullable=True))
    op.add_column("operations", sa.Column("tokens_in", sa.BigInteger(), nullable=True))
    op.add_column("operations", sa.Column("tokens_out", sa.BigInteger(), nullable=True))
    op.add_column("operations", sa.Column("tokens_cached", sa.BigInteger(), nullable=True))
    op.add_column("operations", sa.Column("tokens_reasoning", sa.BigInteger(), nullable=True))
    op.add_column("operations", sa.Column("cost_usd", sa.Float(), nullable=True))
    op.add_column("operations", sa.Column("model", sa.Text(), nullable=True))
    op.add_column("operations", sa.Column("rescue_attempted", sa.Boolean(), nullable=True))
    op.add_column("operations", sa.Column("rescue_succeeded", sa.Boolean(), nullable=True))
    op.add_column("operations", sa.Column("group_id", sa.Text(), nullable=True))
    op.add_column("operations", sa.Column("way_key", sa.Text(), nullable=True))
    op.create_index(
        "ix_operations_group",
        "operations",
        ["org_id", "group_id", "created_at"],
        unique=False,
        sqlite_where=sa.text("group_id IS NOT NULL"),
        postgresql_where=sa.text("group_id IS NOT NULL"),
    )
    op.create_index(
        "ix_operations_kind",
        "operations",
        ["org_id", "kind", "created_at"],
        unique=False,
        sqlite_where=sa.text("kind <> 'operation'"),
        postgresql_where=sa.text("kind <> 'operation'"),
    )
    op.create_index(
        "ix_operations_session",
        "operations",
        ["org_id", "session_id", "created_at"],
        unique=False,
        sqlite_where=sa.text("session_id IS NOT NULL"),
        postgresql_where=sa.text("session_id IS NOT NULL"),
    )
    op.create_index("ix_operations_source", "operations", ["org_id", "source", "created_at"], unique=False)
    op.create_index(
        "ix_operations_user",
        "operations",
        ["org_id", "user_id"],
        unique=False,
        sqlite_where=sa.text("user_id IS NOT NULL"),
        postgresql_where=sa.text("user_id IS NOT NULL"),
    )
    op.create_index(
        "ix_operations_way",
        "operations",
        ["org_id", "way_key", "created_at"],
        unique=False,
        sqlite_where=sa.text("way_key IS NOT NULL"),
        postgresql_where=sa.text("way_key IS NOT NULL"),
    )

"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "actions",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("action_id", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("targets", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("before", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("after", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("undone_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "action_id", name="pk_actions"),
    )
    with op.batch_alter_table("actions", schema=None) as batch_op:
        batch_op.create_index("ix_actions_time", ["org_id", "created_at"], unique=False)

    op.create_table(
        "agent_playbook_sources",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("agent_playbook_id", sa.BigInteger(), nullable=False),
        sa.Column("user_playbook_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "agent_playbook_id", "user_playbook_id", name="pk_agent_playbook_sources"),
    )
    op.create_table(
        "agent_playbooks",
        sa.Column(
            "playbook_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("approval", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("trigger", sa.Text(), nullable=True),
        sa.Column("rationale", sa.Text(), nullable=True),
        sa.Column("pitfall", sa.Text(), nullable=True),
        sa.Column("blocking_issue", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("superseded_by", sa.BigInteger(), nullable=True),
        sa.Column("merged_into", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("tags", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("interaction_ids", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("source_span", sa.Text(), nullable=True),
        sa.Column("notes", sa.Text(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("mentions", sa.Integer(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", name=op.f("pk_agent_playbooks")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("agent_playbooks", schema=None) as batch_op:
        batch_op.create_index("ix_agent_playbooks_org", ["org_id", "agent_version", "status"], unique=False)

    op.create_table(
        "api_keys",
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_api_keys")),
    )
    with op.batch_alter_table("api_keys", schema=None) as batch_op:
        batch_op.create_index("ix_api_keys_key_hash", ["key_hash"], unique=True)
        batch_op.create_index("ix_api_keys_org_id", ["org_id"], unique=False)

    op.create_table(
        "bookmarks",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("extractor", sa.Text(), nullable=False),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "user_id", "extractor", name="pk_bookmarks"),
    )
    op.create_table(
        "evaluations",
        sa.Column(
            "evaluation_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("is_success", sa.Boolean(), nullable=False),
        sa.Column("detail", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("evaluation_id", name=op.f("pk_evaluations")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("evaluations", schema=None) as batch_op:
        batch_op.create_index("ix_evaluations_session", ["org_id", "user_id", "session_id"], unique=False)

    op.create_table(
        "injections",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("injection_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("caller_type", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("rendered", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("hits", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "injection_id", name="pk_injections"),
    )
    with op.batch_alter_table("injections", schema=None) as batch_op:
        batch_op.create_index("ix_injections_user", ["org_id", "user_id", "created_at"], unique=False)

    op.create_table(
        "interactions",
        sa.Column(
            "interaction_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("shadow_content", sa.Text(), nullable=False),
        sa.Column("expert_content", sa.Text(), nullable=False),
        sa.Column("user_action", sa.Text(), nullable=False),
        sa.Column("user_action_description", sa.Text(), nullable=False),
        sa.Column("image_url", sa.Text(), nullable=False),
        sa.Column("image_encoding", sa.Text(), nullable=False),
        sa.Column("tools_used", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("citations", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("retrieved_learnings", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("interaction_id", name=op.f("pk_interactions")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("interactions", schema=None) as batch_op:
        batch_op.create_index("ix_interactions_request", ["org_id", "request_id"], unique=False)
        batch_op.create_index("ix_interactions_user", ["org_id", "user_id", "interaction_id"], unique=False)

    op.create_table(
        "jobs",
        sa.Column("job_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("fact", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("waiting_key", sa.Text(), nullable=True),
        sa.Column("wishes", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("run_at", sa.BigInteger(), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_jobs")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.create_index("ix_jobs_due", ["state", "run_at"], unique=False)
        batch_op.create_index("ix_jobs_scope", ["org_id", "fact", "scope", "state"], unique=False)
        batch_op.create_index("ix_jobs_waiting_key", ["waiting_key"], unique=True)

    op.create_table(
        "lineage",
        sa.Column("event_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("op", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("sources", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("before", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("after", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("event_id", name=op.f("pk_lineage")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("lineage", schema=None) as batch_op:
        batch_op.create_index("ix_lineage_entity", ["org_id", "kind", "entity_id", "event_id"], unique=False)
        batch_op.create_index("ix_lineage_request", ["org_id", "request_id"], unique=False)
        batch_op.create_index("ix_lineage_user", ["org_id", "user_id", "event_id"], unique=False)

    op.create_table(
        "operations",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("op_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("agent_version", sa.Text(), nullable=True),
        sa.Column("error_type", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("duration_ms", sa.Float(), nullable=True),
        sa.Column("body_hash", sa.Text(), nullable=False),
        sa.Column("attributes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "op_id", name="pk_operations"),
    )
    with op.batch_alter_table("operations", schema=None) as batch_op:
        batch_op.create_index("ix_operations_time", ["org_id", "created_at"], unique=False)

    op.create_table(
        "orgs",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("config", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("config_version", sa.Integer(), nullable=False),
        sa.Column("search_seq", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("metered_since", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", name=op.f("pk_orgs")),
    )
    op.create_table(
        "profiles",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("profile_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("ttl", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("extractors", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("custom_features", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("superseded_by", sa.Text(), nullable=True),
        sa.Column("merged_into", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("tags", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("interaction_ids", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("source_span", sa.Text(), nullable=True),
        sa.Column("notes", sa.Text(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("mentions", sa.Integer(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "profile_id", name="pk_profiles"),
    )
    with op.batch_alter_table("profiles", schema=None) as batch_op:
        batch_op.create_index("ix_profiles_user", ["org_id", "user_id", "status"], unique=False)

    op.create_table(
        "requests",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("body_hash", sa.Text(), nullable=False),
        sa.Column("session_finished", sa.Boolean(), nullable=False),
        sa.Column("force_extraction", sa.Boolean(), nullable=False),
        sa.Column("evaluation_only", sa.Boolean(), nullable=False),
        sa.Column("skip_aggregation", sa.Boolean(), nullable=False),
        sa.Column("experiment_id", sa.Text(), nullable=True),
        sa.Column("experiment_arm", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "request_id", name="pk_requests"),
    )
    with op.batch_alter_table("requests", schema=None) as batch_op:
        batch_op.create_index("ix_requests_session", ["org_id", "session_id", "created_at"], unique=False)
        batch_op.create_index("ix_requests_user", ["org_id", "user_id", "created_at"], unique=False)

    op.create_table(
        "search_rows",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("gone", sa.Boolean(), nullable=False),
        sa.Column("analyser", sa.Text(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", name="pk_search_rows"),
    )
    with op.batch_alter_table("search_rows", schema=None) as batch_op:
        batch_op.create_index("ix_search_rows_feed", ["org_id", "kind", "seq"], unique=False)
        batch_op.create_index("ix_search_rows_scope", ["org_id", "kind", "user_id", "seq"], unique=False)

    op.create_table(
        "sessions",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("outcome_detail", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "user_id", "session_id", name="pk_sessions"),
    )
    op.create_table(
        "usage_events",
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("injection_id", sa.Text(), nullable=True),
        sa.Column("pipeline", sa.Text(), nullable=False),
        sa.Column("entity_type", sa.Text(), nullable=True),
        sa.Column("entity_id", sa.Text(), nullable=True),
        sa.Column("event_name", sa.Text(), nullable=False),
        sa.Column("event_category", sa.Text(), nullable=False),
        sa.Column("caller_type", sa.Text(), nullable=False),
        sa.Column("count_value", sa.Integer(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("billing_input_tokens", sa.Integer(), nullable=False),
        sa.Column("platform_llm", sa.Boolean(), nullable=False),
        sa.Column("platform_storage", sa.Boolean(), nullable=False),
        sa.Column("duration_ms", sa.Float(), nullable=True),
        sa.Column("error_kind", sa.Text(), nullable=True),
        sa.Column("metadata_json", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "event_id", name="pk_usage_events"),
    )
    with op.batch_alter_table("usage_events", schema=None) as batch_op:
        batch_op.create_index(
            "ix_usage_events_entity", ["org_id", "entity_type", "entity_id", "event_name", "created_at"], unique=False
        )
        batch_op.create_index("ix_usage_events_user", ["org_id", "user_id"], unique=False)
        batch_op.create_index("ix_usage_events_window", ["org_id", "event_name", "created_at"], unique=False)

    op.create_table(
        "user_playbooks",
        sa.Column(
            "playbook_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("trigger", sa.Text(), nullable=True),
        sa.Column("rationale", sa.Text(), nullable=True),
        sa.Column("pitfall", sa.Text(), nullable=True),
        sa.Column("blocking_issue", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("superseded_by", sa.BigInteger(), nullable=True),
        sa.Column("merged_into", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("tags", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("interaction_ids", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("source_span", sa.Text(), nullable=True),
        sa.Column("notes", sa.Text(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("mentions", sa.Integer(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", name=op.f("pk_user_playbooks")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("user_playbooks", schema=None) as batch_op:
        batch_op.create_index("ix_user_playbooks_user", ["org_id", "user_id", "status"], unique=False)

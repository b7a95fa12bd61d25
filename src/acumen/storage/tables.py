"""The schema, for both databases. Every row carries its org; every time is epoch milliseconds."""

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "pk": "pk_%(table_name)s"})

Json = sa.JSON(none_as_null=True)
ONLY_WHERE = "only_where"
# SQLite numbers rows by itself only for INTEGER keys; Postgres needs 64 bits.
RowId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _org() -> sa.Column[str]:
    return sa.Column("org_id", sa.Text, nullable=False)


def _text(name: str, *, null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=null)


def _time(name: str, *, null: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=null)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False)


def _json(name: str) -> sa.Column[object]:
    return sa.Column(name, Json, nullable=True)


def _row_id(name: str) -> sa.Column[int]:
    return sa.Column(name, RowId, primary_key=True, autoincrement=True)


def _where(condition: str) -> dict[str, Any]:
    """An index of only the rows that meet the condition; `postgres.py` tells Postgres, which costs SQLite its start."""
    return {"sqlite_where": sa.text(condition), "info": {ONLY_WHERE: condition}}


def _made() -> tuple[sa.Column[int], sa.Column[int]]:
    return _time("created_at"), _time("updated_at")


# --- who ---------------------------------------------------------------------------------------------------------

orgs = sa.Table(
    "orgs",
    metadata,
    sa.Column("org_id", sa.Text, primary_key=True),
    _json("config"),
    sa.Column("config_version", sa.Integer, nullable=False),
    # Grows with every change to what search reads; a search compares it with what it has in memory.
    sa.Column("search_seq", sa.BigInteger, nullable=False),
    # Grows with every bulk erasure; partitions of an older generation are read anew.
    sa.Column("generation", sa.BigInteger, nullable=False),
    # Since when usage has been counted without a gap.
    _time("metered_since", null=True),
    # How far the watch over memories has come with what search reads: its `generation` and its `search_seq`.
    sa.Column("watched_generation", sa.BigInteger, nullable=True),
    sa.Column("watched_seq", sa.BigInteger, nullable=True),
    *_made(),
)

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("key_id", sa.Text, primary_key=True),
    _org(),
    _text("name"),
    _text("role"),
    _text("key_hash"),
    _text("hint"),
    _time("expires_at", null=True),
    _time("revoked_at", null=True),
    *_made(),
    sa.Index("ix_api_keys_key_hash", "key_hash", unique=True),
    sa.Index("ix_api_keys_org_id", "org_id"),
)

# --- observe: what was said --------------------------------------------------------------------------------------

requests = sa.Table(
    "requests",
    metadata,
    _org(),
    _text("request_id"),
    _text("user_id"),
    _text("session_id"),
    _text("source"),
    _text("agent_version"),
    _text("body_hash"),
    _flag("session_finished"),
    _flag("force_extraction"),
    _flag("evaluation_only"),
    _flag("skip_aggregation"),
    _text("experiment_id", null=True),
    _text("experiment_arm", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "request_id", name="pk_requests"),
    sa.Index("ix_requests_user", "org_id", "user_id", "created_at"),
    sa.Index("ix_requests_session", "org_id", "session_id", "created_at"),
)

interactions = sa.Table(
    "interactions",
    metadata,
    _row_id("interaction_id"),
    _org(),
    _text("user_id"),
    _text("session_id"),
    _text("request_id"),
    _text("role"),
    _text("content"),
    _text("shadow_content"),
    _text("expert_content"),
    _text("user_action"),
    _text("user_action_description"),
    _text("image_url"),
    _text("image_encoding"),
    _json("tools_used"),
    _json("citations"),
    _json("retrieved_learnings"),
    *_made(),
    sa.Index("ix_interactions_user", "org_id", "user_id", "interaction_id"),
    sa.Index("ix_interactions_request", "org_id", "request_id"),
    sqlite_autoincrement=True,
)

sessions = sa.Table(
    "sessions",
    metadata,
    _org(),
    _text("user_id"),
    _text("session_id"),
    _time("finished_at", null=True),
    # How it ended, as its caller states it: the newest word, and how many there were.
    _text("outcome", null=True),
    _json("outcome_detail"),
    _text("outcome_source", null=True),
    _text("outcome_label", null=True),
    sa.Column("outcome_revision", sa.Integer, nullable=True),
    _time("outcome_at", null=True),
    _time("outcome_stated_at", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "user_id", "session_id", name="pk_sessions"),
    sa.Index("ix_sessions_outcome", "org_id", "outcome_at"),
)

bookmarks = sa.Table(
    "bookmarks",
    metadata,
    _org(),
    _text("user_id"),
    _text("extractor"),
    sa.Column("last_id", sa.BigInteger, nullable=False),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "user_id", "extractor", name="pk_bookmarks"),
)

# The last columns are those of a later version: SQLite and Postgres add at the end.
operations = sa.Table(
    "operations",
    metadata,
    _org(),
    _text("op_id"),
    _text("source"),
    _text("kind"),
    _text("endpoint"),
    _text("status"),
    _text("user_id", null=True),
    _text("session_id", null=True),
    _text("request_id", null=True),
    _text("agent_version", null=True),
    _text("error_type", null=True),
    _text("error_message", null=True),
    _time("started_at", null=True),
    sa.Column("duration_ms", sa.Float, nullable=True),
    _text("body_hash"),
    _json("attributes"),
    *_made(),
    _text("agent", null=True),
    _text("trace_id", null=True),
    _text("span_id", null=True),
    _text("parent_span_id", null=True),
    sa.Column("skew_ms", sa.BigInteger, nullable=True),
    _text("input_summary", null=True),
    _text("output_summary", null=True),
    _json("arguments"),
    _text("schema_hash", null=True),
    sa.Column("tokens_in", sa.BigInteger, nullable=True),
    sa.Column("tokens_out", sa.BigInteger, nullable=True),
    sa.Column("tokens_cached", sa.BigInteger, nullable=True),
    sa.Column("tokens_reasoning", sa.BigInteger, nullable=True),
    sa.Column("cost_usd", sa.Float, nullable=True),
    _text("model", null=True),
    sa.Column("rescue_attempted", sa.Boolean, nullable=True),
    sa.Column("rescue_succeeded", sa.Boolean, nullable=True),
    _text("group_id", null=True),
    _text("way_key", null=True),
    sa.PrimaryKeyConstraint("org_id", "op_id", name="pk_operations"),
    sa.Index("ix_operations_time", "org_id", "created_at"),
    sa.Index("ix_operations_source", "org_id", "source", "created_at"),
    sa.Index("ix_operations_user", "org_id", "user_id", **_where("user_id IS NOT NULL")),
    sa.Index("ix_operations_session", "org_id", "session_id", "created_at", **_where("session_id IS NOT NULL")),
    sa.Index("ix_operations_group", "org_id", "group_id", "created_at", **_where("group_id IS NOT NULL")),
    sa.Index("ix_operations_way", "org_id", "way_key", "created_at", **_where("way_key IS NOT NULL")),
    sa.Index("ix_operations_kind", "org_id", "kind", "created_at", **_where("kind <> 'operation'")),
)

# How many operations came in an hour: what is asked of all of them is read here.
operation_hours = sa.Table(
    "operation_hours",
    metadata,
    _org(),
    _time("hour"),
    _text("source"),
    _text("kind"),
    _text("status"),
    sa.Column("count", sa.BigInteger, nullable=False),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "hour", "source", "kind", "status", name="pk_operation_hours"),
)

# Failures that are one and the same.
failure_groups = sa.Table(
    "failure_groups",
    metadata,
    _org(),
    _text("group_id"),
    _text("version"),
    _text("source"),
    _text("endpoint"),
    _text("error_type"),
    _text("bucket"),
    # Where its template is looked for; null when its members are told by an exact key alone.
    _text("leaf", null=True),
    _text("template"),
    _text("state"),
    _time("first_seen"),
    _time("last_seen"),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("sessions", sa.BigInteger, nullable=False),
    sa.Column("analysed_count", sa.BigInteger, nullable=False),
    _time("analysed_at", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "group_id", name="pk_failure_groups"),
    sa.Index("ix_failure_groups_leaf", "org_id", "leaf"),
    sa.Index("ix_failure_groups_bucket", "org_id", "bucket"),
    sa.Index("ix_failure_groups_seen", "org_id", "last_seen"),
)

# The exact keys of a group's members: whoever has one of them belongs to it.
failure_keys = sa.Table(
    "failure_keys",
    metadata,
    _org(),
    _text("key"),
    _text("group_id"),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "key", name="pk_failure_keys"),
    sa.Index("ix_failure_keys_group", "org_id", "group_id"),
)

failure_hours = sa.Table(
    "failure_hours",
    metadata,
    _org(),
    _text("group_id"),
    _time("hour"),
    sa.Column("count", sa.BigInteger, nullable=False),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "group_id", "hour", name="pk_failure_hours"),
)

failure_sessions = sa.Table(
    "failure_sessions",
    metadata,
    _org(),
    _text("group_id"),
    _text("session_id"),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "group_id", "session_id", name="pk_failure_sessions"),
)

# A person says that two groups are one; taking the row away undoes it.
failure_aliases = sa.Table(
    "failure_aliases",
    metadata,
    _org(),
    _text("group_id"),
    _text("merged_into"),
    _text("actor"),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "group_id", name="pk_failure_aliases"),
    sa.Index("ix_failure_aliases_into", "org_id", "merged_into"),
)

# One way of calling an endpoint: the shape of its arguments, and how often that went well.
ways = sa.Table(
    "ways",
    metadata,
    _org(),
    _text("way_key"),
    _text("source"),
    _text("endpoint"),
    sa.Column("successes", sa.BigInteger, nullable=False),
    sa.Column("failures", sa.BigInteger, nullable=False),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "way_key", name="pk_ways"),
)

# Every schema and agent version that was seen at an endpoint, since when.
tool_versions = sa.Table(
    "tool_versions",
    metadata,
    _org(),
    _text("source"),
    _text("endpoint"),
    _text("schema_hash"),
    _text("agent_version"),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "source", "endpoint", "schema_hash", "agent_version", name="pk_tool_versions"),
)

# What auditors found: one row per finding of a verdict.
findings = sa.Table(
    "findings",
    metadata,
    _row_id("finding_id"),
    _org(),
    _text("op_id"),
    _text("subject"),
    _text("overall"),
    _text("severity"),
    _text("signature"),
    _text("message"),
    *_made(),
    sa.Index("ix_findings_subject", "org_id", "subject"),
    sa.Index("ix_findings_signature", "org_id", "signature"),
    sa.Index("ix_findings_operation", "org_id", "op_id"),
    sqlite_autoincrement=True,
)

# What was concluded from operations. The hash of the evidence is unique: nothing is concluded twice from the same.
analyses = sa.Table(
    "analyses",
    metadata,
    _org(),
    _text("analysis_id"),
    _text("about"),
    _text("key"),
    _text("evidence_hash"),
    _json("evidence"),
    _json("scopes"),
    _text("state"),
    _json("diagnosis"),
    _text("engine"),
    _text("model"),
    _text("prompt_hash"),
    sa.Column("confidence", sa.Float, nullable=False),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "analysis_id", name="pk_analyses"),
    sa.Index("ix_analyses_evidence", "org_id", "evidence_hash", unique=True),
    sa.Index("ix_analyses_key", "org_id", "key", "created_at"),
)

# A lesson that operations suggest: what it rests on, and the playbook that a person approves or rejects.
proposals = sa.Table(
    "proposals",
    metadata,
    _org(),
    _text("key"),
    _text("about"),
    sa.Column("playbook_id", sa.BigInteger, nullable=False),
    _text("source"),
    _text("endpoint"),
    _text("group_id", null=True),
    _text("schema_hash", null=True),
    _text("agent_version", null=True),
    _json("evidence"),
    _json("scopes"),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("replays", sa.BigInteger, nullable=False),
    sa.Column("confidence", sa.Float, nullable=False),
    _json("detail"),
    # Why it deserves another look, if it does.
    _text("flag", null=True),
    _time("decided_at", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "key", name="pk_proposals"),
    sa.Index("ix_proposals_playbook", "org_id", "playbook_id"),
    sa.Index("ix_proposals_endpoint", "org_id", "source", "endpoint"),
)

# --- learn: memories ---------------------------------------------------------------------------------------------


def _memory_columns() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=True),
        _json("tags"),
        _json("interaction_ids"),
        sa.Column("source_span", sa.Text, nullable=True),
        sa.Column("notes", sa.Text, nullable=True),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("mentions", sa.Integer, nullable=False),
        sa.Column("engine", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("prompt_hash", sa.Text, nullable=False),
        sa.Column("confidence", sa.Float, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        *_made(),
    )


def _lesson_columns() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("agent_version", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("trigger", sa.Text, nullable=True),
        sa.Column("rationale", sa.Text, nullable=True),
        sa.Column("pitfall", sa.Text, nullable=True),
        _json("blocking_issue"),
        _json("metadata"),
        sa.Column("superseded_by", sa.BigInteger, nullable=True),
        sa.Column("merged_into", sa.BigInteger, nullable=True),
    )


profiles = sa.Table(
    "profiles",
    metadata,
    _org(),
    _text("profile_id"),
    _text("user_id"),
    _text("request_id"),
    _text("content"),
    _text("ttl"),
    _time("expires_at"),
    _json("extractors"),
    _json("custom_features"),
    _text("superseded_by", null=True),
    _text("merged_into", null=True),
    *_memory_columns(),
    sa.PrimaryKeyConstraint("org_id", "profile_id", name="pk_profiles"),
    sa.Index("ix_profiles_user", "org_id", "user_id", "status"),
)

user_playbooks = sa.Table(
    "user_playbooks",
    metadata,
    _row_id("playbook_id"),
    _org(),
    _text("user_id", null=True),
    _text("request_id"),
    *_lesson_columns(),
    *_memory_columns(),
    sa.Index("ix_user_playbooks_user", "org_id", "user_id", "status"),
    sqlite_autoincrement=True,
)

agent_playbooks = sa.Table(
    "agent_playbooks",
    metadata,
    _row_id("playbook_id"),
    _org(),
    _text("approval"),
    *_lesson_columns(),
    *_memory_columns(),
    sa.Index("ix_agent_playbooks_org", "org_id", "agent_version", "status"),
    sqlite_autoincrement=True,
)

agent_playbook_sources = sa.Table(
    "agent_playbook_sources",
    metadata,
    _org(),
    sa.Column("agent_playbook_id", sa.BigInteger, nullable=False),
    sa.Column("user_playbook_id", sa.BigInteger, nullable=False),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "agent_playbook_id", "user_playbook_id", name="pk_agent_playbook_sources"),
    sa.Index("ix_agent_playbook_sources_user_playbook", "org_id", "user_playbook_id"),
)

# What came from what, append-only: a memory's whole life can be told from its rows here.
lineage = sa.Table(
    "lineage",
    metadata,
    _row_id("event_id"),
    _org(),
    _text("kind"),
    _text("entity_id"),
    _text("user_id", null=True),
    _text("op"),
    _text("actor"),
    _text("reason"),
    _text("request_id"),
    _json("sources"),
    _json("before"),
    _json("after"),
    *_made(),
    sa.Index("ix_lineage_entity", "org_id", "kind", "entity_id", "event_id"),
    sa.Index("ix_lineage_user", "org_id", "user_id", "event_id"),
    sa.Index("ix_lineage_request", "org_id", "request_id"),
    sqlite_autoincrement=True,
)

# One per session. What its caller states wins, so `is_success` is what counts and `judged_success` what was guessed.
evaluations = sa.Table(
    "evaluations",
    metadata,
    _row_id("evaluation_id"),
    _org(),
    _text("user_id"),
    _text("session_id"),
    _text("agent_version"),
    _text("source"),
    _text("name", null=True),
    _flag("is_success"),
    sa.Column("judged_success", sa.Boolean, nullable=True),
    _text("stated", null=True),
    _text("failure_type", null=True),
    _text("failure_reason", null=True),
    sa.Column("corrections", sa.Integer, nullable=False),
    sa.Column("turns_to_resolution", sa.Integer, nullable=True),
    _flag("is_escalated"),
    _text("shadow", null=True),
    _json("signals"),
    sa.Column("last_id", sa.BigInteger, nullable=False),
    _time("ended_at"),
    _text("engine"),
    _text("model"),
    _text("prompt_hash"),
    sa.Column("confidence", sa.Float, nullable=False),
    *_made(),
    sa.Index("ix_evaluations_session", "org_id", "user_id", "session_id", unique=True),
    sa.Index("ix_evaluations_created", "org_id", "created_at"),
    sa.Index("ix_evaluations_ended", "org_id", "ended_at"),
    sqlite_autoincrement=True,
)

shadow_verdicts = sa.Table(
    "shadow_verdicts",
    metadata,
    _row_id("verdict_id"),
    _org(),
    _text("user_id"),
    _text("session_id"),
    sa.Column("interaction_id", sa.BigInteger, nullable=False),
    _text("agent_version"),
    _text("preference"),
    _text("reason"),
    _flag("regular_first"),
    _text("engine"),
    _text("model"),
    _text("prompt_hash"),
    sa.Column("confidence", sa.Float, nullable=False),
    *_made(),
    sa.Index("ix_shadow_verdicts_turn", "org_id", "interaction_id", unique=True),
    sa.Index("ix_shadow_verdicts_time", "org_id", "created_at"),
    sa.Index("ix_shadow_verdicts_session", "org_id", "user_id", "session_id"),
    sqlite_autoincrement=True,
)

# Lessons of several users that say the same: what a shared lesson was written from, so that it is written once.
clusters = sa.Table(
    "clusters",
    metadata,
    _org(),
    _text("cluster_id"),
    _text("agent_version"),
    _text("name"),
    # Of the members and their words: a cluster with the same one needs no new lesson.
    _text("fingerprint"),
    _json("members"),
    sa.Column("agent_playbook_id", sa.BigInteger, nullable=True),
    # A hash of the lesson as it was written: with another one, a person has edited it since.
    _text("wording"),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "cluster_id", name="pk_clusters"),
    sa.Index("ix_clusters_version", "org_id", "agent_version", "name"),
    sa.Index("ix_clusters_playbook", "org_id", "agent_playbook_id"),
)

# What an aggregation added, updated and removed, as it was at that time.
aggregation_changes = sa.Table(
    "aggregation_changes",
    metadata,
    _row_id("change_id"),
    _org(),
    _text("run_id"),
    _text("agent_version"),
    _text("name"),
    _json("added"),
    _json("updated"),
    _json("removed"),
    *_made(),
    sa.Index("ix_aggregation_changes_version", "org_id", "agent_version", "name", "created_at"),
    sqlite_autoincrement=True,
)

# How far aggregation has read the lessons of an agent version, and how long that took.
aggregation_marks = sa.Table(
    "aggregation_marks",
    metadata,
    _org(),
    _text("agent_version"),
    sa.Column("last_id", sa.BigInteger, nullable=False),
    sa.Column("duration_ms", sa.Float, nullable=False),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "agent_version", name="pk_aggregation_marks"),
)

# Every question put to a model, answered or not.
llm_calls = sa.Table(
    "llm_calls",
    metadata,
    _row_id("call_id"),
    _org(),
    _text("role"),
    _text("model"),
    _text("prompt_hash"),
    _text("outcome"),
    _text("error", null=True),
    _text("user_id", null=True),
    _text("request_id", null=True),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("prompt_tokens", sa.Integer, nullable=False),
    sa.Column("completion_tokens", sa.Integer, nullable=False),
    sa.Column("cost_usd", sa.Float, nullable=True),
    sa.Column("duration_ms", sa.Float, nullable=False),
    *_made(),
    sa.Index("ix_llm_calls_time", "org_id", "created_at"),
    sa.Index("ix_llm_calls_user", "org_id", "user_id"),
    sqlite_autoincrement=True,
)

# --- recall: what search reads -----------------------------------------------------------------------------------

# One row per memory or turn that can be found: its words and its vector, with the name of what made each.
search_rows = sa.Table(
    "search_rows",
    metadata,
    _org(),
    _text("kind"),
    _text("entity_id"),
    _text("user_id"),
    sa.Column("seq", sa.BigInteger, nullable=False),
    _flag("gone"),
    _text("analyser"),
    _text("terms"),
    _text("model"),
    sa.Column("vector", sa.LargeBinary, nullable=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", name="pk_search_rows"),
    sa.Index("ix_search_rows_scope", "org_id", "kind", "user_id", "seq"),
    sa.Index("ix_search_rows_feed", "org_id", "kind", "seq"),
)

# --- meter: what was shown ---------------------------------------------------------------------------------------

injections = sa.Table(
    "injections",
    metadata,
    _org(),
    _text("injection_id"),
    _text("user_id", null=True),
    _text("session_id", null=True),
    _text("request_id", null=True),
    _text("caller_type"),
    _text("query"),
    _text("rendered"),
    sa.Column("tokens", sa.Integer, nullable=False),
    _json("hits"),
    # The rest of the question, so that it can be asked again: kinds, filters, mode, budget.
    _json("ask"),
    _text("agent_version", null=True),
    _text("degraded", null=True),
    _text("experiment_id", null=True),
    _text("experiment_arm", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "injection_id", name="pk_injections"),
    sa.Index("ix_injections_user", "org_id", "user_id", "created_at"),
    sa.Index("ix_injections_time", "org_id", "created_at"),
)

usage_events = sa.Table(
    "usage_events",
    metadata,
    _text("event_id"),
    _org(),
    _text("user_id", null=True),
    _text("request_id", null=True),
    _text("session_id", null=True),
    _text("injection_id", null=True),
    _text("pipeline"),
    _text("entity_type", null=True),
    _text("entity_id", null=True),
    _text("event_name"),
    _text("event_category"),
    _text("caller_type"),
    sa.Column("count_value", sa.Integer, nullable=False),
    sa.Column("prompt_tokens", sa.Integer, nullable=False),
    sa.Column("completion_tokens", sa.Integer, nullable=False),
    sa.Column("billing_input_tokens", sa.Integer, nullable=False),
    _flag("platform_llm"),
    _flag("platform_storage"),
    sa.Column("duration_ms", sa.Float, nullable=True),
    _text("error_kind", null=True),
    sa.Column("metadata_json", sa.Text, nullable=False),
    _text("agent_version", null=True),
    # Of a showing: when the agent first named it as its reason, and when its words first came back.
    _time("cited_at", null=True),
    _time("echoed_at", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "event_id", name="pk_usage_events"),
    sa.Index("ix_usage_events_window", "org_id", "event_name", "created_at"),
    sa.Index("ix_usage_events_entity", "org_id", "entity_type", "entity_id", "event_name", "created_at", "session_id"),
    sa.Index("ix_usage_events_user", "org_id", "user_id", "session_id", "entity_id"),
)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


# What of the showings of a day came back: counted on the day of the showing, so that rates compare like with like.
_SHOWINGS = ("shown", "tokens", "cited_shown", "cited_tokens", "echoed_shown", "echoed_tokens")

# Showings that were cited or could have been: an agent that never cites says nothing about what it was shown.
_USES = (*_SHOWINGS, "citations", "echoes", "judged_shown", "judged_tokens")

# What was counted of a memory, in all.
memory_totals = sa.Table(
    "memory_totals",
    metadata,
    _org(),
    _text("kind"),
    _text("entity_id"),
    *(_count(name) for name in _USES),
    _time("first_at", null=True),
    _time("last_at", null=True),
    _time("last_cited_at", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", name="pk_memory_totals"),
    sqlite_with_rowid=False,
)

# How those counters stood when a day (UTC) of use began: a window's use is a difference, however long it is.
memory_days = sa.Table(
    "memory_days",
    metadata,
    _org(),
    _text("kind"),
    _text("entity_id"),
    sa.Column("day", sa.Integer, nullable=False),
    *(_count(name) for name in _USES),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", "day", name="pk_memory_days"),
    sqlite_with_rowid=False,
)

# Since when agents of a version have cited what they were shown.
citing_versions = sa.Table(
    "citing_versions",
    metadata,
    _org(),
    _text("agent_version"),
    _time("since"),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "agent_version", name="pk_citing_versions"),
)

# Events summed by day, user and agent version, with the searches that were asked.
user_days = sa.Table(
    "user_days",
    metadata,
    _org(),
    sa.Column("day", sa.Integer, nullable=False),
    _text("user_id"),
    _text("agent_version"),
    _count("searches"),
    _count("zero_hits"),
    *(_count(name) for name in _SHOWINGS),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "day", "user_id", "agent_version", name="pk_user_days"),
    sa.Index("ix_user_days_user", "org_id", "user_id"),
    sqlite_with_rowid=False,
)

# A holdout: some users' searches find nothing, so that what memories are worth can be measured.
experiments = sa.Table(
    "experiments",
    metadata,
    _org(),
    _text("experiment_id"),
    sa.Column("holdout_percentage", sa.Float, nullable=False),
    _time("started_at"),
    _time("ended_at", null=True),
    # "active" while it runs, null afterwards. Being unique, it admits one at a time.
    _text("active_key", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "experiment_id", name="pk_experiments"),
    sa.Index("ix_experiments_active_key", "org_id", "active_key", unique=True),
)

# --- alerts: what is wrong, and who was told ----------------------------------------------------------------------

alerts = sa.Table(
    "alerts",
    metadata,
    _org(),
    _text("alert_id"),
    # Kind and subject of one that is not over; null for the others. Being unique, it opens each once.
    _text("open_key", null=True),
    _text("kind"),
    _text("subject"),
    _text("said"),
    _json("detail"),
    _time("closed_at", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "alert_id", name="pk_alerts"),
    sa.Index("ix_alerts_open", "org_id", "open_key", unique=True),
    sa.Index("ix_alerts_time", "org_id", "created_at"),
)

deliveries = sa.Table(
    "deliveries",
    metadata,
    _org(),
    _text("delivery_id"),
    _text("alert_id"),
    _text("event"),
    _text("body"),
    _text("state"),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("status_code", sa.Integer, nullable=True),
    _text("last_error", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "delivery_id", name="pk_deliveries"),
    sa.Index("ix_deliveries_alert", "org_id", "alert_id", "created_at"),
)

# --- review: what a person did about it --------------------------------------------------------------------------

actions = sa.Table(
    "actions",
    metadata,
    _org(),
    _text("action_id"),
    _text("action"),
    _text("actor"),
    _text("reason"),
    _json("params"),
    # The action that this one took back, and the one by which this one was taken back.
    _text("undoes", null=True),
    _text("undone_by", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "action_id", name="pk_actions"),
    sa.Index("ix_actions_time", "org_id", "created_at"),
)

# What one action did to one memory: the memory's row and its mark, before and after.
action_items = sa.Table(
    "action_items",
    metadata,
    _org(),
    _text("action_id"),
    sa.Column("place", sa.Integer, nullable=False),
    _text("kind"),
    _text("entity_id"),
    _text("user_id", null=True),
    _flag("changed"),
    _text("why", null=True),
    _json("before"),
    _json("after"),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "action_id", "place", name="pk_action_items"),
    sa.Index("ix_action_items_entity", "org_id", "kind", "entity_id"),
    sa.Index("ix_action_items_user", "org_id", "user_id"),
)

# What a person has said about a memory: never flag it, not before a time, not for these numbers.
review_marks = sa.Table(
    "review_marks",
    metadata,
    _org(),
    _text("kind"),
    _text("entity_id"),
    _text("user_id", null=True),
    _flag("pinned"),
    _time("snoozed_until", null=True),
    _time("useful_at", null=True),
    _json("dismissed"),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", name="pk_review_marks"),
    sa.Index("ix_review_marks_user", "org_id", "user_id"),
)

# What the watch over memories found: signals that rest on a memory's text or on how sessions ended.
memory_flags = sa.Table(
    "memory_flags",
    metadata,
    _org(),
    _text("kind"),
    _text("entity_id"),
    _text("signal"),
    _text("user_id", null=True),
    _json("detail"),
    _time("since"),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "kind", "entity_id", "signal", name="pk_memory_flags"),
    sa.Index("ix_memory_flags_user", "org_id", "user_id"),
)

# Memories that say nearly the same; `left_id` sorts before `right_id`.
duplicate_pairs = sa.Table(
    "duplicate_pairs",
    metadata,
    _org(),
    _text("kind"),
    _text("left_id"),
    _text("right_id"),
    _text("user_id", null=True),
    sa.Column("similarity", sa.Float, nullable=False),
    _text("found_by"),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "kind", "left_id", "right_id", name="pk_duplicate_pairs"),
    sa.Index("ix_duplicate_pairs_right", "org_id", "kind", "right_id"),
    sa.Index("ix_duplicate_pairs_user", "org_id", "user_id"),
)

# --- runs: long work that somebody asked for -----------------------------------------------------------------------

runs = sa.Table(
    "runs",
    metadata,
    _org(),
    _text("run_id"),
    _text("service"),
    # Service and subject of a run that is not over; null for the others. Being unique, it admits one at a time.
    _text("active_key", null=True),
    _text("state"),
    _json("request"),
    _json("result"),
    _text("cause", null=True),
    _flag("cancel_asked"),
    _time("started_at", null=True),
    _time("finished_at", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "run_id", name="pk_runs"),
    sa.Index("ix_runs_active_key", "org_id", "active_key", unique=True),
    sa.Index("ix_runs_service", "org_id", "service", "created_at"),
)

# What a run works through, one by one: how far it is survives a restart.
run_items = sa.Table(
    "run_items",
    metadata,
    _org(),
    _text("run_id"),
    sa.Column("place", sa.Integer, nullable=False),
    _text("item"),
    _text("state"),
    _json("detail"),
    _text("error", null=True),
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "run_id", "place", name="pk_run_items"),
    sa.Index("ix_run_items_state", "org_id", "run_id", "state", "place"),
    sa.Index("ix_run_items_item", "org_id", "run_id", "item"),
)

# Filters of a page that people gave a name.
saved_views = sa.Table(
    "saved_views",
    metadata,
    _org(),
    _text("page"),
    _text("name"),
    _text("query"),
    _text("user_id", null=True),  # whom the filters name: the view goes when they go
    *_made(),
    sa.PrimaryKeyConstraint("org_id", "page", "name", name="pk_saved_views"),
)

# --- jobs --------------------------------------------------------------------------------------------------------

jobs = sa.Table(
    "jobs",
    metadata,
    _row_id("job_id"),
    _org(),
    _text("fact"),
    _text("scope"),
    _json("payload"),
    _text("state"),
    # Org, fact and scope of a job that waits; null for the others. Being unique, it makes later wishes fold in.
    _text("waiting_key", null=True),
    sa.Column("wishes", sa.Integer, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    _time("run_at"),
    _text("lease_owner", null=True),
    _time("lease_until", null=True),
    _text("last_error", null=True),
    *_made(),
    sa.Index("ix_jobs_waiting_key", "waiting_key", unique=True),
    sa.Index("ix_jobs_due", "state", "run_at"),
    sa.Index("ix_jobs_scope", "org_id", "fact", "scope", "state"),
    sqlite_autoincrement=True,
)

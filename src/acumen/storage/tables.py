"""The schema, for both databases. Every row carries its org; every time is epoch milliseconds."""

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "pk": "pk_%(table_name)s"})

Json = sa.JSON(none_as_null=True)
ONLY_WHERE = "only_where"
# SQLite numbers rows automatically only for INTEGER keys; Postgres needs 64 bits.
RowId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


Part = sa.Column[Any] | sa.Index


def _columns(kind: Any, names: tuple[str, ...], *, null: bool) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=null) for name in names]


def _text(*names: str, null: bool = False) -> list[sa.Column[Any]]:
    return _columns(sa.Text, names, null=null)


def _time(*names: str, null: bool = False) -> list[sa.Column[Any]]:
    return _columns(sa.BigInteger, names, null=null)


def _long(*names: str, null: bool = False) -> list[sa.Column[Any]]:
    return _columns(sa.BigInteger, names, null=null)


def _int(*names: str, null: bool = False) -> list[sa.Column[Any]]:
    return _columns(sa.Integer, names, null=null)


def _real(*names: str, null: bool = False) -> list[sa.Column[Any]]:
    return _columns(sa.Float, names, null=null)


def _flag(*names: str, null: bool = False) -> list[sa.Column[Any]]:
    return _columns(sa.Boolean, names, null=null)


def _json(*names: str) -> list[sa.Column[Any]]:
    return _columns(Json, names, null=True)


def _where(condition: str) -> dict[str, Any]:
    """An index of only the rows that meet the condition; `postgres.py` tells Postgres, which costs SQLite its start."""
    return {"sqlite_where": sa.text(condition), "info": {ONLY_WHERE: condition}}


def _dated(name: str, *parts: Any, **options: Any) -> sa.Table:
    """Its rows know when they were made and when they were last changed."""
    columns = [part for part in parts if isinstance(part, sa.Column)]
    others = [part for part in parts if not isinstance(part, sa.Column)]
    return sa.Table(name, metadata, *columns, *_time("created_at", "updated_at"), *others, **options)


def _table(name: str, key: list[sa.Column[Any]], *parts: Part, **options: Any) -> sa.Table:
    """Rows that are unique, within their org, by `key`."""
    primary_key = sa.PrimaryKeyConstraint("org_id", *(column.name for column in key), name=f"pk_{name}")
    return _dated(name, *_text("org_id"), *key, *parts, primary_key, **options)


def _numbered(name: str, key: str, *parts: Part) -> sa.Table:
    """Rows that the database numbers, never giving a number twice."""
    number: sa.Column[Any] = sa.Column(key, RowId, primary_key=True, autoincrement=True)
    return _dated(name, number, *_text("org_id"), *parts, sqlite_autoincrement=True)


# --- who ---------------------------------------------------------------------------------------------------------

orgs = _dated(
    "orgs",
    sa.Column("org_id", sa.Text, primary_key=True),
    *_json("config"),
    *_int("config_version"),
    # Grows with every change to what search reads; a search compares it with what it has in memory.
    *_long("search_seq"),
    # Grows with every bulk erasure; partitions of an older generation are read again.
    *_long("generation"),
    # Since when usage has been counted without a gap.
    *_time("metered_since", null=True),
    # How far the watch over memories has come with what search reads: its `generation` and its `search_seq`.
    *_long("scanned_generation", "scanned_seq", null=True),
)

api_keys = _dated(
    "api_keys",
    sa.Column("key_id", sa.Text, primary_key=True),
    *_text("org_id", "name", "role", "key_hash", "hint"),
    *_time("expires_at", "revoked_at", null=True),
    sa.Index("ix_api_keys_key_hash", "key_hash", unique=True),
    sa.Index("ix_api_keys_org_id", "org_id"),
)

# --- observe: what was said --------------------------------------------------------------------------------------

requests = _table(
    "requests",
    _text("request_id"),
    *_text("user_id", "session_id", "source", "agent_version", "body_hash"),
    *_flag("session_finished", "force_extraction", "evaluation_only", "skip_aggregation"),
    *_text("experiment_id", "experiment_arm", null=True),
    sa.Index("ix_requests_user", "org_id", "user_id", "created_at"),
    sa.Index("ix_requests_session", "org_id", "session_id", "created_at"),
)

interactions = _numbered(
    "interactions",
    "interaction_id",
    *_text("user_id", "session_id", "request_id", "role", "content", "shadow_content", "expert_content"),
    *_text("user_action", "user_action_description", "image_url", "image_encoding"),
    *_json("tools_used", "citations", "retrieved_learnings"),
    sa.Index("ix_interactions_user", "org_id", "user_id", "interaction_id"),
    sa.Index("ix_interactions_request", "org_id", "request_id"),
)

sessions = _table(
    "sessions",
    _text("user_id", "session_id"),
    *_time("finished_at", null=True),
    # The outcome, as its caller reports it: the newest report, and how many there were.
    *_text("outcome", null=True),
    *_json("outcome_detail"),
    *_text("outcome_source", "outcome_label", null=True),
    *_int("outcome_revision", null=True),
    *_time("outcome_at", "outcome_stated_at", null=True),
    sa.Index("ix_sessions_outcome", "org_id", "outcome_at"),
)

bookmarks = _table("bookmarks", _text("user_id", "extractor"), *_long("last_id"))

# The last columns are those of a later version: SQLite and Postgres add at the end.
operations = _table(
    "operations",
    _text("op_id"),
    *_text("source", "kind", "endpoint", "status"),
    *_text("user_id", "session_id", "request_id", "agent_version", "error_type", "error_message", null=True),
    *_time("started_at", null=True),
    *_real("duration_ms", null=True),
    *_text("body_hash"),
    *_json("attributes"),
    *_text("agent", "trace_id", "span_id", "parent_span_id", null=True),
    *_long("skew_ms", null=True),
    *_text("input_summary", "output_summary", null=True),
    *_json("arguments"),
    *_text("schema_hash", null=True),
    *_long("tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning", null=True),
    *_real("cost_usd", null=True),
    *_text("model", null=True),
    *_flag("rescue_attempted", "rescue_succeeded", null=True),
    *_text("group_id", "way_key", null=True),
    # The owner comes after the time: an index that begins with it costs every commit a page for each session and user.
    sa.Index("ix_operations_time", "org_id", "created_at", "session_id", "user_id"),
    sa.Index("ix_operations_source", "org_id", "source", "created_at"),
    sa.Index("ix_operations_failed", "org_id", "session_id", "created_at", **_where("status = 'error'")),
    sa.Index("ix_operations_group", "org_id", "group_id", "created_at", **_where("group_id IS NOT NULL")),
    sa.Index("ix_operations_way", "org_id", "way_key", "created_at", **_where("way_key IS NOT NULL")),
    sa.Index("ix_operations_kind", "org_id", "kind", "created_at", **_where("kind <> 'operation'")),
)

# How many operations came in an hour: what is asked of all of them is read here.
operation_hours = _table("operation_hours", [*_time("hour"), *_text("source", "kind", "status")], *_long("count"))

# Failures that are one and the same.
failure_groups = _table(
    "failure_groups",
    _text("group_id"),
    *_text("version", "source", "endpoint", "error_type", "bucket"),
    # Where its template is looked for; null when its members are found by an exact key alone.
    *_text("leaf", null=True),
    *_text("template", "state"),
    *_time("first_seen", "last_seen"),
    *_long("count", "sessions", "analysed_count"),
    *_time("analysed_at", null=True),
    sa.Index("ix_failure_groups_leaf", "org_id", "leaf"),
    sa.Index("ix_failure_groups_bucket", "org_id", "bucket"),
    sa.Index("ix_failure_groups_seen", "org_id", "last_seen"),
)

# The exact keys of a group's members: a failure with one of them belongs to it.
failure_keys = _table(
    "failure_keys", _text("key"), *_text("group_id"), sa.Index("ix_failure_keys_group", "org_id", "group_id")
)

failure_hours = _table("failure_hours", [*_text("group_id"), *_time("hour")], *_long("count"))

failure_sessions = _table("failure_sessions", _text("group_id", "session_id"))

# A person says that two groups are one; taking the row away undoes it.
failure_aliases = _table(
    "failure_aliases",
    _text("group_id"),
    *_text("merged_into", "actor"),
    sa.Index("ix_failure_aliases_into", "org_id", "merged_into"),
)

# One way of calling an endpoint: the shape of its arguments, and how often that went well.
ways = _table("ways", _text("way_key"), *_text("source", "endpoint"), *_long("successes", "failures"))

# Every schema and agent version that was seen at an endpoint, since when.
tool_versions = _table("tool_versions", _text("source", "endpoint", "schema_hash", "agent_version"))

# What auditors found: one row per finding of a verdict.
findings = _numbered(
    "findings",
    "finding_id",
    *_text("op_id", "subject", "overall", "severity", "signature", "message"),
    sa.Index("ix_findings_subject", "org_id", "subject"),
    sa.Index("ix_findings_signature", "org_id", "signature"),
    sa.Index("ix_findings_operation", "org_id", "op_id"),
)

# What was concluded from operations. The hash of the evidence is unique: nothing is concluded twice from the same.
analyses = _table(
    "analyses",
    _text("analysis_id"),
    *_text("about", "key", "evidence_hash"),
    *_json("evidence", "scopes"),
    *_text("state"),
    *_json("diagnosis"),
    *_text("engine", "model", "prompt_hash"),
    *_real("confidence"),
    sa.Index("ix_analyses_evidence", "org_id", "evidence_hash", unique=True),
    sa.Index("ix_analyses_key", "org_id", "key", "created_at"),
)

# A lesson proposed from operations: its evidence, and the playbook that a person approves or rejects.
proposals = _table(
    "proposals",
    _text("key"),
    *_text("about"),
    *_long("playbook_id"),
    *_text("source", "endpoint"),
    *_text("group_id", "schema_hash", "agent_version", null=True),
    *_json("evidence", "scopes"),
    *_long("count", "replays"),
    *_real("confidence"),
    *_json("detail"),
    # Why it deserves another look, if it does.
    *_text("flag", null=True),
    *_time("decided_at", null=True),
    sa.Index("ix_proposals_playbook", "org_id", "playbook_id"),
    sa.Index("ix_proposals_endpoint", "org_id", "source", "endpoint"),
)

# --- learn: memories ---------------------------------------------------------------------------------------------


def _memory() -> list[sa.Column[Any]]:
    return [
        *_text("status", "subject", "value", "engine", "model", "prompt_hash"),
        *_text("source", "source_span", "notes", null=True),
        *_json("tags", "interaction_ids"),
        *_int("mentions", "version"),
        *_real("confidence"),
    ]


def _statement() -> list[sa.Column[Any]]:
    """A memory taken from what a user said: when it was said, what sort of statement it is, and when it holds."""
    return [
        *_time("said_at", "valid_from", "valid_until", null=True),
        *_text("category"),
        *_flag("standing"),
    ]


def _lesson() -> list[sa.Column[Any]]:
    return [
        # The agent version it was learned under, and the only one that a person wants it to be used for.
        *_text("scoped_version", null=True),
        *_text("name", "agent_version", "content"),
        *_text("trigger", "rationale", "pitfall", null=True),
        *_json("blocking_issue", "metadata"),
        *_long("superseded_by", "merged_into", null=True),
    ]


profiles = _table(
    "profiles",
    _text("profile_id"),
    *_text("user_id", "request_id", "content", "ttl"),
    *_time("expires_at"),
    *_json("extractors", "custom_features"),
    *_text("superseded_by", "merged_into", null=True),
    *_memory(),
    *_statement(),
    sa.Index("ix_profiles_user", "org_id", "user_id", "status"),
    sa.Index("ix_profiles_standing", "org_id", "user_id", "status", "updated_at", **_where("standing")),
)

user_playbooks = _numbered(
    "user_playbooks",
    "playbook_id",
    *_text("user_id", null=True),
    *_text("request_id"),
    *_lesson(),
    *_memory(),
    *_statement(),
    sa.Index("ix_user_playbooks_user", "org_id", "user_id", "status"),
    sa.Index("ix_user_playbooks_standing", "org_id", "user_id", "status", "updated_at", **_where("standing")),
)

agent_playbooks = _numbered(
    "agent_playbooks",
    "playbook_id",
    *_text("approval"),
    *_lesson(),
    *_memory(),
    sa.Index("ix_agent_playbooks_org", "org_id", "agent_version", "status"),
)

agent_playbook_sources = _table(
    "agent_playbook_sources",
    _long("agent_playbook_id", "user_playbook_id"),
    sa.Index("ix_agent_playbook_sources_user_playbook", "org_id", "user_playbook_id"),
)

# Which memory came from which, append-only: the whole history of a memory is in its rows here.
lineage = _numbered(
    "lineage",
    "event_id",
    *_text("kind", "entity_id"),
    *_text("user_id", null=True),
    *_text("op", "actor", "reason", "request_id"),
    *_json("sources", "before", "after"),
    # Why a memory ended or changed (`model.memory.Cause`), and the words that caused it, with their turn.
    *_text("cause", "quote", null=True),
    *_long("interaction_id", null=True),
    sa.Index("ix_lineage_entity", "org_id", "kind", "entity_id", "event_id"),
    sa.Index("ix_lineage_user", "org_id", "user_id", "event_id"),
    sa.Index("ix_lineage_request", "org_id", "request_id"),
)

# Two current memories of one user of which at most one may hold; a person settles it.
conflicts = _table(
    "conflicts",
    _text("conflict_id"),
    *_text("user_id", "older_kind", "older_id", "newer_kind", "newer_id", "reason", "state"),
    *_text("quote", "settled_by", null=True),
    *_long("interaction_id", null=True),
    *_time("settled_at", null=True),
    sa.Index("ix_conflicts_user", "org_id", "user_id", "state"),
    sa.Index("ix_conflicts_older", "org_id", "older_kind", "older_id"),
    sa.Index("ix_conflicts_newer", "org_id", "newer_kind", "newer_id"),
)

# One per session. What its caller states wins, so `is_success` is what counts and `judged_success` what was guessed.
evaluations = _numbered(
    "evaluations",
    "evaluation_id",
    *_text("user_id", "session_id", "agent_version", "source"),
    *_text("name", null=True),
    *_flag("is_success"),
    *_flag("judged_success", null=True),
    *_text("stated", "failure_type", "failure_reason", null=True),
    *_int("corrections"),
    *_int("turns_to_resolution", null=True),
    *_flag("is_escalated"),
    *_text("shadow", null=True),
    *_json("signals"),
    *_long("last_id"),
    *_time("ended_at"),
    *_text("engine", "model", "prompt_hash"),
    *_real("confidence"),
    sa.Index("ix_evaluations_session", "org_id", "user_id", "session_id", unique=True),
    sa.Index("ix_evaluations_created", "org_id", "created_at"),
    sa.Index("ix_evaluations_ended", "org_id", "ended_at"),
)

shadow_verdicts = _numbered(
    "shadow_verdicts",
    "verdict_id",
    *_text("user_id", "session_id"),
    *_long("interaction_id"),
    *_text("agent_version", "preference", "reason"),
    *_flag("regular_first"),
    *_text("engine", "model", "prompt_hash"),
    *_real("confidence"),
    sa.Index("ix_shadow_verdicts_turn", "org_id", "interaction_id", unique=True),
    sa.Index("ix_shadow_verdicts_time", "org_id", "created_at"),
    sa.Index("ix_shadow_verdicts_session", "org_id", "user_id", "session_id"),
)

# Lessons of several users that say the same: what a shared lesson was written from, so that it is written once.
clusters = _table(
    "clusters",
    _text("cluster_id"),
    *_text("agent_version", "name"),
    # Of the members and their words: a cluster with the same one needs no new lesson.
    *_text("fingerprint"),
    *_json("members"),
    *_long("agent_playbook_id", null=True),
    # A hash of the lesson as it was written: with another one, a person has edited it since.
    *_text("wording"),
    sa.Index("ix_clusters_version", "org_id", "agent_version", "name"),
    sa.Index("ix_clusters_playbook", "org_id", "agent_playbook_id"),
)

# What an aggregation added, updated and removed, as it was at that time.
aggregation_changes = _numbered(
    "aggregation_changes",
    "change_id",
    *_text("run_id", "agent_version", "name"),
    *_json("added", "updated", "removed"),
    sa.Index("ix_aggregation_changes_version", "org_id", "agent_version", "name", "created_at"),
)

# How far aggregation has read the lessons of an agent version, and how long that took. Lessons whose search row has a
# higher number than `seq` changed since; with another `basis` (settings, models) all are compared again.
aggregation_bookmarks = _table(
    "aggregation_bookmarks", _text("agent_version"), *_long("last_id", "seq"), *_real("duration_ms"), *_text("basis")
)

# Every question put to a model, answered or not.
llm_calls = _numbered(
    "llm_calls",
    "call_id",
    *_text("role", "model", "prompt_hash", "outcome"),
    *_text("error", "user_id", "request_id", null=True),
    *_int("attempts", "prompt_tokens", "completion_tokens"),
    *_real("cost_usd", null=True),
    *_real("duration_ms"),
    sa.Index("ix_llm_calls_time", "org_id", "created_at"),
    sa.Index("ix_llm_calls_user", "org_id", "user_id"),
)

# --- recall: what search reads -----------------------------------------------------------------------------------

# One row per memory or turn that can be found: its words and its vector, with the name of what made each.
search_rows = _table(
    "search_rows",
    _text("kind", "entity_id"),
    *_text("user_id"),
    *_long("seq"),
    *_flag("gone"),
    *_text("analyser", "terms", "model"),
    sa.Column("vector", sa.LargeBinary, nullable=True),
    sa.Index("ix_search_rows_scope", "org_id", "kind", "user_id", "seq"),
    sa.Index("ix_search_rows_feed", "org_id", "kind", "seq"),
)

# --- meter: what was shown ---------------------------------------------------------------------------------------

injections = _table(
    "injections",
    _text("injection_id"),
    *_text("user_id", "session_id", "request_id", null=True),
    *_text("caller_type", "query", "rendered"),
    *_int("tokens"),
    *_json("hits"),
    # The rest of the question, so that it can be asked again: kinds, filters, mode, budget.
    *_json("ask"),
    *_text("agent_version", "degraded", "experiment_id", "experiment_arm", null=True),
    sa.Index("ix_injections_user", "org_id", "user_id", "created_at"),
    sa.Index("ix_injections_time", "org_id", "created_at"),
)

usage_events = _table(
    "usage_events",
    _text("event_id"),
    *_text("user_id", "request_id", "session_id", "injection_id", null=True),
    *_text("pipeline"),
    *_text("entity_type", "entity_id", null=True),
    *_text("event_name", "event_category", "caller_type"),
    *_int("count_value", "prompt_tokens", "completion_tokens", "billing_input_tokens"),
    *_flag("platform_llm", "platform_storage"),
    *_real("duration_ms", null=True),
    *_text("error_kind", null=True),
    *_text("metadata_json"),
    *_text("agent_version", null=True),
    # Of a showing: when the agent first named it as its reason, and when its words first came back.
    *_time("cited_at", "echoed_at", null=True),
    sa.Index("ix_usage_events_window", "org_id", "event_name", "created_at"),
    sa.Index("ix_usage_events_entity", "org_id", "entity_type", "entity_id", "event_name", "created_at", "session_id"),
    sa.Index("ix_usage_events_user", "org_id", "user_id", "session_id", "entity_id"),
)


# What of the showings of a day came back: counted on the day of the showing, so that rates compare like with like.
_SHOWINGS = ("shown", "tokens", "cited_shown", "cited_tokens", "echoed_shown", "echoed_tokens")

# Showings that were cited or could have been: an agent that never cites says nothing about what it was shown.
_USES = (*_SHOWINGS, "citations", "echoes", "judged_shown", "judged_tokens")

# What was counted of a memory, in all.
memory_totals = _table(
    "memory_totals",
    _text("kind", "entity_id"),
    *_long(*_USES),
    *_time("first_at", "last_at", "last_cited_at", null=True),
    sqlite_with_rowid=False,
)

# How those counters stood when a day (UTC) of use began: a window's use is a difference, however long it is.
memory_days = _table(
    "memory_days", [*_text("kind", "entity_id"), *_int("day")], *_long(*_USES), sqlite_with_rowid=False
)

# Since when agents of a version have cited what they were shown.
citing_versions = _table("citing_versions", _text("agent_version"), *_time("since"))

# Events summed by day, user and agent version, with the searches that were asked.
user_days = _table(
    "user_days",
    [*_int("day"), *_text("user_id", "agent_version")],
    *_long("searches", "zero_hits"),
    *_long(*_SHOWINGS),
    sa.Index("ix_user_days_user", "org_id", "user_id"),
    sqlite_with_rowid=False,
)

# A holdout: searches of some users return nothing, to measure the impact of memory.
experiments = _table(
    "experiments",
    _text("experiment_id"),
    *_real("holdout_percentage"),
    *_time("started_at"),
    *_time("ended_at", null=True),
    # "active" while it runs, null afterwards. Being unique, it admits one at a time.
    *_text("active_key", null=True),
    sa.Index("ix_experiments_active_key", "org_id", "active_key", unique=True),
)

# --- alerts: what is wrong, and which webhook was notified ---------------------------------------------------------

alerts = _table(
    "alerts",
    _text("alert_id"),
    # Kind and subject of one that is not over; null for the others. Being unique, it opens each once.
    *_text("open_key", null=True),
    *_text("kind", "subject", "said"),
    *_json("detail"),
    *_time("closed_at", null=True),
    sa.Index("ix_alerts_open", "org_id", "open_key", unique=True),
    sa.Index("ix_alerts_time", "org_id", "created_at"),
)

deliveries = _table(
    "deliveries",
    _text("delivery_id"),
    *_text("alert_id", "event", "body", "state"),
    *_int("attempts"),
    *_int("status_code", null=True),
    *_text("last_error", null=True),
    sa.Index("ix_deliveries_alert", "org_id", "alert_id", "created_at"),
)

# --- review: what a person did about it --------------------------------------------------------------------------

actions = _table(
    "actions",
    _text("action_id"),
    *_text("action", "actor", "reason"),
    *_json("params"),
    # The action that this one undid, and the action that undid this one.
    *_text("undoes", "undone_by", null=True),
    sa.Index("ix_actions_time", "org_id", "created_at"),
)

# What one action did to one memory: the memory's row and its mark, before and after.
action_items = _table(
    "action_items",
    [*_text("action_id"), *_int("place")],
    *_text("kind", "entity_id"),
    *_text("user_id", null=True),
    *_flag("changed"),
    *_text("why", null=True),
    *_json("before", "after"),
    sa.Index("ix_action_items_entity", "org_id", "kind", "entity_id"),
    sa.Index("ix_action_items_user", "org_id", "user_id"),
)

# What a person has said about a memory: never flag it, not before a time, not for these numbers.
review_states = _table(
    "review_states",
    _text("kind", "entity_id"),
    *_text("user_id", null=True),
    *_flag("pinned"),
    *_time("snoozed_until", "useful_at", null=True),
    *_json("dismissed"),
    sa.Index("ix_review_states_user", "org_id", "user_id"),
)

# What the watch over memories found: signals that rest on a memory's text or on how sessions ended.
memory_flags = _table(
    "memory_flags",
    _text("kind", "entity_id", "signal"),
    *_text("user_id", null=True),
    *_json("detail"),
    *_time("since"),
    sa.Index("ix_memory_flags_user", "org_id", "user_id"),
)

# Memories that say nearly the same; `left_id` sorts before `right_id`.
duplicate_pairs = _table(
    "duplicate_pairs",
    _text("kind", "left_id", "right_id"),
    *_text("user_id", null=True),
    *_real("similarity"),
    *_text("found_by"),
    sa.Index("ix_duplicate_pairs_right", "org_id", "kind", "right_id"),
    sa.Index("ix_duplicate_pairs_user", "org_id", "user_id"),
)

# --- runs: long work on request ------------------------------------------------------------------------------------

runs = _table(
    "runs",
    _text("run_id"),
    *_text("service"),
    # Service and subject of a run that is not over; null for the others. Being unique, it admits one at a time.
    *_text("active_key", null=True),
    *_text("state"),
    *_json("request", "result"),
    *_text("cause", null=True),
    *_flag("cancel_asked"),
    *_time("started_at", "finished_at", null=True),
    sa.Index("ix_runs_active_key", "org_id", "active_key", unique=True),
    sa.Index("ix_runs_service", "org_id", "service", "created_at"),
)

# What a run works through, one by one: how far it is survives a restart.
run_items = _table(
    "run_items",
    [*_text("run_id"), *_int("place")],
    *_text("item", "state"),
    *_json("detail"),
    *_text("error", null=True),
    sa.Index("ix_run_items_state", "org_id", "run_id", "state", "place"),
    sa.Index("ix_run_items_item", "org_id", "run_id", "item"),
)

# Filters of a page that people gave a name.
saved_views = _table(
    "saved_views",
    _text("page", "name"),
    *_text("query"),
    *_text("user_id", null=True),  # the user in the filters: the view is deleted with them
)

# --- jobs --------------------------------------------------------------------------------------------------------

# Turns that were learned, by the minute.
learned_turns = _table("learned_turns", _time("minute"), *_int("turns"))

jobs = _numbered(
    "jobs",
    "job_id",
    *_text("event", "scope"),
    *_json("payload"),
    *_text("state"),
    # Org, event and scope of a waiting job, else null. Unique: a later event of the same scope folds into it.
    *_text("waiting_key", null=True),
    *_int("attempts"),
    *_time("run_at"),
    *_text("lease_owner", null=True),
    *_time("lease_until", null=True),
    *_text("last_error", null=True),
    # Whose it is, for fairness; empty: of the whole org.
    sa.Column("user_id", sa.Text, nullable=False, server_default=sa.text("''")),
    # 1: it waits and is due, so that a claim need not pass what is scheduled for later.
    sa.Column("ready", sa.Integer, nullable=False, server_default=sa.text("0")),
    # How many turns were published with it.
    sa.Column("turns", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Index("ix_jobs_waiting_key", "waiting_key", unique=True),
    # Event and turns, so that the lag is read from the index alone.
    sa.Index("ix_jobs_ready", "ready", "org_id", "user_id", "run_at", "event", "turns"),
    sa.Index("ix_jobs_due", "state", "ready", "run_at"),
    sa.Index("ix_jobs_scope", "org_id", "event", "scope", "state"),
)

"""Every setting, its default and its reason.

Read once at start, from a TOML file, `ACUMEN_…` variables and the command line; later ones win.
Nested names use two underscores: `ACUMEN_METER__ENABLED=false` is `[meter] enabled = false`.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from acumen.errors import BadSettings

PREFIX = "ACUMEN_"
# Shorter names of the variables that most people set.
SHORT = {f"ACUMEN_LLM_{name}": f"ACUMEN_LLM__{name}" for name in ("URL", "PROVIDER", "API_KEY", "MODEL")}
# Variables with our prefix that are not settings of the server: those of the client, and the path of the TOML file.
NOT_SETTINGS = frozenset({"ACUMEN_URL", "ACUMEN_KEY", "ACUMEN_OBSERVE", "ACUMEN_CONFIG", "ACUMEN_BENCH_DATA"})


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Limits(Section):
    """Limits of requests."""

    body_bytes: int = Field(10 * 1024 * 1024, ge=1024, description="Largest request body, after decompression.")
    connections_per_address: int = Field(
        512,
        ge=1,
        description="Open connections of one address; beyond that its longest idle one is closed, or the new one is "
        "refused.",
    )
    head_seconds: float = Field(20.0, gt=0, description="How long the head of a request may take.")
    body_seconds: float = Field(120.0, gt=0, description="How long the body of a request may take.")
    idle_seconds: float = Field(75.0, gt=0, description="How long a connection may stay open without a request.")
    reserve_mb: int = Field(
        16,
        ge=0,
        description="Room in MiB that is kept on SQLite's disk, so that deletes still work when it is full; 0 keeps "
        "none.",
    )
    waiting_writes: int = Field(
        4096, ge=1, description="Writes that may wait for the disk; beyond that, callers get 503 and retry."
    )


class JobSettings(Section):
    """Background jobs."""

    workers: int = Field(
        4, ge=0, le=64, description="Jobs that a worker process runs at once; 0 leaves all to `acumen worker`."
    )
    processes: int | None = Field(
        None,
        ge=0,
        le=16,
        description="Worker processes that `acumen serve` starts; 0 runs the jobs in the server's own process. "
        "Default: 1 from two cores on, else 0.",
    )
    lease_seconds: int = Field(60, ge=5, description="A job whose worker is silent for this long is given to another.")
    attempts: int = Field(5, ge=1, description="Attempts before a job is dead-lettered with its last error.")
    backoff_seconds: float = Field(
        1.0, gt=0, description="Wait before the second attempt; doubles, at most five minutes."
    )
    poll_seconds: float = Field(1.0, gt=0, description="How often to look for jobs of other processes.")
    delayed_seconds: int = Field(
        60, ge=1, description="When the oldest unread turn waits longer, the answer to a publish says so."
    )


class Observe(Section):
    """Recorded operations of agents."""

    keep_days: int = Field(
        90, ge=1, description="Operations older than this are deleted; failure groups and counts stay."
    )
    keep_history_days: int = Field(
        400,
        ge=1,
        description="Failure groups not seen for longer are deleted, with older analyses and findings, "
        "unless a person changed them or a lesson uses them.",
    )
    keep_secrets: bool = Field(
        False,
        description="Store turns, queries and added memories as they are; off replaces keys, passwords, tokens, card "
        "and account numbers.",
    )
    otlp_content: bool = Field(
        False, description="Store messages, arguments and results of traces; off stores only their sizes."
    )


class AlertSettings(Section):
    """Alerts."""

    every_minutes: int = Field(
        5,
        ge=1,
        le=60,
        description="How often alerts are checked; hourly for an organization without activity in a week.",
    )
    silent_minutes: int = Field(60, ge=1, description="Shortest silence of a source that raises an alert.")
    learning_minutes: int = Field(15, ge=1, description="Longest wait of an unread turn that raises no alert.")
    webhook_url: str = Field(
        "", pattern="^(https?://.+)?$", repr=False, description="Address to POST alerts to; empty sends none."
    )
    webhook_secret: str = Field(
        "", repr=False, description="Signs alerts (HMAC-SHA256); required with a webhook, at least 16 characters."
    )

    @model_validator(mode="after")
    def _signed(self) -> Self:
        if self.webhook_url and len(self.webhook_secret) < 16:
            raise ValueError("webhook_url needs webhook_secret, of at least 16 characters")
        return self


class RecallSettings(Section):
    """Search."""

    cache_mb: int = Field(
        512, ge=8, description="Size of the search cache; the least recently used entries are evicted first."
    )
    large_scope_rows: int = Field(
        20_000,
        ge=1,
        description=(
            "A user or organization with more memories of a kind is searched in the database (Postgres) or in files "
            "next to it (SQLite), not in memory."
        ),
    )
    max_tokens: int = Field(1500, ge=0, description="Token budget of the context if a search sets none.")
    embeddings: bool = Field(
        True, description="Use semantic search in addition to keyword search; disabling saves about 100 MB of memory."
    )


class Meter(Section):
    """Metering of injected memories."""

    enabled: bool = Field(True, description="Count injected memories; without it, memory review has no usage data.")
    flush_seconds: float = Field(
        0.5, gt=0, description="Counts are written in batches; a crash loses at most this many seconds of them."
    )
    keep_days: int = Field(400, ge=1, description="Usage events older than this are deleted.")
    keep_rows: int = Field(
        5_000_000,
        ge=1000,
        description="Approximate maximum of usage events per organization; the oldest days are deleted first.",
    )
    model: str = Field("gpt-5-mini", description="Model whose price is used if a cost query names none.")


class ReviewSettings(Section):
    """Thresholds of memory review."""

    least_wasted_tokens: int = Field(
        30, ge=0, description="A memory that wasted fewer tokens in the window is not flagged as costly."
    )
    grace_days: int = Field(7, ge=0, description="A memory younger than this is not flagged as costly.")
    oversized_tokens: int = Field(200, ge=1, description="A memory whose line has more tokens is flagged as oversized.")
    similarity: float = Field(
        0.92, gt=0, le=1, description="Two memories with at least this similarity are flagged as duplicates."
    )


class EvaluationSettings(Section):
    """Evaluation of sessions."""

    quiet_seconds: int = Field(
        600, ge=0, description="A session without new turns for this long has ended, and is evaluated."
    )


class Web(Section):
    """The dashboard."""

    session_hours: int = Field(12, ge=1, le=720, description="How long a sign-in lasts.")
    secret: str = Field(
        "",
        repr=False,
        description="Signs sessions. Empty: a new one at each start, so a restart signs everyone out; "
        "set it if several servers share a database.",
    )


class LlmSettings(Section):
    """The language model. Without one, rules learn."""

    url: str = Field("", description="An OpenAI-compatible endpoint, such as `http://127.0.0.1:11434/v1`.")
    provider: str = Field(
        "",
        pattern="^(|openai|anthropic|openrouter|gemini|minimax|deepseek|dashscope|zai|moonshot|xai)$",
        description="Provider of the model if no URL is set; `docs/guides/use-a-model.md` lists them.",
    )
    api_key: str = Field("", repr=False, description="API key of the provider or endpoint; a local one needs none.")
    model: str = Field("", description="Model for all roles; empty is the default of the provider.")
    gate_model: str = Field("", description="Model that decides whether a window is worth reading.")
    extraction_model: str = Field("", description="Model that reads conversations.")
    merge_model: str = Field("", description="Model that compares memories and writes shared lessons.")
    judge_model: str = Field("", description="Model that evaluates sessions.")
    reformulation_model: str = Field("", description="Model that rewrites a query, on request.")
    org_models: bool = Field(
        True, description="Allow organizations to configure their own model; off uses the server's model for all."
    )
    private_org_models: bool = Field(
        False,
        description="Allow models of organizations on this machine and in private networks; off refuses them, also "
        "behind a name.",
    )
    gate: bool = Field(True, description="Ask the gate model before a window is read; off reads every window.")
    request_seconds: float = Field(30.0, gt=0, description="Timeout of one request to the model.")
    total_seconds: float = Field(90.0, gt=0, description="Timeout of one answer, retries included.")
    reformulation_seconds: float = Field(1.5, gt=0, description="Timeout of rewriting a query.")
    attempts: int = Field(3, ge=1, le=10, description="Attempts for one answer if the model fails.")
    backoff_seconds: float = Field(0.5, gt=0, description="Wait before the second attempt; doubles.")
    repairs: int = Field(2, ge=0, le=5, description="How often the model may correct an answer of the wrong shape.")
    concurrency: int = Field(4, ge=1, le=256, description="Requests to the model at once; others wait.")
    breaker_failures: int = Field(5, ge=1, description="Consecutive failures that open the circuit breaker.")
    breaker_seconds: float = Field(
        30.0, gt=0, description="How long the circuit breaker stays open before one request tries the model."
    )
    daily_tokens: int = Field(
        0, ge=0, description="Tokens per organization and day (UTC); beyond that, rules learn. 0 is no limit."
    )
    prices: str = Field("", description="TOML file with prices that replaces the built-in table.")


class BackupSettings(Section):
    """Scheduled backups of SQLite."""

    folder: str = Field("", description="Folder for scheduled backups, preferably on another disk; empty makes none.")
    every_hours: int = Field(24, ge=1, le=720, description="Hours between scheduled backups.")
    keep: int = Field(7, ge=1, description="Scheduled backups that are kept; older ones are deleted.")


class TelemetrySettings(Section):
    """Metrics and traces of the server's own work."""

    metrics_token: str = Field(
        "",
        pattern="^(.{16,})?$",
        repr=False,
        description="Token that opens `/metrics`, at least 16 characters; keys of the local organization open it too.",
    )
    traces_url: str = Field(
        "",
        pattern="^(https?://.+)?$",
        description="OTLP/HTTP address for traces of the server's own work, such as `http://127.0.0.1:4318/v1/traces`; "
        "empty makes none.",
    )
    traces_ratio: float = Field(
        1.0, ge=0, le=1, description="Share of requests and jobs that are traced, unless the caller's trace decides."
    )


class Settings(Section):
    host: str = Field("127.0.0.1", description="Address to listen on; anything but loopback requires an API key.")
    port: int = Field(8061, ge=0, le=65535, description="Port to listen on; clients expect 8061.")
    data: Path = Field(Path("~/.acumen"), description="Folder of the embedded database.")
    database_url: str = Field("", description="`postgresql://…` to use Postgres; empty uses SQLite in the data folder.")
    log_level: str = Field("info", pattern="^(debug|info|warning|error)$", description="Lowest level that is logged.")
    log_format: str = Field("text", pattern="^(text|json)$", description="Form of log lines: `text` or `json`.")
    access_log: bool = Field(False, description="Log every request: method, route, status and duration.")
    drain_seconds: int = Field(10, ge=0, description="How long SIGTERM waits for current requests and jobs.")
    limits: Limits = Limits()
    jobs: JobSettings = JobSettings()
    observe: Observe = Observe()
    alerts: AlertSettings = AlertSettings()
    recall: RecallSettings = RecallSettings()
    meter: Meter = Meter()
    llm: LlmSettings = LlmSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    web: Web = Web()
    review: ReviewSettings = ReviewSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    backup: BackupSettings = BackupSettings()

    @model_validator(mode="after")
    def _backups_of_sqlite(self) -> Self:
        if self.backup.folder and self.database_url:
            raise ValueError("backup.folder is for SQLite; back up Postgres with its own tools, such as pg_dump")
        return self

    @property
    def data_dir(self) -> Path:
        return self.data.expanduser().resolve()

    @property
    def sqlite_path(self) -> Path:
        return self.data_dir / "acumen.db"


# Secrets: an error message about one does not repeat its value.
_HIDDEN = ("key", "secret", "url", "alerts", "metrics_token")


def load(environ: Mapping[str, str], overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings of file, environment and command line merged; BadSettings with a sentence if one is wrong."""
    values = _deep_merge(_from_file(environ.get("ACUMEN_CONFIG", "")), _from_environ(environ))
    values = _deep_merge(values, {k: v for k, v in (overrides or {}).items() if v is not None})
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise BadSettings(_sentence(error)) from None


def _from_file(name: str) -> dict[str, Any]:
    if not name:
        return {}
    try:
        return tomllib.loads(Path(name).expanduser().read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSettings(f"The settings file {name} cannot be read: {error}.") from None


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in environ.items():
        if not name.startswith(PREFIX) or name in NOT_SETTINGS:
            continue
        *sections, leaf = SHORT.get(name, name).removeprefix(PREFIX).lower().split("__")
        place = values
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise BadSettings(f"Set either {name} or {PREFIX}{section.upper()}, not both.")
        place[leaf] = value
    return values


def _deep_merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        both_sections = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[key] = _deep_merge(below, value) if both_sections else value  # type: ignore[arg-type]
    return merged


def _sentence(invalid: ValidationError) -> str:
    parts = []
    for error in invalid.errors():
        if not error["loc"]:  # about several settings, whose values are not repeated
            parts.append(error["msg"].removeprefix("Value error, ") + ".")
            continue
        path = ".".join(str(step) for step in error["loc"])
        variable = PREFIX + "__".join(str(step).upper() for step in error["loc"])
        if error["type"] == "extra_forbidden":
            parts.append(f"Unknown setting {path} ({variable}); docs/reference/settings.md lists all settings.")
        else:
            value = "(hidden)" if path.endswith(_HIDDEN) else repr(error["input"])
            parts.append(f"Setting {path} ({variable}) is {value}: {error['msg']}.")
    return " ".join(parts)

"""Every setting, its default and its reason.

Read once at start, from three places, later ones win: a TOML file, `ACUMEN_…` variables, the command line.
Nested names use two underscores: `ACUMEN_METER__ENABLED=false` is `[meter] enabled = false`.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from acumen.errors import BadSettings

PREFIX = "ACUMEN_"
# What a newcomer writes first, in one word.
SHORT = {f"ACUMEN_LLM_{name}": f"ACUMEN_LLM__{name}" for name in ("URL", "PROVIDER", "API_KEY", "MODEL")}
# Variables of ours that are not settings of the server: the client's, and where the TOML file lies.
NOT_SETTINGS = frozenset({"ACUMEN_URL", "ACUMEN_KEY", "ACUMEN_OBSERVE", "ACUMEN_CONFIG", "ACUMEN_BENCH_DATA"})


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Limits(Section):
    """What we accept in one piece."""

    body_bytes: int = Field(10 * 1024 * 1024, ge=1024, description="Largest request body, after unpacking.")
    waiting_writes: int = Field(
        4096, ge=1, description="Writes that may wait for the disk; past that callers get 503 and try again."
    )


class JobSettings(Section):
    """How background work is carried."""

    workers: int = Field(4, ge=0, le=64, description="Jobs run at once inside `acumen serve`; 0 runs none there.")
    lease_seconds: int = Field(60, ge=5, description="A worker that is silent this long has lost its job.")
    attempts: int = Field(5, ge=1, description="Tries before a job is dead-lettered with its last cause.")
    backoff_seconds: float = Field(1.0, gt=0, description="Wait before the second try; doubles, at most five minutes.")
    poll_seconds: float = Field(1.0, gt=0, description="How often to look for work that nobody announced.")


class Observe(Section):
    """What is kept of agents' operations."""

    keep_days: int = Field(90, ge=1, description="Operations older than this are removed; groups and counts stay.")
    keep_history_days: int = Field(
        400,
        ge=1,
        description="Groups of failures unseen for longer are removed unless a person or a lesson holds them; "
        "conclusions and findings that are older, too.",
    )
    otlp_content: bool = Field(
        False, description="Keep messages, arguments and results that traces carry; off keeps their sizes only."
    )


class AlertSettings(Section):
    """When a person should hear that something is wrong, and where."""

    every_minutes: int = Field(5, ge=1, le=60, description="How often to look whether something is wrong.")
    silent_minutes: int = Field(
        60, ge=1, description="A source is not called silent before this, however regular it was."
    )
    webhook_url: str = Field(
        "", pattern="^(https?://.+)?$", repr=False, description="Where alerts are sent by POST; empty sends none."
    )
    webhook_secret: str = Field(
        "", repr=False, description="Signs what is sent (HMAC-SHA256); needed with a webhook, at least 16 characters."
    )

    @model_validator(mode="after")
    def _signed(self) -> Self:
        if self.webhook_url and len(self.webhook_secret) < 16:
            raise ValueError("webhook_url needs webhook_secret, of at least 16 characters")
        return self


class RecallSettings(Section):
    """How memories are found and shown."""

    cache_mb: int = Field(512, ge=8, description="Memory for search partitions; the least recently used go first.")
    max_tokens: int = Field(1500, ge=0, description="Budget of the ready-to-inject context when a search names none.")
    embeddings: bool = Field(True, description="Search by meaning as well as by words; off saves about 100 MB.")


class Meter(Section):
    """What is counted when memories are shown."""

    enabled: bool = Field(True, description="Count what is shown; off means memory review has nothing to go by.")
    flush_seconds: float = Field(0.5, gt=0, description="Counts are written in batches; a crash loses at most this.")
    keep_days: int = Field(400, ge=1, description="Usage events older than this are removed.")
    keep_rows: int = Field(
        5_000_000, ge=1000, description="About so many usage events are kept per org; the oldest days go first."
    )
    model: str = Field("gpt-5-mini", description="Whose price counts when a question about costs names no model.")


class ReviewSettings(Section):
    """When a memory deserves a look."""

    least_wasted_tokens: int = Field(
        30, ge=0, description="A memory that wasted fewer tokens in the window is not called expensive."
    )
    grace_days: int = Field(7, ge=0, description="A memory younger than this is not called expensive: give it time.")
    oversized_tokens: int = Field(200, ge=1, description="A memory whose line takes more tokens is called oversized.")
    similarity: float = Field(
        0.92, gt=0, le=1, description="Two memories at least this much alike are proposed as duplicates."
    )


class EvaluationSettings(Section):
    """When sessions are judged."""

    quiet_seconds: int = Field(
        600, ge=0, description="A session in which nothing was said for this long is taken to be over, and judged."
    )


class Web(Section):
    """The dashboard."""

    session_hours: int = Field(12, ge=1, le=720, description="How long a sign-in to the dashboard lasts.")
    secret: str = Field(
        "",
        repr=False,
        description="Signs the dashboard's sessions. Empty: made anew at each start, so a restart ends them; "
        "set it where several servers share a database.",
    )


class LlmSettings(Section):
    """The language model, if there is one. Without one, rules do its work."""

    url: str = Field("", description="An OpenAI-compatible endpoint, such as `http://127.0.0.1:11434/v1`.")
    provider: str = Field(
        "",
        pattern="^(|openai|anthropic|openrouter|gemini|minimax|deepseek|dashscope|zai|moonshot|xai)$",
        description="Whose model it is when no URL is given; `docs/guides/use-a-model.md` lists them.",
    )
    api_key: str = Field("", repr=False, description="Key of the provider or endpoint; a local one needs none.")
    model: str = Field("", description="Model for every role; empty is the provider's usual one.")
    gate_model: str = Field("", description="Model that votes on whether a window is worth reading.")
    extraction_model: str = Field("", description="Model that reads conversations.")
    merge_model: str = Field("", description="Model that compares memories and writes shared lessons.")
    judge_model: str = Field("", description="Model that judges sessions.")
    reformulation_model: str = Field("", description="Model that rewrites a search, when asked to.")
    org_models: bool = Field(True, description="Let an org bring a model of its own; off keeps all talk with this one.")
    gate: bool = Field(True, description="Let the model vote before a window is read; off reads every window.")
    request_seconds: float = Field(30.0, gt=0, description="Longest wait for one request to the model.")
    total_seconds: float = Field(90.0, gt=0, description="Longest wait for one answer, retries and pauses included.")
    reformulation_seconds: float = Field(1.5, gt=0, description="Longest wait for a rewritten search.")
    attempts: int = Field(3, ge=1, le=10, description="Requests for one answer when the model fails.")
    backoff_seconds: float = Field(0.5, gt=0, description="Pause before the second request; doubles.")
    repairs: int = Field(2, ge=0, le=5, description="How often an answer of the wrong shape is sent back.")
    concurrency: int = Field(4, ge=1, le=256, description="Questions asked at once; the others wait.")
    breaker_failures: int = Field(5, ge=1, description="Failures in a row after which a model is left alone.")
    breaker_seconds: float = Field(30.0, gt=0, description="How long it is left alone before one question tries it.")
    daily_tokens: int = Field(
        0, ge=0, description="Tokens an org may spend in a day (UTC); past that rules work. 0 is no limit."
    )
    prices: str = Field("", description="TOML file with prices, in place of the built-in table.")


class Settings(Section):
    """The whole of it."""

    host: str = Field("127.0.0.1", description="Address to listen on; other than loopback needs at least one key.")
    port: int = Field(8061, ge=0, le=65535, description="Port to listen on; the wire's usual one.")
    data: Path = Field(Path("~/.acumen"), description="Folder of the embedded database.")
    database_url: str = Field("", description="`postgresql://…` to use Postgres; empty is SQLite in the data folder.")
    log_level: str = Field("info", pattern="^(debug|info|warning|error)$", description="How much to log.")
    drain_seconds: int = Field(10, ge=0, description="How long SIGTERM waits for requests and jobs under way.")
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

    @property
    def data_dir(self) -> Path:
        return self.data.expanduser().resolve()

    @property
    def sqlite_path(self) -> Path:
        return self.data_dir / "acumen.db"


# What these hold is the owner's: not even a message about a wrong one repeats it.
_HIDDEN = ("key", "secret", "url", "alerts")


def load(environ: Mapping[str, str], overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings from file, environment and command line; a sentence instead of a traceback when they are wrong."""
    given = _deep_merge(_from_file(environ.get("ACUMEN_CONFIG", "")), _from_environ(environ))
    given = _deep_merge(given, {k: v for k, v in (overrides or {}).items() if v is not None})
    try:
        return Settings.model_validate(given)
    except ValidationError as wrong:
        raise BadSettings(_sentence(wrong)) from None


def _from_file(name: str) -> dict[str, Any]:
    if not name:
        return {}
    try:
        return tomllib.loads(Path(name).expanduser().read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as wrong:
        raise BadSettings(f"The settings file {name} cannot be read: {wrong}.") from None


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, value in environ.items():
        if not name.startswith(PREFIX) or name in NOT_SETTINGS:
            continue
        *sections, leaf = SHORT.get(name, name).removeprefix(PREFIX).lower().split("__")
        place = given
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise BadSettings(f"{name} cannot be set: {PREFIX}{section.upper()} gives all of {section} one value.")
        place[leaf] = value
    return given


def _deep_merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        both_sections = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[key] = _deep_merge(below, value) if both_sections else value  # type: ignore[arg-type]
    return merged


def _sentence(wrong: ValidationError) -> str:
    parts = []
    for error in wrong.errors():
        path = ".".join(str(step) for step in error["loc"])
        variable = PREFIX + "__".join(str(step).upper() for step in error["loc"])
        if error["type"] == "extra_forbidden":
            parts.append(f"There is no setting {path} ({variable}); docs/reference/settings.md lists all of them.")
        else:
            given = "(hidden)" if path.endswith(_HIDDEN) else repr(error["input"])
            parts.append(f"Setting {path} ({variable}) is {given}: {error['msg']}.")
    return " ".join(parts)

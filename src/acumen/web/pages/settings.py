"""Settings of the server, and the review thresholds of the org with a preview."""

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace
from pydantic import ValidationError
from starlette.responses import Response

from acumen.errors import BadInput
from acumen.meter import system_status
from acumen.model.review.signal import (
    DUPLICATE,
    HIGH_COST_LOW_CITE,
    LOOKED_AT_SIMILARITY,
    LOOKED_AT_TOKENS,
    OVERSIZED,
    Thresholds,
)
from acumen.review import duplicate_scan, queue, thresholds
from acumen.review.queue import ReviewQuery
from acumen.settings import PREFIX, Settings
from acumen.web.page import Visit, page
from acumen_client.wire.config import MemoryReviewConfig
from acumen_client.wire.shapes import Role

# Settings of the server by subject.
SECTIONS = {
    "Retention": ("meter.keep_days", "meter.keep_rows", "observe.keep_days", "observe.keep_history_days"),
    "Redaction": ("observe.keep_secrets", "observe.otlp_content"),
    "Language model": ("llm.org_models",),
    "Metering": ("meter.enabled", "meter.flush_seconds", "meter.model"),
    "Alerts": ("alerts.every_minutes", "alerts.silent_minutes", "alerts.webhook_url", "alerts.webhook_secret"),
}
# The signal of a threshold, and the value below which texts have not been scanned.
DECIDES = {
    "least_wasted_tokens": (HIGH_COST_LOW_CITE, 0),
    "grace_days": (HIGH_COST_LOW_CITE, 0),
    "oversized_tokens": (OVERSIZED, LOOKED_AT_TOKENS),
    "similarity": (DUPLICATE, LOOKED_AT_SIMILARITY),
}
LABELS = {
    "least_wasted_tokens": "Min. wasted tokens",
    "grace_days": "Grace period (days)",
    "oversized_tokens": "Max. tokens",
    "similarity": "Similarity",
}
LONGEST_WINDOW_DAYS = 90


class Row(Struct, frozen=True):
    """A setting of the server; a secret is only shown as set or not set."""

    name: str
    variable: str
    value: str
    reason: str


class Threshold(Struct, frozen=True):
    """`value` is in force, `tried` is previewed, `default` is the server's."""

    name: str
    label: str
    value: float
    tried: float
    default: float
    custom: bool
    reason: str


@page("/settings")
async def settings(visit: Visit) -> Response:
    now, tried = visit.deps.thresholds, _tried(visit)
    keys = [key for key in await visit.keys.all_keys() if key.org_id == visit.deps.org and key.revoked_at is None]
    return visit.html(
        "settings.html",
        sections={name: [_row(visit.app.settings, path) for path in paths] for name, paths in SECTIONS.items()},
        thresholds=_thresholds(visit, now, tried),
        flagged=await _flagged(visit, now, tried),
        tried=tried != now,
        keys=keys,
        sources=await system_status.sources_last_seen(visit.deps),
        longest_window=LONGEST_WINDOW_DAYS,
    )


def _row(settings: Settings, path: str) -> Row:
    section, name = path.split(".")
    part = getattr(settings, section)
    field, value = type(part).model_fields[name], getattr(part, name)
    if isinstance(value, bool):
        text = "on" if value else "off"
    elif isinstance(value, int):
        text = f"{value:,}"
    else:
        text = str(value) if field.repr else "set" if value else "not set"
    return Row(path, f"{PREFIX}{section}__{name}".upper(), text, field.description or "")


def _thresholds(visit: Visit, now: Thresholds, tried: Thresholds) -> list[Threshold]:
    defaults = visit.app.settings.review
    return [
        Threshold(
            name=name,
            label=LABELS[name],
            value=value,
            tried=getattr(tried, name),
            default=getattr(defaults, name),
            custom=name in visit.deps.config.review,
            reason=type(defaults).model_fields[name].description or "",
        )
        for name, value in asdict(now).items()
    ]


# --- preview and save --------------------------------------------------------------------------------------------


class Flagged(Struct, frozen=True):
    """How many memories a signal flags now and `then`; `at_least` while not all texts have been scanned."""

    signal: str
    now: int
    then: int
    at_least: bool


async def _flagged(visit: Visit, now: Thresholds, tried: Thresholds) -> list[Flagged]:
    scanning = await duplicate_scan.scan_pending(visit.deps)
    before = await queue.candidates(ReviewQuery(None), 1, 0, visit.deps)
    after = before if tried == now else await queue.candidates(ReviewQuery(None), 1, 0, visit.deps, tried)
    unscanned = {
        signal
        for name, (signal, limit) in DECIDES.items()
        if (limit and scanning) or getattr(tried, name) < min(limit, getattr(now, name))
    }
    return [
        Flagged(signal, before.by_signal.get(signal, 0), after.by_signal.get(signal, 0), signal in unscanned)
        for signal in dict.fromkeys(signal for signal, _ in DECIDES.values())
    ]


def _tried(visit: Visit) -> Thresholds:
    """The thresholds in force with those of the URL."""
    values = {name: visit.param(name) for name in DECIDES if visit.param(name)}
    return replace(visit.deps.thresholds, **_checked(values))


def _checked(values: dict[str, str]) -> dict[str, Any]:
    try:
        return MemoryReviewConfig.model_validate(values).model_dump(exclude_none=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"{LABELS[str(first['loc'][0])]}: {first['msg'].lower()}.") from None


@page("/settings", Role.ADMIN, "POST")
async def change(visit: Visit) -> Response:
    """A threshold equal to the server's default is not stored, so that it follows the default."""
    defaults = visit.app.settings.review
    values = _checked({name: visit.form.get(name) for name in DECIDES if visit.form.get(name)})
    custom = {name: value for name, value in values.items() if value != getattr(defaults, name)}
    action = await thresholds.change(custom, visit.caller.actor, visit.deps)
    visit.app.forget_config(visit.deps.org)
    return visit.done("Thresholds saved." if action.id else "Nothing changed.", "/settings", action.id)

"""Settings: what this server was started with, and the thresholds that an org sets for itself, tried before kept."""

import json
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from acumen.errors import BadInput
from acumen.model.review.signal import (
    DUPLICATE,
    HIGH_COST_LOW_CITE,
    LOOKED_AT_SIMILARITY,
    LOOKED_AT_TOKENS,
    OVERSIZED,
    Thresholds,
)
from acumen.review import memory_scan, queue, thresholds
from acumen.review.queue import ReviewQuery
from acumen.settings import PREFIX, Settings
from acumen.storage.store import Tx
from acumen.web.page import Visit, page
from acumen.web.paths import ROOT
from acumen_client.wire.sections import MemoryReviewConfig
from acumen_client.wire.shapes import Role

# What a person asks of a server, and the settings that answer it.
SECTIONS = {
    "Retention": ("meter.keep_days", "meter.keep_rows", "observe.keep_days", "observe.keep_history_days"),
    "Redaction": ("observe.otlp_content", "llm.org_models"),
    "Metering": ("meter.enabled", "meter.flush_seconds", "meter.model"),
    "Alerts": ("alerts.every_minutes", "alerts.silent_minutes", "alerts.webhook_url", "alerts.webhook_secret"),
}
# The signal that a threshold decides, and below which value texts were not looked at yet.
DECIDES = {
    "least_wasted_tokens": (HIGH_COST_LOW_CITE, 0),
    "grace_days": (HIGH_COST_LOW_CITE, 0),
    "oversized_tokens": (OVERSIZED, LOOKED_AT_TOKENS),
    "similarity": (DUPLICATE, LOOKED_AT_SIMILARITY),
}
LONGEST_WINDOW_DAYS = 90


class Row(Struct, frozen=True):
    """A setting of the server. Of what is secret only whether it is set."""

    name: str
    variable: str
    value: str
    reason: str


class Threshold(Struct, frozen=True):
    """One that can be changed: as it is, as it is tried, and as the server has it."""

    name: str
    value: float
    tried: float
    usual: float
    own: bool
    reason: str


@page("/settings")
async def settings(visit: Visit) -> Response:
    now, tried = visit.deps.thresholds, _tried(visit)
    keys, sources = await visit.deps.store.read(_keys_and_sources)
    return visit.html(
        "settings.html",
        sections={name: [_row(visit.app.settings, one) for one in names] for name, names in SECTIONS.items()},
        thresholds=_thresholds(visit, now, tried),
        flagged=await _flagged(visit, now, tried),
        tried=tried != now,
        keys=[key for key in keys if key.revoked_at is None],
        sources=sources,
        longest_window=LONGEST_WINDOW_DAYS,
    )


def _keys_and_sources(tx: Tx) -> tuple[Any, list[tuple[str, Any]]]:
    """Each source with the moment at which it was last heard; the hour, where its operations are no longer kept."""
    return tx.api_keys.all(), [
        (one.source, tx.operations.get_last_received(one.source) or one.last_hour)
        for one in tx.hourly_counts.count_by_source()
    ]


def _row(given: Settings, path: str) -> Row:
    section, name = path.split(".")
    part = getattr(given, section)
    field, value = type(part).model_fields[name], getattr(part, name)
    told = str(value) if field.repr else "set" if value else "not set"
    return Row(path, f"{PREFIX}{section}__{name}".upper(), told, field.description or "")


def _thresholds(visit: Visit, now: Thresholds, tried: Thresholds) -> list[Threshold]:
    usual = visit.app.settings.review
    return [
        Threshold(
            name=name,
            value=value,
            tried=getattr(tried, name),
            usual=getattr(usual, name),
            own=name in visit.deps.config.review,
            reason=type(usual).model_fields[name].description or "",
        )
        for name, value in asdict(now).items()
    ]


# --- trying and keeping --------------------------------------------------------------------------------------------


class Flagged(Struct, frozen=True):
    """How many memories a signal flags, and would flag; `at_least` while texts were not looked at that closely."""

    signal: str
    now: int
    then: int
    at_least: bool


async def _flagged(visit: Visit, now: Thresholds, tried: Thresholds) -> list[Flagged]:
    unseen = await memory_scan.scan_pending(visit.deps)
    before = await queue.candidates(ReviewQuery(None), 1, 0, visit.deps)
    after = before if tried == now else await queue.candidates(ReviewQuery(None), 1, 0, visit.deps, tried)
    closer = {
        signal
        for name, (signal, known) in DECIDES.items()
        if (known and unseen) or getattr(tried, name) < min(known, getattr(now, name))
    }
    return [
        Flagged(signal, before.by_signal.get(signal, 0), after.by_signal.get(signal, 0), signal in closer)
        for signal in dict.fromkeys(signal for signal, _ in DECIDES.values())
    ]


def _tried(visit: Visit) -> Thresholds:
    """As the URL says; what it does not say is as it is."""
    given = {name: visit.asked(name) for name in DECIDES if visit.asked(name)}
    return replace(visit.deps.thresholds, **_checked(given))


def _checked(given: dict[str, str]) -> dict[str, Any]:
    try:
        return MemoryReviewConfig.model_validate(given).model_dump(exclude_none=True)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        raise BadInput(f"{str(first['loc'][0]).replace('_', ' ').capitalize()}: {first['msg'].lower()}.") from None


@page("/settings", Role.ADMIN, "POST")
async def change(visit: Visit) -> Response:
    """A threshold that is as the server has it stays the server's, and follows it."""
    usual = visit.app.settings.review
    given = _checked({name: visit.form.get(name) for name in DECIDES if visit.form.get(name)})
    own = {name: value for name, value in given.items() if value != getattr(usual, name)}
    done = await thresholds.change(own, visit.caller.actor, visit.deps)
    visit.app.forget_config(visit.deps.org)
    if not visit.partial:
        return RedirectResponse(f"{ROOT}/settings", 303)
    headers = {"HX-Trigger": json.dumps({"acumen:changed": {"count": 1}})}
    said = "The thresholds are changed." if done.id else "Nothing had to change."
    url = f"{ROOT}/actions/{done.id}/undo" if done.id else ""
    return visit.html("part/done.html", headers=headers, said=said, url=url, back="undo" if url else "")

"""Alerts: every few minutes a look at whether something is wrong, told once when it begins and once when it ends."""

import json
from collections.abc import Sequence

from acumen.deps import Deps
from acumen.model.ids import Millis, OrgId, fresh_id
from acumen.model.jobs.events import Alerted, Failed, Hour, Minutes, Recovered, Worked
from acumen.model.metering.llm_call import ModelRole
from acumen.model.operations.alert import Alert, Delivery, Problem, analysis_failing, escalating, model_failing, silent
from acumen.model.operations.failure import WEEK_HOURS
from acumen.model.times import DAY_MS, HOUR_MS, MINUTE_MS
from acumen.storage.store import Tx

ANALYSES = (Failed.name, Recovered.name, Worked.name)
KEEP_DAYS = 90
# So many of the latest calls to models tell how each of them fares.
LOOKED_AT = 500


async def look(_fact: Minutes, deps: Deps) -> None:
    found = await deps.store.read(lambda tx: problems(tx, deps))
    sends = bool(deps.settings.alerts.webhook_url)

    def store(tx: Tx) -> None:
        known = {(one.problem.kind, one.problem.subject): one for one in tx.alerts.find_latest(10_000, only_open=True)}
        for key in found.keys() - known.keys():
            opened = tx.alerts.open(found[key])
            if opened is not None and sends:
                _announce(tx, opened, "alert.opened", deps.org)
        for key in known.keys() - found.keys():
            if tx.alerts.close(known[key]) and sends:
                _announce(tx, known[key], "alert.closed", deps.org)

    await deps.store.write(store)


def problems(tx: Tx, deps: Deps) -> dict[tuple[str, str], Problem]:
    """What is wrong now, by kind and subject."""
    least = deps.settings.alerts.silent_minutes * MINUTE_MS
    heard = tx.hourly_counts.find_active_hours(Millis(tx.at - WEEK_HOURS * HOUR_MS))
    found = [silent(name, hours, _last(tx, name, hours), tx.at, least) for name, hours in heard.items()]
    found += [escalating(group) for group in tx.failures.find_unsettled()]
    found += [analysis_failing(event, tx.jobs.find_by_event(event), tx.at) for event in ANALYSES]
    calls = tx.llm_calls.find_latest(Millis(tx.at - DAY_MS), LOOKED_AT) if deps.llm else []
    found += [model_failing(role, calls) for role in ModelRole]
    return {(one.kind, one.subject): one for one in found if one is not None}


def _last(tx: Tx, source: str, hours: Sequence[int]) -> Millis:
    """Operations may be kept for a shorter time than what was counted of them."""
    return Millis(max(tx.operations.get_last_received(source), hours[-1]))


def _announce(tx: Tx, alert: Alert, event: str, org: OrgId) -> None:
    """Written now, sent by a job: what is wrong is known before anybody can be told."""
    problem = alert.problem
    told = {
        "type": event,
        "org_id": org,
        "alert_id": alert.id,
        "kind": problem.kind,
        "subject": problem.subject,
        "said": problem.said,
        "opened_at": alert.opened_at // 1000,
        "at": tx.at // 1000,
        "detail": problem.detail,
    }
    delivery = Delivery(fresh_id("dlv"), alert.id, event, json.dumps(told))
    tx.alerts.add_delivery(delivery)
    tx.jobs.add(Alerted(delivery.id))


async def expire(_fact: Hour, deps: Deps) -> None:
    """Alerts that are over, and jobs that died and were never made good."""
    await deps.store.write(lambda tx: _expire(tx, Millis(tx.at - KEEP_DAYS * DAY_MS)))


def _expire(tx: Tx, before: Millis) -> None:
    tx.alerts.expire(before)
    tx.jobs.delete_dead_letters(before)

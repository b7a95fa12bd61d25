"""Alerts: checked every few minutes, announced once when one opens and once when it closes."""

import json
from collections.abc import Sequence

from acumen.deps import Deps
from acumen.model.ids import LOCAL_ORG, Millis, OrgId, fresh_id
from acumen.model.jobs.events import Alerted, BackupDue, Failed, Hour, Minutes, Recovered, Worked
from acumen.model.metering.llm_call import ModelRole
from acumen.model.operations.alert import (
    Alert,
    Delivery,
    Problem,
    analysis_failing,
    backup_failing,
    escalating,
    learning_late,
    model_failing,
    silent,
)
from acumen.model.operations.failure import WEEK_HOURS
from acumen.model.times import DAY_MS, HOUR_MS, MINUTE_MS
from acumen.storage.store import Tx

ANALYSES = (Failed.name, Recovered.name, Worked.name)
KEEP_DAYS = 90
MOST_DELIVERIES = 1_000
# The latest model calls that decide whether a model is failing.
CALLS_CHECKED = 500


async def check(_event: Minutes, deps: Deps) -> None:
    current, open_keys = await deps.store.read(lambda tx: (problems(tx, deps), _open_alerts(tx).keys()))
    if current.keys() == open_keys:  # nearly always: no transaction waits for the disk
        return
    sends = bool(deps.settings.alerts.webhook_url)

    def store(tx: Tx) -> None:
        open_alerts = _open_alerts(tx)
        for key in current.keys() - open_alerts.keys():
            opened = tx.alerts.open(current[key])
            if opened is not None and sends:
                _announce(tx, opened, "alert.opened", deps.org)
        for key in open_alerts.keys() - current.keys():
            if tx.alerts.close(open_alerts[key]) and sends:
                _announce(tx, open_alerts[key], "alert.closed", deps.org)

    await deps.store.write(store)


def _open_alerts(tx: Tx) -> dict[tuple[str, str], Alert]:
    """By kind and subject."""
    alerts = tx.alerts.find_latest(10_000, only_open=True)
    return {(alert.problem.kind, alert.problem.subject): alert for alert in alerts}


def problems(tx: Tx, deps: Deps) -> dict[tuple[str, str], Problem]:
    """By kind and subject."""
    least = deps.settings.alerts.silent_minutes * MINUTE_MS
    sources = tx.hourly_counts.find_active_hours(Millis(tx.at - WEEK_HOURS * HOUR_MS))
    checked = [silent(name, hours, _last(tx, name, hours), tx.at, least) for name, hours in sources.items()]
    checked += [escalating(group) for group in tx.failures.find_unsettled()]
    checked += [analysis_failing(event, tx.jobs.find_by_event(event), tx.at) for event in ANALYSES]
    calls = tx.llm_calls.find_latest(Millis(tx.at - DAY_MS), CALLS_CHECKED) if deps.llm else []
    checked += [model_failing(role, calls) for role in ModelRole]
    checked.append(learning_late(tx.jobs.get_lag(), tx.at, deps.settings.alerts.learning_minutes * MINUTE_MS))
    checked.append(_backup_failing(tx, deps))
    return {(problem.kind, problem.subject): problem for problem in checked if problem is not None}


def _backup_failing(tx: Tx, deps: Deps) -> Problem | None:
    """Backups are of the whole server: its own organization hears of them."""
    scheduled = deps.settings.backup.folder and deps.org == LOCAL_ORG
    return backup_failing(tx.jobs.find_by_event(BackupDue.name), tx.at) if scheduled else None


def _last(tx: Tx, source: str, hours: Sequence[int]) -> Millis:
    """Operations may have a shorter retention than their hourly counts."""
    return Millis(max(tx.operations.get_last_received(source), hours[-1]))


def _announce(tx: Tx, alert: Alert, event: str, org: OrgId) -> None:
    """Stored now, sent by a job."""
    problem = alert.problem
    body = {
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
    delivery = Delivery(fresh_id("dlv"), alert.id, event, json.dumps(body))
    tx.alerts.add_delivery(delivery)
    tx.jobs.add(Alerted(delivery.id))


async def latest(limit: int, deps: Deps, *, only_open: bool) -> list[tuple[Alert, list[Delivery]]]:
    """Newest first, each with its deliveries."""

    def read(tx: Tx) -> list[tuple[Alert, list[Delivery]]]:
        alerts = tx.alerts.find_latest(limit, only_open=only_open)
        deliveries = tx.alerts.find_deliveries(MOST_DELIVERIES, [alert.id for alert in alerts])
        return [(alert, [sent for sent in deliveries if sent.alert_id == alert.id]) for alert in alerts]

    return await deps.store.read(read)


async def expire(_event: Hour, deps: Deps) -> None:
    """Closed alerts, failed jobs, and how much was learned per minute."""
    await deps.store.write(lambda tx: _expire(tx, Millis(tx.at - KEEP_DAYS * DAY_MS)))


def _expire(tx: Tx, before: Millis) -> None:
    tx.alerts.expire(before)
    tx.jobs.delete_dead_letters(before)
    tx.jobs.expire_learned()

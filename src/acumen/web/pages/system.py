"""The system page: health, activity and storage of the server."""

from msgspec import Struct
from starlette.responses import Response

from acumen.llm.embedding import DIMS
from acumen.meter import system_status
from acumen.meter.system_status import LEAST_FREE_BYTES, Activity
from acumen.model.ids import Kind, Millis
from acumen.model.jobs.lag import LearningLag
from acumen.model.memories.base import Status
from acumen.operate import last_backup
from acumen.web import words
from acumen.web.page import Visit, page


class Disk(Struct, frozen=True):
    """`why` says why a number is unknown. `days` assumes the average growth since the database was created."""

    free: int | None
    days: float | None
    why: str = ""


@page("/system")
async def system(visit: Visit) -> Response:
    await visit.app.flush_usage()
    status, activity = await system_status.status(visit.deps), await system_status.activity(visit.deps)
    return visit.html(
        "system.html",
        system=status,
        activity=activity,
        learning=_learning(status.learning, visit.deps.now()),
        disk=_disk(visit, activity),
        most_of_a_source=max((source.counts.total for source in activity.sources), default=1),
        checks=_checks(visit),
        backup=last_backup(visit.app.settings),
        kinds=list(Kind),
        statuses=[name for name in Status if any(counts[name] for counts in status.memories.values())],
    )


def _learning(lag: LearningLag, at: Millis) -> str:
    rate = f"{words.compact(lag.turns_per_second)} turns/s"
    if not lag.turns_waiting:
        return f"No backlog, {rate}"
    left = "" if lag.seconds_left is None else f", about {words.compact(lag.seconds_left)} s left"
    return f"{words.number(lag.turns_waiting)} turns waiting, the oldest for {lag.age_ms(at) // 1000} s{left}, {rate}"


def _disk(visit: Visit, activity: Activity) -> Disk:
    free = system_status.free_bytes(visit.app.settings)
    if free is None:
        return Disk(None, None, "managed by the database server")
    if activity.growth_per_day is None:
        return Disk(free, None, "growth is known after one day")
    return Disk(free, free / activity.growth_per_day)


def _checks(visit: Visit) -> list[tuple[str, bool, str]]:
    """Name, whether it is OK, and details."""
    app, llm, models = visit.app, visit.app.settings.llm, visit.app.local_models
    free, metering = system_status.free_bytes(app.settings), app.settings.meter.enabled
    embeddings = f"keyword search only: {models.problem}" if models.problem else f"{models.name}, {DIMS} dimensions"
    disk = "managed by the database server" if free is None else f"{words.size(free)} free"
    return [
        ("Database", True, app.storage_label),
        ("Disk", free is None or free > LEAST_FREE_BYTES, disk),
        ("Worker", app.worker_problem is None, app.worker_problem or app.worker_place),
        ("Embeddings", models.problem is None, embeddings),
        ("Language model", True, llm.model or llm.provider or llm.url or "No model configured (rule-based)"),
        ("Metering", metering, "on" if metering else "off"),
        ("Lost counts", app.lost_usage_events == 0, f"{app.lost_usage_events} since start"),
    ]

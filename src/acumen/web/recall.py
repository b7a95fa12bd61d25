"""What was recalled: a past injection byte for byte, and holdout experiments."""

from starlette.responses import RedirectResponse, Response

from acumen.errors import BadInput, NotFound
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.metering.usage import Injection
from acumen.model.times import DAY_MS
from acumen.recall import experiments, replay
from acumen.recall.replay import ReplayComparison
from acumen.storage.store import Tx
from acumen.web.diff import words_changed
from acumen.web.page import Visit, page
from acumen.web.paths import ROOT
from acumen_client.wire.shapes import Role

LONGEST_NAME = 64


@page("/injections/{id}")
async def injection(visit: Visit) -> Response:
    await visit.app.flush_usage()
    found, titles = await visit.deps.store.read(lambda tx: _injection(tx, visit.path_id))
    compared = await _compared(visit, found)
    pieces = words_changed(compared.earlier.context.text, compared.later.context.text) if compared else []
    return visit.html("injection.html", injection=found, titles=titles, compared=compared, pieces=pieces)


def _injection(tx: Tx, injection_id: str) -> tuple[Injection, dict[MemoryRef, str]]:
    found = tx.injections.get(injection_id)
    if found is None:
        raise NotFound(f"There is no injection {injection_id[:100]!r}; the oldest are removed with time.")
    return found, tx.memories.get_titles(MemoryRef(Kind(hit["kind"]), hit["id"]) for hit in found.hits)


async def _compared(visit: Visit, found: Injection) -> ReplayComparison | None:
    """The same question a moment before it was asked and today, when that was asked for."""
    days = visit.asked("compare")
    if not days.isdecimal() or len(days) > 4 or found.ask is None:
        return None
    earlier = Millis(found.created_at - int(days) * DAY_MS)
    return await replay.compare(found.id, earlier, visit.deps.now(), visit.deps)


# --- experiments ---------------------------------------------------------------------------------------------------


@page("/experiments")
async def listed(visit: Visit) -> Response:
    await visit.app.flush_usage()
    every = await experiments.every(visit.deps)
    results = [await experiments.results(one.id, visit.deps) for one in every[:10]]
    active = next((one for one in every if one.ended_at is None), None)
    return visit.html("experiments.html", results=results, active=active, total=len(every))


@page("/experiments/start", Role.ADMIN, "POST")
async def start(visit: Visit) -> Response:
    name, share = visit.form.get("name"), visit.form.get("share")
    if not name or len(name) > LONGEST_NAME:
        raise BadInput(f"Give the experiment a name of at most {LONGEST_NAME} characters.")
    if not share.isdecimal() or not 1 <= int(share) <= 99:
        raise BadInput("The holdout is a whole number of percent, from 1 to 99.")
    await experiments.start(name, float(share), visit.deps)
    return _back(visit)


@page("/experiments/stop", Role.ADMIN, "POST")
async def stop(visit: Visit) -> Response:
    await experiments.stop(visit.form.get("name"), visit.deps)
    return _back(visit)


def _back(visit: Visit) -> Response:
    visit.app.forget_config(visit.caller.org)
    return RedirectResponse(f"{ROOT}/experiments", 303)

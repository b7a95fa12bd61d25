"""Holdout experiments."""

from starlette.responses import RedirectResponse, Response

from acumen.errors import BadInput
from acumen.recall import experiments
from acumen.web.page import Visit, page
from acumen.web.paths import ROOT
from acumen_client.wire.shapes import Role

LONGEST_NAME = 64
RESULTS_SHOWN = 10


@page("/experiments")
async def listed(visit: Visit) -> Response:
    await visit.app.flush_usage()
    every = await experiments.every(visit.deps)
    results = [await experiments.results(experiment.id, visit.deps) for experiment in every[:RESULTS_SHOWN]]
    active = any(experiment.ended_at is None for experiment in every)
    return visit.html("experiments.html", results=results, active=active)


@page("/experiments/preview", Role.ADMIN, "POST")
async def preview(visit: Visit) -> Response:
    """Asks before memories are withheld."""
    name, share = _request(visit)
    return visit.html("experiment.html", name=name, share=share)


@page("/experiments/start", Role.ADMIN, "POST")
async def start(visit: Visit) -> Response:
    name, share = _request(visit)
    await experiments.start(name, float(share), visit.deps)
    return _back(visit)


def _request(visit: Visit) -> tuple[str, int]:
    """Name and holdout share in percent."""
    name, share = visit.form.get("name"), visit.form.get("share")
    if not name or len(name) > LONGEST_NAME:
        raise BadInput(f"Enter a name of at most {LONGEST_NAME} characters.")
    if not share.isdecimal() or not 1 <= int(share) <= 99:
        raise BadInput("Enter a holdout share from 1 to 99 percent.")
    return name, int(share)


@page("/experiments/stop", Role.ADMIN, "POST")
async def stop(visit: Visit) -> Response:
    await experiments.stop(visit.form.get("name"), visit.deps)
    return _back(visit)


def _back(visit: Visit) -> Response:
    visit.app.forget_config(visit.caller.org)
    return RedirectResponse(f"{ROOT}/experiments", 303)

"""Saved views: the filters of a page under a name, shared by the org."""

from urllib.parse import parse_qsl, urlencode

from starlette.responses import RedirectResponse, Response

from acumen.errors import BadInput
from acumen.review import memory_list
from acumen.web.page import Visit, page
from acumen.web.paths import ROOT
from acumen_client.wire.shapes import Role

PAGES = ("memories", "review")
LONGEST_NAME = 60
LONGEST_QUERY = 2_000


@page("/views", Role.REVIEWER, "POST")
async def save(visit: Visit) -> Response:
    where, name = _where(visit), visit.form.get("name")
    filters = [(key, value) for key, value in parse_qsl(visit.form.get("query")) if key != "page"]
    query = urlencode(filters)
    if not 0 < len(name) <= LONGEST_NAME or len(query) > LONGEST_QUERY or not name.isprintable():
        raise BadInput(f"Enter a name of at most {LONGEST_NAME} characters.")
    await memory_list.save_view(where, name, query, dict(filters).get("user"), visit.deps)
    return RedirectResponse(f"{ROOT}/{where}?{query}", 303)


@page("/views/delete", Role.REVIEWER, "POST")
async def delete(visit: Visit) -> Response:
    where = _where(visit)
    await memory_list.delete_view(where, visit.form.get("name"), visit.deps)
    return RedirectResponse(f"{ROOT}/{where}", 303)


def _where(visit: Visit) -> str:
    if (where := visit.form.get("where")) not in PAGES:
        raise BadInput("Views can be saved for Memories and the Review queue.")
    return where

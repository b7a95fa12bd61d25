"""Views that people save: the filters of a page, under a name, for everybody of the org."""

from urllib.parse import parse_qsl, urlencode

from starlette.responses import RedirectResponse, Response

from acumen.errors import BadInput
from acumen.storage.store import Tx
from acumen.web.page import Visit, page
from acumen.web.paths import ROOT
from acumen_client.wire.shapes import Role

PAGES = ("memories", "review")
MOST_VIEWS = 50
LONGEST_NAME = 60
LONGEST_QUERY = 2_000


@page("/views", Role.REVIEWER, "POST")
async def save(visit: Visit) -> Response:
    """Under a name that is taken, the view is replaced; what is not a filter is left out of it."""
    where, name = _where(visit), visit.form.get("name")
    asked = [(key, value) for key, value in parse_qsl(visit.form.get("query")) if key != "page"]
    query = urlencode(asked)
    if not 0 < len(name) <= LONGEST_NAME or len(query) > LONGEST_QUERY or not name.isprintable():
        raise BadInput(f"Give the view a name of at most {LONGEST_NAME} letters.")

    def store(tx: Tx) -> None:
        known = tx.saved_views.find(where)
        if name not in known and len(known) >= MOST_VIEWS:
            raise BadInput(f"There are {MOST_VIEWS} views already: remove one first.")
        tx.saved_views.upsert(where, name, query, dict(asked).get("user"))

    await visit.deps.store.write(store)
    return RedirectResponse(f"{ROOT}/{where}?{query}", 303)


@page("/views/delete", Role.REVIEWER, "POST")
async def delete(visit: Visit) -> Response:
    where, name = _where(visit), visit.form.get("name")
    await visit.deps.store.write(lambda tx: tx.saved_views.delete(where, name))
    return RedirectResponse(f"{ROOT}/{where}", 303)


def _where(visit: Visit) -> str:
    if (where := visit.form.get("where")) not in PAGES:
        raise BadInput("Views are saved of the lists of memories and of the review queue.")
    return where

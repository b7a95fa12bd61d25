"""The role table: every route of the app has a row, and is answered exactly as its row says."""

import re
from typing import Any

import httpx
import pytest
from starlette.routing import BaseRoute, Mount, Route

from acumen.api import openapi
from acumen.api.metrics import PATH as METRICS
from acumen.api.server import api_routes, web_app
from acumen.auth.authenticator import KeyAuthenticator
from acumen.auth.roles import ROUTES
from acumen.model.ids import LOCAL_ORG
from acumen.review import thresholds
from acumen.web.front import with_dashboard
from acumen.web.paths import ROOT
from acumen.web.server import site_routes
from acumen.web.session import Sessions
from acumen_client.wire.shapes import Role
from tests.world import HERE, Org, a_profile, join, keep, once

ROLES = [Role.READER, Role.AGENT, Role.REVIEWER, Role.ADMIN]


def routes_of(org: Org) -> list[tuple[str, str]]:
    """Method and path of everything that the app answers."""
    keys = KeyAuthenticator(org.app.store, org.app.open_org)
    routes: list[BaseRoute] = [*api_routes(org.app, keys), *openapi.routes()]
    routes += site_routes(org.app, keys, Sessions(org.app.settings.web))
    return [(method, path) for route in routes for method, path in _names(route)]


def _names(route: BaseRoute) -> list[tuple[str, str]]:
    if isinstance(route, Mount):
        return [("GET", route.path)]
    assert isinstance(route, Route)
    return [(method, route.path) for method in sorted(route.methods or ()) if method != "HEAD"]


@once
async def test_every_route_has_one_row_and_every_row_a_route(org: Org):
    names = [f"{method} {path}" for method, path in routes_of(org)]

    assert len(names) == len(set(names))
    assert set(names) == ROUTES.keys()


@once
async def test_every_route_is_answered_to_the_roles_of_its_row_and_to_no_other(org: Org):
    keys = KeyAuthenticator(org.app.store, org.app.open_org)
    site = httpx.ASGITransport(with_dashboard(org.app, keys, web_app(org.app, keys)), client=("127.0.0.1", 50_000))
    async with httpx.AsyncClient(base_url=HERE, transport=site) as http:
        (token,) = re.findall(r'name="token" value="(\w+)"', (await http.get(f"{ROOT}/login")).text)
    callers: dict[Role, str | None] = {Role.PUBLIC: None}
    of_server: dict[Role, str | None] = {Role.PUBLIC: None}
    for role in ROLES:
        callers[role] = (await join(org.app, role, org.id)).key
        of_server[role] = (await join(org.app, role, LOCAL_ORG)).key

    async def answered(method: str, path: str, key: str | None) -> bool:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with httpx.AsyncClient(base_url=HERE, transport=site, headers=headers | {"Origin": HERE}) as http:
            form: Any = {"data": {"token": token}} if path.startswith(ROOT) and method == "POST" else {}
            reply = await http.request(method, path.replace("{", "").replace("}", ""), **form)
        to_login = reply.status_code == 303 and reply.headers["location"].startswith(f"{ROOT}/login?next")
        return reply.status_code not in (401, 403) and not to_login

    wrong = []
    for method, path in routes_of(org):
        needed = ROUTES[f"{method} {path}"].role
        holders = of_server if path == METRICS else callers
        allowed = [role for role, key in holders.items() if await answered(method, path, key)]
        # The login form answers a missing key with its own 401.
        if allowed != [role for role in callers if role.allows(needed)] and path != f"{ROOT}/login":
            wrong.append((method, path, needed, allowed))
    assert wrong == []


STRANGE = ["%00", "a%00b", "x" * 300, "%2e%2e%2f", "%ff%fe", "'%22%3B--"]


@pytest.mark.parametrize("strange", STRANGE, ids=lambda text: text[:8])
async def test_a_path_parameter_that_makes_no_sense_is_no_error_of_the_server(org: Org, strange: str):
    keys = KeyAuthenticator(org.app.store, org.app.open_org)
    site = httpx.ASGITransport(
        with_dashboard(org.app, keys, web_app(org.app, keys)), client=("127.0.0.1", 50_000), raise_app_exceptions=False
    )
    headers = {"Authorization": f"Bearer {org.key}", "Origin": HERE}
    paths = {path: method for method, path in routes_of(org) if "{" in path} | {f"{ROOT}/static/{{name}}": "GET"}
    replies = {}
    async with httpx.AsyncClient(base_url=HERE, transport=site, headers=headers) as http:
        for path, method in [*paths.items(), ("/static/{name}", "GET")]:
            replies[path] = (await http.request(method, re.sub(r"\{.*", strange, path))).status_code

    assert {path: status for path, status in replies.items() if status >= 500} == {}
    assert (replies[f"{ROOT}/static/{{name}}"], replies["/static/{name}"]) == (404, 404)


# --- what needs more than its route ---------------------------------------------------------------------------------


async def test_a_reviewer_deletes_a_single_memory_but_not_several(org: Org):
    reviewer = await join(org.app, Role.REVIEWER, org.id)
    teas = [a_profile(f"Likes {tea}") for tea in ("sencha", "oolong", "assam")]
    refs = await org.app.store.of(org.id).write(lambda tx: [keep(tx, tea) for tea in teas])
    items = [{"kind": "profile", "id": ref.id} for ref in refs]

    several = {"action": "delete", "items": items, "confirm": "delete 3"}
    matches = {"user_id": "ada", "profile_id": "", "search_query": "Likes"}
    ids = {"profile_ids": [ref.id for ref in refs]}
    refused = [
        await reviewer.send("POST", "/api/memory_review/actions", several),
        await reviewer.send("DELETE", "/api/delete_profile", matches),
        await reviewer.send("DELETE", "/api/delete_profiles_by_ids", ids),
    ]
    before = len((await org.rows())["profiles"])
    single = {"action": "delete", "items": items[:1], "confirm": "delete 1"}
    deleted = await reviewer.send("POST", "/api/memory_review/actions", single)

    assert [(reply.status_code, reply.json()["code"]) for reply in refused] == [(403, "not_allowed")] * 3
    assert "delete several memories in one review action" in refused[0].json()["detail"]
    assert (before, deleted.status_code, len((await org.rows())["profiles"])) == (3, 200, 2)


async def test_a_reviewer_does_not_undo_what_an_admin_has_configured(org: Org):
    reviewer = await join(org.app, Role.REVIEWER, org.id)
    changed = await thresholds.change({"grace_days": 3}, "an admin", await org.app.deps_for(org.id))
    undo: dict[str, Any] = {"action_id": changed.id}

    refused = await reviewer.send("POST", "/api/memory_review/undo", undo)
    after = await org.app.store.of(org.id).read(lambda tx: tx.orgs.get_config().config)
    undone = await org.send("POST", "/api/memory_review/undo", undo)
    again = await reviewer.send("POST", "/api/memory_review/undo", {"action_id": undone.json()["action_id"]})

    assert [reply.status_code for reply in (refused, undone, again)] == [403, 200, 403]
    assert 3 in [value for part in (after or {}).values() if isinstance(part, dict) for value in part.values()]

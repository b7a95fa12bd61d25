"""The dashboard over HTTP: who sees what, what a form needs, and what every page carries."""

import re

import httpx
import pytest
import pytest_asyncio

from acumen.api.server import web_app
from acumen.auth.authenticator import KeyAuthenticator
from acumen.errors import NotAuthenticated
from acumen.model.ids import MemoryRef, now
from acumen.model.memories.conflict import Keep
from acumen.review import conflicts
from acumen.storage.store import Tx
from acumen.web import server  # noqa: F401 - which registers the pages
from acumen.web.front import prefers_html, with_dashboard
from acumen.web.page import PAGES
from acumen.web.paths import ROOT
from acumen.web.session import COOKIE, Sessions, visitor
from acumen_client.wire.shapes import Role
from tests.review.memories import put_in_conflict, two_ports
from tests.world import (
    HERE,
    Org,
    Start,
    a_profile,
    a_request,
    a_turn,
    a_user_playbook,
    an_agent_playbook,
    join,
    keep,
    local,
    once,
)

LOOKS = ["", "/review", "/memories", "/duplicates", "/costs", "/sessions", "/experiments", "/audit", "/system"]
LOOKS += ["/changes", "/operations", "/failures", "/proposals", "/settings"]
FORMS = [page.path for page in PAGES if page.method == "POST" and page.permission.role is not Role.PUBLIC]

_SITES: dict[int, httpx.ASGITransport] = {}


def visit(org: Org, key: str | None = None, **more: object) -> httpx.AsyncClient:
    """A browser with a key in its headers, which counts like a cookie."""
    if id(org.app) not in _SITES:
        keys = KeyAuthenticator(org.app.store, org.app.open_org)
        site = with_dashboard(org.app, keys, web_app(org.app, keys))
        _SITES[id(org.app)] = httpx.ASGITransport(site, client=("127.0.0.1", 50_000))
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.AsyncClient(base_url=HERE, transport=_SITES[id(org.app)], headers=headers, **more)


@pytest_asyncio.fixture(loop_scope="session")
async def memory(org: Org) -> MemoryRef:
    return await org.app.store.of(org.id).write(lambda tx: keep(tx, a_profile("<b>Lives</b> in Paris", "ada")))


async def _token(http: httpx.AsyncClient) -> str:
    found = re.search(r'name="token" value="(\w+)"', (await http.get(f"{ROOT}/memories")).text)
    assert found is not None
    return found.group(1)


def _item(ref: MemoryRef, version: int = 1) -> str:
    return f"{ref.kind}:{version}:{ref.id}"


# --- looking -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", LOOKS)
async def test_a_reader_sees_every_page(org: Org, memory: MemoryRef, path: str):
    reader = await join(org.app, Role.READER, org.id)

    reply = await visit(org, reader.key).get(ROOT + path)

    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<b>Lives</b>" not in reply.text


@pytest.mark.parametrize("path", LOOKS)
async def test_an_empty_org_has_pages_too(org: Org, path: str):
    assert (await visit(org, org.key).get(ROOT + path)).status_code == 200


async def test_a_memory_and_its_panel_are_shown_to_its_own_org_only(org: Org, memory: MemoryRef):
    other = await join(org.app)

    for place in ("memories", "panel"):
        own = await visit(org, org.key).get(f"{ROOT}/{place}/{memory.kind}/{memory.id}")
        others = await visit(org, other.key).get(f"{ROOT}/{place}/{memory.kind}/{memory.id}")

        assert "&lt;b&gt;Lives&lt;/b&gt; in Paris" in own.text
        assert others.status_code == 404
        assert "Paris" not in others.text


async def test_a_session_is_told_turn_by_turn(org: Org):
    request = a_request("r1", "ada & co", "s/1")
    await org.app.store.of(org.id).write(lambda tx: tx.conversations.add(request, [a_turn("<i>Hello</i>", request)]))
    failed = {"op_id": "o1", "source": "mcp", "endpoint": "query_db", "status": "error", "session_id": "s/1"}
    worked = {"op_id": "o2", "source": "mcp", "endpoint": "read_file", "status": "ok", "session_id": "s/1"}
    await org.send("POST", "/api/record_operations", {"operations": [{**failed, "error_message": "<u>No</u>"}, worked]})

    listed = await visit(org, org.key).get(f"{ROOT}/sessions")
    (link,) = re.findall(r'href="(/ui/session\?[^"]+)"', listed.text)
    told = await visit(org, org.key).get(link.replace("&amp;", "&"))

    assert "&lt;i&gt;Hello&lt;/i&gt;" in told.text
    assert "&lt;u&gt;No&lt;/u&gt;" in told.text
    assert "read_file" in told.text


async def test_a_memory_shows_its_sources_and_actions_with_links_and_words(org: Org):
    def fill(tx: Tx) -> tuple[MemoryRef, MemoryRef, str]:
        old, new = two_ports(tx)
        return old, new, put_in_conflict(tx, old, new)

    old, new, conflict = await org.app.store.of(org.id).write(fill)
    await conflicts.settle(conflict, Keep.NEWER, "local", "", await org.app.deps_for(org.id))

    page = (await visit(org, org.key).get(f"{ROOT}/memories/{old.kind}/{old.id}")).text

    assert re.search(r'<a class="faint" href="[^"]*#turn-(\d+)">turn \1</a>', page)
    assert f'<a class="faint" href="/ui/memories/{new.kind}/{new.id}">profile' in page
    assert "Conflict settled: newer memory kept." in page
    assert re.search(r"<li>Conflict settled by <bdi[^>]*>local user<", page)


async def test_the_queue_is_in_the_order_of_the_api(org: Org):
    orders = re.findall(r'<option value="(\w+)" (selected)?', (await visit(org, org.key).get(f"{ROOT}/review")).text)

    assert [name for name, selected in orders if selected] == ["score"]


async def test_memories_are_found_by_tag_and_by_length(org: Org):
    short, long = a_profile("Tea"), a_profile("Likes tea " * 30, tags=["kitchen", "morning"])
    await org.app.store.of(org.id).write(lambda tx: [keep(tx, one) for one in (short, long)])

    async def listed(query: str) -> set[str]:
        return set(
            re.findall(r'data-row="profile:([^"]+)"', (await visit(org, org.key).get(f"{ROOT}/memories?{query}")).text)
        )

    assert await listed("tag=kitchen") == await listed("size=100+to+500") == {long.id}
    assert await listed("size=under+100") == {short.id}
    assert await listed("tag=kit") == await listed("size=5%2C000+and+more") == set()


async def test_a_saved_view_is_its_orgs_and_goes_with_the_user_it_names(org: Org):
    other = await join(org.app)
    async with visit(org, org.key) as http:
        http.headers["Origin"] = HERE
        token = await _token(http)
        for query in ("user=ada&page=3", "kind=profile"):
            saved = {"token": token, "where": "memories", "name": query, "query": query}
            reply = await http.post(f"{ROOT}/views", data=saved)
            assert (reply.status_code, reply.headers["location"]) == (303, f"{ROOT}/memories?{query.split('&')[0]}")
        nameless = await http.post(f"{ROOT}/views", data={"token": token, "where": "memories", "query": "kind=profile"})

    own = await org.app.store.of(org.id).read(lambda tx: tx.saved_views.find("memories"))
    others = await org.app.store.of(other.id).read(lambda tx: tx.saved_views.find("memories"))
    await org.sdk.clear_user_data(user_id="ada")

    assert (own, others) == ({"kind=profile": "kind=profile", "user=ada&page=3": "user=ada"}, {})
    assert nameless.status_code == 422
    assert list(await org.app.store.of(org.id).read(lambda tx: tx.saved_views.find("memories"))) == ["kind=profile"]


@once
@pytest.mark.parametrize(
    "path", ["/nowhere", "/memories/profile/none", "/memories/no_kind/1", "/static/../page.py", "/injections/x"]
)
async def test_what_is_not_there_is_told_on_a_page(org: Org, path: str):
    reply = await visit(org, org.key).get(ROOT + path)

    assert reply.status_code == 404
    assert "<h1>Page not found</h1>" in reply.text or reply.headers["content-type"] != "text/html; charset=utf-8"


@once
@pytest.mark.parametrize(
    "query", ["page=-1", "page=9999999999", "days=x", "sort=<b>", "signal=%00", "q=%00%27", "kind=none", "by=%3Cb%3E"]
)
async def test_a_filter_that_makes_no_sense_is_left_out(org: Org, query: str):
    for path in LOOKS:
        assert (await visit(org, org.key).get(f"{ROOT}{path}?{query}")).status_code == 200, path


# --- who -----------------------------------------------------------------------------------------------------------


@once
async def test_without_a_key_a_visitor_is_asked_for_one_and_led_back(org: Org):
    reply = await visit(org).get(f"{ROOT}/review?signal=stale")

    assert reply.status_code == 303
    assert reply.headers["location"] == "/ui/login?next=/ui/review%3Fsignal%3Dstale"


@once
async def test_a_part_of_a_page_sends_the_whole_page_to_the_login(org: Org):
    reply = await visit(org).get(f"{ROOT}/review", headers={"HX-Request": "true"})

    assert (reply.status_code, reply.headers["hx-redirect"]) == (401, "/ui/login?next=/ui")


@once
@pytest.mark.parametrize(
    "elsewhere", ["http://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/docs"]
)
async def test_nobody_is_led_elsewhere_by_the_login(org: Org, elsewhere: str):
    reply = await visit(org).get(f"{ROOT}/login", params={"next": elsewhere})

    assert '<input type="hidden" name="next" value="/ui">' in reply.text


async def test_a_key_is_exchanged_for_a_cookie_that_does_not_hold_it(org: Org):
    made = await org.sdk.create_key(name="of the desk", role="reviewer")
    http = visit(org)
    token = re.search(r'name="token" value="(\w+)"', (await http.get(f"{ROOT}/login")).text)[1]
    form = {"token": token, "key": made.secret, "next": "/ui/review"}

    reply = await http.post(f"{ROOT}/login", data=form, headers={"Origin": HERE})
    inside = await http.get(f"{ROOT}/review")

    assert (reply.status_code, reply.headers["location"]) == (303, "/ui/review")
    assert {"HttpOnly", "SameSite=strict", "Path=/ui"} <= {
        part.strip() for part in reply.headers["set-cookie"].split(";")
    }
    assert made.secret not in reply.headers["set-cookie"]
    assert inside.status_code == 200
    assert "of the desk" in inside.text


async def test_a_revoked_key_ends_the_sessions_that_it_opened(org: Org):
    keys = KeyAuthenticator(org.app.store, org.app.open_org)
    made, _ = await keys.create(org.id, "of the desk", Role.READER, None)
    sessions = Sessions(org.app.settings.web)
    scope = {"headers": [(b"cookie", f"{COOKIE}={sessions.open(made.id, now())}".encode())]}
    before, _ = await visitor(scope, sessions, keys, now())

    await keys.revoke(org.id, made.id)

    assert before.org == org.id
    with pytest.raises(NotAuthenticated):
        await visitor(scope, sessions, keys, now())


async def test_on_a_server_without_keys_this_machine_needs_none(start: Start):
    here = local(await start())

    assert (await visit(here).get(ROOT)).status_code == 200
    assert (await visit(here).get(ROOT, headers={"Host": "evil.example"})).status_code == 303


# --- forms ---------------------------------------------------------------------------------------------------------


@once
@pytest.mark.parametrize("path", FORMS)
async def test_no_form_is_taken_without_token_from_elsewhere_or_by_a_reader(org: Org, path: str):
    reader = await join(org.app, Role.READER, org.id)
    http = visit(org, org.key)
    path = ROOT + path.replace("{id}", "act_1")
    token = await _token_of(http, org)

    without = await http.post(path, data={"token": "wrong"}, headers={"Origin": HERE})
    from_elsewhere = await http.post(path, data={"token": token}, headers={"Origin": "http://evil.example"})
    unasked = await http.post(path, data={"token": token})
    as_json = await http.post(path, json={"token": token}, headers={"Origin": HERE})

    assert [one.status_code for one in (without, from_elsewhere, unasked, as_json)] == [403, 403, 403, 415]
    if "logout" not in path:
        assert (
            await visit(org, reader.key).post(path, data={"token": "x"}, headers={"Origin": HERE})
        ).status_code == 403


async def _token_of(http: httpx.AsyncClient, org: Org) -> str:
    await org.app.store.of(org.id).write(lambda tx: keep(tx, a_profile()))
    return await _token(http)


async def test_an_action_is_looked_at_done_and_taken_back(org: Org, memory: MemoryRef):
    http = visit(org, org.key)
    form = {"token": await _token(http), "action": "archive", "item": _item(memory), "reason": "too old"}
    asking = {"Origin": HERE, "HX-Request": "true"}

    looked = await http.post(f"{ROOT}/actions/preview", data=form, headers=asking)
    before = await _status(org, memory)
    done = await http.post(f"{ROOT}/actions", data=form, headers=asking)
    after = await _status(org, memory)
    undo = re.search(r"/ui/actions/(\w+)/undo", done.text)[0]
    undone = await http.post(undo, data=form, headers=asking)

    assert "<strong>1 memory will be archived</strong>" in looked.text
    assert (before, after, await _status(org, memory)) == ("current", "archived", "current")
    assert done.headers["hx-trigger"] == '{"acumen:changed": {"count": 1}}'
    assert "1 memory restored." in undone.text


async def _status(org: Org, ref: MemoryRef) -> str:
    found = await org.app.store.of(org.id).read(lambda tx: tx.by_kind[ref.kind].get(ref.id))
    return str(found.status)


async def test_a_pair_that_is_not_the_same_is_not_proposed_again(org: Org):
    texts = ("Always use uv for packages here", "Always use uv for packages here, please")
    store = org.app.store.of(org.id)
    await store.write(lambda tx: [keep(tx, a_user_playbook(text), "alway use uv packag here") for text in texts])
    http = visit(org, org.key)
    proposed = await http.get(f"{ROOT}/duplicates")
    items = re.findall(r'name="item" value="([^"]+)"', proposed.text)
    form = {"token": re.search(r'name="token" value="(\w+)"', proposed.text)[1], "action": "dismiss", "item": items}

    await http.post(f"{ROOT}/actions", data=form, headers={"Origin": HERE})

    assert len(items) == 2
    assert "No duplicates" in (await http.get(f"{ROOT}/duplicates")).text


async def test_a_version_that_has_passed_is_refused(org: Org, memory: MemoryRef):
    http = visit(org, org.key)
    form = {"token": await _token(http), "action": "archive", "item": _item(memory, 7)}

    reply = await http.post(f"{ROOT}/actions", data=form, headers={"Origin": HERE, "HX-Request": "true"})

    assert reply.status_code == 409
    assert "is at version 1, not 7" in reply.text


async def test_all_that_a_filter_finds_can_be_acted_on(org: Org):
    await org.app.store.of(org.id).write(lambda tx: [keep(tx, a_user_playbook(f"Rule {n}", "ben")) for n in range(60)])
    await org.app.store.of(org.id).write(lambda tx: keep(tx, a_user_playbook("Another", "ada")))
    http = visit(org, org.key)
    form = {"token": await _token(http), "action": "archive", "every": "memories"}

    reply = await http.post(f"{ROOT}/actions/preview?user=ben", data=form, headers={"Origin": HERE})

    assert "<strong>60 memories will be archived</strong>" in reply.text


async def test_a_reviewer_deletes_one_but_not_many(org: Org, memory: MemoryRef):
    reviewer = await join(org.app, Role.REVIEWER, org.id)
    other = await org.app.store.of(org.id).write(lambda tx: keep(tx, a_profile("Another")))
    http = visit(org, reviewer.key)
    form = {"token": await _token(http), "action": "delete"}
    asking = {"Origin": HERE}

    many = {**form, "item": [_item(memory), _item(other)], "confirm": "delete 2"}
    refused = await http.post(f"{ROOT}/actions", data=many, headers=asking)
    untyped = await http.post(f"{ROOT}/actions", data={**form, "item": _item(memory)}, headers=asking)
    done = await http.post(
        f"{ROOT}/actions", data={**form, "item": _item(memory), "confirm": "delete 1"}, headers=asking
    )

    assert [one.status_code for one in (refused, untyped, done)] == [403, 422, 303]


@once
@pytest.mark.parametrize("item", ["", "profile", "profile:1", "profile:x:1", "nothing:1:1", "profile:1:"])
async def test_a_selection_that_cannot_be_read_is_refused(org: Org, memory: MemoryRef, item: str):
    http = visit(org, org.key)
    form = {"token": await _token(http), "action": "archive", "item": item}

    assert (await http.post(f"{ROOT}/actions", data=form, headers={"Origin": HERE})).status_code == 422


async def test_the_system_tells_what_comes_in_and_of_backups_and_sources_when_they_were_heard(org: Org):
    operation = {"op_id": "o1", "source": "ci", "endpoint": "build", "status": "ok"}
    await org.send("POST", "/api/record_operations", {"operations": [operation]})
    http = visit(org, org.key)

    system = " ".join((await http.get(f"{ROOT}/system")).text.split())
    settings = (await http.get(f"{ROOT}/settings")).text

    heard = re.search(r'ci</bdi></a> <span class="faint">last seen <time datetime="([^"]+)"', settings)
    assert heard is not None
    assert not heard.group(1).endswith(":00:00Z")  # to the moment, not to the hour
    assert "1 in 24 hours" in system
    assert re.search(r"acumen backup FILE|Postgres is backed up with its own tools", system)


async def test_a_change_of_scope_asks_for_whom_looks_and_is_done(org: Org):
    lesson = await org.app.store.of(org.id).write(lambda tx: keep(tx, a_user_playbook("Use uv")))
    http = visit(org, org.key)
    form = {"token": await _token(http), "action": "change_scope", "item": _item(lesson)}
    asking = {"Origin": HERE, "HX-Request": "true"}

    asked = await http.post(f"{ROOT}/actions/preview", data=form, headers=asking)
    looked = await http.post(f"{ROOT}/actions/preview", data={**form, "scope": "everyone"}, headers=asking)
    done = await http.post(f"{ROOT}/actions", data={**form, "scope": "everyone"}, headers=asking)

    assert "Change scope of 1 memory" in asked.text
    assert "1 memory will be moved to another scope" in looked.text
    assert 'name="scope" value="everyone"' in looked.text
    assert "moved to another scope" in done.text
    assert "Use uv" in (await http.get(f"{ROOT}/memories?kind=agent_playbook")).text


async def test_the_page_of_a_shared_lesson_tells_whether_it_was_approved(org: Org):
    lesson = await org.app.store.of(org.id).write(lambda tx: keep(tx, an_agent_playbook("Use uv")))
    await org.sdk.update_agent_playbook_status(agent_playbook_id=int(lesson.id), playbook_status="rejected")

    page = (await visit(org, org.key).get(f"{ROOT}/memories/agent_playbook/{lesson.id}")).text

    assert '<span class="chip">rejected</span>' in page
    assert "Rejected by hand." in page


async def test_thresholds_are_tried_kept_and_taken_back(org: Org):
    long = a_profile("word " * 60, "ada")
    await org.app.store.of(org.id).write(lambda tx: keep(tx, long))
    admin = visit(org, (await join(org.app, Role.ADMIN, org.id)).key)
    given = {"oversized_tokens": "50", "grace_days": "7", "least_wasted_tokens": "30", "similarity": "0.92"}
    form = {"token": await _token(admin), **given}

    tried = await admin.get(f"{ROOT}/settings", params=given)
    kept = await admin.post(f"{ROOT}/settings", data=form, headers={"HX-Request": "true", "Origin": HERE})
    flagged = await admin.get(f"{ROOT}/review?signal=oversized")
    undo = re.search(r'action="(/ui/actions/\w+/undo)"', kept.text)
    back = await admin.post(undo.group(1), data=form, headers={"HX-Request": "true", "Origin": HERE})
    again = await admin.get(f"{ROOT}/review?signal=oversized")

    assert "Preview</h3>" in tried.text
    assert ">1</strong> memories, now 0" in tried.text
    assert long.content[:40] in flagged.text
    assert "Undone." in back.text
    assert long.content[:40] not in again.text
    assert "thresholds changed" in (await admin.get(f"{ROOT}/audit")).text


async def test_an_undo_of_thresholds_that_were_set_otherwise_since_is_refused(org: Org):
    admin = visit(org, (await join(org.app, Role.ADMIN, org.id)).key)
    send = {"HX-Request": "true", "Origin": HERE}
    token = {"token": await _token(admin)}
    first = await admin.post(f"{ROOT}/settings", data={**token, "grace_days": "3"}, headers=send)
    await admin.post(f"{ROOT}/settings", data={**token, "grace_days": "4"}, headers=send)
    undo = re.search(r'action="(/ui/actions/\w+/undo)"', first.text)

    back = await admin.post(undo.group(1), data=token, headers=send)
    wrong = await admin.post(f"{ROOT}/settings", data={**token, "grace_days": "-1"}, headers=send)

    assert (back.status_code, wrong.status_code) == (409, 422)
    assert "Grace period (days)" in wrong.text


async def test_memories_are_tagged_after_a_look(org: Org, memory: MemoryRef):
    http = visit(org, (await join(org.app, Role.REVIEWER, org.id)).key)
    form = {"token": await _token(http), "action": "edit", "item": _item(memory)}
    send = {"HX-Request": "true", "Origin": HERE}

    asked = await http.post(f"{ROOT}/actions/preview", data=form, headers=send)
    looked = await http.post(f"{ROOT}/actions/preview", data={**form, "tags": "home, <i>fr</i>"}, headers=send)
    await http.post(f"{ROOT}/actions", data={**form, "tags": "home, <i>fr</i>"}, headers=send)

    stored = await org.app.store.of(org.id).read(lambda tx: tx.profiles.get(memory.id))
    assert "Edit tags of 1 memory" in asked.text
    assert "1 memory will be edited" in looked.text
    assert "<del>" not in looked.text
    assert stored.tags == ["home", "<i>fr</i>"]


async def test_an_experiment_is_started_and_stopped_by_an_admin(org: Org):
    http = visit(org, org.key)
    form = {"token": await _token_of(http, org), "name": "autumn", "share": "20"}
    asking = {"Origin": HERE}

    asked = await http.post(f"{ROOT}/experiments/preview", data=form, headers=asking)
    before = await http.get(f"{ROOT}/experiments")
    started = await http.post(f"{ROOT}/experiments/start", data=form, headers=asking)
    running = await http.get(f"{ROOT}/experiments")
    stopped = await http.post(f"{ROOT}/experiments/stop", data=form, headers=asking)

    assert "About 20% of users get no memories" in asked.text
    assert 'action="/ui/experiments/start"' in asked.text
    assert 'action="/ui/experiments/start"' not in before.text
    assert ">running<" not in before.text
    assert (started.status_code, stopped.status_code) == (303, 303)
    assert ">running<" in running.text
    assert ">ended<" in (await http.get(f"{ROOT}/experiments")).text


# --- what every reply carries ----------------------------------------------------------------------------------------


@once
@pytest.mark.parametrize("path", ["", "/login", "/nowhere", "/static/acumen.css"])
async def test_no_reply_lets_a_script_in(org: Org, path: str):
    reply = await visit(org, org.key).get(ROOT + path)

    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-frame-options"] == "DENY"
    assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|\sstyle=|javascript:", reply.text)


@once
async def test_pages_are_not_kept_and_files_are(org: Org):
    page = await visit(org, org.key).get(ROOT)
    file = await visit(org, org.key).get(f"{ROOT}/static/acumen.js?v=1")

    assert page.headers["cache-control"] == "no-store"
    assert "max-age" in file.headers["cache-control"]


@once
async def test_the_front_door_shows_a_browser_the_dashboard_and_a_program_the_api(org: Org):
    http = visit(org, org.key)

    browser = await http.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    program = await http.get("/", headers={"Accept": "*/*"})

    assert (browser.status_code, browser.headers["location"]) == (303, "/ui")
    assert program.json()["docs"] == "/docs"


@pytest.mark.parametrize(
    "accept,html",
    [
        ("text/html", True),
        ("text/html;q=0.9,application/json", False),
        ("application/json", False),
        ("*/*", False),
        ("", False),
        ("text/html;q=0", False),
        ("text/html;q=x,*/*", True),
    ],
)
def test_who_names_pages_first_prefers_them(accept: str, html: bool):
    assert prefers_html(accept) is html

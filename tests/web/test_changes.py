"""The change feed and conflicts as pages: what they show, who may undo and settle, and where links lead."""

import re

from acumen.model.ids import MemoryRef
from acumen.model.memories.base import Cause
from acumen.storage.store import Tx
from acumen.web.paths import ROOT
from acumen.web.words import CAUSES, CHANGES
from acumen_client.wire.changes import MemoryChangeKind
from acumen_client.wire.shapes import Role
from tests.review.memories import change, learn, put_in_conflict, store_of, supersede, two_ports
from tests.web.test_server import _token, visit
from tests.world import HERE, Org, a_profile, join

SAME_SITE = {"Origin": HERE}


async def fill(org: Org) -> tuple[MemoryRef, MemoryRef]:
    def store(tx: Tx) -> tuple[MemoryRef, MemoryRef]:
        old, new = two_ports(tx)
        supersede(tx, old, new, "not 8080 but <b>9090</b>")
        return old, new

    return await store_of(org).write(store)


async def post(org: Org, path: str, **fields: str) -> int:
    http = visit(org, org.key)
    reply = await http.post(ROOT + path, data={"token": await _token(http), **fields}, headers=SAME_SITE)
    return reply.status_code


def test_every_kind_of_change_and_every_cause_has_a_label():
    assert set(CHANGES) == set(MemoryChangeKind)
    assert set(CAUSES) == set(Cause)


async def test_the_feed_shows_the_quote_as_text_and_links_to_its_turn(org: Org):
    await fill(org)

    page = (await visit(org, org.key).get(f"{ROOT}/changes")).text

    assert "Superseded" in page
    assert "not 8080 but &lt;b&gt;9090&lt;/b&gt;" in page
    assert re.search(r"/ui/session\?user=ada&amp;id=s2#turn-\d+", page)
    assert page.count(">Undo</a>") == 2


async def test_filters_and_the_cursor_stand_in_the_url(org: Org):
    await store_of(org).write(lambda tx: [learn(tx, a_profile(f"Fact {n}.")) for n in range(60)])
    http = visit(org, org.key)

    first = (await http.get(f"{ROOT}/changes?user=ada&kind=learned")).text
    older = re.search(r'rel="next" href="([^"]+)"', first)
    assert older is not None
    second = (await http.get(older.group(1).replace("&amp;", "&"))).text
    none = (await http.get(f"{ROOT}/changes?kind=expired")).text
    wrong = await http.get(f"{ROOT}/changes?since=yesterday")

    assert ("Fact 59." in first, "Fact 9." in first) == (True, False)
    assert ("Fact 59." in second, "Fact 9." in second) == (False, True)
    assert "Clear filters" in none
    assert wrong.status_code == 422


async def test_a_reader_sees_no_way_to_undo_or_settle(org: Org):
    await fill(org)
    await store_of(org).write(lambda tx: put_in_conflict(tx, *two_ports(tx)))
    reader = await join(org.app, Role.READER, org.id)
    http = visit(org, reader.key)

    feed = (await http.get(f"{ROOT}/changes")).text
    queue = (await http.get(f"{ROOT}/review?signal=conflict")).text
    change_id = (await org.sdk.memory_changes(kinds=["superseded"])).changes[0].change_id

    assert ">Undo</a>" not in feed
    assert "may disagree with" in queue
    assert "Keep newer" not in queue
    assert (await http.get(f"{ROOT}/changes/{change_id}/undo")).status_code == 403


async def test_undo_is_confirmed_first_and_refused_when_the_memory_was_changed_again(org: Org):
    old, _ = await fill(org)
    superseded, _, learned = (await org.sdk.memory_changes()).changes
    http = visit(org, org.key)

    look = (await http.get(f"{ROOT}/changes/{superseded.change_id}/undo")).text
    refused = await http.get(f"{ROOT}/changes/{learned.change_id}/undo")
    missing = await http.get(f"{ROOT}/changes/987654321/undo")

    assert "The memory will be current again." in look
    assert "The two will be in conflict until you settle it." in look
    assert (refused.status_code, "was changed again since" in refused.text) == (409, True)
    assert missing.status_code == 404
    assert await post(org, f"/changes/{superseded.change_id}/undo", reason="both") == 303
    log = (await org.sdk.review_actions()).actions[0]
    assert (log.action, log.reason, log.items[0].id) == ("undo_change", "both", old.id)
    assert "restored 1" in (await http.get(f"{ROOT}/audit")).text


async def test_a_conflict_is_settled_from_the_queue_and_shown_on_both_memories(org: Org):
    def store(tx: Tx) -> tuple[MemoryRef, MemoryRef, str]:
        older, newer = two_ports(tx)
        return older, newer, put_in_conflict(tx, older, newer, "9090, I think")

    older, newer, conflict = await store_of(org).write(store)
    http = visit(org, org.key)

    queue = (await http.get(f"{ROOT}/review?signal=conflict")).text
    pages = [(await http.get(f"{ROOT}/memories/{ref.kind}/{ref.id}")).text for ref in (older, newer)]
    panel = (await http.get(f"{ROOT}/panel/{newer.kind}/{newer.id}")).text
    wrong = await post(org, f"/conflicts/{conflict}/settle", keep="neither")
    settled = await post(org, f"/conflicts/{conflict}/settle", keep="older")

    for page in (queue, panel, *pages):
        assert all(word in page for word in ("Keep newer", "Keep older", "Keep both", "The staging port is 8080"))
    assert (wrong, settled) == (422, 303)
    memory = await store_of(org).read(lambda tx: tx.profiles.get(newer.id))
    assert memory is not None
    assert (memory.status, memory.superseded_by) == ("superseded", older.id)
    assert "conflict settled" in (await http.get(f"{ROOT}/audit")).text


async def test_both_may_hold_from_the_dashboard(org: Org):
    conflict = await store_of(org).write(lambda tx: put_in_conflict(tx, *two_ports(tx)))
    http = visit(org, org.key, follow_redirects=False)
    token = await _token(http)

    reply = await http.post(
        f"{ROOT}/conflicts/{conflict}/settle",
        data={"token": token, "keep": "both"},
        headers={**SAME_SITE, "HX-Request": "true"},
    )

    assert "Both memories kept." in reply.text
    assert "conflict" not in (await org.sdk.memory_review(include_all_users=True)).signal_counts


async def test_a_session_shows_what_it_taught_and_a_memory_leads_back_to_its_turn(org: Org):
    def store(tx: Tx) -> MemoryRef:
        ref = learn(tx, a_profile("Lives in Oslo"), "I live in Oslo", session="moving")
        change(tx, ref, Cause.REFINED, "Oslo, in Majorstuen", content="Lives in Oslo, Majorstuen")
        return ref

    ref = await store_of(org).write(store)
    http = visit(org, org.key)

    session = (await http.get(f"{ROOT}/session?user=ada&id=moving")).text
    other = (await http.get(f"{ROOT}/session?user=ada&id=s2")).text
    memory = (await http.get(f"{ROOT}/memories/profile/{ref.id}")).text

    (turn,) = re.findall(r'<li id="(turn-\d+)"', session)
    assert "<h2>Learned</h2>" in session
    assert f"/ui/memories/profile/{ref.id}" in session
    assert f'href="#{turn}"' in session
    assert "Refined" in other
    assert f"id=moving#{turn}" in memory
    assert all(words in memory for words in ("I live in Oslo", "Oslo, in Majorstuen", CAUSES["refined"]))

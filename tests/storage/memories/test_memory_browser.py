"""Leafing through memories and sessions, on both databases."""

from acumen.model.ids import Kind, Millis, PlaybookId, now
from acumen.model.memories.base import Status
from acumen.model.memories.listing import MemoryFilter
from acumen.model.metering.usage import CITED, SHOWN, UsageEvent
from acumen.model.times import DAY_MS
from acumen.storage.store import OrgStore, Tx
from tests.world import a_profile, a_request, a_turn, a_user_playbook, an_agent_playbook, keep

EVERY = MemoryFilter(statuses=None)


async def _filled(store: OrgStore) -> None:
    def write(tx: Tx) -> None:
        keep(tx, a_profile("Lives in Paris", "ada", updated_at=Millis(3)))
        keep(tx, a_profile("Lived in Rome", "ada", status=Status.ARCHIVED, updated_at=Millis(2)))
        keep(tx, a_user_playbook("Use uv", "ben", agent_version="2.0", updated_at=Millis(5)))
        keep(tx, an_agent_playbook("Run the tests", agent_version="2.1", name="Testing in Paris", updated_at=Millis(4)))

    await store.write(write)


async def _contents(store: OrgStore, shelf: MemoryFilter) -> list[str]:
    entries, total = await store.read(lambda tx: tx.memory_browser.page_memories(shelf, 10, 0))
    assert total == len(entries)
    return [entry.content for entry in entries]


async def test_memories_of_all_kinds_come_in_one_list_the_latest_changed_first(org_store: OrgStore):
    await _filled(org_store)

    assert await _contents(org_store, MemoryFilter()) == ["Use uv", "Run the tests", "Lives in Paris"]


async def test_each_filter_narrows_the_list(org_store: OrgStore):
    await _filled(org_store)

    assert await _contents(org_store, MemoryFilter(kind=Kind.PROFILE)) == ["Lives in Paris"]
    assert await _contents(org_store, MemoryFilter(statuses=(Status.ARCHIVED,))) == ["Lived in Rome"]
    assert await _contents(org_store, MemoryFilter(user_id="ben")) == ["Use uv"]
    assert await _contents(org_store, MemoryFilter(agent_version="2.1")) == ["Run the tests"]
    assert await _contents(org_store, MemoryFilter(text="PARIS")) == ["Run the tests", "Lives in Paris"]
    assert await _contents(org_store, MemoryFilter(refs=())) == []


async def test_named_memories_are_found_by_kind_and_id(org_store: OrgStore):
    await _filled(org_store)
    entries, _ = await org_store.read(lambda tx: tx.memory_browser.page_memories(EVERY, 10, 0))

    assert await _contents(org_store, MemoryFilter(statuses=None, refs=(entries[0].ref,))) == ["Use uv"]


async def test_a_page_knows_how_many_there_are_in_all(org_store: OrgStore):
    await _filled(org_store)

    entries, total = await org_store.read(lambda tx: tx.memory_browser.page_memories(EVERY, 2, 3))

    assert ([entry.content for entry in entries], total) == (["Lived in Rome"], 4)


async def test_the_versions_that_playbooks_are_for_are_listed_once(org_store: OrgStore):
    await _filled(org_store)

    assert await org_store.read(lambda tx: tx.memory_browser.find_agent_versions(10)) == ["2.1", "2.0"]


async def test_another_org_leafs_through_its_own(org_store: OrgStore, app):
    await _filled(org_store)
    other = app.store.of("somebody else")

    assert (await other.read(lambda tx: tx.memory_browser.page_memories(EVERY, 10, 0)))[1] == 0


async def test_a_session_is_told_with_what_was_said_shown_and_cited(org_store: OrgStore):
    def write(tx: Tx) -> None:
        for name, session in (("r1", "s1"), ("r2", "s1"), ("r3", "s2")):
            request = a_request(name, "ada", session, created_at=Millis(int(name[1])), agent_version="2.0")
            tx.conversations.add(request, [a_turn("Hello", request)])
        events = [
            UsageEvent(f"e{at}", CITED, Millis(at), "ada", session_id="s1", kind="profile", memory_id="p")
            for at in (5, 6)
        ]
        tx.usage.add(events)

    await org_store.write(write)

    (latest, first), total = await org_store.read(lambda tx: tx.memory_browser.page_sessions(None, None, 10, 0))

    assert total == 2
    assert (latest.session_id, latest.turns, latest.cited) == ("s2", 1, 0)
    assert (first.session_id, first.turns, first.requests, first.cited) == ("s1", 2, 2, 2)


async def test_use_is_told_day_by_day(org_store: OrgStore):
    at = now()

    def write(tx: Tx):
        ref = keep(tx, a_profile())
        shown = [
            UsageEvent(
                f"e{day}", SHOWN, Millis(at - day * DAY_MS), "ada", kind=str(ref.kind), memory_id=ref.id, tokens=9
            )
            for day in (0, 0.0001, 3)
        ]
        tx.usage.add([UsageEvent(**{**_fields(one), "at": Millis(int(one.at))}) for one in shown])
        return ref

    ref = await org_store.write(write)

    uses = await org_store.read(lambda tx: dict(tx.usage.counters.get_days(ref, at // DAY_MS - 10)))

    assert sum(use.shown for use in uses.values()) == 3
    assert len(uses) in (2, 3)  # a few seconds may lie on both sides of midnight


def _fields(event: UsageEvent) -> dict[str, object]:
    return {name: getattr(event, name) for name in UsageEvent.__struct_fields__}


async def test_what_gave_way_to_a_memory_is_found_from_it(org_store: OrgStore):
    def write(tx: Tx):
        winner = keep(tx, a_user_playbook("Use uv"))
        loser = keep(tx, a_user_playbook("Use pip", superseded_by=PlaybookId(int(winner.id)), status=Status.SUPERSEDED))
        return winner, loser

    winner, loser = await org_store.write(write)

    assert await org_store.read(lambda tx: tx.memory_browser.find_links_to(winner)) == [(loser, "supersedes")]

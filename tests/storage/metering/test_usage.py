"""What was shown, counted once however often it is told."""

from collections import Counter
from random import Random

import pytest
from msgspec.structs import replace

from acumen.model.ids import InjectionId, Kind, MemoryRef, Millis
from acumen.model.memories.search import SearchRow
from acumen.model.metering.usage import CITED, ECHOED, SHOWN, GroupBy, Injection, UsageEvent
from acumen.model.times import DAY_MS
from acumen.storage.store import OrgStore
from tests.world import Clock


def shown(event: str, at: int, memory: str = "p1", session: str | None = "s1", tokens: int = 5) -> UsageEvent:
    return UsageEvent(event, SHOWN, Millis(at), session_id=session, kind="profile", memory_id=memory, tokens=tokens)


async def test_an_event_told_twice_is_counted_once(org_store: OrgStore, clock: Clock):
    for _ in range(2):
        await org_store.write(lambda tx: tx.usage.add([shown("e1", clock())]))

    (stat,), total = await org_store.read(lambda tx: tx.usage.top.page_injected(Millis(0), 10, 0))
    assert (stat.shown, stat.tokens, total) == (1, 5, 1)


async def test_stats_tell_times_sessions_and_tokens_most_shown_first(org_store: OrgStore):
    events = [
        shown("e1", 1_000, "often", "s1"),
        shown("e2", 3_000, "often", "s2"),
        shown("e3", 2_000, "often", "s2"),
        shown("e4", 9_000, "later", None, tokens=1),
        shown("e5", 8_000, "sooner", None, tokens=1),
        UsageEvent("e6", CITED, Millis(9_500), kind="profile", memory_id="often"),
    ]
    await org_store.write(lambda tx: tx.usage.add(events))

    stats, total = await org_store.read(lambda tx: tx.usage.top.page_injected(Millis(0), None, 0))
    page, _ = await org_store.read(lambda tx: tx.usage.top.page_injected(Millis(0), 1, 1))

    assert total == 3
    assert [(one.id, one.shown, one.sessions, one.tokens) for one in stats] == [
        ("often", 3, 2, 15),
        ("later", 1, 0, 1),
        ("sooner", 1, 0, 1),
    ]
    assert (stats[0].first_at, stats[0].last_at, stats[0].last_session) == (1_000, 3_000, "s2")
    assert [one.id for one in page] == ["later"]


async def test_the_same_id_of_two_kinds_is_two_memories(org_store: OrgStore):
    events = [shown("e1", 1), shown("e2", 2), replace(shown("e3", 3), kind="user_playbook")]
    await org_store.write(lambda tx: tx.usage.add(events))

    stats, total = await org_store.read(lambda tx: tx.usage.top.page_injected(Millis(0), 10, 0))

    assert [(one.kind, one.id, one.shown) for one in stats] == [("profile", "p1", 2), ("user_playbook", "p1", 1)]
    assert total == 2


async def test_stats_count_from_the_beginning_of_their_window(org_store: OrgStore):
    await org_store.write(lambda tx: tx.usage.add([shown("e1", 1_000), shown("e2", 2_000)]))

    (stat,), _ = await org_store.read(lambda tx: tx.usage.top.page_injected(Millis(2_000), 10, 0))

    assert stat.shown == 1


async def test_what_was_shown_long_ago_is_no_echo(org_store: OrgStore, clock: Clock):
    at = clock()
    hits = [
        {"kind": "profile", "id": "p1", "shown": True, "line": "- Lives in Paris", "tokens": 4},
        {"kind": "profile", "id": "p2", "shown": False, "line": "- did not fit", "tokens": 4},
    ]
    injections = [
        Injection(
            InjectionId(name), "ada", None, None, "production_agent", "q", "", 4, hits, Millis(at - days * DAY_MS)
        )
        for name, days in (("fresh", 1), ("also fresh", 2))
    ]
    old = Injection(InjectionId("old"), "ada", None, None, "production_agent", "q", "", 4,
                    [{**hits[0], "id": "old"}], Millis(at - 8 * DAY_MS))  # fmt: skip
    await org_store.write(lambda tx: tx.injections.add([*injections, old]))

    lately = await org_store.read(lambda tx: tx.injections.find_recent_memories("ada", Millis(at)))

    assert [one.ref.id for one in lately] == ["p1"]


async def test_an_injection_is_kept_word_for_word(org_store: OrgStore, clock: Clock):
    hits = [{"kind": "profile", "id": "p1", "score": 0.5, "reasons": {"fts": 1.0}, "shown": True, "line": ""}]
    kept = Injection(InjectionId("i1"), "ada", "s1", None, "internal", "wo?", "<acumen-context>é…", 7, hits, clock())
    await org_store.write(lambda tx: tx.injections.add([kept]))

    assert await org_store.read(lambda tx: tx.injections.get("i1")) == kept


async def test_metering_remembers_when_it_began_and_forgets_when_it_stopped(org_store: OrgStore):
    async def since() -> Millis | None:
        return await org_store.read(lambda tx: tx.usage.get_metered_since())

    await org_store.write(lambda tx: tx.usage.begin_metering(Millis(1_000)))
    await org_store.write(lambda tx: tx.usage.begin_metering(Millis(2_000)))
    first = await since()
    await org_store.write(lambda tx: tx.usage.pause_metering())
    await org_store.write(lambda tx: tx.usage.begin_metering(Millis(3_000)))

    assert (first, await since()) == (1_000, 3_000)


async def expire(org_store: OrgStore, before: Millis, most_rows: int) -> int:
    start = await org_store.read(lambda tx: tx.usage.find_retention_start(before, most_rows))
    assert start is not None
    gone = await org_store.write(lambda tx: tx.usage.expire(start))
    assert await org_store.read(lambda tx: tx.usage.find_retention_start(before, most_rows)) is None
    return gone


async def test_old_counts_expire_by_whole_days_and_counting_is_complete_from_there(org_store: OrgStore):
    events = [shown("old", DAY_MS - 1), shown("new", DAY_MS), shown("newer", DAY_MS + 5)]
    await org_store.write(lambda tx: (tx.usage.begin_metering(Millis(1_000)), tx.usage.add(events)))

    gone = await expire(org_store, Millis(DAY_MS + 7), 1_000)

    (stat,), _ = await org_store.read(lambda tx: tx.usage.top.page_injected(Millis(0), 10, 0))
    assert (gone, stat.first_at, stat.shown) == (1, DAY_MS, 2)
    assert await org_store.read(lambda tx: tx.usage.get_metered_since()) == DAY_MS


async def test_more_rows_than_are_kept_take_the_oldest_days_with_them(org_store: OrgStore):
    events = [shown(f"{day}-{number}", day * DAY_MS + number) for day in range(4) for number in range(3)]
    await org_store.write(lambda tx: (tx.usage.begin_metering(Millis(1)), tx.usage.add(events)))

    gone = await expire(org_store, Millis(0), 5)

    assert gone == 6
    assert await org_store.read(lambda tx: tx.usage.get_metered_since()) == 2 * DAY_MS


async def test_sums_by_day_tell_the_same_as_the_events_from_any_moment_on(org_store: OrgStore):
    times = [DAY_MS // 2, DAY_MS - 1, DAY_MS, 2 * DAY_MS + 3, 2 * DAY_MS + 4]
    await org_store.write(lambda tx: tx.usage.add([shown(f"e{at}", at, tokens=at % 7) for at in times]))

    for since in (0, 1, DAY_MS // 2 + 1, DAY_MS - 1, DAY_MS, DAY_MS + 1, 2 * DAY_MS + 4, 3 * DAY_MS):
        stats, _ = await org_store.read(lambda tx, since=since: tx.usage.top.page_injected(Millis(since), 10, 0))

        left = [at for at in times if at >= since]
        assert [(one.shown, one.tokens) for one in stats] == ([(len(left), sum(at % 7 for at in left))] if left else [])


def cited(event: str, at: int, session: str = "s1", name: str = CITED) -> UsageEvent:
    return UsageEvent(event, name, Millis(at), "ada", session_id=session, kind="profile", memory_id="p1")


async def test_a_citation_belongs_to_the_last_showing_of_its_session_and_counts_there_once(org_store: OrgStore):
    showings = [replace(shown(f"e{day}", day * DAY_MS, tokens=10), user_id="ada") for day in (1, 2, 5)]
    await org_store.write(lambda tx: tx.usage.add(showings))

    at = 3 * DAY_MS
    await org_store.write(lambda tx: tx.usage.add([cited("c1", at), cited("c2", at + 1), cited("c3", at, "other")]))
    await org_store.write(lambda tx: tx.usage.add([cited("x1", at, name=ECHOED)]))

    use = (await org_store.read(lambda tx: tx.usage.counters.get_uses("profile", Millis(0))))["p1"]
    assert (use.shown, use.cited_shown, use.cited_tokens, use.citations) == (3, 1, 10, 3)
    assert (use.echoed_shown, use.echoes, use.wasted_tokens) == (1, 1, 20)
    days = await org_store.read(lambda tx: tx.usage.counters.get_days(MemoryRef(Kind.PROFILE, "p1"), 2))
    assert [(day, one.shown, one.cited_shown, one.citations) for day, one in days] == [
        (2, 1, 1, 0), (3, 0, 0, 3), (5, 1, 0, 0),
    ]  # fmt: skip
    later = (await org_store.read(lambda tx: tx.usage.counters.get_uses("profile", Millis(at))))["p1"]
    assert (later.cited_shown, later.citations) == (0, 3)  # the showing was before, so it counts before


async def test_a_search_without_a_session_is_credited_by_its_user_for_a_week(org_store: OrgStore):
    showing = replace(shown("e1", DAY_MS, session=None), user_id="ada")
    await org_store.write(lambda tx: tx.usage.add([showing]))

    await org_store.write(lambda tx: tx.usage.add([cited("late", 9 * DAY_MS)]))
    late = (await org_store.read(lambda tx: tx.usage.counters.get_uses("profile", Millis(0))))["p1"].cited_shown
    await org_store.write(lambda tx: tx.usage.add([cited("soon", 2 * DAY_MS)]))
    soon = (await org_store.read(lambda tx: tx.usage.counters.get_uses("profile", Millis(0))))["p1"].cited_shown

    assert (late, soon) == (0, 1)


async def test_erasing_a_user_leaves_sums_that_speak_of_the_others_only(org_store: OrgStore):
    def both(user: str) -> list[UsageEvent]:
        shared = replace(shown(f"shared-{user}", DAY_MS, "7"), user_id=user, kind="agent_playbook")
        return [shared, replace(shown(f"own-{user}", DAY_MS, f"p-{user}"), user_id=user)]

    nobodys = replace(shown("request only", DAY_MS, "7"), kind="agent_playbook", request_id="r9", session_id=None)
    await org_store.write(lambda tx: tx.usage.add([*both("ada"), *both("bob"), nobodys]))

    gone = await org_store.write(lambda tx: tx.usage.delete_user("ada", ["r9"], []))

    stats, _ = await org_store.read(lambda tx: tx.usage.top.page_injected(Millis(0), 10, 0))
    assert gone == 3
    assert {(one.id, one.shown) for one in stats} == {("7", 1), ("p-bob", 1)}
    groups, _, together = await org_store.read(lambda tx: tx.usage.counters.page_groups(GroupBy.USER, 0, 10, 0))
    assert ([key for key, _ in groups], together.shown) == ([("bob",)], 2)


async def test_a_deleted_memory_leaves_no_words_in_what_was_rendered(org_store: OrgStore):
    hits = [
        {"kind": "profile", "id": "p1", "shown": True, "line": "- Lives in Paris", "tokens": 4},
        {"kind": "profile", "id": "p2", "shown": True, "line": "- Likes tea", "tokens": 3},
    ]
    text = "About this user:\n- Lives in Paris\n- Likes tea"
    kept = Injection(InjectionId("i1"), "ada", "s1", None, "production_agent", "q", text, 7, hits, Millis(1))
    event = replace(shown("e1", 1), injection_id="i1")
    found_by = [SearchRow("profile", name, "ada", "", "") for name in ("p1", "p2")]
    await org_store.write(
        lambda tx: (tx.search_rows.upsert(found_by), tx.injections.add([kept]), tx.usage.add([event]))
    )

    await org_store.write(lambda tx: tx.injections.erase_words(Kind.PROFILE, {"p1": "ada"}))

    left = await org_store.read(lambda tx: tx.injections.get("i1"))
    assert "Paris" not in str(left)
    assert "- (erased)\n- Likes tea" in left.rendered


async def test_a_shared_lessons_words_are_taken_out_of_what_everybody_was_shown(org_store: OrgStore):
    line = {"kind": "agent_playbook", "id": "7", "shown": True, "line": "- Use uv", "tokens": 3}
    shown_to = [
        Injection(InjectionId(user), user, "s", None, "production_agent", "q", "- Use uv", 3, [line], Millis(1))
        for user in ("ada", "bob")
    ]
    found_by = [SearchRow("agent_playbook", "7", "", "", "")]
    await org_store.write(lambda tx: (tx.search_rows.upsert(found_by), tx.injections.add(shown_to)))

    await org_store.write(lambda tx: tx.injections.erase_words(Kind.AGENT_PLAYBOOK, {"7": None}))

    left = [await org_store.read(lambda tx, user=user: tx.injections.get(user)) for user in ("ada", "bob")]
    assert [(one.rendered, one.hits[0]["line"]) for one in left] == [("- (erased)", "")] * 2


@pytest.mark.parametrize("seed", range(4))
async def test_however_events_arrive_counters_tell_what_the_events_do(org_store: OrgStore, seed: int):
    random = Random(seed)
    times = [random.randrange(9 * DAY_MS) for _ in range(40)]
    events = [_any(f"e{number}", at, random) for number, at in enumerate(times)]
    while events:
        batch = [events.pop() for _ in range(min(len(events), random.randrange(1, 9)))]
        await org_store.write(lambda tx, batch=batch: tx.usage.add(batch))
    await org_store.write(lambda tx: tx.usage.expire(Millis(2 * DAY_MS)))

    refs = [MemoryRef(Kind.PROFILE, name) for name in ("p1", "p2")]
    windows = [Millis(random.randrange(2 * DAY_MS, 10 * DAY_MS)) for _ in range(6)]
    before = [await _used(org_store, since) for since in windows]
    days = [await _days(org_store, ref) for ref in refs]
    await org_store.write(lambda tx: tx.usage.counters.recount(refs, []))

    assert [await _used(org_store, since) for since in windows] == before
    assert [await _days(org_store, ref) for ref in refs] == days
    for since, used in zip(windows, before, strict=True):
        rows = await org_store.read(lambda tx, since=since: [tx.usage.find_events(ref, since, 99) for ref in refs])
        counted = {ref.id: Counter(event.name for event in some) for ref, some in zip(refs, rows, strict=True)}
        assert {name: (use[0], use[1]) for name, use in used.items() if use[0] or use[1]} == {
            name: (some[SHOWN], some[CITED]) for name, some in counted.items() if some
        }


async def test_a_page_of_the_most_used_is_a_part_of_them_all(org_store: OrgStore):
    random = Random(7)
    names = [f"p{random.randrange(6) * random.randrange(8)}" for _ in range(300)]
    events = [
        replace(_any(f"e{number}", random.randrange(9 * DAY_MS), random), memory_id=name)
        for number, name in enumerate(names)
    ]
    await org_store.write(lambda tx: tx.usage.add(events))

    for since in (Millis(0), Millis(3 * DAY_MS + 7_000_000), Millis(8 * DAY_MS - 7_000_000)):
        for rank in ("page_injected", "page_cited"):
            every, total = await org_store.read(
                lambda tx, r=rank, since=since: getattr(tx.usage.top, r)(since, None, 0)
            )
            page = await org_store.read(lambda tx, r=rank, since=since: getattr(tx.usage.top, r)(since, 2, 1))

            assert page == (every[1:3], total)
            assert total == len(every) > 3


def _any(name: str, at: int, random: Random) -> UsageEvent:
    memory, what = random.choice(("p1", "p2")), random.choice((SHOWN, SHOWN, SHOWN, CITED))
    version = random.choice(("v1", "v2", None))
    about = {"session_id": "s1", "kind": "profile", "memory_id": memory, "agent_version": version}
    return UsageEvent(name, what, Millis(at), "ada", tokens=random.randrange(9), **about)


async def _days(org_store: OrgStore, ref: MemoryRef) -> list[tuple[int, ...]]:
    found = await org_store.read(lambda tx: tx.usage.counters.get_days(ref, 0))
    return [(day, use.shown, use.tokens, use.cited_shown, use.cited_tokens, use.citations) for day, use in found]


async def _used(org_store: OrgStore, since: Millis) -> dict[str, tuple[int, ...]]:
    used = await org_store.read(lambda tx: tx.usage.counters.get_uses("profile", since))
    return {
        name: (use.shown, use.citations, use.tokens, use.cited_shown, use.cited_tokens) for name, use in used.items()
    }

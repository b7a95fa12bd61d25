"""What was shown, counted once however often it is told."""

from acumen.model.ids import InjectionId, Millis
from acumen.model.profile import DAY_MS
from acumen.model.usage import CITED, SHOWN, Injection, UsageEvent
from acumen.storage.store import OrgStore
from tests.world import Clock


def shown(event: str, at: int, memory: str = "p1", session: str | None = "s1", tokens: int = 5) -> UsageEvent:
    return UsageEvent(event, SHOWN, Millis(at), session_id=session, kind="profile", memory_id=memory, tokens=tokens)


async def test_an_event_told_twice_is_counted_once(org_store: OrgStore, clock: Clock):
    for _ in range(2):
        await org_store.write(lambda tx: tx.usage.add([], [shown("e1", clock())]))

    (stat,), total = await org_store.read(lambda tx: tx.usage.stats(Millis(0), 10, 0))
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
    await org_store.write(lambda tx: tx.usage.add([], events))

    stats, total = await org_store.read(lambda tx: tx.usage.stats(Millis(0), None, 0))
    page, _ = await org_store.read(lambda tx: tx.usage.stats(Millis(0), 1, 1))

    assert total == 3
    assert [(one.id, one.shown, one.sessions, one.tokens) for one in stats] == [
        ("often", 3, 2, 15),
        ("later", 1, 0, 1),
        ("sooner", 1, 0, 1),
    ]
    assert (stats[0].first_at, stats[0].last_at, stats[0].last_session) == (1_000, 3_000, "s2")
    assert [one.id for one in page] == ["later"]


async def test_stats_count_from_the_beginning_of_their_window(org_store: OrgStore):
    await org_store.write(lambda tx: tx.usage.add([], [shown("e1", 1_000), shown("e2", 2_000)]))

    (stat,), _ = await org_store.read(lambda tx: tx.usage.stats(Millis(2_000), 10, 0))

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
    await org_store.write(lambda tx: tx.usage.add([*injections, old], []))

    lately = await org_store.read(lambda tx: tx.usage.shown_lately("ada", Millis(at)))

    assert [one.ref.id for one in lately] == ["p1"]


async def test_an_injection_is_kept_word_for_word(org_store: OrgStore, clock: Clock):
    hits = [{"kind": "profile", "id": "p1", "score": 0.5, "reasons": {"fts": 1.0}, "shown": True}]
    kept = Injection(InjectionId("i1"), "ada", "s1", None, "internal", "wo?", "<acumen-context>é…", 7, hits, clock())
    await org_store.write(lambda tx: tx.usage.add([kept], []))

    assert await org_store.read(lambda tx: tx.usage.injection("i1")) == kept


async def test_metering_remembers_when_it_began_and_forgets_when_it_stopped(org_store: OrgStore):
    async def since() -> Millis | None:
        return await org_store.read(lambda tx: tx.usage.metered_since())

    await org_store.write(lambda tx: tx.usage.begin_metering(Millis(1_000)))
    await org_store.write(lambda tx: tx.usage.begin_metering(Millis(2_000)))
    first = await since()
    await org_store.write(lambda tx: tx.usage.pause_metering())
    await org_store.write(lambda tx: tx.usage.begin_metering(Millis(3_000)))

    assert (first, await since()) == (1_000, 3_000)


async def test_old_counts_expire(org_store: OrgStore):
    await org_store.write(lambda tx: tx.usage.add([], [shown("old", 1_000), shown("new", 2_000)]))

    gone = await org_store.write(lambda tx: tx.usage.expire(Millis(2_000)))

    (stat,), _ = await org_store.read(lambda tx: tx.usage.stats(Millis(0), 10, 0))
    assert (gone, stat.first_at) == (1, 2_000)

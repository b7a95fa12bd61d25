"""The rules of review, on the database that judges by them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from acumen.model.ids import Kind, MemoryRef, Millis, fresh_id
from acumen.model.metering.usage import Use
from acumen.model.review.action import ReviewState
from acumen.model.review.signal import ReviewWindow, ScoredSignal, Thresholds
from acumen.model.times import DAY_MS
from acumen.review.signal_reasons import describe
from acumen.storage.memories.memory_tables import MEMORY_TABLES
from acumen.storage.metering.usage_rollup import MEMORY_COUNTS, TIMES, day_of
from acumen.storage.review.memory_flags import MemoryFlag, SimilarPair
from acumen.storage.review.review_queue import QueueFilter
from acumen.storage.store import OrgStore, Tx
from acumen.storage.tables import memory_days, memory_totals
from tests.world import a_profile

NOW = Millis(1_000 * DAY_MS)
SINCE = Millis(NOW - 60 * DAY_MS)
LONG_AGO = Millis(NOW - 100 * DAY_MS)
WINDOW = ReviewWindow(SINCE, NOW, LONG_AGO)
USUAL = Thresholds()
UNUSED = Use()
FLAGS = {
    "oversized": {"tokens": 300, "most": 200},
    "instruction_like": {"what": "asks for secrets", "words": "reveal", "digest": "d"},
    "harmful": {"with_rate": 0.4, "with_n": 30, "without_rate": 0.8, "without_n": 50, "low": -0.6, "high": -0.1},
}


def shown(times: int, cited: int = 0, tokens: int = 50, *, judged: bool = True) -> Use:
    use = Use(shown=times, tokens=times * tokens, cited_shown=cited, cited_tokens=cited * tokens, first_at=SINCE)
    return use._replace(judged_shown=times, judged_tokens=times * tokens) if judged else use


def add(
    tx: Tx, use: Use = UNUSED, *, changed_at: Millis = LONG_AGO, created_at: Millis = LONG_AGO, **columns: Any
) -> str:
    """A memory with this use in the window; its id."""
    table, memory_id = MEMORY_TABLES[Kind.PROFILE], fresh_id("prof")
    row = table.to_row(a_profile("x", id=memory_id, created_at=created_at, updated_at=changed_at))
    tx.scope.insert(table.table, [{**row, **columns}])
    key = {"kind": str(Kind.PROFILE), "entity_id": memory_id}
    if use != UNUSED:
        tx.scope.insert(memory_totals, [{**key, **{name: getattr(use, name) for name in (*MEMORY_COUNTS, *TIMES)}}])
        tx.scope.insert(memory_days, [{**key, "day": day_of(SINCE), **dict.fromkeys(MEMORY_COUNTS, 0)}])
    return memory_id


def flag(tx: Tx, memory_id: str, *names: str) -> None:
    flags = [MemoryFlag(Kind.PROFILE, memory_id, name, "ada", FLAGS[name], NOW) for name in names]
    tx.memory_flags.replace(Kind.PROFILE, [memory_id], names, flags)


def pair(tx: Tx, memory_id: str, twins: Mapping[str, float]) -> None:
    pairs = [
        SimilarPair(Kind.PROFILE, *sorted((memory_id, twin)), "ada", similarity, "meaning")
        for twin, similarity in twins.items()
    ]
    tx.memory_flags.replace_pairs(Kind.PROFILE, [memory_id], pairs)


def mark(tx: Tx, memory_id: str, state: ReviewState) -> None:
    tx.review_states.upsert(MemoryRef(Kind.PROFILE, memory_id), state, "ada")


def dismiss(tx: Tx, memory_id: str) -> None:
    """What the queue says of it now, as a person dismisses it."""
    (item,) = tx.review_queue.find(Kind.PROFILE, [memory_id], criteria(WINDOW))
    signals = {signal.name: signal.as_dismissed() for signal in describe(item, WINDOW, USUAL)}
    mark(tx, memory_id, ReviewState(dismissed=signals))


def criteria(window: ReviewWindow) -> QueueFilter:
    return QueueFilter([Kind.PROFILE], None, window, USUAL)


def judged(tx: Tx, memory_id: str, window: ReviewWindow = WINDOW) -> Sequence[ScoredSignal]:
    (item,) = tx.review_queue.find(Kind.PROFILE, [memory_id], criteria(window))
    return item.signals


def names(tx: Tx, memory_id: str, window: ReviewWindow = WINDOW) -> list[str]:
    return [signal.name for signal in judged(tx, memory_id, window)]


# --- stale -----------------------------------------------------------------------------------------------------------


async def test_what_was_neither_injected_nor_changed_in_the_window_is_stale(org_store: OrgStore):
    (signal,) = await org_store.write(lambda tx: judged(tx, add(tx)))

    assert signal == ScoredSignal("stale", 50 + 100 // 7, 0.0, 100)


async def test_what_is_used_or_cannot_be_judged_is_not_stale(org_store: OrgStore):
    def judge(tx: Tx) -> list[list[str]]:
        unused = add(tx)
        return [
            names(tx, add(tx, Use(shown=1))),
            names(tx, add(tx, changed_at=SINCE)),
            names(tx, unused, ReviewWindow(SINCE, NOW, None)),
            names(tx, unused, ReviewWindow(SINCE, NOW, Millis(SINCE + 1))),
        ]

    assert await org_store.write(judge) == [[], [], [], []]


async def test_a_stale_memory_scores_between_fifty_and_ninety_nine_and_older_is_never_less(org_store: OrgStore):
    ages = [0, 6, 7, 100, 341, 342, 343, 10_000]
    window = ReviewWindow(SINCE, NOW, Millis(0))

    def judge(tx: Tx) -> list[int]:
        times = [Millis(SINCE - 1 - age * DAY_MS) for age in ages]
        return [judged(tx, add(tx, changed_at=at, created_at=at), window)[0].score for at in times]

    scores = await org_store.write(judge)

    assert scores == sorted(scores)
    assert 50 <= scores[0] < scores[-1] == 99


# --- expensive -------------------------------------------------------------------------------------------------------


async def test_a_memory_that_is_injected_often_and_surely_seldom_cited_is_expensive(org_store: OrgStore):
    (signal,) = await org_store.write(lambda tx: judged(tx, add(tx, shown(10, cited=1))))

    assert signal == ScoredSignal("high_cost_low_cite", 40, pytest.approx(450 / 60), 450)


@pytest.mark.parametrize(
    "use, age_days",
    [
        (shown(2), 100),
        (shown(3), 100),  # nothing of three may still be 56 %
        (shown(4, cited=1), 100),
        (shown(100, cited=45), 100),
        (shown(10, tokens=2), 100),
        (shown(10), 6),
        (shown(100, judged=False), 100),
    ],
    ids=["twice", "three times", "one of four", "nearly half", "few tokens", "young", "by agents that never cite"],
)
async def test_small_samples_small_costs_and_young_memories_are_not_expensive(
    org_store: OrgStore, use: Use, age_days: int
):
    born = Millis(NOW - age_days * DAY_MS)

    assert await org_store.write(lambda tx: names(tx, add(tx, use, created_at=born))) == []


async def test_an_expensive_memory_scores_at_most_forty_nine(org_store: OrgStore):
    assert (await org_store.write(lambda tx: judged(tx, add(tx, shown(500)))))[0].score == 49


async def test_a_first_hour_of_metering_is_not_taken_for_a_habit(org_store: OrgStore):
    young = ReviewWindow(SINCE, NOW, Millis(NOW - 3_600_000))

    assert (await org_store.write(lambda tx: judged(tx, add(tx, shown(10)), young)))[0].saving == 500


# --- the others ------------------------------------------------------------------------------------------------------


async def test_signals_come_in_order_of_urgency_with_their_reasons(org_store: OrgStore):
    def judge(tx: Tx) -> Any:
        near, far = add(tx, shown(1)), add(tx, shown(1))
        memory_id = add(tx, shown(10), superseded_by=near)
        flag(tx, memory_id, *FLAGS)
        pair(tx, memory_id, {near: 0.97, far: 0.93})
        (item,) = tx.review_queue.find(Kind.PROFILE, [memory_id], criteria(WINDOW))
        return describe(item, WINDOW, USUAL), (near, far)

    signals, twins = await org_store.write(judge)

    assert [signal.name for signal in signals] == [
        "instruction_like", "harmful", "supersedeable", "high_cost_low_cite", "duplicate", "oversized",
    ]  # fmt: skip
    assert (signals[2].score, signals[2].about) == (100, (twins[0],))
    assert signals[4].about == tuple(sorted(twins))
    assert "97%" in signals[4].why
    assert "n=30" in signals[1].why
    assert signals[5].saving == pytest.approx(10 * 100 / 60)


# --- review states ---------------------------------------------------------------------------------------------------


async def test_a_pinned_memory_is_never_flagged(org_store: OrgStore):
    def judge(tx: Tx) -> list[str]:
        memory_id = add(tx)
        mark(tx, memory_id, ReviewState(pinned=True))
        return names(tx, memory_id)

    assert await org_store.write(judge) == []


async def test_a_snoozed_memory_is_flagged_again_when_its_time_has_come(org_store: OrgStore):
    def judge(tx: Tx) -> tuple[list[str], list[str]]:
        asleep, awake = add(tx), add(tx)
        mark(tx, asleep, ReviewState(snoozed_until=Millis(NOW + 1)))
        mark(tx, awake, ReviewState(snoozed_until=NOW))
        return names(tx, asleep), names(tx, awake)

    assert await org_store.write(judge) == ([], ["stale"])


async def test_a_memory_marked_useful_is_flagged_for_its_text_but_not_for_its_counts(org_store: OrgStore):
    def judge(tx: Tx) -> list[str]:
        memory_id = add(tx, shown(10))
        flag(tx, memory_id, "oversized")
        mark(tx, memory_id, ReviewState(useful_at=NOW))
        return names(tx, memory_id)

    assert await org_store.write(judge) == ["oversized"]


@pytest.mark.parametrize("times, expected", [(10, []), (14, []), (15, ["high_cost_low_cite"])])
async def test_a_dismissed_memory_returns_when_its_waste_has_grown_by_half(
    org_store: OrgStore, times: int, expected: list[str]
):
    def judge(tx: Tx) -> list[str]:
        before, after = add(tx, shown(10)), add(tx, shown(times))
        dismiss(tx, before)
        mark(tx, after, tx.review_states.find(Kind.PROFILE, [before])[before])
        return names(tx, after)

    assert await org_store.write(judge) == expected


async def test_a_dismissed_duplicate_returns_with_a_twin_that_was_not_there(org_store: OrgStore):
    def judge(tx: Tx) -> tuple[list[str], list[str]]:
        memory_id, twin, other_twin = (add(tx, shown(1)) for _ in range(3))
        pair(tx, memory_id, {twin: 0.95})
        dismiss(tx, memory_id)
        before = names(tx, memory_id)
        pair(tx, memory_id, {twin: 0.95, other_twin: 0.95})
        return before, names(tx, memory_id)

    assert await org_store.write(judge) == ([], ["duplicate"])


async def test_a_dismissal_covers_only_the_signals_that_were_there(org_store: OrgStore):
    def judge(tx: Tx) -> list[str]:
        stale, costly = add(tx), add(tx, shown(10))
        dismiss(tx, stale)
        mark(tx, costly, tx.review_states.find(Kind.PROFILE, [stale])[stale])
        return names(tx, costly)

    assert await org_store.write(judge) == ["high_cost_low_cite"]

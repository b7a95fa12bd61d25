"""The queue as a page: the same as what is said of each memory alone."""

from collections.abc import Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from acumen.model.ids import Kind, MemoryRef, Millis, UserId
from acumen.model.memories.conflict import Conflict, ConflictState
from acumen.model.memories.search import Filter
from acumen.model.review.action import ReviewState
from acumen.model.review.signal import SIGNALS, QueueItem, ReviewWindow, ScoredSignal, Thresholds
from acumen.model.times import DAY_MS
from acumen.storage.memories.memory_tables import MEMORY_TABLES
from acumen.storage.metering.usage_rollup import MEMORY_COUNTS, TIMES, day_of
from acumen.storage.review.memory_flags import MemoryFlag, SimilarPair
from acumen.storage.review.review_queue import QueueFilter, QueuePage
from acumen.storage.store import OrgStore, Tx
from acumen.storage.tables import agent_playbook_sources, memory_days, memory_totals
from tests.world import a_profile, a_user_playbook, an_agent_playbook

AT = Millis(2_000 * DAY_MS)
WINDOW = ReviewWindow(Millis(AT - 60 * DAY_MS), AT, Millis(AT - 90 * DAY_MS))
RULES = Thresholds(least_wasted_tokens=100, oversized_tokens=250, similarity=0.95)
EACH = 40
IDS = range(9_000_001, 9_000_001 + EACH)  # playbooks of all orgs are numbered together
MAKE = {Kind.PROFILE: a_profile, Kind.USER_PLAYBOOK: a_user_playbook, Kind.AGENT_PLAYBOOK: an_agent_playbook}


async def test_a_page_of_the_queue_agrees_with_the_signals_of_each_memory(org_store: OrgStore):
    await org_store.write(lambda tx: fill(tx, Random(2)))

    for user, by_waste, signals in ((None, False, None), ("ada", True, None), (None, True, ["duplicate", "stale"])):
        kinds = [kind for kind in Kind if user is None or kind is not Kind.AGENT_PLAYBOOK]
        asked = QueueFilter(kinds, user, WINDOW, RULES, signals, by_waste)
        queue_page, expected = await org_store.read(
            lambda tx, asked=asked: (tx.review_queue.page(asked, 500, 0), judged(tx, asked))
        )
        pages = [
            await org_store.read(lambda tx, asked=asked, at=at: tx.review_queue.page(asked, 7, at))
            for at in (0, 7, 500)
        ]

        assert found(queue_page) == in_order(expected, asked)
        assert {signal.name for _, told in expected for signal in told} == set(SIGNALS)
        assert [found(one) for one in pages] == [found(queue_page)[:7], found(queue_page)[7:14], []]
        assert {(one.total, round(one.saving, 6)) for one in (queue_page, *pages)} == {totals(expected, asked)}
        assert queue_page.by_signal == {
            name: sum(name in {signal.name for signal in told} for _, told in expected) for name in SIGNALS
        }


def found(queue_page: QueuePage) -> list[MemoryRef]:
    return [one.ref for one in queue_page.page]


Told = list[tuple[QueueItem, Sequence[ScoredSignal]]]


def judged(tx: Tx, asked: QueueFilter) -> Told:
    """Memory by memory."""
    every = [one for kind in asked.kinds for one in tx.review_queue.find(kind, [str(number) for number in IDS], asked)]
    every = [one for one in every if asked.user in (None, one.user_id)]
    return [(one, one.signals) for one in every if one.signals]


def fitting(told: Told, asked: QueueFilter) -> Told:
    return [(one, its) for one, its in told if asked.signals is None or {s.name for s in its} & set(asked.signals)]


def in_order(told: Told, asked: QueueFilter) -> list[MemoryRef]:
    def weight(case: tuple[QueueItem, Sequence[ScoredSignal]]) -> Any:
        one, its = case
        first, second = -its[0].score, -one.evidence.use.wasted_tokens
        return (*((second, first) if asked.by_waste else (first, second)), one.ref.kind, one.ref.id)

    return [one.ref for one, _ in sorted(fitting(told, asked), key=weight)]


def totals(told: Told, asked: QueueFilter) -> tuple[int, float]:
    fits = fitting(told, asked)
    return len(fits), round(sum(max(signal.saving for signal in its) for _, its in fits), 6)


# --- memories of every sort ------------------------------------------------------------------------------------------


def fill(tx: Tx, chance: Random) -> None:
    for kind in Kind:
        rows = [memory(kind, number, chance) for number in IDS]
        tx.scope.insert(MEMORY_TABLES[kind].table, rows)
        counted = [used(kind, row, chance) for row in rows if chance.random() < 0.7]
        tx.scope.insert(memory_totals, counted)
        tx.scope.insert(memory_days, [began(one, chance) for one in counted])
        flags = [flag for row in rows for flag in flagged(kind, row, chance)]
        tx.memory_flags.replace(kind, [flag.id for flag in flags], [], flags)
        tx.memory_flags.replace_pairs(kind, [], pairs(kind, rows, chance))
        for row in rows:
            tx.review_states.upsert(MemoryRef(kind, own(kind, row)), marked(chance), row.get("user_id"))
    for kind in (Kind.PROFILE, Kind.USER_PLAYBOOK):
        for user in ("ada", "bob"):
            conflicts(tx, kind, user, chance)
    folded = [{"agent_playbook_id": number, "user_playbook_id": number + 3} for number in IDS[::9]]
    tx.scope.insert(agent_playbook_sources, folded)


def conflicts(tx: Tx, kind: Kind, user: str, chance: Random) -> None:
    """Of one user's memories; some are settled."""
    ids = sorted(tx.by_kind[kind].find_owners(Filter(user_id=UserId(user), statuses=None)))
    for number in range(8):
        older, newer = (MemoryRef(kind, one) for one in chance.sample(ids, 2))
        link = Conflict(f"con_{kind}_{user}_{number}", UserId(user), older, newer, "why", AT)
        tx.conflicts.add(replace(link, state=chance.choice([ConflictState.OPEN] * 3 + [ConflictState.SETTLED])))


def own(kind: Kind, row: dict[str, Any]) -> str:
    return str(row[MEMORY_TABLES[kind].id_column])


def memory(kind: Kind, number: int, chance: Random) -> dict[str, Any]:
    born, changed = (Millis(AT - chance.randrange(120 * 24) * DAY_MS // 24) for _ in range(2))
    made = MEMORY_TABLES[kind].to_row(MAKE[kind]("x", created_at=born, updated_at=changed))
    row = {**made, MEMORY_TABLES[kind].id_column: str(number) if kind is Kind.PROFILE else number}
    if "user_id" in row:
        row["user_id"] = chance.choice(["ada", "bob"])
    row |= {"status": chance.choice(["current"] * 9 + ["archived"]), "subject": chance.choice(["", "tea", "pie"])}
    row["superseded_by"] = chance.choice([None] * 9 + [row[MEMORY_TABLES[kind].id_column]])
    return {**row, "value": chance.choice(["yes", "no"])}


def used(kind: Kind, row: dict[str, Any], chance: Random) -> dict[str, Any]:
    """All of it on one day, within the window or before it."""
    shown = chance.randrange(1, 30)
    cited, judged = chance.randrange(shown // 2 + 1), chance.choice([0, shown, shown])
    counts = dict.fromkeys(MEMORY_COUNTS, 0) | dict.fromkeys(TIMES)
    counts |= {"shown": shown, "tokens": shown * 20, "cited_shown": cited, "cited_tokens": cited * 20}
    counts |= {"judged_shown": max(judged, cited), "judged_tokens": max(judged, cited) * 20}
    return {"kind": str(kind), "entity_id": own(kind, row), **counts}


def began(counted: dict[str, Any], chance: Random) -> dict[str, Any]:
    """The counters stood at nothing when its day began."""
    key = {name: counted[name] for name in ("kind", "entity_id")}
    return {**key, "day": day_of(AT) - chance.choice([10, 70]), **dict.fromkeys(MEMORY_COUNTS, 0)}


def flagged(kind: Kind, row: dict[str, Any], chance: Random) -> list[MemoryFlag]:
    details = {
        "oversized": {"tokens": chance.randrange(200, 300), "most": 200},
        "instruction_like": {"what": "hides", "words": "psst", "digest": chance.choice(["d1", "d2"])},
        "harmful": {"with_rate": 0.2, "with_n": 30, "without_rate": 0.8, "without_n": 30, "low": -0.9, "high": -0.1},
    }
    return [
        MemoryFlag(kind, own(kind, row), name, row.get("user_id"), detail, AT)
        for name, detail in details.items()
        if chance.random() < 0.1
    ]


def pairs(kind: Kind, rows: list[dict[str, Any]], chance: Random) -> list[SimilarPair]:
    """Of one user's memories, as the watch finds them."""
    both = [chance.sample(rows, 2) for _ in range(EACH)]
    some = [sorted(own(kind, row) for row in (a, b)) for a, b in both if a.get("user_id") == b.get("user_id")]
    how = [(chance.choice([0.93, 0.96, 0.99]), chance.choice(["meaning", "words"])) for _ in some]
    return [SimilarPair(kind, left, right, None, *told) for (left, right), told in zip(some, how, strict=True)]


def marked(chance: Random) -> ReviewState:
    seen = {
        name: {"measure": chance.choice([0.5, 1.0, 60, 400]), "about": [*map(str, IDS[::3]), "d1"]} for name in SIGNALS
    }
    return chance.choice(
        [ReviewState()] * 6
        + [
            ReviewState(pinned=True),
            ReviewState(snoozed_until=Millis(AT + chance.choice([-1, 1]))),
            ReviewState(useful_at=Millis(AT - chance.choice([10, 70]) * DAY_MS)),
            ReviewState(dismissed={name: seen[name] for name in chance.sample(SIGNALS, 3)}),
            ReviewState(dismissed=seen),
        ]
    )

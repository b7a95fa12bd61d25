"""One org never sees or touches what is another's, through any repository."""

from collections.abc import Callable
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa

from acumen.errors import AcumenError
from acumen.model.account import ApiKey
from acumen.model.ids import (
    InjectionId,
    InteractionId,
    Kind,
    MemoryRef,
    Millis,
    OrgId,
    PlaybookId,
    RequestId,
    SessionId,
    UserId,
)
from acumen.model.jobs.events import Published
from acumen.model.jobs.run import RunId
from acumen.model.memories.change import ChangeFilter
from acumen.model.memories.cluster import AggregationBookmark, Cluster
from acumen.model.memories.conflict import Conflict, ConflictState
from acumen.model.memories.search import Filter, SearchRow
from acumen.model.metering.experiment import Experiment
from acumen.model.metering.llm_call import CallOutcome, LlmCall, ModelRole
from acumen.model.metering.usage import CITED, SEARCHED, SHOWN, GroupBy, Injection, UsageEvent
from acumen.model.review.action import Action, ActionId, ActionItem, ActionKind, ReviewState
from acumen.model.review.signal import ReviewWindow, Thresholds
from acumen.storage.review.memory_flags import MemoryFlag, SimilarPair
from acumen.storage.review.review_queue import QueueFilter
from acumen.storage.store import OrgStore, Store, Tx
from tests.world import (
    ADA,
    JUST_BECAUSE,
    a_profile,
    a_request,
    a_turn,
    a_user_playbook,
    an_agent_playbook,
    keep,
    rows_of,
)

OURS, THEIRS = OrgId("ours"), OrgId("theirs")
EVER = Filter(statuses=None)
SESSION, REQUEST = SessionId("s1"), RequestId("r1")
PROFILE = MemoryRef(Kind.PROFILE, "prof_1")
TURN = InteractionId(1)
PLAYBOOK = "1"
WINDOW = ReviewWindow(Millis(0), Millis(1), None)


def fill(tx: Tx) -> None:
    """A little of everything. Ids that the database gives start at 1, for the store is empty."""
    request = a_request(source="slack")
    tx.orgs.ensure()
    tx.orgs.set_config({"window_size": 3}, 0)
    tx.api_keys.add(ApiKey("key_1", tx.scope.org, "laptop", "admin", "acm_", Millis(0), None, None), "secret")
    tx.conversations.add(request, [a_turn("a secret", request)])
    tx.sessions.finish(ADA, SESSION)
    tx.bookmarks.move(ADA, "profiles", InteractionId(0), TURN)
    for memory in (a_profile("a secret", id=PROFILE.id), a_user_playbook("a secret"), an_agent_playbook("a secret")):
        keep(tx, memory)
    tx.search_rows.upsert([SearchRow("turn", "1", "ada", "secret", "w1", b"\x00", "m")])
    shown = [{"kind": "profile", "id": PROFILE.id, "shown": True, "line": "a secret", "tokens": 2}]
    injection = Injection(InjectionId("i1"), "ada", "s1", "r1", "production_agent", "q", "a secret", 2, shown, tx.at)
    events = [UsageEvent(name, name, tx.at, "ada", "r1", "s1", "i1", "profile", PROFILE.id) for name in (SHOWN, CITED)]
    events.append(UsageEvent("e3", SEARCHED, tx.at, "ada", duration_ms=3.0))
    tx.injections.add([injection])
    tx.usage.add(events)
    tx.usage.begin_metering(tx.at)
    tx.jobs.add(Published(ADA, REQUEST))
    tx.llm_calls.add(
        LlmCall(ModelRole.GATE, "m", "hash", CallOutcome.ANSWERED, 1, 10, 1, 5.0, user_id="ada", request_id="r1")
    )
    tx.clusters.upsert(Cluster("clus_1", "", "", "print", (PlaybookId(1),), PlaybookId(1), "words"))
    tx.aggregations.move_bookmark("", AggregationBookmark(PlaybookId(1), duration_ms=5.0))
    tx.aggregations.add_change("run_1", "", "", added=[{"agent_playbook_id": 1, "content": "a secret"}])
    tx.runs.start("service", "", {"user_id": "ada"}, ["ada"], RunId("run_1"))
    item = ActionItem(PROFILE, changed=True, user_id="ada", before={"mark": {}}, after={"mark": {}})
    tx.actions.add(Action(ActionId("act_1"), ActionKind.PIN, "local", tx.at, "a secret", items=[item]))
    tx.review_states.upsert(PROFILE, ReviewState(pinned=True), "ada")
    tx.memory_flags.replace(
        Kind.PROFILE, [], [], [MemoryFlag(Kind.PROFILE, PROFILE.id, "oversized", "ada", {"tokens": 9})]
    )
    tx.memory_flags.replace_pairs(
        Kind.PROFILE, [], [SimilarPair(Kind.PROFILE, PROFILE.id, PROFILE.id, "ada", 0.95, "words")]
    )
    tx.memory_flags.set_scanned(0, 3)
    tx.experiments.start(Experiment("e1", 50, tx.at))
    tx.conflicts.add(Conflict("con_1", ADA, PROFILE, PROFILE, "a secret", tx.at))


@pytest_asyncio.fixture(loop_scope="session")
async def theirs(store: Store) -> OrgStore:
    """Another org on the database on which ours has something of everything."""
    await store.of(OURS).write(fill)
    await store.of(THEIRS).write(lambda tx: tx.orgs.ensure())
    return store.of(THEIRS)


READS: dict[str, Callable[[Tx], Any]] = {
    "config": lambda tx: tx.orgs.get_config().config,
    "keys": lambda tx: tx.api_keys.all(),
    "request": lambda tx: tx.conversations.get_request(REQUEST),
    "requests": lambda tx: tx.conversations.page_sessions(tx.conversations.select_requests(), 10, 0)[0],
    "by_request": lambda tx: tx.conversations.get_requests([REQUEST]),
    "of_requests": lambda tx: tx.conversations.find_by_requests([REQUEST]),
    "by_ids": lambda tx: tx.conversations.get_many([TURN]),
    "newest": lambda tx: tx.conversations.find_newest(None, 10),
    "newest of the user": lambda tx: tx.conversations.find_newest(ADA, 10),
    "after": lambda tx: tx.conversations.find_after(ADA, InteractionId(0)),
    "before": lambda tx: tx.conversations.find_before(ADA, TURN, 10),
    "last id": lambda tx: tx.conversations.get_last_id(REQUEST),
    "finished": lambda tx: tx.sessions.find_finished(ADA, [SESSION]),
    "has session": lambda tx: tx.sessions.exists(ADA, SESSION),
    "ids of session": lambda tx: tx.conversations.find_request_ids(SESSION),
    "ids of user": lambda tx: tx.conversations.find_ids_of_user(ADA)[0],
    "bookmark": lambda tx: tx.bookmarks.get(ADA, "profiles"),
    "turns counted": lambda tx: tx.conversations.count_turns(),
    **{f"{kind} found": lambda tx, kind=kind: tx.by_kind[kind].find(EVER) for kind in Kind},
    **{f"{kind} got": lambda tx, kind=kind: tx.by_kind[kind].get_many([PROFILE.id, PLAYBOOK]) for kind in Kind},
    **{f"{kind} facets": lambda tx, kind=kind: tx.by_kind[kind].find_facets(EVER) for kind in Kind},
    **{f"{kind} counted": lambda tx, kind=kind: tx.by_kind[kind].count(EVER) for kind in Kind},
    **{f"{kind} owned": lambda tx, kind=kind: tx.by_kind[kind].find_owners(EVER) for kind in Kind},
    "past": lambda tx: tx.profiles.find_expired(Millis(9_999_999_999_999)),
    "search rows": lambda tx: tx.search_rows.find_since("profile", None, 0),
    "search rows of user": lambda tx: tx.search_rows.find_since("turn", "ada", 0),
    "without vector": lambda tx: tx.search_rows.find_without_vector("other", "turn", 10),
    "without vector counted": lambda tx: tx.search_rows.count_without_vector("other", "turn"),
    "lineage": lambda tx: tx.lineage.find(PROFILE),
    "memory changes": lambda tx: tx.lineage.find_changes(ChangeFilter(), 10),
    "changes of a user": lambda tx: tx.lineage.find_changes(ChangeFilter(user=ADA), 10),
    "change": lambda tx: tx.lineage.get_change(1),
    "actions by id": lambda tx: tx.actions.get_many(["act_1"]),
    "conflict": lambda tx: tx.conflicts.get("con_1"),
    "conflicts": lambda tx: tx.conflicts.find_open(),
    "conflicts of a memory": lambda tx: tx.conflicts.find([PROFILE]),
    "conflicts described": lambda tx: tx.conflicts.describe([Conflict("", ADA, PROFILE, PROFILE, "", tx.at)]),
    "caused by": lambda tx: [one for one in tx.lineage.count_caused_by("") if one],
    "stats": lambda tx: tx.usage.top.page_injected(Millis(0), 10, 0)[0],
    "citations": lambda tx: tx.usage.top.page_cited(Millis(0), 10, 0)[0],
    "events of a memory": lambda tx: tx.usage.find_events(PROFILE, Millis(0), 10),
    "sessions of a memory": lambda tx: any(tx.usage.top.count_sessions([PROFILE], Millis(0)).values()),
    "latencies": lambda tx: tx.usage.find_latencies(9),
    "ages": lambda tx: tx.memory_browser.count_by_age([Millis(0)]),
    "actions a day": lambda tx: tx.actions.count_per_day(0),
    "events counted": lambda tx: tx.usage.count(SHOWN, Millis(0)),
    "injections of a user": lambda tx: tx.injections.find_by_user("ada", None, 10),
    "use of a kind": lambda tx: tx.usage.counters.get_uses("profile", Millis(0)),
    **{f"use by {by}": lambda tx, by=by: tx.usage.counters.page_groups(by, 0, 10, 0)[0] for by in GroupBy},
    "days of a memory": lambda tx: tx.usage.counters.get_days(PROFILE, 0),
    "those in use": lambda tx: tx.profiles.find_current_ids("ada"),
    "as of": lambda tx: tx.lineage.get_as_of(Kind.PROFILE, None, tx.at),
    "action": lambda tx: tx.actions.get(ActionId("act_1")),
    "actions": lambda tx: tx.actions.page(10, 0, PROFILE)[0],
    "marks": lambda tx: tx.review_states.find_all(Kind.PROFILE),
    "marks of some": lambda tx: tx.review_states.find(Kind.PROFILE, [PROFILE.id]),
    "flags": lambda tx: tx.memory_flags.find(Kind.PROFILE, [PROFILE.id]),
    "pairs": lambda tx: tx.memory_flags.find_pairs(Kind.PROFILE),
    "queue": lambda tx: tx.review_queue.find(Kind.PROFILE, [PROFILE.id], QueueFilter([], None, WINDOW, Thresholds())),
    "watched": lambda tx: tx.memory_flags.get_scanned()[1],
    "experiments": lambda tx: tx.experiments.all(),
    "experiment": lambda tx: tx.experiments.get("e1"),
    "active experiment": lambda tx: tx.experiments.get_active(),
    "changed after": lambda tx: tx.search_rows.find_changed_after(0, list(Kind), 10)[0],
    "titles": lambda tx: tx.memories.get_titles([PROFILE]),
    "shown lately": lambda tx: tx.injections.find_recent_memories("ada", tx.at),
    "injection": lambda tx: tx.injections.get("i1"),
    "metered since": lambda tx: tx.usage.get_metered_since(),
    "clusters": lambda tx: tx.clusters.find("", ""),
    "cluster of a lesson": lambda tx: tx.clusters.find_by_lessons([PlaybookId(1)]),
    "taught": lambda tx: [
        *tx.sources.find_all_lessons(),
        *tx.sources.find_lessons_of([1]),
        *tx.clusters.find_lessons_of([1]),
    ],
    "sources": lambda tx: tx.sources.find([PlaybookId(1)])[PlaybookId(1)],
    "erasure": lambda tx: tx.erasure.find_ids("ada", ["r1"], ["s1"]),
    "mark": lambda tx: tx.aggregations.get_bookmark("").last,
    "groups": lambda tx: tx.aggregations.find_groups([""], None),
    "lessons": lambda tx: list(tx.aggregations.lesson_pages("", "", "", 100)),
    "users of lessons": lambda tx: tx.clusters.find_users([PlaybookId(1)]),
    "changes": lambda tx: tx.aggregations.find_changes([""], [""], 10),
    "run": lambda tx: tx.runs.get(RunId("run_1")),
    "items": lambda tx: tx.run_items.find(RunId("run_1")),
    "search rows by ids": lambda tx: tx.search_rows.get_many("turn", ["1"]),
    "jobs of scope": lambda tx: tx.jobs.find_by_scope("published", "ada"),
    "jobs counted": lambda tx: tx.jobs.count(),
    "jobs overdue": lambda tx: tx.jobs.overdue_since(),
    "spent": lambda tx: tx.llm_calls.get_spent(Millis(0)).calls,
}


async def test_no_read_of_another_org_finds_anything_of_ours(theirs: OrgStore, store: Store):
    ours = await store.of(OURS).read(lambda tx: {name: read(tx) for name, read in READS.items()})
    seen = await theirs.read(lambda tx: {name: read(tx) for name, read in READS.items()})

    assert [name for name, found in ours.items() if not found] == []
    assert {name: found for name, found in seen.items() if found} == {}


WRITES: dict[str, Callable[[Tx], Any]] = {
    "set config": lambda tx: tx.orgs.set_config({"window_size": 9}, 0),
    "revoke": lambda tx: tx.api_keys.revoke("key_1"),
    "delete turn": lambda tx: tx.conversations.delete_turn(ADA, TURN),
    "delete requests": lambda tx: tx.conversations.delete_requests([REQUEST]),
    "delete session": lambda tx: tx.sessions.delete(SESSION),
    "delete user": lambda tx: tx.conversations.delete_user(ADA),
    "delete all turns": lambda tx: tx.conversations.delete_all(),
    "finish session": lambda tx: tx.sessions.finish(ADA, SESSION),
    "move bookmark": lambda tx: tx.bookmarks.move(ADA, "profiles", TURN, TURN),
    "replace": lambda tx: tx.profiles.update(PROFILE.id, a_profile("theirs", id=PROFILE.id)),
    "delete memories": lambda tx: [tx.memories.delete(kind, [PROFILE.id, PLAYBOOK], JUST_BECAUSE) for kind in Kind],
    "delete all memories": lambda tx: [tx.memories.delete_all(kind, JUST_BECAUSE) for kind in Kind],
    "delete rows": lambda tx: [tx.by_kind[kind].delete([PROFILE.id, PLAYBOOK]) for kind in Kind],
    "touch": lambda tx: tx.search_rows.touch("profile", PROFILE.id),
    "drop": lambda tx: tx.search_rows.mark_deleted("profile", {PROFILE.id: "ada"}),
    "erase": lambda tx: (tx.search_rows.delete_user("ada"), tx.search_rows.delete_kind("profile")),
    "forget lineage": lambda tx: tx.lineage.delete_user("ada"),
    "pause metering": lambda tx: tx.usage.pause_metering(),
    "expire hours": lambda tx: tx.hourly_counts.expire(Millis(9_999_999_999_999)),
    "expire failures": lambda tx: tx.failures.expire(Millis(9_999_999_999_999), Millis(9_999_999_999_999)),
    "expire usage": lambda tx: tx.usage.expire(Millis(9_999_999_999_999)),
    "forget words shown": lambda tx: tx.injections.erase_words(Kind.PROFILE, None),
    "sum again": lambda tx: tx.usage.counters.recount([PROFILE], ["ada"]),
    "take back": lambda tx: tx.actions.mark_undone(ActionId("act_1"), ActionId("act_2")),
    "stand again": lambda tx: tx.actions.clear_undone(ActionId("act_1")),
    "forget reviewed": lambda tx: tx.review_records.erase(Kind.PROFILE, {PROFILE.id: "ada"}),
    "forget all reviewed": lambda tx: tx.review_records.erase(Kind.PROFILE, None),
    "forget reviewed of user": lambda tx: tx.review_records.delete_user("ada"),
    "mark": lambda tx: tx.review_states.upsert(PROFILE, ReviewState(pinned=True), None),
    "unmark": lambda tx: tx.review_states.upsert(PROFILE, ReviewState(), None),
    "flag": lambda tx: tx.memory_flags.replace(Kind.PROFILE, [PROFILE.id], ["stale"], []),
    "clear flags": lambda tx: tx.memory_flags.clear("oversized", []),
    "pair": lambda tx: tx.memory_flags.replace_pairs(Kind.PROFILE, [PROFILE.id], []),
    "watch": lambda tx: tx.memory_flags.set_scanned(5, 5),
    "stop experiment": lambda tx: tx.experiments.stop("e1"),
    "delete usage": lambda tx: tx.usage.delete_user("ada", ["r1"], ["s1"]),
    "count again": lambda tx: tx.usage.add([UsageEvent(SHOWN, SHOWN, tx.at)]),
    "add job": lambda tx: tx.jobs.add(Published(ADA, RequestId("theirs"))),
    "end clusters": lambda tx: (tx.clusters.delete([PlaybookId(1)]), tx.sources.delete_members([PlaybookId(1)])),
    "forget clusters": lambda tx: (tx.clusters.erase([PlaybookId(1)]), tx.sources.delete_lessons([PlaybookId(1)])),
    "forget all clusters": lambda tx: tx.clusters.delete_all(),
    "forget words": lambda tx: tx.aggregations.erase_words([PlaybookId(1)]),
    "forget lines": lambda tx: tx.injections.erase_words(Kind.PROFILE, {PROFILE.id: "ada"}),
    "forget lineage words": lambda tx: tx.lineage.erase_words(Kind.PROFILE, [PROFILE.id]),
    "set mark": lambda tx: tx.aggregations.move_bookmark("", AggregationBookmark(PlaybookId(9))),
    "put cluster": lambda tx: tx.clusters.upsert(Cluster("clus_1", "", "", "p", (), PlaybookId(1), "w")),
    "delete jobs": lambda tx: tx.jobs.delete_user(UserId("ada")),
    "expire calls": lambda tx: tx.llm_calls.expire(Millis(9_999_999_999_999)),
    "forget calls": lambda tx: tx.llm_calls.erase_user("ada"),
    "same request": lambda tx: tx.conversations.add(a_request(body_hash="other"), [a_turn("x", a_request())]),
    "set conflict": lambda tx: tx.conflicts.set_state("con_1", ConflictState.SETTLED, "them", tx.at),
    "settle conflicts": lambda tx: tx.conflicts.settle([PROFILE], "them", tx.at),
    "reopen conflicts": lambda tx: tx.conflicts.reopen([PROFILE]),
    "delete conflicts": lambda tx: tx.conflicts.delete(Kind.PROFILE, [PROFILE.id]),
    "same profile": lambda tx: keep(tx, a_profile("theirs", id=PROFILE.id)),
}


async def test_no_write_of_another_org_changes_anything_of_ours(theirs: OrgStore, store: Store):
    before = await rows_of(store, OURS)

    for name, write in WRITES.items():
        try:
            await theirs.write(write)
        except AcumenError:
            assert name == "move bookmark"  # there is no such turn of theirs
        assert await rows_of(store, OURS) == before, name


def is_hold(statement: str) -> bool:
    """Holding an org sets a column to itself: nothing is changed, others wait."""
    return "search_seq=orgs.search_seq " in statement


async def test_every_update_says_when_it_happened(theirs: OrgStore, store: Store):
    """Whatever a repository changes carries a new `updated_at`; here all that they can change is changed."""
    updates: set[str] = set()

    def note(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE") or "DO UPDATE" in statement:
            updates.add(statement)

    sa.event.listen(store.database.engine(), "before_cursor_execute", note)
    for name, write in WRITES.items():
        if name != "move bookmark":
            await theirs.write(write)

    assert len(updates) > 5
    assert [statement for statement in updates if "updated_at" not in statement and not is_hold(statement)] == []


@pytest.mark.parametrize("taken", ["request", "profile", "event"])
async def test_two_orgs_may_use_the_same_ids(theirs: OrgStore, store: Store, taken: str):
    await theirs.write(WRITES[{"request": "same request", "profile": "same profile", "event": "count again"}[taken]])

    assert len((await rows_of(store, THEIRS))[{"event": "usage_events"}.get(taken, f"{taken}s")]) == 1

"""What memories cost and which deserve a look, over a million usage events; and what being metered costs a search."""

import asyncio
import itertools
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from random import Random
from typing import Any

from acumen.app import App
from acumen.model.ids import LOCAL_ORG, Kind, MemoryRef, Millis, UserId, now
from acumen.model.jobs.events import Hour
from acumen.model.metering.usage import CITED, SEARCHED, SHOWN
from acumen.model.times import DAY_MS
from acumen.review import duplicate_scan
from acumen.storage.store import OrgStore, Store, connect
from acumen.storage.tables import citing_versions, usage_events
from bench import memories, search
from bench.figures import Figure, Run, Target, below, median
from bench.memories import Statements
from bench.places import MakePlace, Place
from bench.publish import timed
from bench.server import Server, serving

USERS = 100
VERSION = "1.0"
DAYS = 90
ROWS_AT_ONCE = 50_000
ROUNDS = 15
# Searches in a block, with and without metering in turn.
BLOCK = 25
# By then what a block showed has been counted, and is part of what it cost.
WRITTEN_SECONDS = 1.0


def measure(run: Run, make_place: MakePlace) -> Iterator[Figure]:
    count, events = run.many(10_000, 200), run.many(1_000_000, 2_000)
    with make_place(run) as place:
        began = time.perf_counter()
        asyncio.run(_fill(place, count, events))
        loaded = f"loaded in {time.perf_counter() - began:.0f} s"
        yield Figure("first look at all memories", asyncio.run(_watch(place)), "s", note=loaded)
        with serving(place.environ) as server:
            for name, path, body in _QUESTIONS:
                asked = [(path, body)] * run.many(ROUNDS, 2)
                seen, cpu_ms = timed(server, asked, 1)
                yield Figure(f"{name}, p50", median(seen.latencies_ms), "ms", below(300), cpu_ms, f"{events:,} events")


_QUESTIONS = (
    ("injection stats, 30 days", "/api/get_injection_stats", {"days_back": 30, "limit": 100}),
    ("injection stats, 90 days", "/api/get_injection_stats", {"days_back": 90, "limit": 100}),
    ("citation stats", "/api/get_playbook_application_stats", {"days_back": 30, "limit": 100}),
    ("review queue, everyone's", "/api/get_memory_review", {"include_all_users": True, "limit": 100}),
    ("review queue, one user's", "/api/get_memory_review", {"user_id": "user-0", "limit": 100}),
    ("costs by memory", "/api/get_memory_costs", {"days_back": 30}),
    ("costs by day", "/api/get_memory_costs", {"days_back": 90, "group_by": "day"}),
)


async def _fill(place: Place, count: int, events: int) -> None:
    """Half of the memories are lessons of users, four tenths facts about them, the rest is shared."""
    place.migrate()
    store = Store(connect(place.settings))
    of_org, statements, random = store.of(LOCAL_ORG), Statements(), Random(count)
    each = count // 2 // USERS or 1
    refs: list[tuple[str, str, str]] = []
    for number in range(USERS):
        user, first = UserId(f"user-{number}"), number * each + 1
        made = list(memories.user_playbooks(user, each, statements, random, first))
        facts = list(memories.profiles(user, max(1, each * 4 // 5), statements, random))
        await memories.store(Kind.USER_PLAYBOOK, made, of_org)
        await memories.store(Kind.PROFILE, facts, of_org)
        refs += [("user_playbook", str(memory.id), user) for memory, _ in made]
        refs += [("profile", str(memory.id), user) for memory, _ in facts]
    shared = list(memories.agent_playbooks(count // 10, statements, random))
    await memories.store(Kind.AGENT_PLAYBOOK, shared, of_org)
    refs += [("agent_playbook", str(memory.id), "") for memory, _ in shared]
    await _count(of_org, refs, events, random)
    store.close()


async def _count(of_org: OrgStore, refs: list[tuple[str, str, str]], events: int, random: Random) -> None:
    """As counting would leave them, but written memory by memory: in the order of time they take a quarter hour."""
    at = now()
    await of_org.write(lambda tx: tx.usage.begin_metering(Millis(at - 2 * DAYS * DAY_MS)))
    random.shuffle(refs)
    places = sorted(int(len(refs) * random.random() ** 2) for _ in range(events))
    made = (_row(number, refs[place], at, random) for number, place in enumerate(places))
    while some := list(itertools.islice(made, ROWS_AT_ONCE)):
        await of_org.write(lambda tx, some=some: tx.scope.insert(usage_events, some))  # type: ignore[misc]
    citing = [{"agent_version": VERSION, "since": at - 2 * DAYS * DAY_MS}]
    await of_org.write(lambda tx: tx.scope.insert(citing_versions, citing))
    users = [f"user-{number}" for number in range(USERS)]
    named = [MemoryRef(Kind(kind), name) for kind, name, _ in refs]
    await of_org.write(lambda tx: tx.usage.counters.recount(named, users))


def _row(number: int, ref: tuple[str, str, str], at: int, random: Random) -> dict[str, Any]:
    """Some memories are shown far more often than others; searches and citations are among the events."""
    kind, memory, user = ref
    user = user or f"user-{random.randrange(USERS)}"
    when = at - int(random.random() * DAYS * DAY_MS)
    search_only = number % 20 == 0
    return {
        "event_id": f"e{number:07}",
        "user_id": user,
        "session_id": f"session-{user}-{random.randrange(200)}",
        "pipeline": "search",
        "entity_type": None if search_only else kind,
        "entity_id": None if search_only else memory,
        "event_name": SEARCHED if search_only else CITED if number % 30 == 1 else SHOWN,
        "event_category": "retrieval",
        "caller_type": "production_agent",
        "count_value": 1,
        "prompt_tokens": 20 + number % 60,
        "completion_tokens": 0,
        "billing_input_tokens": 0,
        "platform_llm": False,
        "platform_storage": False,
        "metadata_json": "{}",
        "agent_version": VERSION,
        "cited_at": when if number % 7 == 0 else None,
        "created_at": when,
        "updated_at": when,
    }


async def _watch(place: Place) -> float:
    """Seconds for the hourly look, when every memory is new to it."""
    app = App(place.settings)
    began = time.perf_counter()
    await duplicate_scan.scan(Hour(), await app.deps_for(LOCAL_ORG))
    seconds = time.perf_counter() - began
    app.local_models.close()
    app.store.close()
    return seconds


# --- what being metered costs a search --------------------------------------------------------------------------------


def overhead(run: Run, make_place: MakePlace) -> Iterator[Figure]:
    """Two servers beside each other, asked in turn: what the machine does meanwhile hits both alike."""
    with make_place(run) as place:
        asyncio.run(search.fill(place, run.many(10_000, 20)))
        with _serving(place, enabled=True) as metered, _serving(place, enabled=False) as unmetered:
            both = (metered, unmetered)
            for server in both:
                _block(server, search.WARM_UP, seed=0)
            count = run.many(BLOCK, 3)
            turns = [
                [_block(server, count, seed=2 * turn + which) for which, server in enumerate(both)]
                for turn in range(1, run.many(30, 1) + 1)
            ]
    yield _paid("what a search waits longer for being metered", [(one[0], other[0]) for one, other in turns], below(5))
    # Most of it after the search was answered, in batches; it is asked of both all the same.
    yield _paid("processor time with all the counting", [(one[1], other[1]) for one, other in turns], below(5))


def _paid(name: str, pairs: list[tuple[float, float]], target: Target) -> Figure:
    """Per cent more, in the middle of the pairs: each saw the same machine."""
    more = median([with_it / max(without, 1e-9) for with_it, without in pairs]) - 1
    middle = median([with_it for with_it, _ in pairs]), median([without for _, without in pairs])
    note = f"{middle[0]:.2f} ms against {middle[1]:.2f} ms a search; {len(pairs)} pairs of {BLOCK}"
    return Figure(name, more * 100, "%", target, note=note)


def _block(server: Server, count: int, seed: int) -> tuple[float, float]:
    """The middle search's milliseconds as its caller saw it, and processor milliseconds of the server per search."""
    before = server.cpu_seconds
    seen, _ = timed(server, search.questions(count, seed), 1)
    time.sleep(WRITTEN_SECONDS)
    return median(seen.latencies_ms), (server.cpu_seconds - before) * 1000 / count


def _serving(place: Place, *, enabled: bool) -> AbstractContextManager[Server]:
    return serving({**place.environ, "ACUMEN_METER__ENABLED": str(enabled).lower()})

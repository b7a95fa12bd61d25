"""Searching with questions that nobody has asked before, over HTTP and in process."""

import asyncio
import gc
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

import uvloop

from acumen.app import App
from acumen.cli.local.serve import GC_THRESHOLDS
from acumen.llm.embedding import load_embedder
from acumen.llm.local_models import LocalModels, Vector
from acumen.model.ids import LOCAL_ORG, Kind, UserId, now
from acumen.model.memories.playbook import Approval
from acumen.model.memories.search import Filter
from acumen.recall.search import Ask, search_memories
from acumen.storage.store import Store, connect
from bench import memories, places, texts
from bench.client import Request
from bench.figures import Figure, Run, Target, at_most, median, percentile
from bench.memories import Statements
from bench.places import MakePlace, Place
from bench.publish import timed
from bench.server import Server, serving

T = TypeVar("T")

USER = UserId("user-0")
TOP_K = 5
# The first question reads the rows into memory and is told apart; these make sure of code and caches.
WARM_UP = 20
# The whole org: so many users with so many memories each.
MANY_USERS, OF_EACH = 100, 1_000


# --- three kinds of memory of one user --------------------------------------------------------------------------


async def fill(place: Place, rows: int) -> None:
    """So many profiles and user playbooks of one user, and as many agent playbooks."""
    place.migrate()
    store = Store(connect(place.settings))
    of_org, statements, random = store.of(LOCAL_ORG), Statements(), Random(rows)
    await memories.store(Kind.PROFILE, memories.profiles(USER, rows, statements, random), of_org)
    await memories.store(Kind.USER_PLAYBOOK, memories.user_playbooks(USER, rows, statements, random), of_org)
    await memories.store(Kind.AGENT_PLAYBOOK, memories.agent_playbooks(rows, statements, random), of_org)
    store.close()


def questions(count: int, seed: int) -> list[Request]:
    random = Random(f"questions {seed}")
    asked = [f"{texts.question(random)} ({texts.ticket(random)})" for _ in range(count)]
    return [("/api/search", {"query": text, "user_id": USER, "top_k": TOP_K}) for text in asked]


def over_http(run: Run, make_place: MakePlace, *, targets: bool = True) -> Iterator[Figure]:
    for rows, target in ((run.many(1_000, 20), None), (run.many(10_000, 40), at_most(12) if targets else None)):
        with make_place(run) as place:
            began = time.perf_counter()
            asyncio.run(fill(place, rows))
            loaded = f"loaded in {time.perf_counter() - began:.1f} s"
            with serving(place.environ) as server:
                asked = questions(WARM_UP + run.many(400, 5), seed=rows)
                yield from _asked(server, asked, f"3 × {rows:,}", target, loaded)


def _asked(server: Server, sent: list[Request], name: str, target: Target | None, note: str) -> Iterator[Figure]:
    first, _ = timed(server, sent[:1], 1)
    timed(server, sent[1:WARM_UP], 1)
    seen, cpu_ms = timed(server, sent[WARM_UP:], 1)
    yield Figure(f"{name}, p50", median(seen.latencies_ms), "ms", target, cpu_ms, note)
    yield Figure(f"{name}, p95", percentile(seen.latencies_ms, 0.95), "ms")
    yield Figure(f"{name}, the first ever", first.latencies_ms[0], "ms", note="nothing is in memory yet")


# --- in process, without embedding ------------------------------------------------------------------------------


class Given(LocalModels):
    """Knows the vectors of its questions beforehand; all else of a search is as ever."""

    def __init__(self, asked: Sequence[str]) -> None:
        super().__init__()
        self._given: Mapping[str, Vector] = dict(zip(asked, load_embedder().embed(asked), strict=True))

    async def embed_query(self, text: str) -> Vector | None:
        return self._given[text]


def in_process(run: Run) -> Iterator[Figure]:
    """`recall.search` from a question and its vector to memories and context; the vector is made beforehand."""
    for rows, target in ((run.many(1_000, 20), None), (run.many(10_000, 40), at_most(4))):
        with places.sqlite(run) as place:
            asyncio.run(fill(place, rows))
            asked = [str(body["query"]) for _, body in questions(WARM_UP + run.many(400, 5), seed=rows + 1)]
            taken = as_served(_times(place, asked, _every_kind()))
        yield Figure(f"3 × {rows:,}, p50", median(taken), "ms", target)
        yield Figure(f"3 × {rows:,}, p95", percentile(taken, 0.95), "ms")


def as_served(work: Coroutine[Any, Any, T]) -> T:
    """In a process like that of `acumen serve`: on its event loop, and with Python looking for garbage as rarely."""
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(work)
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


async def _times(place: Place, asked: Sequence[str], filters: Mapping[Kind, Filter]) -> list[float]:
    """Milliseconds for each question, those of the warm-up left out."""
    app = App(place.settings)
    app.local_models = Given(asked)
    deps = await app.deps_for(LOCAL_ORG)
    taken = []
    for text in asked:
        began = time.perf_counter()
        await search_memories(Ask(text, TOP_K, filters, user_id=USER), deps)
        taken.append((time.perf_counter() - began) * 1000)
    app.local_models.close()
    app.store.close()
    return taken[WARM_UP:]


def _every_kind() -> dict[Kind, Filter]:
    """As a search for one user is asked over HTTP."""
    return {
        Kind.PROFILE: Filter(user_id=USER, unexpired_at=now()),
        Kind.USER_PLAYBOOK: Filter(user_id=USER),
        Kind.AGENT_PLAYBOOK: Filter(approvals=(Approval.APPROVED, Approval.PENDING)),
    }


# --- a whole org ------------------------------------------------------------------------------------------------


async def fill_org(place: Place, users: int, of_each: int) -> None:
    place.migrate()
    store = Store(connect(place.settings))
    of_org, statements, random = store.of(LOCAL_ORG), Statements(), Random(users)
    for number in range(users):
        user, first = UserId(f"user-{number}"), number * of_each + 1
        made = memories.user_playbooks(user, of_each, statements, random, first)
        await memories.store(Kind.USER_PLAYBOOK, made, of_org)
    store.close()


def org_wide(run: Run, make_place: MakePlace, *, targets: bool = True) -> Iterator[Figure]:
    """User playbooks of many users: one user's, another user with each question, and all of them at once."""
    users, of_each = run.many(MANY_USERS, 3), run.many(OF_EACH, 20)
    name = f"{users * of_each:,}"
    with make_place(run) as place:
        began = time.perf_counter()
        asyncio.run(fill_org(place, users, of_each))
        loaded = f"loaded in {time.perf_counter() - began:.1f} s"
        with serving(place.environ) as server:
            count = WARM_UP + run.many(200, 5)
            one = _of_playbooks(count, seed=1, user=USER)
            yield from _asked(server, one, f"one user's {of_each:,} of {name}", None, loaded)
            newcomers = _of_newcomers(users)
            seen, cpu_ms = timed(server, newcomers, 1)
            note = "each user's first question: reads the rows"
            yield Figure(f"another user's {of_each:,}, p50", median(seen.latencies_ms), "ms", None, cpu_ms, note)
            everyone = _of_playbooks(count, seed=2, user=None)
            yield from _asked(server, everyone, f"all {name}", at_most(20) if targets else None, "")
            yield Figure("memory with all held", server.rss_megabytes, "MB")


def _of_playbooks(count: int, seed: int, user: str | None) -> list[Request]:
    asked = [str(body["query"]) for _, body in questions(count, seed)]
    return [("/api/search_user_playbooks", {"query": text, "user_id": user, "top_k": TOP_K}) for text in asked]


def _of_newcomers(users: int) -> list[Request]:
    asked = _of_playbooks(users, seed=3, user=None)[1:]
    return [(path, {**body, "user_id": f"user-{number}"}) for number, (path, body) in enumerate(asked, 1)]

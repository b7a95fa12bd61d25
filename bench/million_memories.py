"""Searches in an org of a million memories, as ratios to one of ten thousand in the same run."""

from collections.abc import Iterator, Sequence
from random import Random

from msgspec import Struct

from acumen.model.ids import LOCAL_ORG, Kind
from acumen.storage.memories.candidates import engines
from acumen.storage.store import connect
from bench import texts
from bench.client import Request
from bench.figures import Figure, Run, at_most, median, percentile
from bench.many_memories import Owners, Parts, fill, make_org
from bench.memories import Statements
from bench.places import MakePlace, Place
from bench.publish import timed
from bench.server import Server, serving

FEW, QUICK_FEW = 10_000, 40
MANY, QUICK_MANY = 1_000_000, 80
QUESTIONS, QUICK_QUESTIONS = 100, 4
WARM_UP = 20
TOP_K = 5
# One user has a tenth of all memories, the others a thousand each.
LARGE_USER, OTHER_USER = "user-0", "user-7"


class Times(Struct, frozen=True):
    """In milliseconds; `start` and `rss` in seconds and megabytes."""

    start: float
    first: float
    org: Sequence[float]
    after_writes: Sequence[float]
    user_first: float
    user: Sequence[float]
    other_first: float
    filtered: Sequence[float]
    rss: float


def measure(run: Run, make_place: MakePlace) -> Iterator[Figure]:
    questions = run.many(QUESTIONS, QUICK_QUESTIONS)
    with make_place(run) as place:
        load(place, run.many(FEW, QUICK_FEW))
        few = times(place, questions)
    with make_place(run) as place:
        load(place, run.many(MANY, QUICK_MANY))
        many = times(place, questions)
    yield from figures(few, many)


def load(place: Place, count: int) -> None:
    place.migrate()
    statements = Statements()
    database = connect(place.settings)
    make_org(database, LOCAL_ORG)
    parts = Parts.of(statements.texts, statements.vectors)
    fill(database, LOCAL_ORG, Kind.USER_PLAYBOOK, parts, count, Owners(count // 10))
    engines.install(database, lambda _: None)
    database.close()


def times(place: Place, count: int) -> Times:
    with serving(place.environ) as server:
        first = _ask(server, _org_wide(1, seed=1))[0]
        _ask(server, _org_wide(WARM_UP, seed=2))
        org = _ask(server, _org_wide(count, seed=3))
        return Times(
            start=server.healthy_after,
            first=first,
            org=org,
            after_writes=_after_writes(server, count),
            user_first=_ask(server, _of_user(1, LARGE_USER, seed=4))[0],
            user=_ask(server, _of_user(count, LARGE_USER, seed=5)),
            other_first=_ask(server, _of_user(1, OTHER_USER, seed=6))[0],
            filtered=_ask(server, [(path, {**body, "agent_version": "v3"}) for path, body in _org_wide(count, seed=7)]),
            rss=server.rss_megabytes,
        )


def figures(few: Times, many: Times) -> Iterator[Figure]:
    yield Figure("start", many.start, "s", at_most(2))
    yield Figure("first search of the org", many.first / 1000, "s", at_most(2))
    yield Figure("org-wide, the smaller org, p50", median(few.org), "ms")
    yield Figure("org-wide, p50", median(many.org), "ms")
    yield Figure("org-wide, p95", percentile(many.org, 0.95), "ms")
    yield Figure("org-wide, of the smaller org", median(many.org) / median(few.org), "×", at_most(3))
    yield Figure("each search after a write, of org-wide", median(many.after_writes) / median(many.org), "×")
    yield Figure("with a filter that 1 % fits, p50", median(many.filtered), "ms")
    yield Figure("first search of a user with a tenth of it", many.user_first / 1000, "s", at_most(1))
    yield Figure("that user, p50", median(many.user), "ms")
    yield Figure("first search of a user with 1,000", many.other_first, "ms")
    yield Figure("memory after all this", many.rss, "MB", at_most(400))


def _ask(server: Server, sent: Sequence[Request]) -> list[float]:
    seen, _ = timed(server, list(sent), 1)
    return seen.latencies_ms


def _after_writes(server: Server, count: int) -> list[float]:
    """A lesson is added before each question."""
    asked = _org_wide(count, seed=8)
    sent = [request for number, question in enumerate(asked) for request in (_added(number), question)]
    return _ask(server, sent)[1::2]


def _added(number: int) -> Request:
    lesson = {
        "user_id": OTHER_USER,
        "content": f"Check invoice {number} twice",
        "agent_version": "v1",
        "request_id": "",
    }
    return "/api/add_user_playbook", {"user_playbooks": [lesson]}


def _org_wide(count: int, seed: int) -> list[Request]:
    return _of_user(count, None, seed)


def _of_user(count: int, user: str | None, seed: int) -> list[Request]:
    random = Random(seed)
    asked = [texts.question(random) for _ in range(count)]
    return [("/api/search_user_playbooks", {"query": text, "user_id": user, "top_k": TOP_K}) for text in asked]

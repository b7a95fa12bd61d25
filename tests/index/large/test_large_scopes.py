"""In a large scope the database's candidates hold the best rows, whatever they are filtered by."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from acumen.index.partition import RankQuery
from acumen.index.search_index import SearchIndex
from acumen.llm.embedding import DIMS
from acumen.llm.local_models import LocalModels
from acumen.model.ids import Kind, OrgId, UserId, now
from acumen.model.memories.base import Status
from acumen.model.memories.search import Filter, Found
from acumen.model.times import DAY_MS
from acumen.settings import Settings
from acumen.storage.engine import migrate
from acumen.storage.memories.candidates import engines
from acumen.storage.store import OrgStore, Store, Tx, connect
from bench import texts
from bench.many_memories import Owners, Parts, fill, make_org
from tests import postgres as pg

ORG = OrgId("acme")
ROWS = {Kind.USER_PLAYBOOK: 48_000, Kind.AGENT_PLAYBOOK: 12_000}
QUERIES, TOP = 12, 10
# Vectors in memory have eight bits a number: rows whose scores are this close may change places.
ROUNDED = 0.005
SHAPES = {
    "org": Filter(),
    "user": Filter(user_id=UserId("user-0")),
    "small user": Filter(user_id=UserId("user-7")),
    "status": Filter(statuses=(Status.ARCHIVED,)),
    "any status": Filter(statuses=None),
    "usual tag": Filter(tags=("usual",)),
    "rare tag": Filter(tags=("rare",)),
    "agent version": Filter(agent_version="v2"),
    "rare agent version": Filter(agent_version="v3"),
    "nine days": Filter(since=now() - 9 * DAY_MS),
    "one day": Filter(since=now() - DAY_MS),
    "rare tag of a user": Filter(user_id=UserId("user-0"), tags=("rare",), agent_version="v1"),
}


@pytest.fixture(scope="module")
def parts() -> Parts:
    random = np.random.default_rng(1)
    vectors = random.standard_normal((400, DIMS)).astype(np.float32)
    return Parts.of([texts.statement(texts.Random(number)) for number in range(400)], vectors)


@pytest.fixture(scope="module")
def large(postgres: pg.Server, parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OrgStore]:
    """60,000 memories that were there before the index was made. Takes half a minute, therefore once."""
    url = postgres.create()
    store = Store(connect(Settings(data=tmp_path_factory.mktemp("large"), database_url=url)))
    migrate.migrate(store.database)
    make_org(store.database, ORG)
    for kind, count in ROWS.items():
        fill(store.database, ORG, kind, parts, count, Owners(count // 2))
    engines.install(store.database, lambda _: None)
    yield store.of(ORG)
    store.close()
    postgres.drop(url)


@pytest.fixture(scope="module")
def queries(parts: Parts) -> Sequence[RankQuery]:
    """Near one statement, in words of it and of another one."""
    random, made = np.random.default_rng(2), []
    for first, second in random.integers(0, len(parts.texts), (QUERIES, 2)).tolist():
        vector = parts.vectors[first] / np.linalg.norm(parts.vectors[first]) + random.standard_normal(DIMS) * 0.03
        said = [*parts.texts[first].split()[:5], *parts.texts[second].split()[-3:]]
        made.append(RankQuery.of(" ".join(said), vector.astype(np.float32)))
    return made


@pytest.fixture(scope="module")
def exact() -> SearchIndex:
    return SearchIndex(LocalModels(enabled=False), 2**30, 10**9)


@pytest.fixture(scope="module")
def from_database() -> SearchIndex:
    return SearchIndex(LocalModels(enabled=False), 2**30, 100)


async def rank(
    index: SearchIndex, store: OrgStore, kind: Kind, queries: Sequence[RankQuery], criteria: Filter
) -> list[Sequence[Found]]:
    def read(tx: Tx) -> list[Sequence[Found]]:
        return [ranked.matches for ranked in index.rank(tx, kind, queries, TOP, criteria, None)]

    return await store.read(read)


def recall(exact: Sequence[Sequence[Found]], ranked: Sequence[Sequence[Found]]) -> float:
    hits = 0
    for expected, actual in zip(exact, ranked, strict=True):
        hits += sum(match.score >= expected[-1].score - ROUNDED for match in actual[: len(expected)])
    return hits / sum(map(len, exact))


@pytest.mark.parametrize(
    "kind, shape",
    [(Kind.USER_PLAYBOOK, shape) for shape in SHAPES] + [(Kind.AGENT_PLAYBOOK, shape) for shape in ("org", "rare tag")],
)
async def test_the_best_rows_are_found_with_each_shape_of_filter(
    kind: Kind,
    shape: str,
    large: OrgStore,
    queries: Sequence[RankQuery],
    exact: SearchIndex,
    from_database: SearchIndex,
):
    expected = await rank(exact, large, kind, queries, SHAPES[shape])

    ranked = await rank(from_database, large, kind, queries, SHAPES[shape])

    assert not await large.read(lambda tx: from_database.cache.statistics.scopes)  # nothing was read into memory
    assert [len(matches) for matches in ranked] == [len(matches) for matches in expected]
    assert recall(expected, ranked) >= 0.95

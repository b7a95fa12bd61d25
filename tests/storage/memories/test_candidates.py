"""The database finds the candidates of a scope: what is committed, what fits, and nothing that is gone."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from acumen.model.ids import Kind, MemoryRef
from acumen.model.memories.base import Status
from acumen.model.memories.search import Filter, SearchRow
from acumen.settings import Settings
from acumen.storage.engine import migrate
from acumen.storage.memories.candidates import engines, postgres_schema
from acumen.storage.memories.candidates.engine import CandidateQuery, QueryTerm, SearchScope
from acumen.storage.store import OrgStore, Store, Tx, connect
from tests.world import ADA, JUST_BECAUSE, ORG, Template, a_profile

only_postgres = pytest.mark.parametrize("database", ["postgres"], indirect=True, scope="session")
pytestmark = only_postgres
MODEL = "model-a"
DIMS = 384
MINE = SearchScope(Kind.PROFILE, ADA)
ALL = SearchScope(Kind.PROFILE, None)


def direction(number: int) -> np.ndarray:
    return np.random.default_rng(number).standard_normal(DIMS).astype(np.float32)


def row(user: str, words: str, *vectors: np.ndarray, model: str = MODEL) -> SearchRow:
    stored = b"".join(vector.astype(np.float16).tobytes() for vector in vectors)
    return SearchRow(Kind.PROFILE, "", user, words, "w2", stored or None, model)


async def add(store: OrgStore, words: str, *vectors: np.ndarray, user: str = ADA, **more) -> str:
    memory = a_profile(words, user=user, **more)
    ref = await store.write(lambda tx: tx.memories.add(Kind.PROFILE, memory, row(user, words, *vectors), JUST_BECAUSE))
    return ref.id


async def find(
    store: OrgStore, words: Sequence[str], vector: np.ndarray | None, scope: SearchScope, limit: int, **criteria
) -> list[str]:
    def read(tx: Tx) -> list[str]:
        candidates = tx.candidates(scope)
        assert candidates is not None
        terms = [QueryTerm(word, 1, 1.0) for word in words]
        found = candidates.find(Filter(**criteria), CandidateQuery(100, terms, vector, MODEL, limit))
        return [row.entity_id for row in found.rows]

    return await store.read(read)


async def by_vector(store: OrgStore, vector: np.ndarray, limit: int, **criteria) -> list[str]:
    return await find(store, (), vector, MINE, limit, **criteria)


async def by_words(store: OrgStore, *words: str, scope: SearchScope = MINE, limit: int = 10, **criteria) -> list[str]:
    return await find(store, words, None, scope, limit, **criteria)


async def test_the_closest_are_found_and_a_row_counts_by_its_closest_passage(org_store: OrgStore):
    near, far, away = direction(1) + 0.3 * direction(2), direction(3), -direction(1)
    ids = [await add(org_store, "a row", *vectors) for vectors in ([far], [away, near], [away], [])]

    assert await by_vector(org_store, direction(1), 1) == [ids[1]]
    assert await by_vector(org_store, direction(1), 2) == [ids[0], ids[1]]


async def test_words_find_rows_of_their_scope_only(org_store: OrgStore):
    mine = await add(org_store, "zebra lunch")
    bobs = await add(org_store, "zebra", user="bob")
    odd = await add(org_store, "it's 100% o'clock \\ zoo")

    assert await by_words(org_store, "zebra", limit=1) == [mine]
    assert await by_words(org_store, "zebra", scope=ALL, limit=2) == [mine, bobs]
    assert await by_words(org_store, "it's", "\\", "100%", limit=1) == [odd]


async def test_a_filter_is_applied_before_the_limit(org_store: OrgStore):
    for _ in range(30):
        await add(org_store, "zebra", direction(1), status=Status.ARCHIVED)
    current = await add(org_store, "zebra", direction(2))

    assert await by_words(org_store, "zebra", limit=1) == [current]
    assert await by_vector(org_store, direction(1), 1) == [current]


async def test_what_was_changed_or_deleted_is_not_found_by_what_it_said(org_store: OrgStore):
    changed = await add(org_store, "zebra", direction(1))
    deleted = await add(org_store, "zebra", direction(1))
    other = await add(org_store, "zebra", -direction(1))

    def change(tx: Tx) -> None:
        ref = MemoryRef(Kind.PROFILE, changed)
        before = tx.profiles.get(changed)
        assert before is not None
        tx.memories.update(ref, before, replace(before, content="lunch"), row(ADA, "lunch"), JUST_BECAUSE)
        tx.memories.delete(Kind.PROFILE, [deleted], JUST_BECAUSE)

    await org_store.write(change)

    assert await by_words(org_store, "zebra", limit=1) == [other]
    assert await by_words(org_store, "lunch", limit=1) == [changed]
    assert await by_vector(org_store, direction(1), 1) == [other]


async def test_vectors_of_another_model_and_without_a_direction_are_not_compared(org_store: OrgStore):
    await add(org_store, "nought", np.zeros(DIMS))
    await add(org_store, "endless", np.full(DIMS, np.inf))
    made = row(ADA, "of another model", direction(1), model="model-b")
    await org_store.write(lambda tx: tx.memories.add(Kind.PROFILE, a_profile("other"), made, JUST_BECAUSE))
    compared = await add(org_store, "far", -direction(1))

    assert await by_vector(org_store, direction(1), 1) == [compared]


async def test_a_stored_vector_is_compared_as_it_was_written(org_store: OrgStore):
    """Postgres decodes the bytes itself."""
    vector = np.concatenate([[-1e-7, 6e-8, 6.1e-5, 1.0, -0.5, 0.0], direction(4)[6:]]).astype(np.float16)
    await add(org_store, "any", vector)

    def read(tx: Tx) -> str:
        query = "SELECT embedding FROM memory_vectors WHERE org_id = %s"
        return str(tx.scope.conn.exec_driver_sql(query, (tx.scope.org,)).scalar_one())

    stored = (await org_store.read(read)).strip("[]").split(",")
    assert np.array_equal(np.array(stored, np.float16), vector)


# --- creating the index ---------------------------------------------------------------------------------------------


@pytest.fixture
def bare(template: Template, tmp_path: Path) -> Iterator[Store]:
    """A database of a server that knew nothing of large scopes."""
    url = template.postgres.create()
    opened = Store(connect(Settings(data=tmp_path, database_url=url)))
    migrate.migrate(opened.database)
    yield opened
    opened.close()
    template.postgres.drop(url)


async def advice(store: Store) -> str | None:
    return await store.read(lambda conn: engines.advice(store.database, conn))


async def test_rows_from_before_the_index_are_copied_and_until_then_nothing_is_searched_in_it(bare: Store):
    store = bare.of(ORG)
    await store.write(lambda tx: tx.orgs.ensure())
    early = await add(store, "zebra", direction(1))
    gone = await add(store, "zebra", direction(1))
    await store.write(lambda tx: tx.memories.delete(Kind.PROFILE, [gone], JUST_BECAUSE))
    before = await advice(bare), await store.read(lambda tx: tx.candidates(MINE))
    progress: list[str] = []

    engines.install(bare.database, progress.append)
    late = await add(store, "zebra", direction(2))

    assert before == (postgres_schema.NOT_CREATED, None)
    assert await advice(bare) is None
    assert sorted(await by_words(store, "zebra")) == sorted([early, late])
    assert await by_vector(store, direction(1), 1) == [early]
    assert any("2 rows of profile" in line for line in progress)


async def test_installing_goes_on_where_it_was_interrupted(bare: Store):
    store = bare.of(ORG)
    await store.write(lambda tx: tx.orgs.ensure())
    early = await add(store, "zebra", direction(1))
    engines.install(bare.database, lambda _: None)
    with bare.database.engine().begin() as conn:
        conn.exec_driver_sql("DELETE FROM memory_words")
        conn.exec_driver_sql(f"INSERT INTO memory_fills VALUES ('{ORG}', 'profile', '')")
        conn.exec_driver_sql("DROP INDEX ix_memory_vectors_hnsw")
    interrupted = await advice(bare)

    engines.install(bare.database, lambda _: None)

    assert interrupted == postgres_schema.FILLING
    assert await advice(bare) is None
    assert await by_words(store, "zebra") == [early]


async def test_a_server_without_pgvector_says_what_to_do(bare: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(postgres_schema, "OLDEST", (99,))  # as if the one it has were too old

    engines.install(bare.database, lambda _: None)

    assert await advice(bare) == postgres_schema.MISSING

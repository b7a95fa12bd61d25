"""A large scope on SQLite is answered from files as it would be from memory, whatever happens to the files."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
import sqlalchemy as sa
from msgspec.structs import replace

from acumen.index.documents import ANALYSER
from acumen.index.live_indexes import MemoryIndex, Ranked
from acumen.index.partition import RankQuery
from acumen.index.search_index import SearchIndex
from acumen.index.segments.segment_builder import SegmentOutdated, build
from acumen.index.segments.segment_files import ARRAYS, UNFINISHED
from acumen.index.segments.segments import Segments
from acumen.llm.embedding import DIMS, NAME
from acumen.llm.local_models import LocalModels
from acumen.model.ids import Kind, MemoryRef, Millis, PlaybookId, UserId, now
from acumen.model.memories.base import Status
from acumen.model.memories.playbook import Lesson, UserPlaybook
from acumen.model.memories.search import Filter, RankingMode, SearchRow
from acumen.model.times import DAY_MS
from acumen.storage.store import OrgStore, Store, Tx
from tests.world import JUST_BECAUSE, ORG

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True, scope="session")

KIND = Kind.USER_PLAYBOOK
SMALL = 300
AT = now()


class World:
    """Lessons of one org, and what searches them."""

    def __init__(self, store: Store, folder: Path, *, changes: int = 10_000, cache_bytes: int = 64 << 20) -> None:
        self.org: OrgStore = store.of(ORG)
        self.segments = Segments(folder, store, NAME, changes)
        self.index = SearchIndex(LocalModels(enabled=False), cache_bytes, 100, self.segments)
        self.random = np.random.default_rng(3)
        self.centres = self.random.standard_normal((200, DIMS)).astype(np.float32)
        self.words = np.array([f"word{number}" for number in range(2000)])

    async def fill(self, count: int) -> None:
        await self.org.write(lambda tx: tx.orgs.ensure())
        await self.org.write(lambda tx: self._insert(tx, count))

    def _insert(self, tx: Tx, count: int) -> None:
        places = np.minimum(self.random.zipf(1.3, (count, 12)) - 1, len(self.words) - 1)
        meanings = self.centres[self.random.integers(0, len(self.centres), count)]
        vectors = (meanings + 0.7 * self.random.standard_normal((count, DIMS))).astype(np.float16)
        lessons = [tx.scope.stamp(self._lesson_row(tx, number)) for number in range(1, count + 1)]
        tx.scope.conn.execute(sa.insert(tx.user_playbooks.mapping.table), lessons)
        tx.search_rows.upsert(
            [
                row(number, user_of(number, count), " ".join(self.words[places[number - 1]]), vectors[number - 1])
                for number in range(1, count + 1)
            ]
        )

    def _lesson_row(self, tx: Tx, number: int) -> dict[str, Any]:
        changed = Millis(AT - number * 60_000)
        row = tx.user_playbooks.mapping.to_row(lesson(number, f"lesson {number}"))
        tags = ["rare"] if number % 100 == 0 else ["usual"] if number % 3 == 0 else None
        status = "archived" if number % 10 == 0 else "current"
        version = "3" if number % 80 == 0 else "2" if number % 5 == 0 else "1"
        owner = user_of(number, 60_000)
        return {
            **row, "user_id": owner, "tags": tags, "status": status, "agent_version": version,
            "created_at": changed, "updated_at": changed,
        }  # fmt: skip

    def query(self, mode: RankingMode = RankingMode.HYBRID) -> RankQuery:
        words = self.words[np.minimum(self.random.zipf(1.2, 5) - 1, len(self.words) - 1)]
        vector = self.centres[self.random.integers(len(self.centres))] + 0.7 * self.random.standard_normal(DIMS)
        return RankQuery(list(words), vector.astype(np.float32), mode)

    async def rank(self, query: RankQuery, criteria: Filter | None = None, limit: int = 10) -> Ranked:
        (ranked,) = await self.org.read(
            lambda tx: self.index.rank(tx, KIND, [query], limit, criteria or Filter(), None)
        )
        return ranked

    async def found(self, word: str, criteria: Filter | None = None) -> set[str]:
        ranked = await self.rank(RankQuery([word], None, RankingMode.FTS), criteria, 1000)
        return {match.entity_id for match in ranked.matches}

    async def build(self) -> None:
        """What a search starts in the background."""
        await self.found("anything")
        await asyncio.to_thread(self.segments.wait)
        assert self.files

    @property
    def files(self) -> list[Path]:
        return list(self.segments._folder.glob(f"*/*/{ARRAYS}"))


def lesson(number: int, content: str) -> UserPlaybook:
    return UserPlaybook(PlaybookId(number), UserId("user-0"), Lesson(content), Millis(AT), Millis(AT))


def user_of(number: int, count: int) -> str:
    """The first one has a third of all."""
    return "user-0" if number <= count // 3 else f"user-{number % 50}"


def row(number: int, user: str, words: str, vector: Any = None) -> SearchRow:
    stored = None if vector is None else np.asarray(vector, np.float16).tobytes()
    return SearchRow(KIND, str(number) if number else "", user, words, ANALYSER, stored, NAME if stored else "")


async def add(world: World, words: str, vector: Any = None, **more: Any) -> str:
    memory = replace(lesson(0, words), **more)
    made = row(0, str(memory.user_id), words, vector)
    return (await world.org.write(lambda tx: tx.memories.add(KIND, memory, made, JUST_BECAUSE))).id


@pytest_asyncio.fixture(loop_scope="session")
async def world(store: Store, tmp_path: Path) -> AsyncIterator[World]:
    made = World(store, tmp_path / "search")
    await made.fill(SMALL)
    yield made
    made.segments.close()


# --- as good as memory ---------------------------------------------------------------------------------------------


SHAPES: dict[str, Filter] = {
    "org": Filter(statuses=None),
    "user": Filter(user_id=UserId("user-0")),
    "small user": Filter(user_id=UserId("user-7")),
    "status": Filter(statuses=(Status.ARCHIVED,)),
    "tag of a third": Filter(tags=("usual",)),
    "tag of a hundredth": Filter(tags=("rare",)),
    "agent version": Filter(agent_version="3"),
    "time": Filter(since=Millis(AT - 3 * DAY_MS), until=Millis(AT - DAY_MS)),
    "user, tag and time": Filter(user_id=UserId("user-0"), tags=("usual",), since=Millis(AT - 5 * DAY_MS)),
    "none": Filter(source="nowhere"),
}


async def test_every_filter_finds_what_an_exact_search_finds(store: Store, tmp_path: Path):
    world = World(store, tmp_path / "search")
    await world.fill(60_000)
    await world.build()
    queries = [world.query(mode) for mode in RankingMode for _ in range(4)]
    exact: dict[Any, MemoryIndex] = {}

    def compare(tx: Tx, criteria: Filter) -> tuple[float, bool]:
        index = exact.setdefault(criteria.user_id, MemoryIndex(KIND, criteria.user_id))
        index.refresh(tx, NAME)
        assert world.segments.current(tx, KIND) is not None
        recalls, as_many = [], True
        for query in queries:
            expected = {match.entity_id: match.score for match in index.rank(tx, query, 10, criteria).matches}
            (ranked,) = world.index.rank(tx, KIND, [query], 10, criteria, None)
            scores = {match.entity_id: match.score for match in ranked.matches}
            common = expected.keys() & scores.keys()
            assert {key: scores[key] for key in common} == pytest.approx(
                {key: expected[key] for key in common}, abs=1e-3
            )
            recalls.append(len(common) / len(expected) if expected else 1.0)
            as_many &= len(scores) == len(expected)
        return float(np.mean(recalls)), as_many

    compared = {name: await world.org.read(lambda tx, c=criteria: compare(tx, c)) for name, criteria in SHAPES.items()}

    world.segments.close()
    assert {name: as_many for name, (_, as_many) in compared.items()} == dict.fromkeys(SHAPES, True)
    assert {name: recall for name, (recall, _) in compared.items() if recall < 0.95} == {}


async def test_a_user_who_asks_for_the_first_time_is_answered_as_from_memory(world: World):
    await world.build()
    queries, mine = [world.query() for _ in range(8)], Filter(user_id=UserId("user-7"))

    def compare(tx: Tx) -> tuple[list[Any], list[Any], list[bool]]:
        held, answers = [], []
        for query in queries:
            answers.append(world.index.rank(tx, KIND, [query], 5, mine, None)[0].matches)
            held.append(world.index.cache.holds(tx, KIND, mine.user_id))
        memory = MemoryIndex(KIND, mine.user_id)
        memory.refresh(tx, NAME)
        return answers, [memory.rank(tx, query, 5, mine).matches for query in queries], held

    answers, expected, held = await world.org.read(compare)

    assert [[(match.entity_id, match.score) for match in matches] for matches in answers] == [
        [(match.entity_id, pytest.approx(match.score, abs=1e-3)) for match in matches] for matches in expected
    ]
    assert held == [False] * 4 + [True] * 4


# --- in step with the rows -----------------------------------------------------------------------------------------


async def test_what_changes_after_the_build_is_found_as_it_is_now(world: World):
    changed, deleted, archived = [await add(world, "zebra") for _ in range(3)]
    await world.build()
    before = await world.found("zebra")
    new = await add(world, "zebra")

    def change(tx: Tx) -> None:
        memory = tx.user_playbooks.get(changed)
        assert memory is not None
        made = row(0, "user-0", "giraffe")
        tx.memories.update(MemoryRef(KIND, changed), memory, replace(memory), made, JUST_BECAUSE)
        tx.memories.delete(KIND, [deleted], JUST_BECAUSE)
        other = tx.user_playbooks.get(archived)
        assert other is not None
        tx.memories.update(MemoryRef(KIND, archived), other, replace(other, status=Status.ARCHIVED), None, JUST_BECAUSE)

    await world.org.write(change)

    assert before == {changed, deleted, archived}
    assert await world.found("zebra") == {new}
    assert await world.found("giraffe") == {changed}
    assert await world.found("zebra", Filter(statuses=(Status.ARCHIVED,))) == {archived}


async def test_a_single_sign_is_found_within_a_pair(world: World):
    tea = await add(world, "喝绿 绿茶")
    await world.build()
    later = await add(world, "红茶")

    assert await world.found("茶") == {tea, later}


async def test_among_equals_the_newest_comes_first(world: World):
    ids = [await add(world, "same words here", user_id=f"user-{9 - number}") for number in range(4)]
    await world.build()
    ids.append(await add(world, "same words here", user_id="user-3"))

    ranked = await world.rank(RankQuery(["same", "words"], None, RankingMode.FTS), limit=3)

    assert [match.entity_id for match in ranked.matches] == ids[:1:-1]


async def test_what_was_erased_leaves_the_disk_and_is_not_found(world: World):
    erased = await add(world, "zebra", user_id="user-1")
    kept = await add(world, "zebra", user_id="user-2")
    await world.build()
    before = await world.found("zebra")

    def erase(tx: Tx) -> None:
        tx.user_playbooks.delete([erased])
        tx.search_rows.delete_user("user-1")

    await world.org.write(erase)
    world.index.erase(ORG)
    left = world.files
    after = await world.found("zebra")
    await asyncio.to_thread(world.segments.wait)

    assert (before, left, after) == ({erased, kept}, [], {kept})
    assert len(world.files) == 1
    assert await world.found("zebra") == {kept}


async def test_a_segment_that_is_far_behind_is_built_again(store: Store, tmp_path: Path):
    world = World(store, tmp_path / "search", changes=20)
    await world.fill(SMALL)
    await world.build()
    (first,) = world.files
    added = {await add(world, "zebra") for _ in range(30)}

    assert await world.found("zebra") == added
    await asyncio.to_thread(world.segments.wait)

    world.segments.close()
    assert len(world.files) == 1
    assert first not in world.files
    assert await world.found("zebra") == added


# --- whatever happens to the files ---------------------------------------------------------------------------------


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def tear_header(file: Path) -> None:
    header = file.parent / "header.json"
    header.write_bytes(header.read_bytes()[:50])


def lose(file: Path) -> None:
    file.unlink()


def another_format(file: Path) -> None:
    header = file.parent / "header.json"
    header.write_text(header.read_text().replace('"format":1', '"format":99'))


@pytest.mark.parametrize("damage", [truncate, tear_header, lose, another_format])
async def test_damaged_files_are_built_again(world: World, store: Store, damage: Callable[[Path], None]):
    zebra = await add(world, "zebra")
    await world.build()
    (file,) = world.files
    damage(file)

    restarted = World(store, world.segments._folder)

    assert await restarted.found("zebra") == {zebra}
    await restarted.build()
    restarted.segments.close()
    assert file not in restarted.files
    assert await restarted.found("zebra") == {zebra}


async def test_after_a_restart_the_files_are_used_as_they_are(world: World, store: Store):
    await world.build()
    before = world.files
    restarted = World(store, world.segments._folder)

    def current(tx: Tx) -> Path | None:
        segment = restarted.segments.current(tx, KIND)
        return None if segment is None else segment.path

    assert await restarted.org.read(current) == before[0].parent
    assert restarted.files == before


async def test_after_a_restart_files_are_used_though_their_newest_rows_have_changed(world: World, store: Store):
    ids = [await add(world, "zebra") for _ in range(12)]
    await world.build()
    before = world.files

    def change(tx: Tx) -> None:
        for memory_id in ids:
            memory = tx.user_playbooks.get(memory_id)
            assert memory is not None
            tx.memories.update(MemoryRef(KIND, memory_id), memory, memory, row(0, "user-0", "giraffe"), JUST_BECAUSE)

    await world.org.write(change)
    restarted = World(store, world.segments._folder)

    assert await restarted.found("giraffe") == set(ids)
    assert await restarted.found("zebra") == set()
    assert restarted.files == before


async def test_files_of_another_database_are_not_used(world: World, store: Store):
    """As after a backup was restored: numbers of changes are given a second time."""
    lost = await add(world, "zebra")
    await world.build()

    def go_back(tx: Tx) -> None:
        tx.scope.delete(tx.user_playbooks.mapping.table)
        tx.search_rows._scope.conn.execute(sa.text("DELETE FROM search_rows"))

    await world.org.write(go_back)
    kept = [await add(world, "zebra") for _ in range(SMALL)]
    restarted = World(store, world.segments._folder)

    assert lost not in await restarted.found("zebra")
    await restarted.build()
    restarted.segments.close()
    assert await restarted.found("zebra") == set(kept)


async def test_a_build_that_is_stopped_leaves_nothing(world: World, tmp_path: Path):
    with pytest.raises(SegmentOutdated):
        await build(world.org, KIND, tmp_path / "stopped", NAME, lambda: True)

    assert list((tmp_path / "stopped").iterdir()) == []


async def test_what_a_killed_process_left_unfinished_is_removed(world: World, store: Store):
    await world.build()
    left = world.files[0].parent.parent / f"0123{UNFINISHED}"
    left.mkdir()
    truncate(world.files[0])
    restarted = World(store, world.segments._folder)
    await restarted.build()
    restarted.segments.close()

    assert not left.exists()


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where no folder can be made."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        yield


async def test_without_room_on_disk_scopes_are_searched_in_memory(store: Store, tmp_path: Path, full_disk: None):
    world = World(store, tmp_path / "search", cache_bytes=100_000)  # too few for the scope: it is built at once
    await world.fill(SMALL)
    zebra = await add(world, "zebra")

    assert await world.found("zebra") == {zebra}

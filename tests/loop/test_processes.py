"""Several processes on one database: what one changes holds for the others, and nobody does another's work again."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa

from acumen.learn import pipeline
from acumen.learn.extract import extraction
from acumen.model.conversation import Window
from acumen.model.ids import Kind, Millis
from acumen.model.jobs.job import JobState
from tests.world import Clock, Org, Start, local, said

QUICK = {"poll_seconds": 0.02, "workers": 2}
# Long enough for a second worker to have begun, were nothing to keep it from doing so.
A_WHILE = 0.3


@dataclass
class Reading:
    """Every window that was read for profiles, in whichever process; each waits until it may go on."""

    windows: list[list[str]] = field(default_factory=list)
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    seen = Reading()

    async def extract(window: Window, extractors: Any, known: Any, deps: Any) -> Any:
        if Kind.PROFILE in extractors:
            seen.windows.append([turn.text for turn in window.turns if turn.is_new])
            await seen.may_go_on.wait()
        return await extraction.extract(window, extractors, known, deps)

    monkeypatch.setattr(pipeline, "extract", extract)
    return seen


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await true():  # noqa: ASYNC110 - the database tells nobody when it changes
            await asyncio.sleep(0.01)


async def two_at_work(start: Start) -> tuple[Org, Org]:
    """The same org, through two apps that both work."""
    return local(await start(work=True, jobs=QUICK)), local(await start(work=True, jobs=QUICK))


async def test_publishes_back_to_back_are_learned_once_and_then_once_more(start: Start, reading: Reading):
    one, other = await two_at_work(start)
    await one.sdk.publish(**said("I live in Paris.", request_id="r0"))
    await until(lambda: _read(reading, 1))
    for number in range(1, 7):
        await (one, other)[number % 2].sdk.publish(
            **said(f"My dog number {number} is called Rex.", request_id=f"r{number}")
        )
    await asyncio.sleep(A_WHILE)
    while_reading = len(reading.windows)
    reading.may_go_on.set()
    await until(lambda: _learned(one, "r6"))

    assert while_reading == 1
    assert len(reading.windows) == 2
    assert [len(window) for window in reading.windows] == [1, 6]


async def _read(reading: Reading, count: int) -> bool:
    return len(reading.windows) >= count


async def _learned(org: Org, request: str) -> bool:
    return (await org.sdk.learning_status(request_id=request)).status == "done"


async def test_a_session_that_ends_while_it_is_read_is_not_read_by_another_worker(start: Start, reading: Reading):
    one, other = await two_at_work(start)
    await one.sdk.publish(**said("I live in Paris.", session="s1", request_id="r1"))
    await until(lambda: _read(reading, 1))
    await other.sdk.finalize_session(user_id="ada", session_id="s1")
    await asyncio.sleep(A_WHILE)
    reading.may_go_on.set()
    await until(lambda: _learned(one, "r1"))
    await until(lambda: _nothing_left(one))

    assert reading.windows == [["I live in Paris."]]


async def _nothing_left(org: Org) -> bool:
    return not {row["event"] for row in (await org.rows())["jobs"]} & {"published", "session_ended"}


async def test_a_change_of_configuration_holds_for_the_next_window_of_every_process(start: Start):
    one, other = local(await start(jobs=QUICK)), local(await start(jobs=QUICK))
    await other.sdk.publish(**said("I live in Paris."))
    await other.learn()
    many = [{"extraction_definition_prompt": "x", "extractor_name": name} for name in ("home", "work")]

    await one.sdk.update_config(profile_extractor_configs=many, stride_size=1)
    await other.sdk.publish(**said("My dog is called Rex."))
    await other.learn()

    learned = {one.content: one.extractor_names for one in (await one.sdk.profiles(user_id="ada")).user_profiles}
    assert [names for content, names in learned.items() if "Paris" in content] == [["profiles"]]
    assert [names for content, names in learned.items() if "Rex" in content] in ([["home"]], [["work"]])
    bookmarks = {row["extractor"] for row in (await one.rows())["bookmarks"]}
    assert {"profiles/home", "profiles/work"} <= bookmarks


async def test_who_waits_is_told_by_the_configuration_that_another_process_has_just_set(start: Start):
    one, other = local(await start(jobs=QUICK)), local(await start(work=True, jobs=QUICK))
    await other.sdk.config()  # so that it remembers how things were
    home = {"extraction_definition_prompt": "x", "extractor_name": "home"}

    await one.sdk.update_config(profile_extractor_configs=[home], user_playbook_extractor_config=None)
    told = await other.sdk.publish(**said("I live in Paris.", wait_for_response=True))

    assert (told.learning_status, told.learning_reason, told.profiles_added) == ("done", "covered", 1)


@pytest.mark.parametrize("database", ["postgres"], indirect=True, scope="session")
async def test_a_worker_elsewhere_is_woken_by_a_publish_also_after_its_connection_was_cut(start: Start):
    server = local(await start(jobs=QUICK))
    await start(work=True, jobs={**QUICK, "poll_seconds": 3_600})
    await server.sdk.publish(**said("I live in Paris.", request_id="r1"))
    await until(lambda: _learned(server, "r1"))

    assert await _cut_listeners(server) == 1
    await server.sdk.publish(**said("My dog is called Rex.", request_id="r2"))
    await until(lambda: _learned(server, "r2"))


async def _cut_listeners(org: Org) -> int:
    """As a restart of the database does."""
    listeners = "datname = current_database() AND query LIKE 'LISTEN%'"
    cut = sa.text(f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {listeners}")
    return int(await org.app.store.read(lambda conn: conn.execute(cut).scalar_one()))


async def test_what_a_dead_process_held_is_taken_over_when_its_lease_ends(start: Start, clock: Clock):
    one = await start()
    org = local(one)
    await org.sdk.publish(**said("I live in Paris.", request_id="r1"))
    until_then = Millis(clock() + 1000 * one.settings.jobs.lease_seconds)
    (held,) = await one.store.lease(lambda leases: leases.claim("a-process-that-dies", until_then, 1, 5))
    too_early = await org.app.worker.run_due()

    clock.forward(seconds=one.settings.jobs.lease_seconds + 1)
    await org.learn()

    assert held.state is JobState.RUNNING
    assert too_early == 0
    assert one.settings.jobs.lease_seconds <= 300
    assert len((await org.sdk.profiles(user_id="ada")).user_profiles) == 1


async def test_extractors_close_their_windows_each_by_its_own_stride(start: Start, clock: Clock):
    org = local(await start())
    eager = {"extraction_definition_prompt": "x", "extractor_name": "eager"}
    patient = {**eager, "extractor_name": "patient", "stride_size_override": 3}
    await org.sdk.update_config(profile_extractor_configs=[eager, patient], extraction_idle_timeout_seconds=3_600)
    await org.sdk.publish(**said("I live in Paris.", request_id="r1"))
    await org.learn()
    waiting = await org.sdk.learning_status(request_id="r1")

    clock.forward(hours=2)
    await org.learn()

    assert (waiting.status, waiting.reason) == ("pending", "waiting_for_window")
    assert (await org.sdk.learning_status(request_id="r1")).status == "done"


@pytest.mark.parametrize("closing", [{"force_extraction": True}, {"session_finished": True}])
async def test_force_and_the_end_of_a_session_close_the_windows_of_all_extractors(org: Org, closing: dict[str, bool]):
    many = [
        {"extraction_definition_prompt": "x", "extractor_name": name, "stride_size_override": stride}
        for name, stride in (("three", 3), ("five", 5))
    ]
    await org.sdk.update_config(profile_extractor_configs=many)
    await org.sdk.publish(**said("I live in Paris.", request_id="r1", **closing))
    await org.learn()

    assert (await org.sdk.learning_status(request_id="r1")).status == "done"


async def test_an_extractor_of_one_source_is_not_held_up_by_turns_of_others(org: Org):
    await org.sdk.update_config(
        window_size=4,
        profile_extractor_config={
            "extraction_definition_prompt": "x",
            "request_sources_enabled": ["mail"],
            "stride_size_override": 3,
        },
    )
    for number, fact in enumerate(("I live in Paris.", "My dog is called Rex.", "My cat is called Tom.")):
        await org.sdk.publish(**said(*["I live in Oslo."] * 5, source="chat"))
        await org.sdk.publish(**said(fact, source="mail", request_id=f"mail-{number}"))
        await org.learn()

    contents = " ".join(one.content for one in (await org.sdk.profiles(user_id="ada")).user_profiles)
    assert all(word in contents for word in ("Paris", "Rex", "Tom"))
    assert "Oslo" not in contents

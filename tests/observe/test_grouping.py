"""Which failures are one."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acumen.model.secrets import redact
from acumen.observe.grouping import ANY, MOST_PER_BUCKET, OVERFLOW, InMemoryGroupIndex, group_of, signature
from bench.failures.labelled import labelled
from bench.failures.logs import FORMATS, lines_of
from bench.failures.score import score
from tests.observe.test_operations import done, record
from tests.world import Org, join

WORDS = st.lists(st.sampled_from("disk memory queue worker token file table order".split()), min_size=3, max_size=8)


def groups_of(messages: Sequence[str], shelf: InMemoryGroupIndex | None = None) -> list[str]:
    shelf = shelf or InMemoryGroupIndex()
    return [group_of(signature("mcp", "read", "Error", message), shelf) for message in messages]


@given(st.lists(WORDS.map(" ".join), max_size=30))
def test_the_same_failures_in_the_same_order_make_the_same_groups(messages: list[str]):
    assert groups_of(messages) == groups_of(messages)


@given(st.lists(WORDS.map(" ".join), max_size=30))
def test_what_was_grouped_once_stays_in_its_group(messages: list[str]):
    shelf = InMemoryGroupIndex()

    first = groups_of(messages, shelf)

    assert groups_of(messages, shelf) == first


@given(WORDS.map(" ".join), st.lists(st.integers(0, 10**9), min_size=2, max_size=9))
def test_one_template_with_any_numbers_is_one_group(words: str, numbers: list[int]):
    assert len(set(groups_of([f"failed: {words} at {number} of {number}" for number in numbers]))) == 1


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_labelled_failures_find_their_groups(seed: int):
    lines = list(labelled(600, seed))

    found = score([line.label for line in lines], groups_of([line.message for line in lines]))

    assert found.accuracy >= 0.85
    assert found.merged <= 0.01


@pytest.mark.parametrize("name", FORMATS)
def test_lines_of_well_known_systems_find_their_groups(name: str):
    lines = list(lines_of(name, 1_000, seed=5))

    found = score([line.label for line in lines], groups_of([line.message for line in lines]))

    assert found.accuracy >= 0.85
    assert found.merged <= 0.01


@pytest.mark.parametrize(
    "one,other",
    [
        ("instance 7 of the pool was Started", "instance 7 of the pool was Stopped"),
        ("the call GET of /a/b/c went wrong", "the call POST of /a/b/c went wrong"),
        ("the link eth0 is up again now", "the link eth0 is down again now"),
        ("task moved on from NEW to READY", "task moved on from READY to DONE"),
        ("the disk limit is not told, so there is none", "the cpu limit is not told, so there is none"),
        ("the receiver x+ of the torus has lost its way", "the receiver y- of the torus has lost its way"),
        ("the peer 7 of the ring is reachable", "the peer 7 of the ring is unreachable"),
    ],
)
def test_words_that_say_how_it_went_tell_failures_apart(one: str, other: str):
    assert len(set(groups_of([one, other]))) == 2


def test_a_place_that_differs_stands_open_in_the_template():
    shelf = InMemoryGroupIndex()

    groups_of(["the file alpha is not there at all", "the file beta is not there at all"], shelf)

    assert list(shelf.templates.values()) == [f"the file {ANY} is not there at all"]


def test_numbers_are_the_same_in_whatever_digits_they_are_written():
    assert len(set(groups_of(["lr:00a1b2c3 cr:44004422 at 5", "lr:12345678 cr:4400a422 at 6"]))) == 1


def test_what_a_template_says_is_enough_to_belong_to_it():
    shelf = InMemoryGroupIndex()
    said = "moved AppToken{{{0}}} of Token{{{1}}} with Record{{{2}}} of the app and hides it now"
    groups_of([said.format("deadbeef", "cafebabe", "feedface"), *[said.format("1a", "2b", "3c")] * 2], shelf)

    assert len(set(groups_of([said.format(n, n * 2, n * 3) for n in ("7a1", "b00c")], shelf))) == 1


def test_another_code_is_another_cause():
    assert len(set(groups_of([f"worker of us ended with exit code {code} and no word" for code in (1, 2, 137)]))) == 3


def test_source_endpoint_and_type_keep_failures_apart():
    shelf = InMemoryGroupIndex()
    where = [("a", "x", "E"), ("b", "x", "E"), ("a", "y", "E"), ("a", "x", "F")]

    found = {group_of(signature(*place, "it broke"), shelf) for place in where}

    assert len(found) == 4


def test_a_fingerprint_says_which_are_one():
    shelf = InMemoryGroupIndex()

    def group(message: str, *fingerprint: str) -> str:
        return group_of(signature("a", "x", "E", message, fingerprint), shelf)

    assert group("one thing", "mine") == group("quite another", "mine")
    assert group("one thing", "mine") != group("one thing")
    assert group("one thing", "{{ default }}", "eu") == group("one thing", "{{ default }}", "eu")
    assert group("one thing", "{{ default }}", "eu") != group("another thing", "{{ default }}", "eu")


def test_what_does_not_fit_is_told_to_be_more_than_is_told_apart():
    shelf = InMemoryGroupIndex()

    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [f"{one}{two}" for one in letters for two in letters]
    found = groups_of([f"{word} {word} {word}" for word in words[: MOST_PER_BUCKET + 20]], shelf)

    assert len(set(found)) == MOST_PER_BUCKET + 1
    assert shelf.templates[found[-1]] == OVERFLOW


# --- in a transaction ------------------------------------------------------------------------------------------------


def failed(message: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    return done(status="error", error_type="IOError", error_message=message, session_id=session, **more)


async def groups(org: Org, **asked: Any) -> list[dict[str, Any]]:
    reply = await org.send("POST", "/api/get_failures", asked)
    assert reply.status_code == 200, reply.text
    return reply.json()["groups"]


async def test_stored_groups_are_those_that_memory_makes(org: Org):
    lines = list(labelled(150, seed=3))
    ids = []
    for start in range(0, 150, 25):
        told = await record(org, *(failed(line.message) for line in lines[start : start + 25]))
        ids += [one["group_id"] for one in told["results"]]

    shelf = InMemoryGroupIndex()
    same = [group_of(signature("mcp", "read_file", "IOError", redact(line.message)), shelf) for line in lines]

    assert ids == same
    assert {one["group_id"]: one["template"] for one in await groups(org, limit=1000)} == shelf.templates


async def test_a_replay_in_another_org_makes_the_same_groups(org: Org):
    other = await join(org.app)
    sent = [failed(line.message, session=f"s{number % 4}") for number, line in enumerate(labelled(60, seed=9))]
    for one in sent:
        await record(org, one)
    await record(other, *sent)

    def told(found: list[dict[str, Any]]) -> set[tuple[str, str, int, int]]:
        return {(one["group_id"], one["template"], one["count"], one["sessions"]) for one in found}

    assert told(await groups(org, limit=1000)) == told(await groups(other, limit=1000))


async def test_only_failed_operations_are_failures(org: Org):
    await record(
        org,
        done(status="cancelled", error_message="stopped"),
        done(status="error", kind="outcome", error_message="red"),
        done(status="unknown"),
        done(),
    )

    assert await groups(org) == []


async def test_merging_adds_up_and_unmerging_takes_it_back(org: Org):
    await record(org, failed("the disk is full"), failed("the disk is full"), failed("no space left on it", "s2"))
    before = await groups(org)
    big, small = sorted(before, key=lambda one: -one["count"])

    await org.sdk.change_failure(group_id=small["group_id"], change="merge", into=big["group_id"])
    (merged,) = await groups(org)
    await org.sdk.change_failure(group_id=big["group_id"], change="resolve")
    await record(org, failed("no space left on it", "s3"))
    (grown,) = await groups(org)
    await org.sdk.change_failure(group_id=small["group_id"], change="unmerge")
    after = await groups(org)

    assert (merged["count"], merged["merged"]) == (3, [small["group_id"]])
    assert (grown["count"], grown["state"]) == (4, "regressed"), "what fails again is part of what was resolved"
    assert {one["group_id"]: one["count"] for one in after} == {big["group_id"]: 2, small["group_id"]: 2}


async def test_a_merge_that_could_not_be_taken_back_is_refused(org: Org):
    await record(org, failed("alpha one"), failed("beta two"), failed("gamma three"))
    one, two, three = (group["group_id"] for group in await groups(org))
    await org.sdk.change_failure(group_id=one, change="merge", into=two)

    for group, into in ((two, three), (three, one), (three, three)):
        reply = await org.send("POST", "/api/change_failure", {"group_id": group, "change": "merge", "into": into})

        assert reply.status_code == 422, (group, into)


async def test_a_group_tells_its_course_and_its_examples(org: Org):
    await record(org, *(failed(f"row {number} is bad", session=f"s{number}") for number in range(12)))
    (group,) = await groups(org)

    told = (await org.http.get(f"/api/failures/{group['group_id']}")).json()

    assert (told["group"]["count"], told["group"]["sessions"]) == (12, 12)
    assert (told["hours"][-1], sum(told["hours"]), sum(told["days"])) == (12, 12, 12)
    assert len(told["hours"]) == 24
    assert len(told["days"]) == 30
    assert len(told["examples"]) == 10

"""Memories as rows: what is stored is read back, every change leaves a trace, deletion leaves no words."""

from typing import Any

import pytest
from msgspec.structs import replace

from acumen.model.ids import InteractionId, Kind, MemoryRef, PlaybookId, ProfileId, RequestId
from acumen.model.memories.base import Origin, Status
from acumen.model.memories.playbook import Approval, Lesson
from acumen.model.memories.profile import TimeToLive
from acumen.model.memories.search import Filter, SearchRow
from acumen.storage.memories.memories import StatusMove
from acumen.storage.memories.search_rows import FEW
from acumen.storage.store import OrgStore, Tx
from tests.world import (
    ADA,
    JUST_BECAUSE,
    Clock,
    a_profile,
    a_user_playbook,
    an_agent_playbook,
    keep,
    rows_of,
)

LESSON = Lesson("Say it", "when asked", "they like it", "silence", {"kind": "missing_tool", "details": "no shell"})
ORIGIN = Origin("rules", "m", "hash", 0.5)
FULL = [
    a_profile(
        request_id=RequestId("r1"),
        ttl=TimeToLive.ONE_WEEK,
        expires_at=4_000_000_000_000,
        status=Status.PENDING,
        source="slack",
        extractors=["profiles"],
        tags=["home", "city"],
        custom_features={"nested": {"deep": [1, None, "é"]}},
        interaction_ids=[InteractionId(7)],
        source_span="I live in Paris",
        notes="said twice",
        subject="home city",
        value="paris",
        mentions=2,
        superseded_by=ProfileId("prof_other"),
        merged_into=ProfileId("prof_third"),
        origin=ORIGIN,
    ),
    a_user_playbook(
        agent_version="v2",
        request_id=RequestId("r1"),
        name="deploys",
        status=Status.ARCHIVED,
        source="cli",
        tags=["ops"],
        interaction_ids=[InteractionId(7), InteractionId(8)],
        source_span="always west",
        notes="n",
        metadata={"superseded_by": 3},
        subject="region",
        value="us-west-2",
        mentions=3,
        superseded_by=PlaybookId(3),
        merged_into=PlaybookId(4),
        origin=ORIGIN,
    ),
    an_agent_playbook(
        agent_version="v2",
        name="tests",
        approval=Approval.APPROVED,
        status=Status.MERGED,
        metadata="free text",
        tags=["ci"],
        superseded_by=PlaybookId(3),
        merged_into=PlaybookId(4),
        origin=ORIGIN,
    ),
]
PLAIN = [a_profile(), a_user_playbook(), a_user_playbook(user=None), an_agent_playbook()]
ids = {"ids": lambda memory: type(memory).__name__}


@pytest.mark.parametrize("memory", [*FULL, *PLAIN], **ids)
async def test_what_is_stored_is_read_back_field_by_field(org_store: OrgStore, memory: Any):
    if not hasattr(memory, "content"):
        memory = replace(memory, lesson=LESSON)

    ref = await org_store.write(lambda tx: keep(tx, memory))

    stored = await org_store.read(lambda tx: tx.by_kind[ref.kind].get(ref.id))
    assert stored == replace(memory, id=stored.id)  # the database numbers playbooks
    assert str(stored.id) == ref.id


@pytest.mark.parametrize("memory", PLAIN, **ids)
async def test_every_change_moves_updated_at_and_keeps_created_at(org_store: OrgStore, clock: Clock, memory: Any):
    ref = await org_store.write(lambda tx: keep(tx, memory))
    clock.forward(hours=1)
    at = clock()

    before = await org_store.read(lambda tx: tx.by_kind[ref.kind].get(ref.id))
    await org_store.write(lambda tx: tx.memories.update(ref, before, replace(before, tags=["new"]), None, JUST_BECAUSE))

    after = await org_store.read(lambda tx: tx.by_kind[ref.kind].get(ref.id))
    assert after.updated_at >= at
    assert after.created_at == before.created_at
    assert after.version == before.version + 1


async def test_lineage_keeps_what_was_before_and_what_is_after_and_why(org_store: OrgStore):
    ref = await org_store.write(lambda tx: keep(tx, a_profile("Lives in Paris")))
    before = await org_store.read(lambda tx: tx.profiles.get(ref.id))
    after = replace(before, content="Lives in Lyon")
    await org_store.write(lambda tx: tx.memories.update(ref, before, after, None, JUST_BECAUSE))
    archived = replace(after, status=Status.ARCHIVED, version=2)
    await org_store.write(lambda tx: tx.memories.update(ref, archived, archived, None, JUST_BECAUSE))

    life = await org_store.read(lambda tx: tx.lineage.find(ref))

    assert [event["op"] for event in life] == ["add", "change", "change"]
    assert [(event["before"] or {}).get("content") for event in life] == [None, "Lives in Paris", "Lives in Lyon"]
    assert [event["after"]["content"] for event in life] == ["Lives in Paris", "Lives in Lyon", "Lives in Lyon"]
    assert {event["reason"] for event in life} == {JUST_BECAUSE.reason}


async def test_a_change_of_status_is_told_by_its_name(org_store: OrgStore):
    ref = await org_store.write(lambda tx: keep(tx, a_profile()))
    before = await org_store.read(lambda tx: tx.profiles.get(ref.id))

    await org_store.write(
        lambda tx: tx.memories.update(ref, before, replace(before, status=Status.SUPERSEDED), None, JUST_BECAUSE)
    )

    assert [event["op"] for event in await org_store.read(lambda tx: tx.lineage.find(ref))] == ["add", "superseded"]


@pytest.mark.parametrize("how", ["by id", "all"])
@pytest.mark.parametrize("memory", [a_profile("zebra"), a_user_playbook("zebra"), an_agent_playbook("zebra")], **ids)
async def test_a_deleted_memory_leaves_no_words_behind(org_store: OrgStore, app, memory: Any, how: str):
    ref = await org_store.write(lambda tx: keep(tx, memory, words="zebra"))
    before = await org_store.read(lambda tx: tx.by_kind[ref.kind].get(ref.id))
    await org_store.write(
        lambda tx: tx.memories.update(ref, before, replace(before, tags=["zebra"]), None, JUST_BECAUSE)
    )

    if how == "all":
        gone = await org_store.write(lambda tx: tx.memories.delete_all(ref.kind, JUST_BECAUSE))
    else:
        gone = await org_store.write(lambda tx: tx.memories.delete(ref.kind, [ref.id, "12345"], JUST_BECAUSE))

    assert gone == 1
    assert "zebra" not in str(await rows_of(app.store, org_store.org))
    assert [event["op"] for event in await org_store.read(lambda tx: tx.lineage.find(ref))] == [
        "add",
        "change",
        "delete",
    ]


async def test_more_memories_can_be_deleted_at_once_than_a_statement_can_name(org_store: OrgStore):
    """Postgres takes 65,535 values in a statement."""
    many = 66_000
    template = await org_store.write(lambda tx: keep(tx, a_profile("one of many")))

    def multiply(tx) -> None:
        table = tx.profiles.mapping.table
        columns = ["'many-' || n" if c.name == "profile_id" else f'"{c.name}"' for c in table.columns]
        tx.scope.conn.exec_driver_sql(
            f"INSERT INTO profiles ({', '.join(chr(34) + c.name + chr(34) for c in table.columns)}) "
            f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {many}) "
            f"SELECT {', '.join(columns)} FROM profiles, numbers WHERE profile_id = '{template.id}'"
        )

    await org_store.write(multiply)

    gone = await org_store.write(lambda tx: tx.memories.delete_all(Kind.PROFILE, JUST_BECAUSE))

    assert gone == many + 1
    assert await org_store.read(lambda tx: tx.profiles.count(Filter(statuses=None))) == 0


# --- filters -------------------------------------------------------------------------------------------------------


async def find(store: OrgStore, wanted: Filter) -> list[str]:
    return [one.content for one in await store.read(lambda tx: tx.profiles.find(wanted))]


@pytest.mark.parametrize(
    "wanted, found",
    [
        (Filter(), ["b", "a"]),
        (Filter(statuses=None), ["archived", "b", "a"]),
        (Filter(statuses=(Status.ARCHIVED,)), ["archived"]),
        (Filter(user_id=ADA), ["a"]),
        (Filter(source="slack"), ["a"]),
        (Filter(tags=("y", "z")), ["b"]),
        (Filter(extractor="profiles"), ["a"]),
        (Filter(request_id="r9"), ["b"]),
        (Filter(ttl="one_day"), ["a"]),
        (Filter(text="B"), ["b"]),
        (Filter(text="%"), []),
        (Filter(since=2_000), ["b"]),
        (Filter(until=1_000), ["a"]),
        (Filter(since=1_000, until=2_000), ["b", "a"]),
        (Filter(since=20, by_creation=True), ["b"]),
        (Filter(unexpired_at=5_000), ["b"]),
        (Filter(ids=("p-a", "unknown")), ["a"]),
    ],
    ids=str,
)
async def test_a_filter_admits_the_same_in_sql_and_in_memory(org_store: OrgStore, wanted: Filter, found: list[str]):
    a = a_profile("a", id="p-a", source="slack", tags=["x", "y%"], extractors=["profiles"], ttl=TimeToLive.ONE_DAY,
                  expires_at=5_000, created_at=10, updated_at=1_000)  # fmt: skip
    b = a_profile("b", user="bob", tags=["x", "y"], request_id="r9", created_at=20, updated_at=2_000)
    archived = a_profile("archived", user="bob", status=Status.ARCHIVED, created_at=30, updated_at=3_000)
    for memory in (a, b, archived):
        await org_store.write(lambda tx, memory=memory: keep(tx, memory))

    facets = await org_store.read(lambda tx: tx.profiles.find_facets(Filter(statuses=None)))
    in_memory = [memory.content for memory in (archived, b, a) if wanted.admits(facets[memory.id])]

    assert await find(org_store, wanted) == found
    if wanted.text is None and wanted.ids is None and wanted.ttl is None:  # which search never asks for
        assert in_memory == found


# --- what search reads ---------------------------------------------------------------------------------------------


async def test_every_change_is_numbered_and_read_in_the_order_of_its_commit(org_store: OrgStore):
    first = await org_store.write(lambda tx: keep(tx, a_profile("one"), words="one"))
    mark = await org_store.read(lambda tx: tx.search_rows.get_version())
    second = await org_store.write(lambda tx: keep(tx, a_profile("two"), words="two"))
    await org_store.write(lambda tx: tx.search_rows.touch(Kind.PROFILE, first.id))
    await org_store.write(lambda tx: tx.memories.delete(Kind.PROFILE, [second.id], JUST_BECAUSE))

    changed = await org_store.read(lambda tx: tx.search_rows.find_since(Kind.PROFILE, "ada", mark.seq))

    assert [(row.entity_id, gone, row.terms) for row, _, gone in changed] == [
        (first.id, False, "one"),
        (second.id, True, ""),
    ]


async def test_erasing_begins_a_new_generation(org_store: OrgStore):
    await org_store.write(lambda tx: keep(tx, a_profile()))
    before = await org_store.read(lambda tx: tx.search_rows.get_version())

    await org_store.write(lambda tx: tx.search_rows.delete_user("ada"))

    after = await org_store.read(lambda tx: tx.search_rows.get_version())
    assert after.generation == before.generation + 1
    assert await org_store.read(lambda tx: tx.search_rows.find_since(Kind.PROFILE, None, 0)) == []


async def test_a_vector_carries_the_name_of_the_model_that_made_it(org_store: OrgStore):
    row = SearchRow(Kind.PROFILE, "p1", "ada", "words", "w1", b"\x00\x01", "model-a")
    await org_store.write(lambda tx: tx.search_rows.upsert([row]))

    stored, missing = await org_store.read(
        lambda tx: (
            tx.search_rows.find_since(Kind.PROFILE, "ada", 0)[0][0],
            [tx.search_rows.find_without_vector(model, Kind.PROFILE, 10) for model in ("model-a", "model-b")],
        )
    )

    assert stored == row
    assert missing == [[], ["p1"]]


def test_a_reference_names_kind_and_id():
    assert MemoryRef(Kind.PROFILE, "1") != MemoryRef(Kind.USER_PLAYBOOK, "1")


async def test_many_memories_move_at_once_and_search_reads_them_anew(org_store: OrgStore) -> None:
    def fill(tx: Tx) -> dict[str, str | None]:
        return {keep(tx, a_profile(f"fact {number}")).id: "ada" for number in range(FEW + 1)}

    owners = await org_store.write(fill)
    before = await org_store.read(lambda tx: tx.search_rows.get_latest_version("profile", "ada"))

    moves = [StatusMove(owners, Status.CURRENT, Status.ARCHIVED)]
    counts = await org_store.write(lambda tx: tx.memories.set_statuses(Kind.PROFILE, moves, JUST_BECAUSE))

    after, listed, told = await org_store.read(
        lambda tx: (
            tx.search_rows.get_latest_version("profile", "ada"),
            tx.profiles.count(Filter(statuses=(Status.ARCHIVED,))),
            tx.lineage.find(MemoryRef(Kind.PROFILE, next(iter(owners)))),
        )
    )
    assert counts == [FEW + 1]
    assert listed == FEW + 1
    assert after != before
    assert [(event["op"], event["before"], event["after"]) for event in told[1:]] == [
        ("archived", {"status": "current"}, {"status": "archived"})
    ]

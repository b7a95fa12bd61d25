"""Clusters, their lessons and what changed, as rows."""

from acumen.model.ids import Kind, MemoryRef, PlaybookId, RequestId
from acumen.model.memories.base import Status
from acumen.model.memories.cluster import AggregationBookmark, Cluster
from acumen.model.memories.playbook import Approval
from acumen.storage.store import OrgStore, Tx
from tests.world import a_request, a_turn, a_user_playbook, an_agent_playbook, keep


def playbook(ref: MemoryRef) -> PlaybookId:
    return PlaybookId(int(ref.id))


def cluster(lesson: int, *members: int, name: str = "clus", **about) -> Cluster:
    given = {"agent_version": "v1", "name": "", "fingerprint": f"print-{len(members)}", "wording": "w", **about}
    return Cluster(id=name, members=tuple(PlaybookId(one) for one in members), lesson=PlaybookId(lesson), **given)


async def test_a_cluster_is_filed_once_and_changed_in_place(org_store: OrgStore) -> None:
    await org_store.write(lambda tx: tx.clusters.upsert(cluster(1, 10, 11)))
    await org_store.write(lambda tx: tx.clusters.upsert(cluster(1, 10, 12, 13)))

    (stored,) = await org_store.read(lambda tx: tx.clusters.find("v1", ""))

    assert stored == cluster(1, 10, 12, 13)
    assert await org_store.read(lambda tx: tx.clusters.exists("v1", "", "print-3"))
    assert not await org_store.read(lambda tx: tx.clusters.exists("v1", "", "print-2"))


async def test_who_once_went_into_a_lesson_stays_known_but_does_not_stand_for_it(org_store: OrgStore) -> None:
    await org_store.write(lambda tx: tx.clusters.upsert(cluster(1, 10, 11)))
    await org_store.write(lambda tx: tx.clusters.upsert(cluster(1, 10, 12)))

    sources, taught, now = await org_store.read(
        lambda tx: (
            tx.sources.find([PlaybookId(1)]),
            tx.sources.find_lessons_of([11]),
            tx.clusters.find_lessons_of([10, 11]),
        )
    )

    assert sources == {1: [10, 11, 12]}
    assert taught == {1: {11}}
    assert now == {1: {10}}


async def test_ending_keeps_the_sources_and_forgetting_does_not(org_store: OrgStore) -> None:
    await org_store.write(lambda tx: [tx.clusters.upsert(cluster(one, 10, name=f"clus-{one}")) for one in (1, 2)])

    await org_store.write(lambda tx: (tx.clusters.delete([PlaybookId(1)]), tx.clusters.erase([PlaybookId(2)])))

    assert await org_store.read(lambda tx: tx.clusters.find("v1", "")) == []
    assert await org_store.read(lambda tx: tx.sources.find_all_lessons()) == {1}


async def test_only_sources_of_nothing_but_rejected_lessons_are_withheld(org_store: OrgStore) -> None:
    def fill(tx: Tx) -> dict[str, str]:
        own = {name: keep(tx, a_user_playbook(name)).id for name in ("rejected", "both", "approved", "archived")}
        rejected = playbook(keep(tx, an_agent_playbook(approval=Approval.REJECTED)))
        approved = playbook(keep(tx, an_agent_playbook(approval=Approval.APPROVED)))
        put_away = playbook(keep(tx, an_agent_playbook(approval=Approval.REJECTED, status=Status.ARCHIVED)))
        tx.clusters.upsert(cluster(rejected, int(own["rejected"]), int(own["both"]), name="one"))
        tx.clusters.upsert(cluster(approved, int(own["approved"]), int(own["both"]), name="two"))
        tx.clusters.upsert(cluster(put_away, int(own["archived"]), name="three"))
        return own

    own = await org_store.write(fill)

    assert await org_store.read(lambda tx: tx.sources.find_withheld()) == {own["rejected"]}


async def test_new_lessons_are_counted_past_the_mark_and_without_those_that_asked_not_to_be(
    org_store: OrgStore,
) -> None:
    def fill(tx: Tx) -> PlaybookId:
        quiet = a_request("quiet", skip_aggregation=True)
        tx.conversations.add(quiet, [a_turn("hello", quiet)])
        first = playbook(keep(tx, a_user_playbook("one", agent_version="v1")))
        for more in ({}, {"status": Status.ARCHIVED}, {"request_id": RequestId("quiet")}, {"agent_version": "v2"}):
            keep(tx, a_user_playbook("more", **{"agent_version": "v1", **more}))
        keep(tx, a_user_playbook("nobody's", user=None, agent_version="v1"))
        return first

    first = await org_store.write(fill)
    before = await org_store.read(lambda tx: tx.aggregations.count_new_lessons())
    await org_store.write(
        lambda tx: tx.aggregations.move_bookmark(
            "v1", AggregationBookmark(first, duration_ms=12.5, seq=7, basis="as configured")
        )
    )

    assert before == {"v1": 2, "v2": 1}
    assert await org_store.read(lambda tx: tx.aggregations.count_new_lessons()) == {"v1": 1, "v2": 1}
    bookmark = await org_store.read(lambda tx: tx.aggregations.get_bookmark("v1"))
    assert (bookmark.last, bookmark.duration_ms, bookmark.seq, bookmark.basis) == (first, 12.5, 7, "as configured")
    assert await org_store.read(lambda tx: tx.aggregations.get_bookmark("v9")) == AggregationBookmark()


async def test_what_one_run_changed_is_one_entry_and_the_newest_comes_first(org_store: OrgStore) -> None:
    for run, content in (("run-1", "a"), ("run-1", "b"), ("run-2", "c")):
        await org_store.write(
            lambda tx, run=run, content=content: tx.aggregations.add_change(run, "v1", "", added=[{"content": content}])
        )

    changes = await org_store.read(lambda tx: tx.aggregations.find_changes(["v1"], [""], 10))

    assert [(one.run_id, [told["content"] for told in one.added]) for one in changes] == [
        ("run-2", ["c"]),
        ("run-1", ["a", "b"]),
    ]
    assert await org_store.read(lambda tx: tx.aggregations.find_changes(["v2"], [""], 10)) == []


async def test_erased_words_leave_the_log_and_others_stay(org_store: OrgStore) -> None:
    def lesson(number: int, content: str) -> dict:
        return {"agent_playbook_id": number, "content": content, "trigger": content, "playbook_status": "pending"}

    def fill(tx: Tx) -> None:
        update = {"before": lesson(1, "zebra"), "after": lesson(1, "zebra too")}
        tx.aggregations.add_change("run", "v1", "", added=[lesson(1, "zebra"), lesson(2, "giraffe")], updated=[update])

    await org_store.write(fill)
    await org_store.write(lambda tx: tx.aggregations.erase_words([PlaybookId(1)]))

    (change,) = await org_store.read(lambda tx: tx.aggregations.find_changes(["v1"], [""], 10))

    assert "zebra" not in str(change)
    assert [one["content"] for one in change.added] == ["(erased)", "giraffe"]
    assert change.updated[0]["after"] == {"agent_playbook_id": 1, "content": "(erased)", "playbook_status": "pending"}


async def test_what_there_is_of_a_user_is_told_by_kind_and_id(org_store: OrgStore) -> None:
    def fill(tx: Tx) -> str:
        request = a_request()
        tx.conversations.add(request, [a_turn("hello", request)])
        return keep(tx, a_user_playbook("mine")).id

    own = await org_store.write(fill)

    found = await org_store.read(lambda tx: tx.erasure.find_ids("ada", ["r1"], ["s1"]))

    assert (found["requests"], found["user_playbooks"]) == (["r1"], [own])
    assert len(found["interactions"]) == len(found["lineage"]) == 1
    assert await org_store.read(lambda tx: tx.erasure.find_ids("nobody", [], [])) == {}


async def test_search_rows_are_read_by_their_ids(org_store: OrgStore) -> None:
    ref = await org_store.write(lambda tx: keep(tx, a_user_playbook("mine"), "own words"))
    gone = await org_store.write(lambda tx: keep(tx, a_user_playbook("gone")))
    await org_store.write(lambda tx: tx.search_rows.mark_deleted(Kind.USER_PLAYBOOK, {gone.id: "ada"}))

    found = await org_store.read(lambda tx: tx.search_rows.get_many(Kind.USER_PLAYBOOK, [ref.id, gone.id, "999"]))

    assert {key: row.terms for key, row in found.items()} == {ref.id: "own words"}

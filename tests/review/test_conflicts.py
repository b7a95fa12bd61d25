"""Conflicts between memories: in the review queue, settled by one action, and open again when that is undone."""

import pytest

from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.storage.store import Tx
from acumen_client.errors import BadInput, Conflict, NotAllowed, NotFound
from acumen_client.wire.review import MemoryConflict
from acumen_client.wire.shapes import Role
from tests.review.memories import learn, put_in_conflict, store_of
from tests.world import Org, a_profile, a_user_playbook, join

AUGUST, OCTOBER = Millis(1_754_092_800_000), Millis(1_759_449_600_000)
Pair = tuple[MemoryRef, MemoryRef, str]


def pair(tx: Tx, user: str = "ada") -> Pair:
    older = learn(tx, a_profile("The staging port is 8080", user, said_at=AUGUST))
    newer = learn(tx, a_profile("The staging port is 9090", user, said_at=OCTOBER))
    return older, newer, put_in_conflict(tx, older, newer, "9090, I think", user)


async def statuses(org: Org, *refs: MemoryRef) -> list[str]:
    memories = await store_of(org).read(lambda tx: [tx.by_kind[ref.kind].get(ref.id) for ref in refs])
    return [str(memory.status) if memory else "deleted" for memory in memories]


async def open_conflicts(org: Org) -> list[MemoryConflict]:
    return (await org.sdk.memory_conflicts(include_all_users=True)).conflicts


async def flagged(org: Org) -> int:
    review = await org.sdk.memory_review(include_all_users=True, signal_filter=["conflict"])
    assert review.signal_counts.get("conflict", 0) == review.total == len(review.candidates)
    return review.total


async def test_a_conflict_is_one_candidate_with_both_texts_and_dates(org: Org):
    older, newer, conflict = await store_of(org).write(pair)

    review = await org.sdk.memory_review(user_id="ada")
    other = await org.sdk.memory_review(user_id="bob", signal_filter=["conflict"])

    (candidate,) = review.candidates
    assert (candidate.entity_id, candidate.signals, candidate.score) == (newer.id, ["conflict"], 105)
    assert candidate.reasons == {
        "conflict": "“The staging port is 9090” (2025-10-03) may disagree with “The staging port is 8080” (2025-08-02)"
    }
    assert (candidate.related_ids, candidate.conflict_ids) == ([older.id], [conflict])
    assert review.signal_counts == {"conflict": 1}
    assert other.total == 0


async def test_open_conflicts_are_listed_with_the_words_that_raised_them(org: Org):
    _, _, first = await store_of(org).write(pair)
    _, _, second = await store_of(org).write(lambda tx: pair(tx, "bob"))

    both = await org.sdk.memory_conflicts(include_all_users=True, limit=1)
    (ours,) = (await org.sdk.memory_conflicts(user_id="ada")).conflicts

    assert (both.total, [entry.conflict_id for entry in both.conflicts]) == (2, [second])
    assert (ours.conflict_id, ours.quote) == (first, "9090, I think")
    assert (ours.newer.text, ours.newer.at) == ("The staging port is 9090", OCTOBER // 1000)
    assert (ours.older.text, ours.older.at) == ("The staging port is 8080", AUGUST // 1000)


@pytest.mark.parametrize("keep,ended", [("newer", 0), ("older", 1)])
async def test_the_memory_that_is_not_kept_is_superseded_by_the_other(org: Org, keep: str, ended: int):
    *sides, conflict = await store_of(org).write(pair)

    done = await org.sdk.settle_conflict(conflict_id=conflict, keep=keep, reason="asked the user")

    over, holds = sides[ended], sides[1 - ended]
    memory = await store_of(org).read(lambda tx: tx.profiles.get(over.id))
    assert memory is not None
    assert (memory.status, memory.superseded_by) == ("superseded", holds.id)
    assert await statuses(org, holds) == ["current"]
    assert (await open_conflicts(org), await flagged(org)) == ([], 0)
    change = (await org.sdk.memory_changes(limit=1)).changes[0]
    assert (change.change, change.cause, change.id) == ("superseded", "person", over.id)
    log = (await org.sdk.review_actions()).actions[0]
    assert (log.action, log.action_id, log.reason) == ("settle_conflict", done.action_id, "asked the user")


async def test_both_may_hold_and_the_pair_is_not_raised_again(org: Org):
    older, newer, conflict = await store_of(org).write(pair)

    await org.sdk.settle_conflict(conflict_id=conflict, keep="both")
    await store_of(org).write(lambda tx: put_in_conflict(tx, older, newer))

    assert await statuses(org, older, newer) == ["current", "current"]
    assert (await open_conflicts(org), await flagged(org)) == ([], 0)


@pytest.mark.parametrize("keep", ["newer", "older", "both"])
async def test_settling_is_undone_and_the_undo_too(org: Org, keep: str):
    older, newer, conflict = await store_of(org).write(pair)
    done = await org.sdk.settle_conflict(conflict_id=conflict, keep=keep)
    settled = await statuses(org, older, newer)

    undone = await org.sdk.undo_review(action_id=done.action_id)
    reopened = [entry.conflict_id for entry in await open_conflicts(org)], await statuses(org, older, newer)
    await org.sdk.undo_review(action_id=undone.action_id)

    assert reopened == ([conflict], ["current", "current"])
    assert await statuses(org, older, newer) == settled
    assert await open_conflicts(org) == []
    state = await store_of(org).read(lambda tx: tx.conflicts.get(conflict))
    assert state is not None
    assert state.state == ("both_hold" if keep == "both" else "settled")
    assert state.settled_by


async def test_a_settled_conflict_is_not_settled_again(org: Org):
    _, _, conflict = await store_of(org).write(pair)
    await org.sdk.settle_conflict(conflict_id=conflict, keep="newer")

    with pytest.raises(Conflict, match="already settled by"):
        await org.sdk.settle_conflict(conflict_id=conflict, keep="older")
    with pytest.raises(NotFound):
        await org.sdk.settle_conflict(conflict_id="con_none", keep="older")
    with pytest.raises(BadInput):
        await org.sdk.settle_conflict(conflict_id=conflict, keep="neither")


async def test_a_memory_that_ends_by_other_means_settles_its_conflict_until_that_is_undone(org: Org):
    older, _, conflict = await store_of(org).write(pair)

    done = await org.sdk.review_memories(action="archive", items=[{"kind": "profile", "id": older.id}])
    ended = await open_conflicts(org), await flagged(org)
    with pytest.raises(Conflict, match="already settled"):
        await org.sdk.settle_conflict(conflict_id=conflict, keep="newer")
    await org.sdk.undo_review(action_id=done.action_id)

    assert ended == ([], 0)
    assert [entry.conflict_id for entry in await open_conflicts(org)] == [conflict]
    assert await flagged(org) == 1


async def test_a_conflict_stays_settled_while_the_other_memory_has_ended(org: Org):
    older, newer, _ = await store_of(org).write(pair)
    first = await org.sdk.review_memories(action="archive", items=[{"kind": "profile", "id": older.id}])
    second = await org.sdk.review_memories(action="archive", items=[{"kind": "profile", "id": newer.id}])

    await org.sdk.undo_review(action_id=second.action_id)
    one_restored = await open_conflicts(org)
    await org.sdk.undo_review(action_id=first.action_id)

    assert one_restored == []
    assert len(await open_conflicts(org)) == 1


async def test_a_downgrade_settles_conflicts_of_what_it_archives_and_opens_them_again(org: Org):
    await store_of(org).write(pair)
    await org.sdk.add_profiles(user_profiles=[{"user_id": "ada", "content": "Has a dog", "profile_id": "dog"}])
    await org.sdk.review_memories(action="archive", items=[{"kind": "profile", "id": "dog"}])

    await org.sdk.downgrade_profiles()
    swapped = await open_conflicts(org)
    await org.sdk.downgrade_profiles()

    assert swapped == []
    assert len(await open_conflicts(org)) == 1


async def test_a_fact_and_a_lesson_can_be_in_conflict(org: Org):
    def fill(tx: Tx) -> Pair:
        older = learn(tx, a_user_playbook("Deploy to us-west-2"))
        newer = learn(tx, a_profile("Production runs in eu-west-1"))
        return older, newer, put_in_conflict(tx, older, newer)

    older, newer, conflict = await store_of(org).write(fill)
    raised = (await org.sdk.memory_changes(limit=1)).changes[0]
    await org.sdk.settle_conflict(conflict_id=conflict, keep="newer")

    assert raised.other is not None
    assert (raised.other.kind, raised.other.text) == (Kind.USER_PLAYBOOK, "Deploy to us-west-2")
    assert await statuses(org, older, newer) == ["superseded", "current"]


async def test_a_dismissed_conflict_leaves_the_queue_and_stays_open(org: Org):
    _, newer, _ = await store_of(org).write(pair)

    await org.sdk.review_memories(action="dismiss", items=[{"kind": "profile", "id": newer.id}])

    assert await flagged(org) == 0
    assert len(await open_conflicts(org)) == 1


async def test_conflicts_belong_to_their_org_and_need_a_reviewer(org: Org):
    _, _, conflict = await store_of(org).write(pair)
    other, reader = await join(org.app), await join(org.app, Role.READER, org.id)

    assert await open_conflicts(other) == []
    with pytest.raises(NotFound):
        await other.sdk.settle_conflict(conflict_id=conflict, keep="newer")
    with pytest.raises(NotAllowed):
        await reader.sdk.settle_conflict(conflict_id=conflict, keep="newer")
    assert len(await open_conflicts(reader)) == 1


async def test_no_word_of_a_deleted_memory_is_left_in_a_conflict(org: Org):
    older, _, conflict = await store_of(org).write(pair)

    await org.sdk.delete_profiles(profile_ids=[older.id])

    assert await store_of(org).read(lambda tx: tx.conflicts.get(conflict)) is None
    assert await flagged(org) == 0

"""The change feed: what happened to memories, the words behind it, and undoing one change."""

import pytest
from msgspec.structs import replace

from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.memories.base import Cause, Status
from acumen.model.memories.playbook import Lesson
from acumen.model.memories.profile import TimeToLive
from acumen.model.times import DAY_MS
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx
from acumen_client.errors import Conflict, NotAllowed, NotFound
from acumen_client.wire.changes import MemoryChange, MemoryChangeKind
from acumen_client.wire.shapes import Role
from tests.review.memories import change, learn, put_in_conflict, say, store_of, supersede, two_ports
from tests.world import Org, a_profile, a_user_playbook, join, keep, playbook, profile, said


async def feed(org: Org, **wanted: object) -> list[MemoryChange]:
    return (await org.sdk.memory_changes(**wanted)).changes


async def status(org: Org, ref: MemoryRef) -> str:
    memory = await store_of(org).read(lambda tx: tx.by_kind[ref.kind].get(ref.id))
    return str(memory.status) if memory else "deleted"


# --- listing -------------------------------------------------------------------------------------------------------


async def test_each_change_tells_its_kind_texts_cause_and_the_words_with_their_turn(org: Org):
    def fill(tx: Tx) -> tuple[MemoryRef, MemoryRef]:
        old, new = two_ports(tx)
        change(tx, old, Cause.REFINED, "8080 is staging's port", content="Staging listens on 8080")
        supersede(tx, old, new, "not 8080 but 9090")
        return old, new

    old, new = await store_of(org).write(fill)

    superseded, refined, second, first = await feed(org)

    assert [entry.change for entry in (superseded, refined, second, first)] == [
        "superseded", "refined", "learned", "learned",
    ]  # fmt: skip
    assert (first.id, first.before, first.after) == (old.id, None, "The staging port is 8080")
    assert (refined.before, refined.after) == ("The staging port is 8080", "Staging listens on 8080")
    assert (superseded.before, superseded.after) == ("Staging listens on 8080", None)
    assert (superseded.cause, superseded.quote, superseded.session_id) == ("correction", "not 8080 but 9090", "s2")
    assert superseded.other is not None
    assert (superseded.other.relation, superseded.other.id) == ("superseded_by", new.id)
    assert superseded.other.text == "The staging port is 9090"
    assert superseded.actor == "acumen"
    assert superseded.interaction_id
    assert superseded.undoable
    assert not refined.undoable
    assert refined.refusal == f"profile {old.id} was changed again since."


async def test_the_trigger_of_a_lesson_is_in_brackets_before_its_content(org: Org):
    lesson = Lesson("Take a snapshot.", trigger="Before a migration", pitfall="haste")

    def fill(tx: Tx) -> None:
        ref = keep(tx, replace(a_user_playbook(), lesson=lesson))
        playbook = tx.user_playbooks.get(ref.id)
        assert playbook is not None
        tx.memories.update(ref, playbook, replace(playbook, status=Status.ARCHIVED), None, Because("by hand"))

    await store_of(org).write(fill)

    archived, learned = await feed(org)

    assert (archived.before, learned.after) == ("[Before a migration] Take a snapshot. Avoid: haste",) * 2


async def test_what_a_published_conversation_taught_leads_back_to_its_words(org: Org):
    await org.sdk.publish(**said("My dentist is Dr. Molar."), session_finished=True)
    await org.learn()

    (learned, *_) = await feed(org, session_id="s1", kinds=["learned"])

    (turn,) = (await org.sdk.interactions(user_id="ada")).interactions
    assert (learned.session_id, learned.interaction_id) == ("s1", turn.interaction_id)
    assert learned.quote
    assert learned.quote in turn.content
    assert (await org.sdk.undo_memory_change(change_id=learned.change_id)).change.undone_by


async def test_what_earlier_versions_recorded_without_a_cause_has_a_kind_too(org: Org):
    def fill(tx: Tx) -> None:
        ref = keep(tx, a_profile("Lives in Paris", interaction_ids=[say(tx, "I live in Paris")], source_span="Paris"))
        for fields in ({"mentions": 2}, {"content": "Lives in Paris, France"}, {"status": Status.FORGOTTEN}):
            memory = tx.profiles.get(ref.id)
            assert memory is not None
            tx.memories.update(ref, memory, replace(memory, **fields), None, Because("as before"))

    await store_of(org).write(fill)
    await org.sdk.add_profiles(user_profiles=[profile("Has a dog", profile_id="dog")])
    await org.sdk.update_profile(user_id="ada", profile_id="dog", content="Has two dogs")
    await org.sdk.review_memories(action="archive", items=[{"kind": "profile", "id": "dog"}])
    await org.sdk.delete_profile(user_id="ada", profile_id="dog")

    changes = await feed(org)

    assert [entry.change for entry in changes] == [
        "deleted", "archived", "edited", "learned", "forgotten", "refined", "restated", "learned",
    ]  # fmt: skip
    assert (changes[-1].quote, changes[-1].session_id) == ("Paris", "s1")
    assert {entry.change: entry.cause for entry in changes[:3]} == {
        "deleted": None,
        "archived": "person",
        "edited": "person",
    }


async def test_changes_are_filtered_by_user_kind_time_and_session(org: Org):
    def fill(tx: Tx) -> None:
        old, new = two_ports(tx)
        supersede(tx, old, new, "9090 now")

    await store_of(org).write(fill)
    await store_of(org).write(lambda tx: learn(tx, a_profile("Likes tea", "bob"), session="tea"))
    latest = (await feed(org))[0].at

    assert [entry.id for entry in await feed(org, user_id="bob")] == [(await feed(org))[0].id]
    assert {entry.user_id for entry in await feed(org, user_id="ada")} == {"ada"}
    assert [entry.change for entry in await feed(org, kinds=["superseded"])] == ["superseded"]
    assert await feed(org, kinds=[]) == []
    assert [entry.after for entry in await feed(org, session_id="tea")] == ["Likes tea"]
    assert [entry.change for entry in await feed(org, session_id="s2")] == ["superseded"]
    assert len(await feed(org, since=latest - 60, until=latest + 60)) == 4
    assert await feed(org, since=latest + 60) == []
    assert await feed(org, until=latest - 60) == []


async def test_a_page_is_stable_while_new_changes_arrive(org: Org):
    store = store_of(org)
    await store.write(lambda tx: [learn(tx, a_profile(f"Fact {number}")) for number in range(7)])

    first = await org.sdk.memory_changes(limit=3)
    await store.write(lambda tx: learn(tx, a_profile("Newer than the first page")))
    second = await org.sdk.memory_changes(limit=3, cursor=first.next_cursor)
    last = await org.sdk.memory_changes(limit=3, cursor=second.next_cursor)

    assert [entry.after for page in (first, second, last) for entry in page.changes] == [
        f"Fact {number}" for number in range(6, -1, -1)
    ]
    assert last.next_cursor is None


async def test_one_org_never_sees_or_undoes_the_changes_of_another(org: Org):
    ref = await store_of(org).write(lambda tx: learn(tx, a_profile("Ours alone")))
    (ours,) = await feed(org)
    other = await join(org.app)

    assert await feed(other) == []
    with pytest.raises(NotFound):
        await other.sdk.undo_memory_change(change_id=ours.change_id)
    assert await status(org, ref) == "current"


async def test_readers_list_changes_and_reviewers_undo_them(org: Org):
    await store_of(org).write(lambda tx: learn(tx, a_profile("Ours alone")))
    reader = await join(org.app, Role.READER, org.id)
    reviewer = await join(org.app, Role.REVIEWER, org.id)

    (change,) = await feed(reader)
    with pytest.raises(NotAllowed):
        await reader.sdk.undo_memory_change(change_id=change.change_id)

    assert (await reviewer.sdk.undo_memory_change(change_id=change.change_id)).action_id


async def test_erased_words_never_appear_in_the_feed_and_their_changes_cannot_be_undone(org: Org):
    def fill(tx: Tx) -> MemoryRef:
        old, new = two_ports(tx)
        supersede(tx, old, new, "not 8080 but 9090")
        change(tx, new, Cause.FORGET, "forget the zebra port", status=Status.FORGOTTEN)
        return new

    new = await store_of(org).write(fill)
    forgotten = (await feed(org))[0]
    await org.sdk.delete_profiles(profile_ids=[new.id])

    changes = await feed(org)

    assert (forgotten.before, forgotten.quote) == ("The staging port is 9090", "forget the zebra port")
    assert not any("9090" in entry.model_dump_json() for entry in changes)
    assert changes[1].quote is None
    assert next(entry for entry in changes if entry.change == "superseded").other.text is None  # type: ignore[union-attr]
    with pytest.raises(Conflict, match="was deleted"):
        await org.sdk.undo_memory_change(change_id=forgotten.change_id)


async def test_a_turn_that_was_deleted_takes_its_quote_with_it(org: Org):
    await store_of(org).write(lambda tx: learn(tx, a_profile("Lives in Oslo"), "I moved to Oslo, secretly"))
    (before,) = await feed(org)

    await org.sdk.delete_interaction(user_id="ada", interaction_id=before.interaction_id)

    (after,) = await feed(org)
    assert before.quote == "I moved to Oslo, secretly"
    assert (after.quote, after.interaction_id, after.after) == (None, None, "Lives in Oslo")


# --- undoing -------------------------------------------------------------------------------------------------------


async def test_undoing_a_supersession_restores_the_memory_and_puts_both_in_conflict(org: Org):
    store = store_of(org)

    def fill(tx: Tx) -> tuple[MemoryRef, MemoryRef, object]:
        old, new = two_ports(tx)
        before = tx.profiles.get(old.id)
        supersede(tx, old, new, "not 8080 but 9090")
        return old, new, before

    old, new, before = await store.write(fill)
    superseded = (await feed(org))[0]

    undone = await org.sdk.undo_memory_change(change_id=superseded.change_id, reason="both are right")

    restored = await store.read(lambda tx: tx.profiles.get(old.id))
    assert restored is not None
    assert replace(restored, version=1) == before
    assert undone.successor is not None
    assert (undone.successor.id, undone.successor.status) == (new.id, "current")
    assert undone.msg == (
        f"profile {old.id} is as it was before; profile {new.id} stays current and in conflict with it"
    )
    (conflict,) = (await org.sdk.memory_conflicts(user_id="ada")).conflicts
    assert (conflict.conflict_id, conflict.older.id, conflict.newer.id) == (undone.conflict_id, old.id, new.id)
    log = (await org.sdk.review_actions()).actions[0]
    assert (log.action, log.action_id, log.reason) == ("undo_change", undone.action_id, "both are right")
    listed = next(entry for entry in await feed(org) if entry.change_id == superseded.change_id)
    assert (listed.undone_by, listed.undoable) == (undone.action_id, False)


async def test_an_undo_can_itself_be_undone_and_the_change_stands_again(org: Org):
    def fill(tx: Tx) -> MemoryRef:
        old, new = two_ports(tx)
        supersede(tx, old, new, "not 8080 but 9090")
        return old

    old = await store_of(org).write(fill)
    superseded = (await feed(org))[0]
    undone = await org.sdk.undo_memory_change(change_id=superseded.change_id)

    await org.sdk.undo_review(action_id=undone.action_id)

    again = next(entry for entry in await feed(org) if entry.change_id == superseded.change_id)
    assert await status(org, old) == "superseded"
    assert (await org.sdk.memory_conflicts(user_id="ada")).conflicts == []
    assert (again.undone_by, again.undoable) == (None, True)
    twice = await org.sdk.undo_memory_change(change_id=superseded.change_id)
    assert await status(org, old) == "current"
    assert twice.conflict_id == undone.conflict_id


async def test_undoing_the_undo_from_the_feed_is_the_same(org: Org):
    ref = await store_of(org).write(lambda tx: learn(tx, a_profile("Likes tea")))
    (learned,) = await feed(org)
    await org.sdk.undo_memory_change(change_id=learned.change_id)
    (archived, _) = await feed(org)

    await org.sdk.undo_memory_change(change_id=archived.change_id)

    assert await status(org, ref) == "current"
    assert [entry.change for entry in await feed(org)] == ["restored", "archived", "learned"]
    assert next(entry for entry in await feed(org) if entry.change == "learned").undoable


async def test_undoing_what_was_learned_archives_it_and_a_refinement_gets_its_text_back(org: Org):
    store = store_of(org)
    lesson = await store.write(lambda tx: learn(tx, a_user_playbook("Use us-west-2")))
    fact = await store.write(lambda tx: learn(tx, a_profile("Lives in Paris")))
    await store.write(
        lambda tx: change(tx, lesson, Cause.REFINED, "use eu-west-1 in Europe", lesson=Lesson("Use eu-west-1"))
    )
    refined, learned, _ = await feed(org)

    await org.sdk.undo_memory_change(change_id=refined.change_id)
    undone = await org.sdk.undo_memory_change(change_id=learned.change_id)

    found = (await org.sdk.search_user_playbooks(query="us-west-2", search_mode="fts")).user_playbooks
    assert [entry.content for entry in found] == ["Use us-west-2"]
    assert await status(org, fact) == "archived"
    assert undone.msg == f"profile {fact.id} is archived"


async def test_undoing_a_forget_shows_the_memory_and_its_turn_again(org: Org):
    store = store_of(org)

    def fill(tx: Tx) -> MemoryRef:
        turn = say(tx, "My father is allergic to zebras")
        ref = learn(tx, a_profile("Father is allergic to zebras", interaction_ids=[turn]))
        change(tx, ref, Cause.FORGET, "forget my sister", status=Status.FORGOTTEN)
        return ref

    ref = await store.write(fill)
    hidden = await store.read(lambda tx: tx.hidden_turns.find_hidden(tx.profiles.get(ref.id).interaction_ids))  # type: ignore[union-attr]
    forgotten = (await feed(org))[0]

    await org.sdk.undo_memory_change(change_id=forgotten.change_id)

    assert hidden
    assert await status(org, ref) == "current"
    assert not await store.read(lambda tx: tx.hidden_turns.find_hidden(tx.profiles.get(ref.id).interaction_ids))  # type: ignore[union-attr]


async def test_an_expired_memory_that_is_restored_does_not_expire_at_once_again(org: Org):
    store = store_of(org)

    def fill(tx: Tx) -> MemoryRef:
        over = Millis(tx.at - DAY_MS)
        ref = learn(tx, a_profile("Is in Rome this week", ttl=TimeToLive.ONE_WEEK, expires_at=over, valid_until=over))
        change(tx, ref, Cause.EXPIRED, "this week", status=Status.EXPIRED)
        return ref

    ref = await store.write(fill)

    await org.sdk.undo_memory_change(change_id=(await feed(org))[0].change_id)

    memory = await store.read(lambda tx: tx.profiles.get(ref.id))
    assert memory is not None
    assert (memory.status, memory.valid_until) == (Status.CURRENT, None)
    assert not await store.read(lambda tx: tx.profiles.find_expired(tx.at))


async def test_a_change_is_not_undone_twice_nor_after_the_memory_was_changed_again(org: Org):
    store = store_of(org)
    ref = await store.write(lambda tx: learn(tx, a_profile("Likes tea")))
    (learned,) = await feed(org)
    await store.write(lambda tx: change(tx, ref, Cause.RESTATED, "I like tea", mentions=2))
    restated = (await feed(org))[0]

    with pytest.raises(Conflict, match=f"profile {ref.id} was changed again since"):
        await org.sdk.undo_memory_change(change_id=learned.change_id)
    await org.sdk.undo_memory_change(change_id=restated.change_id)
    with pytest.raises(Conflict, match="already undone"):
        await org.sdk.undo_memory_change(change_id=restated.change_id)
    await org.sdk.undo_memory_change(change_id=learned.change_id)

    assert await status(org, ref) == "archived"


async def test_what_a_person_did_is_undone_from_the_feed_and_shows_as_undone_in_the_log(org: Org):
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("Use us-west-2"), playbook("Use eu-west-1")])
    ids = [str(entry.user_playbook_id) for entry in (await org.sdk.user_playbooks()).user_playbooks]
    items = [{"kind": "user_playbook", "id": entry} for entry in ids]
    edited = await org.sdk.review_memories(action="edit", items=items[:1], changes={"content": "Use us-east-1"})
    await org.sdk.undo_memory_change(change_id=(await feed(org))[0].change_id)
    both = await org.sdk.review_memories(action="archive", items=items)

    one_of_both = await org.sdk.undo_memory_change(change_id=(await feed(org))[0].change_id)

    log = {entry.action_id: entry for entry in (await org.sdk.review_actions()).actions}
    statuses = [await status(org, MemoryRef(Kind.USER_PLAYBOOK, entry)) for entry in ids]
    assert log[edited.action_id].undone_by
    assert log[both.action_id].undone_by is None
    assert log[one_of_both.action_id].changed_count == 1
    assert sorted(statuses) == ["archived", "current"]


async def test_deletions_and_conflicts_say_why_they_cannot_be_undone(org: Org):
    def fill(tx: Tx) -> None:
        put_in_conflict(tx, *two_ports(tx), "9090, I think")

    await store_of(org).write(fill)
    await org.sdk.add_profiles(user_profiles=[profile("Has a dog", profile_id="dog")])
    await org.sdk.delete_profile(user_id="ada", profile_id="dog")

    deleted, _, conflict, *_ = await feed(org)

    assert (conflict.change, conflict.quote, conflict.conflict_state) == (
        MemoryChangeKind.CONFLICT,
        "9090, I think",
        "open",
    )
    assert conflict.other is not None
    assert (conflict.other.relation, conflict.other.text) == ("conflicts_with", "The staging port is 8080")
    assert (deleted.refusal, conflict.refusal) == (
        "A deleted memory cannot be restored.",
        "Settle the conflict instead: keep one of the memories, or both.",
    )
    with pytest.raises(Conflict, match="cannot be restored"):
        await org.sdk.undo_memory_change(change_id=deleted.change_id)


async def test_a_conflict_is_no_removal_in_the_log_of_profile_changes(org: Org):
    await store_of(org).write(lambda tx: put_in_conflict(tx, *two_ports(tx)))

    logs = (await org.sdk.profile_change_log()).profile_change_logs

    assert [entry.removed_profiles for entry in logs] == [[]] * len(logs)


async def test_changes_of_many_memories_at_once_have_their_text_and_are_undone_alone(org: Org):
    store = store_of(org)
    refs = await store.write(lambda tx: [learn(tx, a_profile(f"Fact {n}", status=Status.ARCHIVED)) for n in range(2)])
    await org.sdk.downgrade_profiles()
    restored = await feed(org, kinds=["restored"])

    await org.sdk.undo_memory_change(change_id=restored[0].change_id)

    assert {entry.after for entry in restored} == {"Fact 0", "Fact 1"}
    assert sorted([await status(org, ref) for ref in refs]) == ["archived", "current"]

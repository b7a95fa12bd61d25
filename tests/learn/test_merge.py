"""New, known, contradicted, outdated or to be forgotten: what notes do to what is known."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from acumen.learn import merge
from acumen.model.ids import InteractionId, Millis, PlaybookId, ProfileId, UserId
from acumen.model.memory import Status
from acumen.model.playbook import Lesson, UserPlaybook
from acumen.model.profile import Profile
from acumen.model.times import DAY_MS
from tests.learn.talk import (
    NOON,
    current,
    merged_playbooks,
    merged_profiles,
    playbooks_after,
    profiles_after,
    told,
    turn,
    window,
)
from tests.learn.talk import taught as lessons_of


def learned(*lines: str) -> list[Profile]:
    """All that is known after a conversation, whatever became of it."""
    return profiles_after([], merged_profiles([], told(window(*lines))))


def taught(*lines: str) -> list[UserPlaybook]:
    return playbooks_after([], merged_playbooks([], lessons_of(window(*lines))))


def later(line: str, number: int = 9) -> list:
    """The profile notes of a turn said later on."""
    return told(replace(window(), turns=(turn(number, line),)))


def test_what_nobody_said_before_is_new():
    changes = merged_profiles([], later("I live in Berlin."))

    (added,) = changes.added
    assert added.note.content == "User lives in Berlin."
    assert added.because == 'The user said: "I live in Berlin."'
    assert changes == merge.Changes(added=changes.added)


@pytest.mark.parametrize("again", ["I live in Berlin.", "I'm based in Berlin.", "We moved to Berlin."])
def test_what_is_known_is_mentioned_not_added(again: str):
    known = learned("I live in Berlin.")

    changes = merged_profiles(known, later(again))

    assert not changes.added
    assert [mention.which.known for mention in changes.mentioned] == [known[0].id]


@pytest.mark.parametrize(
    "before, after",
    [
        ("I live in Berlin.", "I moved to Paris."),
        ("I work at Google.", "I work at Meta now."),
        ("I work at Google.", "I no longer work at Google."),
        ("My deadline is Friday.", "My deadline is Monday."),
        ("My manager is Dana Kim.", "My manager is Lou Reyes."),
        ("I'm vegetarian.", "I'm vegan."),
        ("I eat meat.", "I don't eat meat anymore."),
        ("I like coffee.", "I hate coffee."),
        ("I prefer window seats.", "I prefer aisle seats."),
        ("I prefer email.", "I prefer phone calls."),
        ("Our team has 12 people.", "Our team has 15 people."),
        ("We use MySQL.", "We switched from MySQL to Postgres."),
        ("We use Jenkins.", "We moved from Jenkins to Buildkite."),
        ("Our backend is written in Java.", "Our backend is now written in Kotlin."),
        (
            "We never deploy production to us-east-1, always use us-west-2.",
            "We always deploy production to eu-central-1.",
        ),
        ("My budget is $3,000.", "My budget is $5,000."),
    ],
)
def test_a_statement_that_contradicts_a_known_one_replaces_it(before: str, after: str):
    known = learned(before)

    changes = merged_profiles(known, later(after))

    assert len(changes.added) == 1
    assert [(gone.old.known, gone.new.added) for gone in changes.superseded] == [(known[0].id, 0)]
    assert "replaces" in changes.superseded[0].because


@pytest.mark.parametrize(
    "before, after",
    [
        ("We use Python.", "We use Go."),
        ("I speak German.", "I speak Polish."),
        ("I like tea.", "I like coffee."),
        ("I have two kids.", "I have a dog."),
        ("I'm a nurse.", "I'm a smoker."),
        ("My wife is pregnant.", "My wife is vegetarian."),
        ("My deadline is Friday.", "My birthday is Monday."),
        ("I live in Berlin.", "I work at Siemens."),
        ("I don't eat meat.", "I don't eat fish."),
        ("I'm allergic to nuts.", "I'm allergic to penicillin."),
    ],
)
def test_statements_that_can_both_hold_stand_side_by_side(before: str, after: str):
    known = learned(before)

    changes = merged_profiles(known, later(after))

    assert len(changes.added) == 1
    assert not changes.superseded


def test_lessons_contradict_each_other_too():
    known = taught("Always reply in French.", "Always add comments.", "Keep your answers short.")
    notes = lessons_of(
        replace(
            window(),
            turns=(
                turn(7, "From now on reply in German."),
                turn(8, "Stop adding comments."),
                turn(9, "Make sure your answers are detailed from now on."),
            ),
        )
    )

    changes = merged_playbooks(known, notes)

    assert {1, 2, 3} <= {gone.old.known for gone in changes.superseded}


def test_lessons_for_different_situations_do_not_contradict():
    known = taught("Use Python for scripts.", "Always reply in French.")

    changes = merged_playbooks(known, lessons_of(replace(window(), turns=(turn(9, "Use Go for services, not Java."),))))

    assert len(changes.added) == 1
    assert not changes.superseded


def test_a_conversation_that_changes_its_mind_keeps_both_with_a_link():
    changes = merged_profiles([], told(window("I live in Berlin.", "Actually, I moved to Paris.")))

    assert [added.note.content for added in changes.added] == ["User lives in Berlin.", "User moved to Paris."]
    assert [(gone.old.added, gone.new.added) for gone in changes.superseded] == [(0, 1)]


def test_duplicates_within_a_conversation_collapse():
    changes = merged_profiles([], told(window("I live in Berlin. I'm based in Berlin.", "I live in Berlin!")))

    assert len(changes.added) == 1
    assert [mention.which.added for mention in changes.mentioned] == [0]


def test_older_words_do_not_replace_newer_ones():
    known = [replace(learned("I live in Paris.")[0], interaction_ids=[InteractionId(50)])]

    changes = merged_profiles(known, later("I live in Berlin.", number=9))

    assert not changes
    assert [stale.note.content for stale in changes.outdated] == ["User lives in Berlin."]


def test_what_has_expired_is_learned_anew_when_said_again():
    known = learned("I'm out of office until Friday.")
    in_a_month = Millis(NOON + 30 * DAY_MS)

    changes = merged_profiles(known, later("I'm out of office until Friday."), in_a_month)

    assert len(changes.added) == 1


@pytest.mark.parametrize(
    "told, wish",
    [
        ("I live in Berlin.", "Forget that I live in Berlin."),
        ("I moved to Berlin.", "Please forget that I live in Berlin."),
        ("My address is 12 Elm Street.", "Delete my address from your memory."),
        ("My salary is $90,000.", "Please forget what I told you about my salary."),
        ("I'm vegan.", "Forget that I'm vegan."),
        ("I'm vegan.", "Forget everything you know about me."),
    ],
)
def test_a_wish_to_forget_finds_what_it_means(told: str, wish: str):
    known = learned(told, "My birthday is in May.")

    changes = merged_profiles(known, later(wish))

    assert known[0].id in [gone.id for gone in changes.forgotten]
    assert wish in changes.forgotten[0].because


def test_a_wish_to_forget_leaves_the_rest():
    known = learned("My address is 12 Elm Street.", "My birthday is in May.", "I work at Siemens.")

    changes = merged_profiles(known, later("Forget my address."))

    assert [gone.id for gone in changes.forgotten] == [known[0].id]


def test_a_wish_to_forget_reaches_lessons():
    known = taught("Always reply in French.", "Nobody should merge without two approvals.")
    wish = lessons_of(replace(window(), turns=(turn(9, "Forget the rule about two approvals."),)))

    changes = merged_playbooks(known, wish)

    assert [gone.id for gone in changes.forgotten] == [2]


def test_what_is_said_and_taken_back_at_once_is_never_stored():
    changes = merged_profiles([], told(window("I live in Berlin.", "Forget that I live in Berlin.")))

    assert not changes


def test_facts_written_by_hand_are_understood():
    known = [Profile(ProfileId("p"), UserId("ann"), "User lives in Paris.", NOON, NOON)]

    again, otherwise = (merged_profiles(known, later(said)) for said in ("I live in Paris.", "I live in Rome."))

    assert again.mentioned
    assert not again.added
    assert [gone.old.known for gone in otherwise.superseded] == ["p"]


def test_lessons_written_by_hand_are_understood():
    known = [UserPlaybook(PlaybookId(4), UserId("ann"), Lesson("Always reply in French."), NOON, NOON)]

    changes = merged_playbooks(known, lessons_of(window("Please always answer in German.")))

    assert [gone.old.known for gone in changes.superseded] == [4]


_SAYINGS = st.sampled_from(
    [
        "I live in Berlin.", "I moved to Paris.", "I'm based in Berlin.", "We use MySQL.",
        "We switched from MySQL to Postgres.", "I eat meat.", "I don't eat meat anymore.",
        "Forget that I live in Berlin.", "I'm out of office until Friday.",
        "Always reply in French.", "Never reply in French.", "We never deploy to us-east-1, always use us-west-2.",
        "We always deploy to eu-central-1.", "Stop adding comments.", "Always add comments.",
        "Forget everything you know about me.", "No, use tabs, not spaces.", "My deadline is Friday.",
        "My deadline is Monday. My deadline is Tuesday.", "Thanks!",
    ]
)  # fmt: skip


@settings(max_examples=25)
@given(st.lists(_SAYINGS, max_size=8))
@example(["I live in Berlin.", "I moved to Paris.", "Forget that I live in Berlin."])
def test_reading_the_same_conversation_again_changes_nothing(said: list[str]):
    seen = window(*said)
    facts, lessons = told(seen), lessons_of(seen)
    profiles = profiles_after([], merged_profiles([], facts))
    playbooks = playbooks_after([], merged_playbooks([], lessons))

    assert not merged_profiles(profiles, facts)
    assert not merged_playbooks(playbooks, lessons)


@settings(max_examples=25)
@given(st.lists(_SAYINGS, max_size=8))
def test_nothing_is_lost_without_a_trace(said: list[str]):
    notes = told(window(*said))
    changes = merged_profiles([], notes)
    held = profiles_after([], changes)

    for profile in held:
        assert profile.status is not Status.SUPERSEDED or profile.superseded_by in {other.id for other in held}
    assert len(set(current(held))) == len(current(held))

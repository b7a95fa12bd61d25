"""Where words leave open whether two memories mean the same, a model's verdict decides."""

from typing import Any

import pytest
from msgspec.structs import replace
from pydantic_ai.exceptions import ModelHTTPError

from acumen.learn import compare, merge
from acumen.learn.changes import ProfileChanges
from acumen.learn.compare import Pair
from acumen.learn.merge import Verdict
from acumen.llm.scripted import Script
from acumen.model.ids import InteractionId, ProfileId, RequestId, UserId
from acumen.model.llm_call import Role
from acumen.model.memory import Evidence, Status
from acumen.model.profile import Profile, ProfileNote
from tests.learn.extract.test_extract_llm import llm_that
from tests.learn.talk import NOON

LYON = Profile(ProfileId("p1"), UserId("ann"), "User lives in Lyon.", NOON, NOON, interaction_ids=[InteractionId(1)])


def heard(content: str, turn: int = 2) -> ProfileNote:
    return ProfileNote(content, "", "", Evidence(InteractionId(turn), 0, 5, content), RequestId("r"))


def merged(note: ProfileNote, verdict: Verdict | None = None, known: Profile = LYON) -> ProfileChanges:
    return merge.profiles([known], [note], NOON, verdicts={} if verdict is None else {(0, "p1"): verdict})


HOME = heard("User has rented a small flat by the river, in the old town of Lyon.")
MOVED = heard("User moved and lives in Paris now.")


def test_what_is_new_although_something_like_it_is_known_is_unclear():
    (pair,) = compare.unclear(merged(HOME), [LYON])

    assert (pair.place, pair.known, pair.new, pair.old) == (0, "p1", HOME.content, LYON.content)


def test_what_merge_would_replace_is_worth_a_second_opinion():
    changes = merged(MOVED)

    assert [one.old.known for one in changes.superseded] == ["p1"]
    assert [pair.known for pair in compare.unclear(changes, [LYON])] == ["p1"]
    assert merged(MOVED, Verdict.DIFFERENT).superseded == ()


def test_what_shares_no_word_is_unclear_by_its_meaning():
    note = heard("Home is Marseille, by the sea.")

    (pair,) = compare.unclear(merged(note), [LYON], [{"p1": 0.55}])

    assert (pair.known, pair.near) == ("p1", 0.55)
    assert compare.unclear(merged(note), [LYON], [{"p1": 0.1}]) == []


@pytest.mark.parametrize(
    "note,known",
    [
        (heard("User plays the flute."), LYON),  # nothing alike
        (heard("User lives in Lyon."), LYON),  # known already
        (HOME, replace(LYON, status=Status.SUPERSEDED)),  # no longer current
    ],
)
def test_what_is_clear_is_not_asked_about(note: ProfileNote, known: Profile):
    assert compare.unclear(merged(note, known=known), [known]) == []


def test_the_same_in_other_words_is_a_mention():
    changes = merged(HOME, Verdict.SAME)

    assert (changes.added, [one.which.known for one in changes.mentioned]) == ((), ["p1"])


def test_a_contradiction_in_other_words_replaces():
    note = heard("User's home is Marseille.")

    changes = merged(note, Verdict.CONTRADICTS)

    assert [one.note for one in changes.added] == [note]
    assert [one.old.known for one in changes.superseded] == ["p1"]


def test_what_is_different_stands_beside_whatever_the_words_say():
    note = heard("User lives in Paris.")

    changes = merged(note, Verdict.DIFFERENT)

    assert (len(changes.added), changes.superseded, changes.mentioned) == (1, (), ())


def test_older_words_do_not_replace_newer_ones_by_anyones_verdict():
    changes = merged(heard("User's home is Marseille.", turn=0), Verdict.CONTRADICTS)

    assert (changes.added, changes.superseded) == ((), ())
    assert len(changes.outdated) == 1


async def verdicts_of(answer: Any, *pairs: Pair) -> dict[tuple[int, str], Verdict]:
    return dict(await compare.verdicts(pairs, llm_that(Script().says(Role.MERGE, answer)), "ann"))


ONE, OTHER = Pair(0, "p1", "a", "b", 0.5), Pair(1, "p2", "c", "d", 0.9)


async def test_verdicts_are_of_the_pairs_that_were_shown_the_likeliest_first():
    answer = {"verdicts": [{"pair": 1, "verdict": "contradicts"}, {"pair": 2, "verdict": "same"}]}

    assert await verdicts_of(answer, ONE, OTHER) == {(1, "p2"): Verdict.CONTRADICTS, (0, "p1"): Verdict.SAME}


async def test_a_verdict_on_what_was_not_shown_is_nobodys():
    answer = {"verdicts": [{"pair": 7, "verdict": "same"}, {"pair": 0, "verdict": "same"}]}

    assert await verdicts_of(answer, ONE) == {}


async def test_without_an_answer_there_is_no_verdict():
    assert await verdicts_of(ModelHTTPError(401, "scripted"), ONE) == {}
    assert await verdicts_of({"verdicts": [{"pair": 1, "verdict": "perhaps"}]}, ONE) == {}


async def test_nothing_is_asked_where_nothing_is_unclear():
    script = Script()

    assert await compare.verdicts([], llm_that(script), "ann") == {}
    assert script.asked == []


async def test_no_more_is_shown_than_fits():
    script = Script().says(Role.MERGE, {"verdicts": []})
    pairs = [Pair(place, f"p{rank}", "new " * 300, "old " * 300, rank / 100) for place in range(9) for rank in range(9)]

    await compare.verdicts(pairs, llm_that(script), "ann")

    assert script.asked[0].shown.count("] new: ") == compare.MOST_PAIRS

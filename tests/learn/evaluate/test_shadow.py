"""Which of two answers was better, and who may say so."""

import pytest

from acumen.learn.evaluate import shadow
from acumen.learn.evaluate.shadow import AnswerPair, Choice, by_rules, mapped_back, overall, pairs, regular_first
from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId
from acumen.model.metering.evaluation import Preference
from tests.world import a_request, a_turn

REQUEST = a_request()


def answer(content: str, other: str, **more: str) -> Interaction:
    return a_turn(content, REQUEST, role="assistant", shadow_content=other, **more)


@pytest.mark.parametrize(
    "better,significantly,first,expected",
    [
        ("1", True, True, Preference.REGULAR),
        ("2", True, True, Preference.SHADOW),
        ("1", True, False, Preference.SHADOW),
        ("2", False, False, Preference.REGULAR_SLIGHTLY),
        ("1", False, False, Preference.SHADOW_SLIGHTLY),
        ("tie", True, True, Preference.TIED),
    ],
)
def test_a_verdict_on_places_is_mapped_back_to_answers(better, significantly, first, expected):
    assert mapped_back(Choice(better=better, significantly=significantly), regular_is_first=first) is expected


def test_places_are_drawn_evenly_and_for_good():
    drawn = [regular_first(InteractionId(number)) for number in range(1_000)]

    assert 430 < sum(drawn) < 570
    assert drawn == [regular_first(InteractionId(number)) for number in range(1_000)]


def test_a_pair_knows_what_was_asked_before_and_said_after():
    turns = [a_turn("Which region?", REQUEST), answer("us-east-1", "us-west-2"), a_turn("wrong", REQUEST)]

    (pair,) = pairs(turns)

    assert (pair.request, pair.reply) == ("Which region?", "wrong")


def test_of_a_long_session_only_the_newest_answers_are_compared():
    turns = [answer(f"answer {number}", "other") for number in range(50)]

    assert pairs(turns)[0].turn.content == "answer 30"
    assert len(pairs(turns)) == shadow.MOST_COMPARED


def test_without_a_model_an_expert_tells_which_answer_is_closer():
    expert = "Restart the payment worker and then clear the queue."
    far, near = "Please contact support.", "Restart the payment worker, then clear its queue."

    good = by_rules(AnswerPair(answer(near, far, expert_content=expert), "", ""))
    bad = by_rules(AnswerPair(answer(far, near, expert_content=expert), "", ""))

    assert good is not None
    assert bad is not None
    assert (good.preference, bad.preference) == (Preference.REGULAR, Preference.SHADOW)
    assert good.origin.engine == "rules"


def test_without_a_model_a_correction_tells_when_the_shadow_had_it_right():
    turn = answer("Deploying to us-east-1.", "Deploying to us-west-2.")

    found = by_rules(AnswerPair(turn, "Deploy.", "No, us-west-2, not us-east-1"))

    assert found is not None
    assert found.preference is Preference.SHADOW
    assert "us-west-2" in found.reason


@pytest.mark.parametrize("reply", ["", "thanks!", "No, eu-central-1 please", "and the staging one?"])
def test_without_a_model_and_without_a_word_nobody_can_tell(reply: str):
    turn = answer("Deploying to us-east-1.", "Deploying to us-west-2.")

    assert by_rules(AnswerPair(turn, "Deploy.", reply)) is None


def test_the_same_words_are_a_tie():
    found = by_rules(AnswerPair(answer("It is  nine.", "It is nine."), "", ""))

    assert found is not None
    assert found.preference is Preference.TIED


def test_a_session_is_as_good_as_its_answers_together():
    assert overall([]) is None
    assert overall([Preference.REGULAR, Preference.TIED]) is Preference.REGULAR_SLIGHTLY
    assert overall([Preference.SHADOW, Preference.SHADOW, Preference.REGULAR_SLIGHTLY]) is Preference.SHADOW_SLIGHTLY

"""How sessions ended, by rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.learn.evaluate.judge_rules import judge
from acumen.model.conversation import Interaction
from acumen.model.metering.evaluation import FailureType, Judgement
from bench.evaluation.cases import PARTS, cases
from bench.evaluation.run import judged_all, right_escalation, right_success, share
from tests.world import a_request, a_turn

REQUEST = a_request()


def talk(*said: str) -> list[Interaction]:
    """Turns by the user, or by the agent where they begin with `agent:`; a tool in brackets has the status it names."""
    turns = []
    for text in said:
        if not text.startswith("agent"):
            turns.append(a_turn(text, REQUEST))
            continue
        head, _, words = text.partition(":")
        status = head.removeprefix("agent").strip("[]")
        tools = [{"tool_name": "lookup", "tool_data": {}, "status": status}] if status else []
        turns.append(a_turn(words.strip(), REQUEST, role="assistant", tools_used=tools))
    return turns


def judged(*said: str) -> Judgement:
    found = judge(talk(*said))
    assert found is not None
    return found


def test_an_answer_that_nobody_minds_is_a_success_of_which_we_are_not_sure():
    found = judged("When do you open?", "agent: At nine.")

    assert (found.is_success, found.turns_to_resolution, found.corrections) == (True, 1, 0)
    assert found.confidence < 0.7


def test_thanks_make_a_success_surer_and_are_no_turn_towards_it():
    found = judged("When do you open?", "agent: At nine.", "Thanks!")

    assert (found.is_success, found.turns_to_resolution) == (True, 1)
    assert found.confidence > 0.8


def test_a_correction_that_was_taken_up_is_a_success_with_a_correction():
    before = ("Book Friday.", "agent: Booked for Saturday.")

    found = judged(*before, "No, Friday!", "agent: Sorry, Friday is booked.", "ok, great")

    assert (found.is_success, found.corrections, found.turns_to_resolution) == (True, 1, 2)


def test_a_correction_that_is_the_last_word_is_a_failure_that_says_why():
    found = judged("Book Friday.", "agent: Booked for Saturday.", "I said Friday, not Saturday")

    assert (found.is_success, found.failure_type) == (False, FailureType.WRONG_ANSWER)
    assert "I said Friday, not Saturday" in (found.failure_reason or "")


def test_the_same_answer_to_a_repeated_request_is_a_failure():
    found = judged(
        "When does my contract end?",
        "agent: Contracts run for a year.",
        "So when does my contract end?",
        "agent: Contracts run for a year.",
    )

    assert not found.is_success


def test_a_tool_that_failed_and_was_not_made_good_is_a_system_error():
    failed = judged("Look it up.", "agent[error]: I tried, the lookup did not answer.")
    made_good = judged("Look it up.", "agent[error]: One moment.", "agent[success]: It is 42.")

    assert (failed.is_success, failed.failure_type) == (False, FailureType.SYSTEM_ERROR)
    assert made_good.is_success


def test_polite_thanks_for_nothing_are_no_success():
    found = judged("Unlock my account.", "agent: I'm not able to unlock accounts.", "ok thank you anyway")

    assert (found.is_success, found.failure_type) == (False, FailureType.MISSING_TOOL)


def test_whoever_asks_for_a_person_was_not_helped():
    found = judged("My bill is wrong.", "agent: Bills are monthly.", "Let me speak to a human", "agent: Sure.")

    assert (found.is_success, found.is_escalated) == (False, True)


def test_a_request_that_nobody_answered_is_a_failure():
    found = judged("When do you open?", "agent: At nine.", "And on Sunday?")

    assert not found.is_success
    assert "never answered" in (found.failure_reason or "")


def test_where_the_agent_never_spoke_there_is_nothing_to_judge():
    assert judge(talk("Hello?", "Anyone?")) is None
    assert judge([]) is None
    assert judge(talk("agent: Welcome!")) is None


def test_a_secret_is_not_quoted_as_the_reason():
    found = judged("Log in.", "agent: Done.", "wrong, my password is hunter2butlonger!")

    assert "hunter2" not in (found.failure_reason or "")


@pytest.mark.parametrize("part", PARTS)
def test_the_labelled_sessions_are_judged_as_they_are_labelled(part: str):
    found = judged_all(cases(part))

    assert share(found, right_success) >= 0.9
    assert share(found, right_escalation) >= 0.9


def test_the_labelled_set_is_large_and_has_both_ends():
    labelled = [case for part in PARTS for case in cases(part)]

    assert len(labelled) >= 60
    assert 0.4 <= sum(case.success for case in labelled) / len(labelled) <= 0.6
    assert {case.failure_type for case in labelled} >= {str(kind) for kind in FailureType}


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.text(max_size=300)), max_size=8))
def test_whatever_is_said_can_be_judged(turns: list[tuple[str, str]]):
    found = judge([a_turn(text, REQUEST, role=role) for role, text in turns])

    assert found is None or 0 <= found.confidence <= 1

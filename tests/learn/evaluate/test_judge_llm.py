"""What a model is shown of a session, and what its answer is taken for."""

import pytest

from acumen.learn.evaluate.judge_llm import JUDGE, Verdict, talk
from acumen.learn.evaluate.shadow import COMPARE
from acumen.llm.tokens import count_tokens
from acumen.model.metering.evaluation import FailureType
from tests.world import a_request, a_turn

REQUEST = a_request()


def test_a_session_is_shown_with_who_spoke_and_how_tools_ended():
    tools = [{"tool_name": "deploy", "tool_data": {}, "status": "error"}, {"tool_name": "log", "tool_data": {}}]
    turns = [a_turn("Deploy.", REQUEST), a_turn("It failed.", REQUEST, role="assistant", tools_used=tools)]

    shown = talk(turns, 1_000)

    assert shown == "User: Deploy.\nAgent [used deploy: error] [used log: no status]: It failed."


def test_of_a_long_session_the_end_is_shown_within_its_budget():
    turns = [a_turn(f"turn {number} " + "word " * 50, REQUEST) for number in range(100)]

    shown = talk(turns, 500)

    assert shown.startswith("[earlier turns are left out]")
    assert "turn 99" in shown
    assert "turn 1 " not in shown
    assert count_tokens(shown) <= 520


def test_secrets_are_not_shown():
    shown = talk([a_turn("The password is hunter2butlonger!", REQUEST)], 1_000)

    assert "hunter2" not in shown


@pytest.mark.parametrize("said", ["none", "", None, "user_error", "N/A"])
def test_a_failure_type_that_is_none_of_ours_is_none(said: str | None):
    assert Verdict.model_validate({"is_success": False, "failure_type": said}).failure_type is None


def test_a_failure_type_of_ours_is_kept():
    told = Verdict.model_validate({"is_success": False, "failure_type": "missing_tool"})

    assert told.failure_type is FailureType.MISSING_TOOL


def test_both_questions_stay_within_their_budgets():
    assert JUDGE.reads <= 12_000
    assert COMPARE.reads <= 12_000
    assert "{" not in JUDGE.question({"definition": "d", "context": "", "talk": "t"}).shown

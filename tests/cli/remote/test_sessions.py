"""How `acumen sessions` tells why a session ended as it did."""

import pytest

from acumen.cli.remote.sessions import _reason
from acumen_client.wire.evaluations import EvaluationResultView


@pytest.mark.parametrize(
    "told,said",
    [
        ({}, "-"),
        ({"is_escalated": True}, "escalated"),
        ({"failure_type": "wrong_answer"}, "wrong_answer"),
        ({"failure_type": "wrong_answer", "failure_reason": "It was ten."}, "wrong_answer: It was ten."),
        ({"is_escalated": True, "failure_reason": "It was ten."}, "escalated; It was ten."),
    ],
)
def test_only_what_is_known_of_an_end_is_told(told: dict, said: str):
    assert _reason(EvaluationResultView.model_construct(**told)) == said

"""What `acumen status` says about the language model."""

import pytest

from acumen.cli.remote.status import _model
from acumen_client.wire.system import ModelStatus

DEGRADED = "using rules: the 900 tokens of today are spent"
ASKED = {"configured": True, "endpoint": "127.0.0.1:11434", "calls_today": 3, "failed_today": 1, "tokens_today": 900}


@pytest.mark.parametrize(
    "status,said",
    [
        ({}, "No model (rules)"),
        (ASKED, "127.0.0.1:11434: 3 calls today, 1 failed, 900 tokens"),
        ({**ASKED, "cost_today_usd": 0.0012}, "127.0.0.1:11434: 3 calls today, 1 failed, 900 tokens, $0.0012"),
        (
            {**ASKED, "daily_tokens": 900, "degraded": "the 900 tokens of today are spent"},
            f"{ASKED['endpoint']}: 3 calls today, 1 failed, 900 of 900 tokens; {DEGRADED}",
        ),
    ],
)
def test_the_model_has_a_line_of_its_own(status: dict, said: str):
    assert _model(ModelStatus.model_validate(status)) == said

"""Verdicts: what was found before, and how seriously to take it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.model.operations.verdict import Recurrence
from tests.world import Org


async def verdict(org: Org, subject: str, *findings: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"subject": subject, "overall": "request_changes", "findings": list(findings), **more}
    reply = await org.send("POST", "/api/record_verdict", body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def finding(message: str = "no test", **more: Any) -> dict[str, Any]:
    return {"severity": "warn", "message": message, **more}


async def test_a_finding_is_taken_the_more_seriously_the_more_subjects_have_it(org: Org):
    levels = []

    for number in range(6):
        told = await verdict(org, f"pr-{number}", finding(signature="no-test"))
        levels.append(told["recurrence"][0]["level"])

    assert levels == ["none", "info", "warn", "warn", "block", "block"]


async def test_one_subject_over_and_over_never_gets_past_info(org: Org):
    for number in range(2):
        await verdict(org, f"pr-{number}", finding(signature="x"))
    for _ in range(20):
        told = await verdict(org, "pr-0", finding(signature="x"))

    assert told["recurrence"][0]["level"] == "info"
    assert told["recurrence"][0]["confidence"] < 0.3


async def test_findings_in_the_same_words_are_the_same_wherever_they_are_found(org: Org):
    await verdict(org, "pr-1", finding("no test for /src/a/b.py line 12"))
    told = await verdict(org, "pr-2", finding("no test for /lib/c/d.py line 99"))

    assert [(one["count"], one["distinct_subjects"]) for one in told["recurrence"]] == [(2, 2)]


async def test_history_is_read_back_by_subject_and_by_signature(org: Org):
    await verdict(org, "pr-1", finding("a", signature="one"), finding("b", signature="two"))
    await verdict(org, "pr-2", finding("c", signature="one"))

    of_subject = await org.sdk.verdict_history(subject="pr-1")
    of_signature = await org.sdk.verdict_history(signature="one")

    assert [one.message for one in of_subject.findings] == ["b", "a"]
    assert {one.signature: one.distinct_subjects for one in of_subject.recurrence} == {"one": 2, "two": 1}
    assert [one.subject for one in of_signature.findings] == ["pr-2", "pr-1"]


async def test_a_verdict_sent_again_counts_once_and_another_under_its_id_is_a_conflict(org: Org):
    first = await verdict(org, "pr-1", finding(signature="x"), op_id="v1")
    again = await verdict(org, "pr-1", finding(signature="x"), op_id="v1")
    other = await org.send("POST", "/api/record_verdict", {"subject": "pr-9", "overall": "block", "op_id": "v1"})

    assert (first["result"], again["result"], other.status_code) == ("stored", "known", 409)
    assert again["recurrence"][0]["count"] == 1


async def test_outcomes_and_verdicts_are_exported_and_operations_are_not(org: Org):
    await org.sdk.record_operations(
        operations=[
            {"source": "mcp", "endpoint": "x", "status": "ok"},
            {"source": "ci", "endpoint": "deploy", "status": "error", "kind": "outcome", "op_id": "o1"},
        ]
    )
    await verdict(org, "pr-1", op_id="v1")

    first = await org.sdk.export_outcomes(limit=1)
    rest = await org.sdk.export_outcomes(after=first.cursor)
    end = await org.sdk.export_outcomes(after=rest.cursor)

    assert [one.op_id for one in (*first.operations, *rest.operations)] == ["o1", "v1"]
    assert (end.operations, end.cursor) == ([], rest.cursor)


@pytest.mark.parametrize("body", [{}, {"subject": "x", "signature": "y"}])
async def test_history_wants_to_know_of_what(org: Org, body: dict[str, str]):
    reply = await org.http.get("/api/verdict_history", params=body)

    assert reply.status_code == 422


@given(st.integers(0, 50), st.integers(0, 50))
def test_little_confidence_never_escalates(subjects: int, more: int):
    found = Recurrence("x", subjects + more, subjects)

    if found.confidence < 0.3:
        assert found.level in ("none", "info")
    assert (found.level == "none") == (subjects < 2)

"""Operations: stored once, counted once, refused one by one."""

import asyncio
import json
from typing import Any

import pytest

from acumen.model.ids import now
from acumen.model.operations.operation import OperationFilter
from acumen_client.wire import operations as wire
from tests.world import Org, Start, join, local


def done(op_id: str | None = None, **more: Any) -> dict[str, Any]:
    given = {"source": "mcp", "endpoint": "read_file", "status": "ok", **more}
    return {**given, "op_id": op_id} if op_id else given


async def record(org: Org, *operations: dict[str, Any]) -> dict[str, Any]:
    reply = await org.send("POST", "/api/record_operations", {"operations": list(operations)})
    assert reply.status_code == 200, reply.text
    return reply.json()


async def results(org: Org, *operations: dict[str, Any]) -> list[str]:
    return [one["result"] for one in (await record(org, *operations))["results"]]


async def test_what_was_recorded_is_read_back_as_it_was_said(org: Org):
    said = done(
        "op-1",
        session_id="s1",
        user_id="ada",
        agent="coder",
        agent_version="2",
        request_id="r1",
        trace_id="t1",
        span_id="sp1",
        parent_span_id="sp0",
        started_at=now() / 1000,
        duration_ms=12.5,
        input_summary="read it",
        output_summary="2 rows",
        arguments={"path": "/tmp/x", "lines": 3},
        tokens_in=10,
        tokens_out=0,
        tokens_cached=1,
        tokens_reasoning=2,
        cost_usd=0.25,
        model="m-1",
        rescue_attempted=False,
        attributes={"nested": {"list": [1, "two", None, True]}},
    )

    await record(org, said)
    (found,) = (await org.send("POST", "/api/get_operations", {"session_id": "s1"})).json()["operations"]

    given = {name: value for name, value in said.items() if name != "started_at"}
    assert {name: found[name] for name in given} == given
    assert abs(found["started_at"] - said["started_at"]) < 0.002
    assert "rescue_succeeded" not in found, "nobody said whether the rescue succeeded"


async def test_the_same_again_is_the_same_success_and_another_body_a_conflict(org: Org):
    first = await results(org, done("op-1", duration_ms=5))
    again = await results(org, done("op-1", duration_ms=5))
    other = await record(org, done("op-1", duration_ms=6), done("op-2"))

    assert (first, again) == (["stored"], ["known"])
    assert [one["result"] for one in other["results"]] == ["conflict", "stored"]
    assert "is used by another operation" in other["results"][0]["reason"]
    assert (await org.send("GET", "/stats")).json()["total"] == 2


async def test_an_id_that_is_sent_twice_in_one_batch_is_stored_once(org: Org):
    told = await results(org, done("op-1"), done("op-1"), done("op-1", status="unknown"))

    assert told == ["stored", "known", "conflict"]


async def test_an_id_belongs_to_its_org(org: Org):
    other = await join(org.app)
    await record(org, done("op-1", user_id="ada"))

    assert await results(other, done("op-1", user_id="bob")) == ["stored"]


async def test_the_same_operation_sent_at_once_by_many_is_stored_once(org: Org):
    told = await asyncio.gather(*(results(org, done("op-1")) for _ in range(30)))

    assert sorted(one for (one,) in told) == ["known"] * 29 + ["stored"]
    assert (await org.send("GET", "/stats")).json()["total"] == 1


BAD = [
    ({"status": "fine"}, "status"),
    ({"status": None}, "status"),
    ({"source": " "}, "source"),
    ({"source": None}, "source"),
    ({"endpoint": ""}, "endpoint"),
    ({"endpoint": 7}, "endpoint"),
    ({"duration_ms": "12"}, "duration_ms"),
    ({"duration_ms": -1}, "duration_ms"),
    ({"duration_ms": True}, "duration_ms"),
    ({"tokens_in": 1.5}, "tokens_in"),
    ({"rescue_attempted": "true"}, "rescue_attempted"),
    ({"rescue_attempted": 1}, "rescue_attempted"),
    ({"started_at": "yesterday"}, "started_at"),
    ({"started_at": "2026-01-31T12:00:00"}, "started_at"),
    ({"started_at": 99_999_999_999_999}, "started_at"),
    ({"kind": "deed"}, "kind"),
    ({"error_message": "nul \x00 here"}, "error_message"),
    ({"attributes": {"x": "\ud800"}}, "attributes"),
    ({"attributes": [1]}, "attributes"),
    ({"attributes": {str(number): 1 for number in range(201)}}, "attributes"),
    ({"staffer": "x"}, "staffer"),
]


async def test_a_bad_one_is_refused_with_its_reason_and_the_good_ones_are_kept(org: Org):
    sent = [done("good-1"), *(done(**changed) for changed, _ in BAD), done("good-2")]
    reply = await org.http.post(
        "/api/record_operations",
        content=json.dumps({"operations": sent}).encode(),
        headers={"Content-Type": "application/json"},
    )
    told = reply.json()

    assert (told["accepted"], told["rejected"]) == (2, len(BAD))
    assert [one["result"] for one in told["results"]] == ["stored", *["refused"] * len(BAD), "stored"]
    for (changed, field), one in zip(BAD, told["results"][1:-1], strict=True):
        assert field in one["reason"], (changed, one["reason"])
    assert (await org.send("GET", "/stats")).json()["total"] == 2


@pytest.mark.parametrize("operations", [[], [done()] * 1001, "x", None])
async def test_a_batch_that_is_none_is_refused_as_a_whole(org: Org, operations: Any):
    reply = await org.send("POST", "/api/record_operations", {"operations": operations})

    assert reply.status_code == 422


async def test_a_thousand_are_taken_at_once(org: Org):
    told = await record(org, *(done(f"op-{number}", duration_ms=number) for number in range(1000)))

    assert told["accepted"] == 1000
    assert (await org.send("GET", "/stats")).json()["total"] == 1000


async def test_a_clock_that_is_far_off_is_told_and_kept(org: Org):
    at = now() / 1000
    times = {"right": at - 5, "ahead": at + 3600, "long ago": 3600.0, "absent": None}

    told = await record(org, *(done(name, started_at=time) for name, time in times.items()))

    skews = {one["op_id"]: one.get("clock_skew_ms") for one in told["results"]}
    assert skews["right"] is None
    assert skews["absent"] is None
    assert 3_590_000 < skews["ahead"] <= 3_600_000
    assert skews["long ago"] < -(10**12)


async def test_a_source_is_kept_as_it_was_given(org: Org):
    await record(org, done(source="Some Robot / v2"), done(source="scenario"))

    assert (await org.send("GET", "/stats")).json()["by_source"] == {"Some Robot / v2": 1, "scenario": 1}


async def test_secrets_are_gone_before_anything_is_stored(org: Org):
    key = "sk-live-abcdefghij0123456789"
    await record(
        org,
        done(
            status="error",
            error_message=f"401 for key {key}",
            input_summary=f"password is hunter2222 and {key}",
            arguments={"api_key": "short", "deep": [{"Authorization": "Bearer x"}], "max_tokens": 5},
            attributes={"note": f"used {key}"},
        ),
    )

    stored = str(await org.rows("jobs"))

    assert key not in stored
    assert "hunter2222" not in stored
    assert "'api_key': '[redacted]'" in stored
    assert "'Authorization': '[redacted]'" in stored
    assert "'max_tokens': 5" in stored


async def test_counts_by_the_hour_equal_what_is_stored(org: Org):
    statuses = ["ok", "error", "cancelled", "unknown"]
    kinds = ["operation", "outcome", "verdict", "evaluation"]
    sent = [
        done(source=f"s{number % 3}", status=statuses[number % 4], kind=kinds[number // 4 % 4], duration_ms=number)
        for number in range(64)
    ]
    for start in range(0, 64, 16):
        await record(org, *sent[start : start + 16])

    told = (await org.send("GET", "/stats")).json()

    rows = (await org.rows())["operations"]
    assert told["total"] == len(rows) == 64
    assert told["failures"] == sum(row["status"] == "error" and row["kind"] == "operation" for row in rows)
    assert told["successes"] == sum(row["status"] == "ok" and row["kind"] == "operation" for row in rows)
    assert told["by_source"] == {f"s{n}": sum(row["source"] == f"s{n}" for row in rows) for n in range(3)}


@pytest.mark.parametrize(
    "more",
    [
        {"started_at": 5, "duration_ms": 1, "cost_usd": 0, "tokens_in": 3, "agent": "", "session_id": " s "},
        {"started_at": "2026-01-01T00:00:00Z", "session_id": "", "attributes": None, "fingerprint": None},
        {
            "arguments": {"a": [1, None]},
            "attributes": {"b": {"c": "é"}},
            "fingerprint": [" x "],
            "rescue_attempted": False,
        },
    ],
)
def test_an_operation_reads_the_same_in_a_batch_as_by_itself(more: dict[str, Any]):
    given = {"op_id": " a ", "source": "mcp", "endpoint": "e", "status": "ok", **more}

    (batched,) = wire.RecordOperationsRequest.model_validate({"operations": [given]}).operations

    assert repr(batched) == repr(wire.NewOperation.model_validate(given))


async def test_a_tail_shows_each_operation_once_and_in_order(org: Org):
    await record(org, *(done(f"a{number}") for number in range(5)))
    start = (await org.sdk.operations(limit=1)).cursor
    await record(org, *(done(f"b{number}") for number in range(5)))
    await record(org, done("0"))

    seen = []
    cursor = start
    while page := await org.sdk.operations(after=cursor, limit=2):
        if not page.operations:
            break
        seen += [one.op_id for one in page.operations]
        cursor = page.cursor

    assert seen == ["b0", "b1", "b2", "b3", "b4", "0"], "what came later in the same moment comes later"


async def test_operations_leave_when_their_time_is_over_and_their_counts_stay(start: Start, clock):
    here = local(await start(observe={"keep_days": 30}))
    for number in range(3):
        await record(here, done(f"old {number}"), done(f"worse {number}", status="error", session_id=f"s{number}"))
        clock.forward(hours=2)
    clock.forward(days=33)
    await record(here, done("new"))

    await here.app.worker.run_due()

    kept = await here.app.store.of(here.id).read(lambda tx: tx.operations.find(OperationFilter(), None))
    assert [one.id for one in kept] == ["new"]
    assert (await here.send("GET", "/stats")).json()["total"] == 7
    rows = await here.rows()
    assert sorted(one["count"] for one in rows["operation_hours"]) == [1, 3, 3]
    assert rows["failure_hours"] == rows["failure_sessions"] == []
    assert [(one["count"], one["sessions"]) for one in rows["failure_groups"]] == [(3, 3)]


async def test_what_nobody_holds_is_forgotten_in_the_end(start: Start, clock):
    here = local(await start(observe={"keep_days": 30, "keep_history_days": 60}))
    for number in range(3):
        await record(here, *(done(f"{what} {number}", **failing(what, number)) for what in ("lost", "put", "taught")))
    await here.sdk.record_verdict(subject="pr-1", overall="block", findings=[{"severity": "warn", "message": "m"}])
    await here.learn()
    groups = {row["endpoint"]: row["group_id"] for row in (await here.rows())["failure_groups"]}
    await here.sdk.change_failure(group_id=groups["put"], change="archive")
    clock.forward(days=70)

    await here.app.worker.run_due()

    rows = await here.rows()
    held = {groups["put"], groups["taught"]}
    assert {row["group_id"] for row in rows["failure_groups"]} == held
    assert {row["group_id"] for row in rows["failure_keys"]} == held
    assert {row["key"] for row in rows["analyses"]} == {groups["taught"]}
    assert rows["findings"] == []
    assert (await here.send("GET", "/stats")).json()["failures"] == 9


def failing(what: str, number: int) -> dict[str, Any]:
    session = f"s{number}" if what == "taught" else "s"
    return {"status": "error", "endpoint": what, "error_message": f"{what} it", "session_id": session}


async def test_words_that_are_heard_again_are_remembered_and_others_forgotten(start: Start, clock):
    here = local(await start(observe={"keep_days": 30, "keep_history_days": 60}))

    def say(name: str) -> dict[str, Any]:
        return done(status="error", error_message=f"could not find the package {name} in the archive")

    for name in ("numpy", "pandas", "polars"):
        await record(here, say(name))
    keys = len((await here.rows())["failure_keys"])
    for _ in range(3):
        clock.forward(days=25)
        await record(here, say("pandas"))
    await here.app.worker.run_due()

    rows = await here.rows()
    assert keys == 3
    assert (len(rows["failure_groups"]), len(rows["failure_keys"])) == (1, 2), "the first names the group"


# --- the earlier shapes ----------------------------------------------------------------------------------------------


async def event(org: Org, **body: Any) -> dict[str, Any]:
    reply = await org.send("POST", "/event", body)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_an_event_of_the_earlier_observer_is_understood(org: Org):
    told = await event(
        org,
        ok=False,
        audit_duration_ms=7,
        one_liner="nobody was free",
        error="no staffer",
        event_kind="fill",
        role="Welder",
        count=3,
        city="Toledo",
        state="OH",
        staffer_id="st-1",
        rescue_attempted=True,
        extra_field="kept",
    )
    (found,) = (await org.sdk.operations()).operations

    assert told["accepted"] is True
    assert told["ring_size"] == 1
    assert (found.source, found.endpoint, found.status) == ("scenario", "scenario:fill", "error")
    assert (found.duration_ms, found.output_summary) == (7, "nobody was free")
    assert found.input_summary == "fill Welderx3 in Toledo, OH"
    assert (found.rescue_attempted, found.rescue_succeeded) == (True, None)
    assert found.attributes["extra_field"] == "kept"
    assert (await org.send("GET", "/stats")).json()["recent_scenario_ops"][0]["staffer"] == "st-1"


async def test_defaults_go_by_the_source_and_an_unknown_one_keeps_its_name(org: Org):
    for source in ("auditor", "bot", "langfuse"):
        await event(org, source=source, success=True)

    found = {one.source: one.endpoint for one in (await org.sdk.operations()).operations}

    assert found == {"auditor": "auditor:verdict", "bot": "bot:cycle", "langfuse": "langfuse:event"}


async def test_an_auditors_no_is_no_failure_of_the_system(org: Org):
    await event(org, source="auditor", ok=False, one_liner="missing tests")

    told = (await org.send("GET", "/stats")).json()
    (found,) = (await org.sdk.operations()).operations

    assert (told["total"], told["failures"]) == (1, 0)
    assert (found.kind, found.attributes["overall"], found.group_id) == ("verdict", "request_changes", None)
    assert (await org.send("GET", "/stats")).json()["recent"][0]["ok"] is False


@pytest.mark.parametrize("odd", [{}, {"success": "true"}, {"ok": 1}, {"success": None, "ok": None}])
async def test_an_event_that_does_not_say_how_it_ended_is_refused(org: Org, odd: dict[str, Any]):
    reply = await org.send("POST", "/event", {"source": "bot", **odd})

    assert reply.status_code == 422
    assert (await org.send("GET", "/stats")).json()["total"] == 0


async def test_an_event_sent_again_with_its_time_counts_once(org: Org):
    body = {"source": "bot", "ok": True, "timestamp": "2026-03-01T10:00:00Z"}

    for _ in range(3):
        await event(org, **body)

    assert (await org.send("GET", "/stats")).json()["total"] == 1


async def test_stats_survive_a_restart(start: Start):
    first = local(await start())
    await record(first, done(), done(status="error"))

    second = local(await start())

    assert (await second.send("GET", "/stats")).json()["total"] == 2


async def test_an_event_under_a_known_id_with_another_body_is_a_conflict(org: Org):
    await event(org, op_id="evt-1", source="bot", ok=True)

    again = await org.send("POST", "/event", {"op_id": "evt-1", "source": "bot", "ok": True})
    other = await org.send("POST", "/event", {"op_id": "evt-1", "source": "bot", "ok": False})

    assert (again.status_code, other.status_code, other.json()["code"]) == (200, 409, "conflict")


async def test_operations_are_taken_while_no_worker_works_and_no_model_answers(start: Start):
    here = local(await start(jobs={"workers": 0}, llm={"url": "http://127.0.0.1:9/v1"}))

    told = await results(here, *(done(f"op-{n}", status="error", session_id=f"s{n}") for n in range(5)))

    assert told == ["stored"] * 5
    assert (await here.send("GET", "/stats")).json()["failures"] == 5


async def test_what_finds_no_room_is_refused_with_503_and_what_was_answered_is_there(start: Start):
    here = local(await start(limits={"waiting_writes": 1}))

    sent = (here.send("POST", "/api/record_operations", {"operations": [done(f"op-{number}")]}) for number in range(40))
    replies = await asyncio.gather(*sent)

    answered = [one.status_code for one in replies]
    assert {*answered} == {200, 503}
    assert (await here.send("GET", "/stats")).json()["total"] == answered.count(200)


async def test_the_earlier_health_counts_what_is_kept(start: Start):
    here = local(await start())
    await record(here, done(), done())

    told = (await here.send("GET", "/health")).json()

    assert (told["status"], told["ops_in_ring"]) == ("healthy", 2)

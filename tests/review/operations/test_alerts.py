"""Alerts: told once when something goes wrong and once when it is well again, to people and to a webhook."""

import asyncio
import hashlib
import hmac
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from acumen import loop
from acumen.errors import BadSettings
from acumen.llm.scripted import Script
from acumen.model.ids import Millis
from acumen.model.jobs.events import Failed
from acumen.model.metering.llm_call import ModelRole
from acumen.model.operations.alert import silent
from acumen.model.times import HOUR_MS
from acumen.settings import load
from tests.world import Clock, Org, Start, join, local

SECRET = "a secret of the owner's"


async def heard(org: Org, source: str = "mcp", **more: Any) -> None:
    one = {"source": source, "endpoint": "read", "status": "ok", **more}
    assert (await org.send("POST", "/api/record_operations", {"operations": [one]})).json()["accepted"] == 1


async def hourly(org: Org, clock: Clock, hours: int = 8) -> None:
    for _ in range(hours):
        await heard(org)
        clock.forward(hours=1)


async def said(org: Org, **asked: Any) -> list[tuple[str, str]]:
    await org.learn()
    return [(one.kind, one.subject) for one in (await org.sdk.alerts(**asked)).alerts]


# --- what is wrong ---------------------------------------------------------------------------------------------------


async def test_a_source_that_falls_silent_is_told_of_until_it_speaks_again(start: Start, clock: Clock):
    org = local(await start())
    await hourly(org, clock)
    at_first = await said(org)

    clock.forward(hours=2)
    silent_now = await said(org)
    again = await said(org)
    await heard(org)
    clock.forward(minutes=6)

    assert at_first == []
    assert silent_now == again == [("source_silent", "mcp")]
    assert await said(org) == []
    (alert,) = (await org.sdk.alerts(include_closed=True)).alerts
    assert alert.closed_at is not None
    assert "mcp has been silent for" in alert.said


def test_silence_is_measured_by_the_habits_of_a_week():
    by_day = [Millis(day * 24 * HOUR_MS + hour * HOUR_MS) for day in range(5) for hour in range(9, 17)]
    last = Millis(by_day[-1] + HOUR_MS // 2)

    assert silent("agent", by_day, last, Millis(last + 20 * HOUR_MS), 60_000) is None, "nobody works at night"
    assert silent("agent", by_day, last, Millis(last + 40 * HOUR_MS), 60_000) is not None
    assert silent("agent", by_day[:3], last, Millis(last + 400 * HOUR_MS), 60_000) is None, "three hours are no habit"


async def test_failures_that_escalate_are_told_of(start: Start, clock: Clock):
    org = local(await start())
    failed = {"status": "error", "error_message": "disk on fire"}
    await heard(org, **failed)
    clock.forward(days=2)
    await org.learn()
    for number in range(12):
        await heard(org, **failed, session_id=f"s{number}")
    clock.forward(minutes=6)

    (found,) = [one for one in await said(org) if one[0] == "group_escalating"]

    (group,) = (await org.sdk.failures(states=["escalating"])).groups
    assert found == ("group_escalating", group.group_id)


async def test_analysis_that_fails_is_told_of_with_its_cause(
    start: Start, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    org = local(await start(jobs={"attempts": 1}))

    async def broken(*_: object) -> None:
        raise ValueError("no mind left")

    with monkeypatch.context() as patch:
        patch.setitem(loop.STEPS, Failed, (broken,))
        for number in range(4):
            await heard(org, status="error", error_message="no such table", session_id=f"s{number}")
        await org.learn()
    clock.forward(minutes=6)

    assert await said(org) == [("analysis_failing", "failed")]
    (alert,) = (await org.sdk.status()).alerts
    assert "no mind left" in alert.said


async def test_a_model_that_never_answers_is_told_of_although_the_rules_step_in(start: Start, clock: Clock):
    script = Script().says(ModelRole.JUDGE, *[ModelHTTPError(400, "no such model")] * 3, {"cause": "unusable"})
    org = local(await start(script=script))
    for kind in ("timed out", "was not found", "is forbidden"):
        for number in range(3):
            await heard(org, status="error", error_type=kind, error_message=f"it {kind}", session_id=f"s{number}")
        before = await said(org)
        clock.forward(minutes=6)

    assert before == []
    assert await said(org) == [("analysis_failing", "model:judge")]
    (alert,) = (await org.sdk.alerts()).alerts
    assert "so rules stepped in" in alert.said
    clock.forward(days=2)
    assert [kind for kind, _ in await said(org)] == []


async def test_another_org_hears_nothing_of_it(start: Start, clock: Clock):
    app = await start()
    one, other = await join(app), await join(app)
    await hourly(one, clock)
    clock.forward(hours=3)
    await app.worker.run_due()

    assert [len((await org.sdk.alerts()).alerts) for org in (one, other)] == [1, 0]


# --- the webhook -----------------------------------------------------------------------------------------------------


@dataclass
class Receiver:
    """A webhook on this machine that answers as it is told to, and keeps what it was sent."""

    answers: list[bytes] = field(default_factory=list)  # the next ones; after them 200
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        self.got.append((headers, await reader.readexactly(int(headers["content-length"]))))
        said = self.answers.pop(0) if self.answers else b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        writer.write(said)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def receiving(*answers: bytes, port: int = 0) -> AsyncIterator[Receiver]:
    receiver = Receiver(list(answers))
    async with await asyncio.start_server(receiver.serve, "127.0.0.1", port) as server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


def to(port: int) -> dict[str, Any]:
    return {"webhook_url": f"http://127.0.0.1:{port}/hook?token=hush", "webhook_secret": SECRET}


async def fall_silent(org: Org, clock: Clock) -> None:
    await hourly(org, clock)
    clock.forward(hours=3)
    await org.learn()


async def test_an_alert_is_sent_signed_and_so_is_its_end(start: Start, clock: Clock):
    async with receiving() as receiver:
        org = local(await start(alerts=to(receiver.port)))
        await fall_silent(org, clock)
        await heard(org)
        clock.forward(minutes=6)
        await org.learn()

    told = [json.loads(body) for _, body in receiver.got]
    assert [(one["type"], one["kind"], one["subject"]) for one in told] == [
        ("alert.opened", "source_silent", "mcp"),
        ("alert.closed", "source_silent", "mcp"),
    ]
    for headers, body in receiver.got:
        at, _, signed = headers["acumen-signature"].removeprefix("t=").partition(",v1=")
        expected = hmac.new(SECRET.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(signed, expected)
        assert abs(int(at) - clock() / 1000) < 3600


BROKEN = [
    b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    b"this is not HTTP\r\n\r\n",
    b"",
]


async def test_wrong_answers_are_tried_again_until_one_is_right(start: Start, clock: Clock):
    async with receiving(*BROKEN) as receiver:
        org = local(await start(alerts=to(receiver.port)))
        await fall_silent(org, clock)
        for _ in BROKEN:
            clock.forward(minutes=2)
            await org.learn()

    (alert,) = (await org.sdk.alerts()).alerts
    (delivery,) = alert.deliveries
    assert (delivery.state, delivery.attempts, delivery.status_code) == ("sent", len(BROKEN) + 1, 200)
    assert len({body for _, body in receiver.got}) == 1, "the same message each time"
    assert len({headers["acumen-delivery"] for headers, _ in receiver.got}) == 1


async def test_a_receiver_that_is_down_for_hours_gets_it_later_and_each_try_is_logged(
    start: Start, clock: Clock, caplog: pytest.LogCaptureFixture
):
    async with receiving() as gone:
        port = gone.port
    org = local(await start(alerts=to(port)))
    caplog.set_level(logging.DEBUG)
    await fall_silent(org, clock)
    for _ in range(4):
        clock.forward(hours=1)
        await org.learn()
    (waiting,) = (await org.sdk.alerts()).alerts[0].deliveries
    async with receiving(port=port) as receiver:
        clock.forward(hours=1)
        await org.learn()

    (sent,) = (await org.sdk.alerts()).alerts[0].deliveries
    assert (waiting.state, waiting.last_error) == ("waiting", "no answer (ConnectError)")
    assert (sent.state, sent.attempts, len(receiver.got)) == ("sent", waiting.attempts + 1, 1)
    ours = "\n".join(one.getMessage() for one in caplog.records if not one.name.startswith(("httpcore", "sqlalchemy")))
    assert "webhook delivery of alert" in ours
    assert "hush" not in ours
    assert SECRET not in ours + str(await org.rows())


async def test_a_receiver_that_never_answers_is_given_up_at_last(start: Start, clock: Clock):
    async with receiving() as gone:
        port = gone.port
    org = local(await start(alerts=to(port)))
    await fall_silent(org, clock)
    for _ in range(20):
        clock.forward(minutes=61)
        await org.learn()

    (delivery,) = (await org.sdk.alerts()).alerts[0].deliveries
    assert (delivery.state, delivery.attempts) == ("failed", 15)


@pytest.mark.parametrize(
    "given",
    [
        {"ACUMEN_ALERTS__WEBHOOK_URL": "http://127.0.0.1/hush"},
        {"ACUMEN_ALERTS__WEBHOOK_URL": "http://127.0.0.1/hush", "ACUMEN_ALERTS__WEBHOOK_SECRET": "short"},
        {"ACUMEN_ALERTS__WEBHOOK_URL": "file:///etc/hush"},
    ],
)
def test_a_webhook_without_a_secret_or_a_web_address_is_refused_without_repeating_it(given: dict[str, str]):
    with pytest.raises(BadSettings) as refused:
        load(given)

    assert "webhook" in str(refused.value)
    assert "hush" not in str(refused.value)
    assert "short" not in str(refused.value)

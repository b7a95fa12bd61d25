"""Traces of our own work, received by a real OTLP receiver on this machine."""

import gzip
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from acumen.errors import BadSettings
from acumen.llm.scripted import Script
from acumen.model.metering.llm_call import ModelRole
from acumen.observe import otlp_decoding
from acumen.observe.otlp_decoding import Span
from acumen.telemetry import traces
from tests.api.test_metrics import served
from tests.world import Start, said

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Receiver:
    """Takes exports as a collector would, and decodes them with our own decoder."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1/traces"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def spans(self) -> list[Span]:
        return [span for body in self.bodies for span in otlp_decoding.from_protobuf(body)]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.close()


async def test_requests_jobs_steps_models_and_transactions_are_spans_without_a_text_of_a_user(
    start: Start, receiver: Receiver
):
    reads = Script().says(ModelRole.GATE, {"worth_reading": True}).says(ModelRole.EXTRACTION, {"edits": []})
    app = await start(script=reads, telemetry={"traces_url": receiver.url})
    http = served(app)
    asked = said("I live in Canaryville.", user="canary-user", session="canary-session", force_extraction=True)
    await http.post("/api/publish_interaction", json=asked, headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    await app.worker.run_due()
    await http.get("/canary/path", headers={"traceparent": "canary"})
    await app.stop()

    spans = {span.name: span for span in receiver.spans}
    request, job = spans["POST /api/publish_interaction"], spans["job published"]
    assert (request.trace_id, request.parent_span_id) == (TRACE, PARENT)
    assert request.attributes["http.response.status_code"] == 200
    writes = [span for span in receiver.spans if span.name.startswith("db") and span.trace_id == TRACE]
    assert any(span.attributes["code.function.name"].startswith("observe.conversations.") for span in writes)
    assert job.parent_span_id == ""
    step = spans["step learn.pipeline.update"]
    assert step.trace_id == spans["model extraction"].trace_id == job.trace_id
    assert spans["model extraction"].attributes["gen_ai.usage.input_tokens"] > 0
    assert spans["GET unmatched"].attributes["http.response.status_code"] == 404
    assert all(span.resource["service.name"] == "acumen" for span in receiver.spans)
    assert not [body for body in receiver.bodies if b"canary" in body.lower() or b"self-host-org" in body]


async def test_a_failed_job_is_a_span_with_the_type_of_its_error_and_not_its_words(start: Start, receiver: Receiver):
    def broken(_shown: str) -> dict[str, str]:
        raise ValueError("canary words of a user")

    app = await start(
        script=Script().says(ModelRole.EXTRACTION, broken), llm={"attempts": 1}, telemetry={"traces_url": receiver.url}
    )
    await served(app).post("/api/publish_interaction", json=said("I live in Paris.", force_extraction=True))
    await app.worker.run_due()
    await app.stop()

    (failed,) = [span for span in receiver.spans if span.name == "model extraction"]
    assert (failed.status, failed.attributes["error.type"]) == (otlp_decoding.ERROR, "ModelUnusable")
    assert not [body for body in receiver.bodies if b"canary" in body]


async def test_traces_that_arrive_are_not_traced_again(start: Start, receiver: Receiver):
    app = await start(telemetry={"traces_url": receiver.url})

    await served(app).post("/v1/traces", json={})
    await app.stop()

    assert receiver.spans == []


async def test_a_ratio_of_zero_traces_only_what_the_caller_traces(start: Start, receiver: Receiver):
    app = await start(telemetry={"traces_url": receiver.url, "traces_ratio": 0})
    http = served(app)
    await http.get("/health/live")
    await http.get("/healthz", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    await app.stop()

    assert [span.name for span in receiver.spans] == ["GET /healthz"]


def test_without_the_sdk_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.delitem(sys.modules, "acumen.telemetry.otel", raising=False)

    with pytest.raises(BadSettings, match=r"install acumen\[otel\]"):
        traces.start(_settings(), "1")


def _settings() -> "traces.TelemetrySettings":
    return traces.TelemetrySettings(traces_url="http://127.0.0.1:9/v1/traces")

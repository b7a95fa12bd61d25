"""Traces: sent by the real OpenTelemetry SDK and exporter, and read in all dialects."""

import asyncio
import gzip
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from acumen.observe import otlp_decoding
from tests.cli.conftest import Served, serving
from tests.world import Org, Start, http_to, local

PROTOBUF = {"Content-Type": "application/x-protobuf"}


def spans(*named: tuple[str, dict[str, Any]], error: Exception | None = None) -> list[ReadableSpan]:
    """Made by the real SDK."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "my-agent", "service.version": "3"}))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("tests")
    for name, attributes in named:
        with tracer.start_as_current_span(name, attributes=attributes) as span:
            if error is not None:
                span.record_exception(error)
                span.set_status(Status(StatusCode.ERROR, str(error)))
    return list(memory.get_finished_spans())


async def export(org: Org, made: list[ReadableSpan]) -> Any:
    content = gzip.compress(encode_spans(made).SerializeToString())
    headers = {**PROTOBUF, "Content-Encoding": "gzip"}
    return await org.http.post("/v1/traces", content=content, headers=headers)


async def stored(org: Org) -> list[dict[str, Any]]:
    return (await org.send("POST", "/api/get_operations", {})).json()["operations"]


DIALECTS = {
    "gen_ai": {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "s1",
        "gen_ai.response.model": "m-1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.agent.name": "coder",
        "gen_ai.input.messages": "my secret words",
    },
    "gen_ai <= 1.36": {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "openai",
        "session.id": "s1",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.prompt_tokens": 10,
        "gen_ai.usage.completion_tokens": 5,
        "gen_ai.agent.name": "coder",
        "gen_ai.prompt": "my secret words",
    },
    "openinference": {
        "openinference.span.kind": "CHAT",
        "session.id": "s1",
        "llm.model_name": "m-1",
        "llm.token_count.prompt": 10,
        "llm.token_count.completion": 5,
        "agent.name": "coder",
        "input.value": "my secret words",
    },
}


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_every_dialect_says_the_same(org: Org, dialect: str):
    reply = await export(org, spans(("a span", DIALECTS[dialect])))

    (found,) = await stored(org)

    assert (reply.status_code, reply.content) == (200, b"")
    assert (found["source"], found["endpoint"], found["status"]) == ("my-agent", "chat", "ok")
    assert (found["session_id"], found["model"], found["agent"]) == ("s1", "m-1", "coder")
    assert (found["tokens_in"], found["tokens_out"], found["agent_version"]) == (10, 5, "3")
    assert "my secret words" not in str(await org.rows()), "content is not kept unless the settings say so"


async def test_a_failed_tool_call_is_a_failure_with_its_group(org: Org):
    made = spans(("execute_tool read", {"gen_ai.tool.name": "read", "session.id": "s"}), error=ValueError("bad 7"))
    await export(org, made)

    (found,) = await stored(org)

    assert (found["endpoint"], found["status"], found["error_type"]) == ("read", "error", "ValueError")
    assert found["error_message"] == "bad 7"
    assert found["group_id"].startswith("grp_")


async def test_mcp_names_are_understood(org: Org):
    await export(org, spans(("tools/call", {"mcp.method.name": "tools/call", "mcp.session.id": "m1"})))

    (found,) = await stored(org)

    assert (found["endpoint"], found["session_id"]) == ("tools/call", "m1")


async def test_an_evaluation_on_a_span_is_one(org: Org):
    made = spans(("chat", {"session.id": "s"}))
    span = made[0]
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    with provider.get_tracer("t").start_as_current_span("chat") as one:
        one.add_event(
            "gen_ai.evaluation.result", {"gen_ai.evaluation.name": "audit", "gen_ai.evaluation.score.value": 0.5}
        )
    await export(org, [span, *memory.get_finished_spans()])

    kinds = {found["kind"]: found for found in await stored(org)}

    assert kinds["evaluation"]["endpoint"] == "audit"
    assert kinds["evaluation"]["attributes"]["gen_ai.evaluation.score.value"] == 0.5


async def test_an_export_sent_again_is_stored_once(org: Org):
    made = spans(*((f"step {number}", {"n": number}) for number in range(20)))

    for _ in range(3):
        reply = await export(org, made)
        assert reply.status_code == 200

    assert len(await stored(org)) == 20


async def test_content_is_kept_where_the_settings_say_so(start: Start):
    here = local(await start(observe={"otlp_content": True}))
    said = {"gen_ai.tool.name": "read", "gen_ai.tool.call.arguments": '{"path": "/x"}', "input.value": "hello"}

    await export(here, spans(("a", said)))

    (found,) = await stored(here)
    assert (found["arguments"], found["attributes"]["input.value"]) == ({"path": "/x"}, "hello")


AS_JSON = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "js-agent"}}]},
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "5B8EFFF798038103D269B633813FC60C",
                            "spanId": "EEE19B7EC3C1B174",
                            "name": "execute_tool",
                            "startTimeUnixNano": "1794780000000000000",
                            "endTimeUnixNano": "1794780000250000000",
                            "attributes": [
                                {"key": "gen_ai.tool.name", "value": {"stringValue": "deploy"}},
                                {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "7"}]}}},
                                {"key": "map", "value": {"kvlistValue": {"values": [{"key": "x", "value": {}}]}}},
                            ],
                            "status": {"code": "STATUS_CODE_ERROR", "message": "region refused"},
                        },
                        {"traceId": "00000000000000000000000000000000", "spanId": "1"},
                    ]
                }
            ],
        }
    ]
}


async def test_json_is_read_and_what_is_refused_is_counted(org: Org):
    reply = await org.send("POST", "/v1/traces", AS_JSON)

    (found,) = await stored(org)

    assert reply.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert (found["source"], found["endpoint"], found["error_message"]) == ("js-agent", "deploy", "region refused")
    assert (found["duration_ms"], found["attributes"]["list"], found["attributes"]["map"]) == (250, [7], {"x": None})


async def test_a_partial_success_is_told_in_protobuf_too(org: Org):
    message = encode_spans(spans(("a", {}), ("b", {})))
    message.resource_spans[0].scope_spans[0].spans[0].trace_id = b"\x00" * 16

    reply = await org.http.post("/v1/traces", content=message.SerializeToString(), headers=PROTOBUF)

    told = ExportTraceServiceResponse.FromString(reply.content)
    assert (reply.status_code, told.partial_success.rejected_spans) == (200, 1)
    assert "hexadecimal" in told.partial_success.error_message


@pytest.mark.parametrize(
    "content,headers,status",
    [
        (b"\xff\xff", PROTOBUF, 400),
        (b"{", {"Content-Type": "application/json"}, 400),
        (b'{"resourceSpans": 5}', {"Content-Type": "application/json"}, 400),
        (b"x", {"Content-Type": "text/plain"}, 415),
        (gzip.compress(b"\x00" * 20_000_000), {**PROTOBUF, "Content-Encoding": "gzip"}, 413),
        (b"not gzip", {**PROTOBUF, "Content-Encoding": "gzip"}, 400),
        (b"x" * 11_000_000, PROTOBUF, 413),
    ],
)
async def test_what_is_no_export_is_refused(org: Org, content: bytes, headers: dict[str, str], status: int):
    reply = await org.http.post("/v1/traces", content=content, headers=headers)

    assert reply.status_code == status
    assert await stored(org) == []


async def test_pressure_is_told_in_a_way_that_exporters_retry(start: Start):
    here = local(await start(limits={"waiting_writes": 1}))
    made = spans(("a", {}))

    replies = await asyncio.gather(*(export(here, made) for _ in range(40)))

    refused = [reply for reply in replies if reply.status_code != 200]
    assert {reply.status_code for reply in refused} <= {503}
    assert all(reply.headers["Retry-After"] for reply in refused)


async def test_traces_need_a_key_of_an_agent(org: Org):
    reply = await http_to(org.app).post("/v1/traces", content=b"", headers=PROTOBUF)

    assert reply.status_code == 401


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("otlp")) as server:
        yield server


def test_the_real_exporter_delivers_to_a_real_server(served: Served):
    provider = TracerProvider(resource=Resource.create({"service.name": "real"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{served.url}/v1/traces")))
    tracer = provider.get_tracer("tests")
    for number in range(700):
        with tracer.start_as_current_span("execute_tool x", attributes={"gen_ai.tool.name": "x", "number": number}):
            pass
    provider.force_flush()
    provider.shutdown()

    told = httpx.get(f"{served.url}/stats").json()

    assert told["by_source"] == {"real": 700}


# --- the reader ------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=300))
def test_bytes_are_traces_or_no_traces_and_nothing_else_happens(content: bytes):
    try:
        found = otlp_decoding.from_protobuf(content)
    except ValueError:
        return

    assert isinstance(found, list)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["resourceSpans", "scopeSpans", "spans", "attributes", "key", "value", "traceId", "x"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=20,
    )
)
def test_any_json_is_traces_or_no_traces(body: Any):
    try:
        found = otlp_decoding.from_json(json.loads(json.dumps(body)))
    except ValueError:
        return

    assert isinstance(found, list)


def test_our_reader_and_the_library_read_the_same():
    made = spans(
        ("one", {"text": "ä", "yes": True, "n": -7, "f": 1.5, "list": ["a", "b"]}),
        ("two", {}),
        error=KeyError("x"),
    )
    message = encode_spans(made)

    found = otlp_decoding.from_protobuf(message.SerializeToString())

    assert [one.name for one in found] == ["one", "two"]
    assert found[0].attributes == {"text": "ä", "yes": True, "n": -7, "f": 1.5, "list": ["a", "b"]}
    assert found[0].resource["service.name"] == "my-agent"
    theirs = message.resource_spans[0].scope_spans[0].spans[0]
    assert (found[0].trace_id, found[0].start) == (theirs.trace_id.hex(), theirs.start_time_unix_nano)
    assert (found[0].status, found[0].events[0].name) == (2, "exception")

"""Spans as operations, from three naming conventions. Pure.

Names: OpenTelemetry GenAI conventions (schema gen-ai-dev/1.42.0-dev, and those up to 1.36), OpenInference 0.1.42, MCP,
with the aliases of Langfuse and Traceloop. They still change, so all names are in this file.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from acumen.model.ids import Millis
from acumen.model.operations.operation import Operation, OperationId, OperationKind, OperationStatus, skew
from acumen.observe.operations import SentOperation
from acumen.observe.otlp_decoding import ERROR, Span, SpanEvent

_HEX = re.compile(r"(?!0+\Z)[0-9a-f]+")
LONGEST_NAME, LONGEST_TEXT, MOST_ATTRIBUTES = 255, 10_000, 200

_TOOL = ("gen_ai.tool.name", "tool.name", "mcp.tool.name", "traceloop.entity.name")
_SESSION = (
    "gen_ai.conversation.id",
    "session.id",
    "mcp.session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
)
_USER = ("user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id")
_AGENT = ("gen_ai.agent.name", "agent.name", "gen_ai.agent.id")
_AGENT_VERSION = ("gen_ai.agent.version", "service.version", "langfuse.release")
_MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "embedding.model_name")
_TOKENS_IN = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_TOKENS_OUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
_TOKENS_CACHED = ("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read")
_TOKENS_REASONING = ("gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning")
_COST = ("llm.cost.total", "gen_ai.usage.cost", "langfuse.observation.cost_details.total")
_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool.parameters", "mcp.request.params", "input.value")
_SCHEMA = ("gen_ai.tool.definitions", "tool.json_schema")
# Content, stored only if the settings allow it.
_CONTENT = re.compile(
    r"gen_ai\.(?:system_instructions|(?:input|output)\.messages|prompt|completion|tool\.(?:call\.(?:arguments|result)|"
    r"definitions)|memory\.(?:query\.text|records)|retrieval\.(?:documents|query\.text))"
    r"|(?:input|output)\.value|llm\.(?:input_messages|output_messages|prompts|invocation_parameters).*"
    r"|(?:tool\.(?:parameters|json_schema))|mcp\.request\.params|traceloop\.entity\.(?:input|output)"
    r"|langfuse\.(?:observation|trace)\.(?:input|output)|gen_ai\.(?:prompt|completion)\..*|retrieval\.documents.*"
)


def operations(spans: Sequence[Span], at: Millis, *, content: bool) -> tuple[list[SentOperation], list[str]]:
    """An operation per span with valid ids and per evaluation on it; and the reasons of refusals."""
    sent: list[SentOperation] = []
    refused: list[str] = []
    for span in spans:
        if _HEX.fullmatch(span.trace_id) and _HEX.fullmatch(span.span_id) and len(span.trace_id) == 32:
            sent.append(SentOperation(_operation(span, at, content=content)))
            sent.extend(SentOperation(evaluation) for evaluation in _evaluations(span, at))
        else:
            refused.append("a span needs a trace id of 32 and a span id of 16 hexadecimal digits")
    return sent, refused


def _operation(span: Span, at: Millis, *, content: bool) -> Operation:
    attributes = {**span.resource, **span.attributes}
    error_type, error_message = _error(span)
    started = Millis(span.start // 1_000_000) if span.start else None
    took = (span.end - span.start) / 1_000_000 if span.end >= span.start > 0 else None
    schema = _first(attributes, _SCHEMA)
    return Operation(
        id=OperationId(f"{span.trace_id}-{span.span_id}"),
        source=_name(attributes.get("service.name")) or "otlp",
        kind=OperationKind.OPERATION,
        endpoint=_endpoint(span),
        status=OperationStatus.ERROR if span.status == ERROR or error_type else OperationStatus.OK,
        received_at=at,
        body_hash=_hash(span),
        agent=_name(_first(attributes, _AGENT)),
        agent_version=_name(_first(attributes, _AGENT_VERSION)),
        user_id=_name(_first(attributes, _USER)),
        session_id=_name(_first(attributes, _SESSION)),
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id or None,
        started_at=started,
        duration_ms=took,
        skew_ms=skew(started, at),
        error_type=error_type,
        error_message=error_message,
        arguments=_arguments(attributes) if content else None,
        schema_hash=hashlib.sha256(str(schema).encode()).hexdigest()[:16] if schema else None,
        cost_usd=_number(_first(attributes, _COST)),
        model=_name(_first(attributes, _MODEL)),
        attributes=_kept(span, content=content),
        tokens_in=_count(_first(attributes, _TOKENS_IN)),
        tokens_out=_count(_first(attributes, _TOKENS_OUT)),
        tokens_cached=_count(_first(attributes, _TOKENS_CACHED)),
        tokens_reasoning=_count(_first(attributes, _TOKENS_REASONING)),
    )


def _endpoint(span: Span) -> str:
    """The tool, else the GenAI operation, else the name of the span."""
    attributes = span.attributes
    tool = _name(_first(attributes, _TOOL)) or (_mcp_tool(attributes) if "mcp.method.name" in attributes else None)
    done = _name(attributes.get("gen_ai.operation.name")) or _name(attributes.get("openinference.span.kind"))
    method = _name(attributes.get("mcp.method.name"))
    return tool or (done.lower() if done else None) or method or _name(span.name) or "span"


def _mcp_tool(attributes: dict[str, Any]) -> str | None:
    return _name(attributes.get("mcp.resource.uri")) or _name(attributes.get("mcp.method.name"))


def _error(span: Span) -> tuple[str | None, str | None]:
    """From the status, from `error.type`, or from an exception event."""
    thrown = next((event.attributes for event in reversed(span.events) if event.name == "exception"), {})
    failed = span.status == ERROR or span.attributes.get("error.type") is not None
    if not failed:
        return None, None
    kind = _name(span.attributes.get("error.type")) or _name(thrown.get("exception.type")) or "error"
    message = span.message or str(thrown.get("exception.message") or "")
    return kind, message[:LONGEST_TEXT] or None


def _evaluations(span: Span, at: Millis) -> Iterator[Operation]:
    results = [event for event in span.events if event.name == "gen_ai.evaluation.result"]
    for place, event in enumerate(results):
        yield Operation(
            id=OperationId(f"{span.trace_id}-{span.span_id}-{place}"),
            source=_name(span.resource.get("service.name")) or "otlp",
            kind=OperationKind.EVALUATION,
            endpoint=_name(event.attributes.get("gen_ai.evaluation.name")) or "evaluation",
            status=OperationStatus.OK,
            received_at=at,
            body_hash=_hash(span),
            session_id=_name(_first(span.attributes, _SESSION)),
            trace_id=span.trace_id,
            span_id=span.span_id,
            attributes=_small(event),
        )


def _small(event: SpanEvent) -> dict[str, Any]:
    return {name: _cut(value) for name, value in list(event.attributes.items())[:MOST_ATTRIBUTES]}


def _kept(span: Span, *, content: bool) -> dict[str, Any]:
    """Attributes without a field; of content, only its length unless `content`."""
    attributes = {
        name: _cut(value) if content or not _CONTENT.fullmatch(name) else f"[{len(str(value))} characters]"
        for name, value in list(span.attributes.items())[:MOST_ATTRIBUTES]
    }
    return {**attributes, "span.name": _cut(span.name), **({"otel.scope": span.scope} if span.scope else {})}


def _cut(value: Any) -> Any:
    return value[:LONGEST_TEXT] if isinstance(value, str) else value


def _arguments(attributes: dict[str, Any]) -> dict[str, Any] | None:
    arguments = _first(attributes, _ARGUMENTS)
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments[:100_000])
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, dict) else None


def _first(attributes: dict[str, Any], names: Sequence[str]) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) not in (None, "")), None)


def _name(value: Any) -> str | None:
    return str(value).strip()[:LONGEST_NAME] or None if value is not None else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e9 else None


def _hash(span: Span) -> str:
    return hashlib.sha256(repr(span).encode(errors="replace")).hexdigest()

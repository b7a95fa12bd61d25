"""Traces by OpenTelemetry's SDK, exported by OTLP over HTTP. Loaded only when traces are on."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from acumen.telemetry.traces import OFF, TraceSpan, Value


class OpenTelemetry:
    def __init__(self, url: str, ratio: float, version: str) -> None:
        resource = Resource.create({"service.name": "acumen", "service.version": version})
        self._provider = TracerProvider(
            resource=resource, sampler=ParentBased(TraceIdRatioBased(ratio)), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
        self._tracer = self._provider.get_tracer("acumen", version)
        self._propagator = TraceContextTextMapPropagator()

    def root(self, name: str, headers: Mapping[str, str] | None) -> Any:
        context = self._propagator.extract(headers) if headers is not None else None
        return self._span(name, SpanKind.INTERNAL if headers is None else SpanKind.SERVER, context)

    def child(self, name: str) -> Any:
        outside = not trace.get_current_span().get_span_context().is_valid
        return OFF if outside else self._span(name, SpanKind.INTERNAL, None)

    @contextmanager
    def _span(self, name: str, kind: SpanKind, context: Any) -> Iterator[TraceSpan]:
        with self._tracer.start_as_current_span(
            name, context, kind, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield _RecordedSpan(span)
            except BaseException as error:
                # The message of an error may repeat what a user said.
                span.set_status(Status(StatusCode.ERROR))
                span.set_attribute("error.type", type(error).__name__)
                raise

    def close(self) -> None:
        self._provider.shutdown()


class _RecordedSpan:
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def set(self, **attributes: Value) -> None:
        for name, value in attributes.items():
            self._span.set_attribute(name.replace("__", "."), value)

    def rename(self, name: str) -> None:
        self._span.update_name(name)

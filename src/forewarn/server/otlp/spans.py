"""A span for each answer of a face, made from what the request log would write of it.

It belongs to its caller's trace where the request named one by ``traceparent``, and is left out where that says that
nobody keeps the trace; OpenTelemetry's ``OTEL_TRACES_SAMPLER`` chooses among the others.
"""

from __future__ import annotations

import logging

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from forewarn import __version__
from forewarn.web.signals.request_log import LoggedAnswer, trace_parent

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NANOSECONDS = 1_000_000_000  # of a second: OTLP counts in them


class SpanTeller(logging.Handler):
    """Hears the request log. What it makes waits in the provider's queue, which drops what is too much."""

    def __init__(self, provider: TracerProvider) -> None:
        super().__init__()
        self._tracer = provider.get_tracer("forewarn", __version__)

    def emit(self, record: logging.LogRecord) -> None:
        answered = getattr(record, "answered", None)
        if isinstance(answered, LoggedAnswer):
            self._tell(answered, int(record.created * _NANOSECONDS))

    def _tell(self, answered: LoggedAnswer, ended: int) -> None:
        """Names and attributes are OpenTelemetry's for HTTP servers, and ours begin with forewarn."""
        method = answered.method if answered.method in _METHODS else "_OTHER"
        about = {
            "http.request.method": method,
            "url.path": answered.target.partition("?")[0],
            "http.response.status_code": answered.status,
            "client.address": answered.caller,
            "forewarn.face": answered.face,
            "forewarn.vm": answered.vm,
            "forewarn.request_id": answered.request_id,
        }
        span = self._tracer.start_span(
            f"{method} {answered.face}",
            context=_context(answered.traceparent),
            kind=SpanKind.SERVER,
            attributes={name: value for name, value in about.items() if value != ""},
            start_time=ended - int((answered.seconds or 0) * _NANOSECONDS),
        )
        if answered.status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        span.end(ended)


def _context(field: str) -> Context:
    """The caller's span as the parent; without one the span begins a trace of its own."""
    parent = trace_parent(field)
    if parent is None:
        return Context()
    flags = TraceFlags(TraceFlags.SAMPLED if parent.sampled else TraceFlags.DEFAULT)
    caller = SpanContext(int(parent.trace_id, 16), int(parent.span_id, 16), is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(caller), Context())

"""A collector that is told things by OTLP: a real socket that decodes what comes as protobuf."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_KINDS: dict[str, Any] = {"/v1/metrics": ExportMetricsServiceRequest, "/v1/traces": ExportTraceServiceRequest}


@dataclass
class Collector:
    """What came, and what is answered (a status for each request to come; then 200)."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    heard: list[tuple[str, Any]] = field(default_factory=list)
    asked: int = 0
    secrets: set[str] = field(default_factory=set)  # the header Authorization of what came
    closed: threading.Event = field(default_factory=threading.Event)
    silent: bool = False  # takes what comes and never answers

    def figures(self) -> dict[str, Any]:
        """The metrics of the newest message, by name."""
        newest = [message for path, message in self.heard if path == "/v1/metrics"][-1]
        (resource,) = newest.resource_metrics
        (scope,) = resource.scope_metrics
        return {metric.name: metric for metric in scope.metrics}

    def spans(self) -> list[Any]:
        messages = (message for path, message in self.heard if path == "/v1/traces")
        found = (resource.scope_spans for message in messages for resource in message.resource_spans)
        return [span for scopes in found for scope in scopes for span in scope.spans]


@contextmanager
def collecting(silent: bool = False) -> Iterator[Collector]:
    told = Collector(silent=silent)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.asked += 1
            told.secrets.add(self.headers.get("Authorization", ""))
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if told.silent:
                told.closed.wait(60)
                return
            message = _KINDS[self.path]()
            message.ParseFromString(body)
            status = told.answers.pop(0) if told.answers else 200
            if status == 200:
                told.heard.append((self.path, message))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield told
        finally:
            told.closed.set()
            server.shutdown()
            thread.join()


def attributes(of: Any) -> dict[str, Any]:
    """Of a resource, a point or a span, as plain values."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}

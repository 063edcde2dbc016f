"""``/healthz``, ``/readyz`` and ``/metrics``: a small server of its own, beside the loop and never in its way.

Written on bare sockets: the standard library's server would cost a third of all the memory that the agent may use.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial

from forewarn.guest.agent.telling.health import AgentHealth
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.system.parts import Listener, Stream, System, Thread

__all__ = ["AgentHealth", "StatusPage", "StatusServer", "parse_listen", "render"]

_LONGEST_HEAD = 8192  # as nginx and Apache take for a request line by default
_PATIENCE_SECONDS = 5.0  # less than the ten seconds after which Prometheus gives up
_AT_ONCE = 16  # threads; some probes and scrapers at the same time, not a flood
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}
_JSON = "application/json"
MEASURES = (
    ("healthy", "1 when the agent does its work."),
    ("ready", "1 when this VM may be given work."),
    ("last_good_read_age_seconds", "Age of the last good read."),
)
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class StatusPage:
    """An answer."""

    status: int
    kind: str
    body: str


def render(path: str, health: AgentHealth, metrics: Metrics) -> StatusPage:
    """What stands at a path."""
    if path == "/healthz":
        why = health.why_unhealthy()
        return _state("healthy", why, {"last_good_read_age_seconds": health.last_good_read_age_seconds})
    if path == "/readyz":
        return _state("ready", health.why_not_ready(), {})
    if path == "/metrics":
        return StatusPage(200, _PROMETHEUS, metrics.text())
    return StatusPage(404, _JSON, '{"error":"there are /healthz, /readyz and /metrics"}\n')


def _state(word: str, why: str, more: dict[str, object]) -> StatusPage:
    body = json.dumps({word: not why, "why": why, **more}, separators=(",", ":"))
    return StatusPage(503 if why else 200, _JSON, f"{body}\n")


def parse_listen(text: str) -> tuple[str, int]:
    """``host:port``, with brackets around an IPv6 address, as two."""
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


class StatusServer:
    """Listens from ``open`` to ``close``. Each caller has a few seconds and a thread; beyond so many, none."""

    def __init__(self, system: System, listen: str, health: AgentHealth, metrics: Metrics) -> None:
        self._system = system
        self._listen = parse_listen(listen)
        self._health = health
        self._metrics = metrics
        self._places = system.threads.places(_AT_ONCE)
        self.address = ""  # where it listens, once it does
        self._listener: Listener | None = None
        self._thread: Thread | None = None

    def open(self) -> str:
        """Begin to listen, and say where: port 0 takes any. An address that is taken is an ``OSError`` here."""
        self._listener = listener = self._system.sockets.listen(*self._listen, backlog=32)
        self._measure()
        self._thread = self._system.threads.start(lambda: self._accept(listener), "status")
        host, port = listener.address
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return self.address

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> StatusServer:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _measure(self) -> None:
        health = self._health
        looks = (_one_without(health.why_unhealthy), _one_without(health.why_not_ready), lambda: _age(health))
        for (name, text), look in zip(MEASURES, looks, strict=True):
            self._metrics.measure(name, text, look)

    def _accept(self, listener: Listener) -> None:
        while (connection := listener.accept()) is not None:
            if self._places.acquire(blocking=False):
                self._system.threads.start(partial(self._serve, connection), "status-answer")
            else:
                connection.close()

    def _serve(self, connection: Stream) -> None:
        try:
            with closing(connection), suppress(OSError):
                connection.settimeout(_PATIENCE_SECONDS)
                connection.sendall(self._answer(_read_head(connection)))
        finally:
            self._places.release()

    def _answer(self, head: bytes) -> bytes:
        words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _encode(StatusPage(400, _JSON, '{"error":"this is not an HTTP request"}\n'))
        if words[0] not in ("GET", "HEAD"):
            return _encode(StatusPage(405, _JSON, '{"error":"only GET and HEAD"}\n'))
        page = render(words[1].partition("?")[0], self._health, self._metrics)
        return _encode(page, with_body=words[0] == "GET")


def _read_head(connection: Stream) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _LONGEST_HEAD:
        data = connection.recv(_LONGEST_HEAD)
        if not data:
            break
        head += data
    return head


def _encode(page: StatusPage, *, with_body: bool = True) -> bytes:
    body = page.body.encode()
    head = (
        f"HTTP/1.1 {page.status} {_REASONS[page.status]}\r\nContent-Type: {page.kind}\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode("latin-1") + (body if with_body else b"")


def _one_without(why: Callable[[], str]) -> Callable[[], float]:
    return lambda: 0.0 if why() else 1.0


def _age(health: AgentHealth) -> float:
    age = health.last_good_read_age_seconds
    return float("nan") if age is None else age

"""The engine beside sockets that say what a test wants: what it asks, of whom, and when it leaves off."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any

import pytest
from msgspec import structs

from forewarn.core.machines.values import Errand, ErrandKind
from forewarn.engines.docker.engine import DockerEngine
from forewarn.plane.hands.engine import Failed
from tests.contract.engines.bench import NOON, Permit

_VERSION = {"MinAPIVersion": "1.12", "Components": [{"Name": "Engine"}]}
_STOPPED: dict[str, Any] = {
    "Id": "8" * 64,
    "Name": "/web-0",
    "State": {"Status": "exited", "ExitCode": 0, "StartedAt": "2026-01-01T00:00:00Z"},
    "HostConfig": {"NetworkMode": "none", "RestartPolicy": {"Name": "no"}},
    "Mounts": [],
    "Config": {"Image": "tiny", "Labels": {}},
    "NetworkSettings": {"Networks": {}},
}
_ERRAND = Errand(
    id="0A1B2C3D-0000-4000-8000-000000000001",
    kind=ErrandKind.REDEPLOY,
    engine="local",
    host="alpha",
    made_at=NOON,
    vm="web-0",
    ref="web-0",
    to="beta",
    boot_mark="before",
)
Answer = Callable[[str, str], tuple[int, Any]]


@pytest.fixture
def engine_that(tmp_path: Path) -> Iterator[Callable[[Answer], tuple[DockerEngine, list[str]]]]:
    """An engine with two hosts, beta behind a socket that answers so, alpha behind none; and what beta was asked."""
    servers = []

    def made(answer: Answer) -> tuple[DockerEngine, list[str]]:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def address_string(self) -> str:
                return "beta"  # a Unix socket's peers have none

            def log_message(self, *_: object) -> None:
                """Silence."""

            def _say(self) -> None:
                path = self.path.partition("/v1.41")[2].partition("?")[0]
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked.append(f"{self.command} {path or self.path}")
                status, value = (200, _VERSION) if self.path == "/version" else answer(self.command, path)
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = _say  # noqa: N815 - the library's names

        server = ThreadingUnixStreamServer(str(tmp_path / "beta"), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        hosts = {"alpha": str(tmp_path / "nobody"), "beta": str(tmp_path / "beta")}
        return DockerEngine("local", hosts, call_seconds=5.0), asked

    yield made
    for server in servers:
        server.shutdown()
        server.server_close()


def test_what_was_at_a_lost_host_is_made_anew_elsewhere_and_that_host_is_not_asked(
    engine_that: Callable[[Answer], tuple[DockerEngine, list[str]]],
) -> None:
    """Nobody answers at alpha: a question there would end it with what is not known."""
    engine, asked = engine_that(lambda method, path: (500, {"message": "no"}) if method == "POST" else (200, []))
    errand = structs.replace(_ERRAND, source_off=True, definition=json.dumps({**_STOPPED, "Id": ""}))
    assert isinstance(engine.carry_out(errand, Permit()), Failed)
    assert asked[-2:] == ["POST /containers/create", "GET /containers/json"]


def test_a_container_that_ends_at_once_is_not_started_over_and_over(
    engine_that: Callable[[Answer], tuple[DockerEngine, list[str]]],
) -> None:
    starts = 0

    def answer(method: str, path: str) -> tuple[int, Any]:
        nonlocal starts
        starts += path.endswith("/start")
        if method == "POST":
            return 204, None
        started = {"StartedAt": f"2026-01-01T00:00:0{starts}Z"}
        return (200, []) if path == "/containers/json" else (200, {**_STOPPED, "State": _STOPPED["State"] | started})

    engine, _ = engine_that(answer)
    told = engine.carry_out(structs.replace(_ERRAND, kind=ErrandKind.RESTART, host="beta", to=""), Permit())
    assert told == Failed("web-0 ended as soon as it was started.", False)
    assert starts == 1

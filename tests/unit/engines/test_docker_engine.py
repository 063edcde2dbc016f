"""The engine beside sockets that say what a test wants: what it asks, of whom, and when it leaves off."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any, Protocol

import pytest
from msgspec import structs

from forewarn.core.machines.values import Errand, ErrandKind
from forewarn.engines.docker.calls import EngineSocket
from forewarn.engines.docker.engine import DockerEngine
from forewarn.engines.docker.making import Blueprint
from forewarn.plane.hands.engine import AUTOSTART, Failed, NotYet, Unknown, Way
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


class EngineThat(Protocol):
    def __call__(
        self, beta: Answer, alpha: Answer | None = None, *, alone: bool = False
    ) -> tuple[DockerEngine, list[str]]: ...


@pytest.fixture
def engine_that(tmp_path: Path) -> Iterator[EngineThat]:
    """An engine with two hosts whose sockets answer so, or none where nobody does; with ``alone`` it has beta only. And
    what they were asked."""
    servers = []

    def served(name: str, answer: Answer, asked: list[str]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def address_string(self) -> str:
                return name  # a Unix socket's peers have none

            def log_message(self, *_: object) -> None:
                """Silence."""

            def _say(self) -> None:
                path = self.path.partition("/v1.41")[2].partition("?")[0]
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                at = "" if name == "beta" else f" at {name}"
                asked.append(f"{self.command} {path or self.path}{at}")
                status, value = (200, _VERSION) if self.path == "/version" else answer(self.command, path)
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = _say  # noqa: N815 - the library's names

        server = ThreadingUnixStreamServer(str(tmp_path / name), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def made(beta: Answer, alpha: Answer | None = None, *, alone: bool = False) -> tuple[DockerEngine, list[str]]:
        asked: list[str] = []
        served("beta", beta, asked)
        if alpha is not None:
            served("alpha", alpha, asked)
        sockets = {name: str(tmp_path / name) for name in (("beta",) if alone else ("alpha", "beta"))}
        blueprint = Blueprint("worker", "tiny", ("wrok",), volumes=("data:/data",))
        return DockerEngine("local", sockets, (blueprint,), call_seconds=5.0), asked

    yield made
    for server in servers:
        server.shutdown()
        server.server_close()


def test_what_was_at_a_lost_host_is_made_anew_elsewhere_and_that_host_is_not_asked(
    engine_that: EngineThat,
) -> None:
    """Nobody answers at alpha: a question there would end it with what is not known."""
    engine, asked = engine_that(_nothing_there)
    errand = structs.replace(_ERRAND, source_off=True, definition=json.dumps({**_STOPPED, "Id": ""}))
    assert isinstance(engine.carry_out(errand, Permit()), Failed)
    assert asked[-3:] == ["POST /containers/create", "GET /containers/json", "GET /containers/web-0/json"]


def test_a_container_that_ends_at_once_is_not_started_over_and_over(
    engine_that: EngineThat,
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


def _nothing_there(method: str, path: str) -> tuple[int, Any]:
    if method == "POST":
        return 500, {"message": "no"}
    return (200, []) if path == "/containers/json" else (404, {"message": "no such container"})


@pytest.mark.parametrize("kind", [ErrandKind.REDEPLOY, ErrandKind.START, ErrandKind.REIMAGE])
def test_what_is_gone_is_made_again_only_where_every_host_that_may_have_it_has_said_that_it_does_not_run_there(
    engine_that: EngineThat, kind: ErrandKind
) -> None:
    """It is not at beta, and nobody answers at alpha."""
    engine, asked = engine_that(_nothing_there)
    definition = json.dumps({**_STOPPED, "Id": ""})
    errand = structs.replace(_ERRAND, kind=kind, host="beta", to="beta", definition=definition)
    assert isinstance(engine.carry_out(errand, Permit()), Unknown)
    assert isinstance(engine.carry_out(structs.replace(errand, unheard=("alpha",)), Permit()), Unknown)
    assert "POST /containers/create" not in asked
    assert isinstance(engine.carry_out(structs.replace(errand, off_at=("alpha",)), Permit()), Failed)
    assert "POST /containers/create" in asked


def _running_there(method: str, path: str) -> tuple[int, Any]:
    """A container that runs, whoever has made it; and nothing may be changed."""
    if method == "POST":
        return 500, {"message": "no"}
    running = {**_STOPPED, "State": {"Status": "running", "StartedAt": "2026-01-01T00:00:00Z"}}
    return (200, running) if path == "/containers/web-0/json" else _nothing_there(method, path)


@pytest.mark.parametrize("kind", [ErrandKind.REDEPLOY, ErrandKind.START, ErrandKind.REIMAGE])
def test_what_runs_at_another_host_than_it_was_thought_is_started_nowhere_else(
    engine_that: EngineThat, kind: ErrandKind
) -> None:
    engine, asked = engine_that(_nothing_there, _running_there)
    definition = json.dumps({**_STOPPED, "Id": ""})
    errand = structs.replace(_ERRAND, kind=kind, host="beta", to="beta", definition=definition)
    told = engine.carry_out(errand, Permit())
    assert told == Failed("web-0 runs at alpha: it is started nowhere else.", False)
    assert not [line for line in asked if line.startswith("POST")]


def test_what_had_left_its_host_before_that_was_lost_is_started_nowhere_else(engine_that: EngineThat) -> None:
    engine, asked = engine_that(_nothing_there, _running_there)
    engine._sockets["gamma"] = engine._sockets["alpha"]  # alpha is lost, and gamma has it now
    engine._sockets["alpha"] = EngineSocket("/nobody", 1.0)
    definition = json.dumps({**_STOPPED, "Id": ""})
    told = engine.carry_out(structs.replace(_ERRAND, source_off=True, definition=definition), Permit())
    assert told == Failed("web-0 runs at gamma: it is started nowhere else.", False)
    assert not [line for line in asked if line.startswith("POST")]


class Unstartable:
    """A platform that makes a container with its volume, and refuses for good to start it; may refuse to remove it."""

    def __init__(self, *, keeps: bool = False) -> None:
        self.container, self.volume, self.keeps = False, False, keeps
        self.network = ""  # dockerd fills that in with the first start, also with one that it refuses

    def answer(self, method: str, path: str) -> tuple[int, Any]:
        match method, path:
            case "POST", "/volumes/create":
                self.volume = True
                return 201, {"Name": "web-0-data"}
            case "POST", "/containers/create":
                self.container = True
                return 201, {"Id": _STOPPED["Id"]}
            case "POST", _:
                self.network = "9" * 64
                return 400, {"message": 'exec: "wrok": executable file not found in $PATH'}
            case "DELETE", _ if self.keeps:
                return 500, {"message": "device or resource busy"}
            case "DELETE", "/volumes/web-0-data":
                self.volume = False
                return 204, None
            case "DELETE", _:
                self.container = False
                return 204, None
            case "GET", "/volumes/web-0-data":
                return (200, {"Name": "web-0-data"}) if self.volume else (404, {"message": "no such volume"})
            case "GET", "/volumes":
                return 200, {"Volumes": [{"Name": "web-0-data"}] if self.volume else None}
            case "GET", "/containers/json":
                return 200, [{"Id": _STOPPED["Id"], "Names": ["/web-0"]}] if self.container else []
        told = {"State": _CREATED, "NetworkSettings": {"Networks": {"none": {"NetworkID": self.network}}}}
        return (200, {**_STOPPED, **told}) if self.container else (404, {"message": "No such container"})


_CREATED = {"Status": "created", "ExitCode": 0, "StartedAt": "0001-01-01T00:00:00Z"}
_MAKE = structs.replace(_ERRAND, kind=ErrandKind.CREATE, host="", ref="", blueprint="worker", source_off=False)


def test_what_was_made_for_a_container_that_cannot_be_started_is_removed_each_with_leave(
    engine_that: EngineThat,
) -> None:
    platform = Unstartable()
    engine, asked = engine_that(platform.answer, alone=True)
    permit = Permit()
    told = engine.carry_out(_MAKE, permit)
    assert told == Failed(
        'The engine at beta would not start web-0: exec: "wrok": executable file not found in $PATH', True
    )
    assert (platform.container, platform.volume) == (False, False)
    changes = [each for each in asked if not each.startswith("GET")]
    assert [each.split()[0] for each in changes] == ["POST", "POST", "POST", "DELETE", "DELETE"]
    assert permit.asked == len(changes)


def test_a_new_container_does_not_wait_for_another_host_that_is_silent(engine_that: EngineThat) -> None:
    """Nobody answers at alpha."""
    platform = Unstartable()
    engine, _ = engine_that(platform.answer)
    told = engine.carry_out(_MAKE, Permit())
    assert isinstance(told, Failed), told
    assert "executable file not found" in told.why


def test_without_leave_what_was_made_stays_and_the_errand_is_not_over(engine_that: EngineThat) -> None:
    platform = Unstartable()
    engine, _ = engine_that(platform.answer, alone=True)
    assert isinstance(engine.carry_out(_MAKE, Permit(ask=lambda asked: asked < 4)), NotYet)
    assert platform.container
    assert isinstance(engine.carry_out(_MAKE, Permit(again=True)), Failed)
    assert not platform.container


def test_an_errand_whose_leavings_cannot_be_removed_is_asked_for_again(engine_that: EngineThat) -> None:
    engine, _ = engine_that(Unstartable(keeps=True).answer, alone=True)
    told = engine.carry_out(_MAKE, Permit())
    assert isinstance(told, Failed)
    assert not told.lasting
    assert "executable file not found" in told.why
    assert "device or resource busy" in told.why


def test_that_a_host_starts_a_container_by_itself_is_said_where_its_copy_may_run_at_another_engine(
    engine_that: EngineThat,
) -> None:
    restarted = {**_STOPPED, "HostConfig": {"NetworkMode": "none", "RestartPolicy": {"Name": "unless-stopped"}}}

    def answer(_: str, path: str) -> tuple[int, Any]:
        return (200, []) if path == "/containers/json" else (200, restarted)

    engine, _ = engine_that(answer)
    topics = [each.topic for each in engine.examine("beta", "web-0", Way.NETWORK) if not each.ok]
    assert AUTOSTART in topics


def test_at_an_engine_of_one_host_it_is_not(engine_that: EngineThat) -> None:
    engine, _ = engine_that(lambda _, path: (200, []) if path == "/containers/json" else (200, _STOPPED), alone=True)
    assert AUTOSTART not in [each.topic for each in engine.examine("beta", "web-0", Way.NETWORK)]

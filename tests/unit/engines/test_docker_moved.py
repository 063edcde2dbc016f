"""Containers that somebody has moved by hand, and names that are not free, beside hosts that keep what is done to them.

Each ends as containers are to end: one of that name, which runs, and nothing beside it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec import structs

from forewarn.core.machines.values import Errand, ErrandKind
from forewarn.engines.docker.containers import VM_LABEL, name_aside
from forewarn.engines.docker.engine import DockerEngine
from forewarn.plane.hands.engine import Done, Failed, NotYet
from tests.contract.engines.bench import NOON, Permit

_ERRAND = Errand(
    id="0A1B2C3D-0000-4000-8000-000000000001",
    kind=ErrandKind.REDEPLOY,
    engine="local",
    host="alpha",
    made_at=NOON,
    vm="web-0",
    vm_id="0A1B2C3D-0000-4000-8000-00000000000A",
    ref="web-0",
    to="beta",
)
_OURS = {VM_LABEL: _ERRAND.vm_id}
_ANOTHERS = {VM_LABEL: "another"}


class Host:
    """As much of a dockerd as a redeploy needs: containers by id, each name once, and a running one is not removed
    unless that is forced."""

    def __init__(self, name: str) -> None:
        self.name, self.containers, self.starts = name, dict[str, dict[str, Any]](), 0
        self.changes: list[str] = []

    def put(self, name: str, status: str, labels: dict[str, str] | None = None, **config: Any) -> str:
        made = f"{len(self.changes) + len(self.containers):x}{self.name.encode().hex()}".ljust(64, "0")
        self.containers[made] = {
            "Id": made,
            "Name": f"/{name}",
            "State": {"Status": status, "ExitCode": 0, "StartedAt": "2026-01-01T00:00:00Z"},
            "HostConfig": {"NetworkMode": "none", "RestartPolicy": {"Name": "no"}},
            "Mounts": [],
            "Config": {"Image": "tiny", **config, "Labels": labels or {}},
            "NetworkSettings": {"Networks": {}},
        }
        return made

    @property
    def there(self) -> dict[str, str]:
        return {each["Name"].removeprefix("/"): each["State"]["Status"] for each in self.containers.values()}

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        path = urlsplit(target).path.partition("/v1.41")[2]
        query = {key: values[0] for key, values in parse_qs(urlsplit(target).query).items()}
        if urlsplit(target).path == "/version":
            return 200, {"MinAPIVersion": "1.12", "Components": [{"Name": "Engine"}]}
        if path == "/containers/json":
            wanted = json.loads(query["filters"]).get("label", [])
            return 200, [self._row(each) for each in self.containers.values() if self._has(each, wanted)]
        if method == "GET":
            found = self._find(path.split("/")[2])
            return (404, {"message": "no such container"}) if found is None else (200, found)
        self.changes.append(f"{method} {path}")
        return self._change(method, path.split("/")[2:], query, body)

    def _change(self, method: str, path: list[str], query: dict[str, str], body: Any) -> tuple[int, Any]:
        if path == ["create"]:
            if query["name"] in self.there:
                return 409, {"message": "the name is in use"}
            config = {key: value for key, value in body.items() if key not in ("HostConfig", "Labels")}
            return 201, {"Id": self.put(query["name"], "created", body["Labels"], **config)}
        found = self.containers[path[0]]
        if method == "DELETE":
            if found["State"]["Status"] == "running" and query.get("force") != "1":
                return 409, {"message": "it runs"}
            del self.containers[path[0]]
        elif path[1] == "rename":
            if query["name"] in self.there:
                return 409, {"message": "the name is in use"}
            found["Name"] = f"/{query['name']}"
        elif path[1] == "start":
            self.starts += 1
            found["State"] = {"Status": "running", "StartedAt": f"2026-01-01T00:00:0{self.starts}Z"}
        elif path[1] == "stop":
            found["State"] = {**found["State"], "Status": "exited", "ExitCode": 0}
        return 204, None

    def _find(self, name: str) -> dict[str, Any] | None:
        return next((each for each in self.containers.values() if name in (each["Id"], each["Name"][1:])), None)

    def _has(self, container: dict[str, Any], labels: list[str]) -> bool:
        have = [f"{key}={text}" for key, text in container["Config"]["Labels"].items()]
        return set(labels) <= set(have)

    def _row(self, container: dict[str, Any]) -> dict[str, Any]:
        return {"Id": container["Id"], "Names": [container["Name"]], "Labels": container["Config"]["Labels"]}


class Hosts:
    def __init__(self, room: Path) -> None:
        self.alpha, self.beta, self.gamma = (Host(name) for name in ("alpha", "beta", "gamma"))
        self._servers = [_served(host, room / host.name) for host in self.each]
        self.engine = DockerEngine("local", {host.name: str(room / host.name) for host in self.each}, (), 5.0)

    @property
    def each(self) -> tuple[Host, ...]:
        return self.alpha, self.beta, self.gamma

    @property
    def there(self) -> dict[str, dict[str, str]]:
        return {host.name: host.there for host in self.each if host.there}

    @property
    def changes(self) -> list[str]:
        return [each for host in self.each for each in host.changes]

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


def _served(host: Host, path: Path) -> ThreadingUnixStreamServer:
    class Handler(BaseHTTPRequestHandler):
        def address_string(self) -> str:
            return host.name  # a Unix socket's peers have none

        def log_message(self, *_: object) -> None:
            """Silence."""

        def _say(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = host.answer(self.command, self.path, json.loads(body) if body else None)
            told = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        do_GET = do_POST = do_DELETE = _say  # noqa: N815 - the library's names

    server = ThreadingUnixStreamServer(str(path), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    made = Hosts(tmp_path)
    yield made
    made.close()


_DONE_AT_BETA = {"beta": {"web-0": "running"}}


@pytest.mark.parametrize("labels", [{}, _OURS, _ANOTHERS])
@pytest.mark.parametrize("cut", range(1, 7))
def test_what_somebody_has_taken_where_it_is_to_be_is_made_anew_there(
    hosts: Hosts, labels: dict[str, str], cut: int
) -> None:
    """Also by whoever comes after one that was cut off after so many of its six changes. The label of a VM that it was
    before changes nothing of what runs under its name."""
    first = hosts.beta.put("web-0", "running", labels)
    hosts.engine.carry_out(_ERRAND, Permit(ask=lambda asked: asked <= cut))
    assert len(hosts.beta.changes) == cut
    told = hosts.engine.carry_out(_ERRAND, Permit(again=True))
    assert isinstance(told, Done), told
    assert hosts.there == _DONE_AT_BETA
    assert first not in hosts.beta.containers
    assert (hosts.beta.starts, len(hosts.beta.changes)) == (1, 6)


def test_what_was_off_already_when_somebody_took_it_there_is_made_anew_there(hosts: Hosts) -> None:
    hosts.beta.put("web-0", "exited")
    assert isinstance(hosts.engine.carry_out(_ERRAND, Permit()), Done)
    assert hosts.there == _DONE_AT_BETA


def test_a_copy_that_is_off_at_the_target_is_not_started_while_another_runs_elsewhere(hosts: Hosts) -> None:
    hosts.beta.put("web-0", "exited")
    hosts.gamma.put("web-0", "running")
    told = hosts.engine.carry_out(_ERRAND, Permit())
    assert told == Failed("web-0 runs at gamma: it is started nowhere else.", False)
    assert not hosts.changes


def test_a_copy_of_the_vm_that_is_off_at_the_target_makes_way(hosts: Hosts) -> None:
    left = hosts.beta.put("web-0", "exited", _OURS)
    hosts.alpha.put("web-0", "running", _OURS)
    assert isinstance(hosts.engine.carry_out(_ERRAND, Permit()), Done)
    assert hosts.there == _DONE_AT_BETA
    assert left not in hosts.beta.containers


@pytest.mark.parametrize("labels", [{}, _ANOTHERS])
@pytest.mark.parametrize("kind", [ErrandKind.REDEPLOY, ErrandKind.START])
def test_where_the_name_is_anothers_at_the_target_nothing_is_stopped(
    hosts: Hosts, labels: dict[str, str], kind: ErrandKind
) -> None:
    hosts.alpha.put("web-0", "running", _OURS)
    hosts.beta.put("web-0", "exited", labels)
    told = hosts.engine.carry_out(structs.replace(_ERRAND, kind=kind), Permit())
    assert isinstance(told, Failed)
    assert told.lasting
    assert "Another container named web-0 is at beta" in told.why
    assert not hosts.changes


def test_a_copy_that_runs_at_the_target_is_never_removed(hosts: Hosts) -> None:
    hosts.alpha.put("web-0", "running", _OURS)
    hosts.beta.put("web-0", "running", _OURS)
    told = hosts.engine.carry_out(_ERRAND, Permit())
    assert told == Failed("web-0 runs at beta: it is started nowhere else.", False)
    assert not hosts.changes


def test_a_name_that_is_taken_in_the_midst_of_it_is_waited_for(hosts: Hosts) -> None:
    """The new container is there by then: the errand is not over, and goes on once a person has made way."""
    hosts.alpha.put("web-0", "running", _OURS)
    assert isinstance(hosts.engine.carry_out(_ERRAND, Permit(ask=lambda asked: asked <= 1)), NotYet)
    assert hosts.beta.there == {name_aside("web-0", "new", _ERRAND.id): "created"}
    squatter = hosts.beta.put("web-0", "exited")
    told = hosts.engine.carry_out(_ERRAND, Permit(again=True))
    assert isinstance(told, Failed)
    assert not told.lasting
    assert hosts.alpha.there == {"web-0": "running"}
    del hosts.beta.containers[squatter]
    assert isinstance(hosts.engine.carry_out(_ERRAND, Permit(again=True)), Done)
    assert hosts.there == _DONE_AT_BETA


def test_what_runs_at_the_target_after_its_host_was_lost_is_not_made_beside_itself(hosts: Hosts) -> None:
    hosts.beta.put("web-0", "running")
    definition = json.dumps(next(iter(hosts.beta.containers.values())))
    told = hosts.engine.carry_out(structs.replace(_ERRAND, source_off=True, definition=definition), Permit())
    assert told == Failed("web-0 runs at beta: it is started nowhere else.", False)
    assert not hosts.changes

"""A server that may have few files open: one VM that opens connections without end shuts nobody else out."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.program import EVENTS, PATIENCE_SECONDS, ServerProgram

_GREEDY, _VICTIM = "127.0.0.2", "127.0.0.3"
_FLOOD = 2500


@pytest.fixture(autouse=True)
def _many_files() -> Iterator[None]:
    """The flood needs descriptors of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * _FLOOD)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def _server(data: Path, files: int) -> Iterator[ServerProgram]:
    options = ("--clock", "virtual", "--metadata", "0.0.0.0:0")
    with ServerProgram.start(data, *options, wrapper=("prlimit", f"--nofile={files}:{files}")) as server:
        server.json("vm", "create", "greedy", "--address", _GREEDY)
        server.json("vm", "create", "victim", "--address", _VICTIM)
        yield server


def _port(server: ServerProgram) -> int:
    port = urlsplit(server.metadata).port
    assert port
    return port


def _get(server: ServerProgram, source: str) -> int:
    """One GET on a connection of its own; 0 where nothing came back."""
    connection = HTTPConnection("127.0.0.1", _port(server), PATIENCE_SECONDS, (source, 0))
    try:
        connection.request("GET", EVENTS, headers={"Metadata": "true"})
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


@contextlib.contextmanager
def _flood(server: ServerProgram, sources: Sequence[str] = (_GREEDY,)) -> Iterator[list[socket.socket]]:
    """Connections that are opened all at once and kept, whatever the server says to them."""
    held: list[socket.socket] = []
    try:
        for number in range(_FLOOD):
            held.append(socket.socket())
            held[-1].setblocking(False)
            held[-1].bind((sources[number % len(sources)], 0))
            held[-1].connect_ex(("127.0.0.1", _port(server)))
        yield held
    finally:
        for each in held:
            each.close()


def _create(server: ServerProgram, name: str) -> int:
    connection = HTTPConnection(urlsplit(server.control).netloc, timeout=PATIENCE_SECONDS)
    try:
        connection.request("POST", "/v1/vms", json.dumps({"name": name}), {"Content-Type": "application/json"})
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


@pytest.mark.parametrize("files", [256, 1024, 4096])
def test_one_address_that_opens_all_connections_it_can_leaves_those_of_vms_usable(files: int, tmp_path: Path) -> None:
    with _server(tmp_path / "data", files) as server:
        with _flood(server):
            answers = [_get(server, _VICTIM) for _ in range(8)]
            writes = [_create(server, f"new-{number}") for number in range(3)]
        log = server.log.read_text()

    assert answers == [200] * 8
    assert writes == [201] * 3
    assert log.count(f"This process may have {files} files open") == 1
    assert "Traceback" not in log


def test_many_addresses_that_open_connections_leave_those_of_vms_usable(tmp_path: Path) -> None:
    """On a link with IPv6 anybody has as many addresses as it likes. None of these is a VM's."""
    strange = [f"127.0.{number // 250 + 1}.{number % 250 + 1}" for number in range(_FLOOD)]
    with _server(tmp_path / "data", 1024) as server:
        with _flood(server, strange):
            answers = [_get(server, _VICTIM) for _ in range(8)]
            writes = [_create(server, f"new-{number}") for number in range(3)]
            others = _get(server, "127.0.99.1")
        log = server.log.read_text()
        quiet = _get(server, "127.0.99.1")

    assert (answers, writes) == ([200] * 8, [201] * 3)
    assert (others, quiet) == (503, 404)
    assert "too many open files" not in log


def test_a_server_that_is_short_of_files_says_so_once_and_not_at_every_connection(tmp_path: Path) -> None:
    """At a desk nobody's connections are counted as one VM's, so there they can use up what there is."""
    options = ("--clock", "virtual")
    with ServerProgram.start(tmp_path / "data", *options, wrapper=("prlimit", "--nofile=256:256")) as server:
        server.json("vm", "create", "web")
        with _flood(server):
            writes = [_create(server, f"new-{number}") for number in range(3)]
        log = server.log.read_text()

    assert writes == [201] * 3
    assert log.count("There are too many open files") == 1

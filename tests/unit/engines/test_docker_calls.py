"""Docker's API over its socket: every call ends, whatever the engine does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forewarn.engines.docker.calls import EngineAnswer, EngineSocket
from forewarn.engines.docker.engine import DockerEngine
from forewarn.plane.hands.engine import EngineFault

_SAID = b'{"MinAPIVersion":"1.12","Components":[{"Name":"Podman Engine"}]}'
_VERSION = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(_SAID), _SAID)


@pytest.fixture
def engine_that(tmp_path: Path) -> Iterator[Callable[[bytes], EngineSocket]]:
    """An engine that answers each connection with these bytes, and then says nothing more."""
    listeners = []

    def made(answer: bytes) -> EngineSocket:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        listeners.append(listener)
        threading.Thread(target=_serve, args=(listener, answer), daemon=True).start()
        return EngineSocket(str(tmp_path / "socket"), 0.2)

    yield made
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _serve(listener: socket.socket, answer: bytes) -> None:
    kept = []
    try:
        while True:
            client, _ = listener.accept()
            kept.append(client)
            if client.recv(65536):
                client.sendall(answer)
    except OSError:
        for client in kept:
            client.close()


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_a_call_ends_although_the_engine_does_not_answer_it(
    said: bytes, engine_that: Callable[[bytes], EngineSocket]
) -> None:
    with pytest.raises(EngineFault, match="middle of a call that it may have heard"):
        engine_that(said).ask("GET", "/containers/json")


def test_an_engine_that_is_not_there_is_named_with_its_socket(tmp_path: Path) -> None:
    with pytest.raises(EngineFault, match=r"Nobody answers at the engine's socket .*/none: No such file"):
        EngineSocket(str(tmp_path / "none"), 1.0).ask("GET", "/_ping")


def test_podman_is_told_from_dockerd_and_asked_in_a_version_it_knows(
    engine_that: Callable[[bytes], EngineSocket],
) -> None:
    dialect = engine_that(_VERSION).dialect()
    assert (dialect.podman, dialect.prefix) == (True, "/v1.41")


def test_the_words_of_an_engine_are_passed_on_whole_lines_and_all() -> None:
    assert EngineAnswer(409, b'{"message":"Conflict. The name\\n is in use"}').words() == "Conflict. The name is in use"
    assert EngineAnswer(404, b"Not Found\n").words() == "Not Found"
    assert EngineAnswer(500, b"").words() == "HTTP 500"


def test_a_host_that_was_never_declared_is_named() -> None:
    with pytest.raises(EngineFault, match="has no host named 'gamma'"):
        DockerEngine("local", {"alpha": "/nowhere"}).listing("gamma")

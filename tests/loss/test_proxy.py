"""The wire itself does what a loss test believes it does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.loss.proxy import Wires


@pytest.fixture
def echo_port() -> Iterator[int]:
    """A server that says everything back."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=_echo, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield int(listening.getsockname()[1])
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()


def _echo(connection: socket.socket) -> None:
    with connection:
        try:
            while data := connection.recv(1000):
                connection.sendall(data)
        except OSError:
            return


@pytest.fixture
def wires(echo_port: int) -> Iterator[Wires]:
    made = Wires({"x": echo_port})
    yield made
    made.close()


def _connect(wires: Wires) -> socket.socket:
    return socket.create_connection(("127.0.0.1", wires.ports["x"]), timeout=20)


def _hears(connection: socket.socket, text: bytes) -> bool:
    connection.sendall(text)
    return connection.recv(1000) == text


def _is_turned_away(wires: Wires) -> bool:
    try:
        with _connect(wires) as connection:
            return not _hears(connection, b"hello")
    except ConnectionError:
        return True


def test_a_whole_wire_passes_everything_on(wires: Wires) -> None:
    with _connect(wires) as connection:
        assert _hears(connection, b"one")
        assert _hears(connection, b"two")


def test_a_cut_wire_resets_what_is_connected_and_what_connects(wires: Wires) -> None:
    with _connect(wires) as connection:
        assert _hears(connection, b"one")
        wires.cut("x")
        with pytest.raises(ConnectionResetError):
            connection.recv(1000)
    assert _is_turned_away(wires)
    wires.heal("x")
    with _connect(wires) as healed:
        assert _hears(healed, b"three")


def test_a_black_hole_keeps_connections_and_holds_back_what_they_say(wires: Wires) -> None:
    with _connect(wires) as connection:
        assert _hears(connection, b"one")
        wires.swallow("x")
        connection.sendall(b"two")
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1000)
        wires.heal("x")
        connection.settimeout(20)
        assert connection.recv(1000) == b"two"


def test_a_snapped_wire_is_whole_again_for_the_next(wires: Wires) -> None:
    with _connect(wires) as connection:
        assert _hears(connection, b"one")
        wires.snap("x")
        with pytest.raises(ConnectionResetError):
            connection.recv(1000)
    with _connect(wires) as after:
        assert _hears(after, b"two")


def test_what_an_ambushed_wire_loses_is_lost_together_with_its_connection(wires: Wires) -> None:
    with _connect(wires) as connection:
        assert _hears(connection, b"one")
        wires.ambush("x", 1.0)
        connection.sendall(b"two")
        with pytest.raises(ConnectionResetError):
            connection.recv(1000)
    wires.heal("x")
    with _connect(wires) as after:
        assert _hears(after, b"three")

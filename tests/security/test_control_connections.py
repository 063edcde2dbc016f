"""Connections of the control faces: slow, endless, too many, ambiguous. Real sockets, the real server."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from forewarn.server.guarded import Guarded
from tests.security.control_face import ask, connect, control_face, until_closed

GOOD = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


class Patient(Guarded):
    request_seconds = 60.0


def test_a_connection_that_sends_nothing_is_closed() -> None:
    with control_face() as port, connect(port) as silent:
        assert until_closed(silent) == b""


@pytest.mark.parametrize(
    "begun",
    [b"GET / HTTP/1.1\r\nHost: a\r\n", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n12", b"G", GOOD[:-2]],
)
def test_a_request_that_does_not_come_whole_in_time_is_let_go(begun: bytes) -> None:
    with control_face() as port, connect(port) as slow:
        slow.sendall(begun)
        assert b" 200 " not in until_closed(slow)


def test_a_second_request_that_does_not_come_whole_is_let_go_too() -> None:
    with control_face() as port, connect(port) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHo")
        assert until_closed(slow).count(b" 200 ") == 1


def test_a_request_in_time_is_answered_however_many_were_before_it() -> None:
    with control_face(protocol=Patient) as port, connect(port) as quick:
        for _ in range(3):
            quick.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab")
            answer = b""
            while not answer.endswith(b"\r\n\r\n2"):
                answer += quick.recv(65536)


def test_an_offer_of_another_protocol_takes_no_body_away() -> None:
    """As Java's HttpClient sends it with its first request; in the body the same words are nobody's offer."""
    body = b"ab\r\nUpgrade: h2c\r\n\r\ncd"
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n"
    with control_face(protocol=Patient) as port, connect(port) as java:
        for upgrade in (b"Upgrade: h2c\r\n", b"upgrade:websocket\r\n", b""):
            head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n" % len(body)
            java.sendall(head + (offer + upgrade if upgrade else b"") + b"\r\n" + body)
            answer = b""
            while not answer.endswith(b"\r\n\r\n%d" % len(body)):
                answer += java.recv(65536)


def test_a_head_without_end_is_not_taken_in() -> None:
    with control_face(protocol=Patient) as port:
        answer = ask(port, b"GET / HTTP/1.1\r\n" + b"X-A: 0123456789\r\n" * 100_000)
        assert b" 200 " not in answer
        assert b" 200 " in ask(port, GOOD)


def test_fields_without_end_after_a_body_are_not_taken_in() -> None:
    with control_face(protocol=Patient) as port:
        head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
        answer = ask(port, head + b"X-A: 0123456789\r\n" * 100_000)
        assert answer.startswith(b"HTTP/1.1 400 ")


def test_a_large_body_is_no_head() -> None:
    with control_face(protocol=Patient) as port:
        body = b"x" * 300_000
        head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
        assert ask(port, head + body).endswith(b"300000")


def test_beyond_so_many_connections_there_is_no_more_room_and_then_there_is_again() -> None:
    class Small(Patient):
        most = 5

    with control_face(protocol=Small) as port:
        with ExitStack() as stack:
            for _ in range(5):
                held = stack.enter_context(connect(port))
                held.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                assert b" 200 " in held.recv(65536)
            assert b" 200 " not in ask(port, GOOD)
        while b" 200 " not in ask(port, GOOD):  # those who went are noticed one by one
            pass


@pytest.mark.parametrize(
    "data",
    [
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GOOD,
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n" + GOOD,
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd" + GOOD,
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc" + GOOD,
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\nabc" + GOOD,
        b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n folded\r\n\r\n" + GOOD,
        b"GET / HTTP/1.1\nHost: a\n\n" + GOOD,
        b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n" + GOOD,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_a_request_with_two_readings_is_refused_and_ends_the_connection(data: bytes) -> None:
    with control_face(protocol=Patient) as port:
        answer = ask(port, data)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b" 200 " not in answer

"""Connections that are used hard, badly, slowly, or against us. Every one ends in a clean answer or is closed."""

from __future__ import annotations

import json
import select
import socket
import struct
from datetime import timedelta

import pytest

from forewarn.web.metadata.settings import Limits, MetadataSettings
from tests.e2e.metadata_region import Guest, approval, get, metadata_region, path_of, post, request

_QUICK = MetadataSettings(
    limits=Limits(request_seconds=0.05, idle_seconds=0.05, stalled_seconds=0.05, linger_seconds=0.05)
)


def _send_on(guest: Guest, data: bytes) -> None:
    """Send more than any buffer on the way could hold."""
    sent = 0
    while sent < 100 << 20:
        sent += guest.socket.send(data)


def test_a_connection_answers_one_request_after_the_other() -> None:
    with metadata_region() as region:
        region.create("web", "other")
        guest = region.guest()
        questions = [get("web"), get("other"), get("web"), get("web", version="2017-03-01"), get("web"), get("nobody")]
        assert [guest.ask(question).status for question in questions * 3] == [200, 200, 200, 200, 200, 404] * 3


def test_pipelined_requests_are_answered_in_order() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        guest = region.guest()
        guest.send(
            get("web")
            + post("web", approval(event))
            + get("web")
            + request("GET", "/vm/web/metadata/versions", "Metadata: true")
            + get("nobody")
            + post("web", b"{")
            + get("web")
        )
        answers = [guest.answer() for _ in range(7)]
    assert [answer.status for answer in answers] == [200, 200, 200, 200, 404, 400, 200]
    assert [json.loads(answers[place].body)["Events"][0]["EventStatus"] for place in (0, 2, 6)] == [
        "Scheduled",
        "Started",
        "Started",
    ]


def test_requests_may_come_in_any_pieces() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        data = get("web") + post("web", approval(event)) + get("web")
        for size in (1, 7, 100):
            guest = region.guest()
            for start in range(0, len(data), size):
                guest.send(data[start : start + size])
            assert [guest.answer().status for _ in range(3)] == [200, 200, 200]


def test_known_bytes_that_come_with_more_are_still_read_to_the_end() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        for _ in range(3):
            guest.ask(get("web"))
        guest.send(get("web")[:-10])
        guest.send(get("web")[-10:] + get("web"))
        assert [guest.answer().status for _ in range(2)] == [200, 200]


def test_many_pipelined_requests_are_all_answered() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        count = 2000
        guest.send(get("web") * count)
        assert {guest.answer().status for _ in range(count)} == {200}


def test_a_client_that_asks_to_close_is_closed_after_its_answer() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(get("web", "Connection: close") + get("web"))
        assert guest.last_answer() == (200, "close")


def test_a_question_that_is_always_the_last_is_remembered_by_those_who_come_again() -> None:
    with metadata_region() as region:
        region.create("web", "other")
        for _ in range(4):
            guest = region.guest()
            guest.send(get("web", "Connection: close"))
            assert guest.last_answer() == (200, "close")
        region.restart("web")
        guest = region.guest()
        answer = guest.ask(get("web", "Connection: close"))
        assert (answer.incarnation(), guest.rest()) == (2, b"")
        guest = region.guest()
        assert [guest.ask(get("web")).fields.get("connection") for _ in range(3)] == [None, None, None]


def test_http_1_0_closes_unless_asked_not_to() -> None:
    with metadata_region() as region:
        region.create("web")
        old = get("web").replace(b"HTTP/1.1", b"HTTP/1.0")
        guest = region.guest()
        guest.send(old)
        assert guest.last_answer() == (200, "close")
        keeping = get("web", "Connection: keep-alive").replace(b"HTTP/1.1", b"HTTP/1.0")
        guest = region.guest()
        assert [guest.ask(keeping).fields["connection"] for _ in range(3)] == ["keep-alive"] * 3


def test_a_client_that_has_said_all_still_gets_its_answers() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        guest = region.guest()
        guest.send(post("web", approval(event)) + get("web"))
        guest.socket.shutdown(socket.SHUT_WR)
        assert [guest.answer().status, guest.answer().status] == [200, 200]
        assert guest.rest() == b""


def test_half_a_request_and_an_end_is_just_closed() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(get("web")[:30])
        guest.socket.shutdown(socket.SHUT_WR)
        assert guest.rest() == b""


def test_a_client_may_vanish_at_any_moment() -> None:
    with metadata_region() as region:
        region.create("web")
        for data in (b"", get("web")[:20], get("web"), post("web", b"{"), get("web") * 50):
            guest = region.guest()
            guest.send(data)
            guest.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            guest.close()
        assert region.get("web").status == 200


def test_a_body_may_be_announced_and_waited_for() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        body = approval(region.restart("web"))
        guest = region.guest()
        guest.send(post("web", body, "Expect: 100-continue").removesuffix(body))
        assert guest.answer().raw == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert guest.ask(body).status == 200


def test_the_word_to_go_on_keeps_its_place_in_the_order() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        body = approval(region.restart("web"))
        guest = region.guest()
        guest.send(post("web", body) + get("web") + post("web", body, "Expect: 100-Continue"))
        assert [guest.answer().status for _ in range(4)] == [200, 200, 100, 200]


def test_a_body_may_come_in_chunks() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        body = approval(region.restart("web"))
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
        guest = region.guest()
        question = request("POST", path_of("web"), "Metadata: true", "Transfer-Encoding: chunked")
        assert guest.ask(question + chunks).status == 200
        assert guest.ask(get("web")).incarnation() == 3


def test_what_comes_after_a_body_cannot_stand_in_for_a_header() -> None:
    with metadata_region() as region:
        region.create("web")
        question = request("POST", path_of("web"), "Transfer-Encoding: chunked") + b"0\r\nMetadata: true\r\n\r\n"
        answer = region.guest().ask(question)
    assert answer.body == b'{"error":"Bad request. Required metadata header not specified"}'


@pytest.mark.parametrize("start", [b"G", get("web")[:-2], post("web", b"12345")[:-2]])
def test_a_request_that_comes_too_slowly_is_refused(start: bytes) -> None:
    with metadata_region(_QUICK) as region:
        region.create("web")
        guest = region.guest()
        guest.send(start)
        assert guest.last_answer() == (408, "close")


def test_a_request_that_trickles_is_refused_all_the_same() -> None:
    with metadata_region(_QUICK) as region:
        region.create("web")
        guest = region.guest()
        guest.send(b"GET / HTTP/1.1\r\nX: ")
        guest.socket.settimeout(0.005)
        answer = b""
        while not answer:
            try:
                guest.send(b"y")
                answer = guest.socket.recv(4096)
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("start", [b"", b"\r\n\r\n", get("web")])
def test_a_connection_without_requests_is_closed(start: bytes) -> None:
    with metadata_region(_QUICK) as region:
        region.create("web")
        region.get("web")
        guest = region.guest()
        guest.send(start)
        if start.strip():
            assert guest.answer().status == 200
        assert guest.rest() == b""


def test_a_refused_client_that_keeps_talking_is_cut() -> None:
    with metadata_region(_QUICK) as region:
        region.create("web")
        guest = region.guest()
        guest.send(b"nonsense\r\n\r\n")
        assert guest.answer().status == 400
        with pytest.raises(ConnectionError):
            _send_on(guest, b"more nonsense" * 100)


def test_a_client_that_takes_no_answers_is_not_read_any_further_and_goes() -> None:
    """Its buffer is as the system makes it: with a tiny one, TCP itself holds back what the client sends."""
    with metadata_region(MetadataSettings(limits=Limits(stalled_seconds=0.05))) as region:
        region.create("web")
        guest = region.guest()
        with pytest.raises(ConnectionError):
            _send_on(guest, get("web") * 100)


def test_a_client_that_takes_its_answers_late_gets_them_all() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        guest.socket.setblocking(False)
        question, sent = get("web"), 0
        while select.select([], [guest.socket], [], 0.2)[1]:  # until nothing has moved for a while
            sent += guest.socket.send((question * 100)[sent % len(question) :])
        guest.socket.settimeout(20)
        assert {guest.answer().status for _ in range(sent // len(question))} == {200}


def test_one_connection_too_many_is_told_so() -> None:
    with metadata_region(MetadataSettings(limits=Limits(connections=2))) as region:
        region.create("web")
        first, second = region.guest(), region.guest()
        assert [first.ask(get("web")).status, second.ask(get("web")).status] == [200, 200]
        assert region.guest().last_answer() == (503, "close")
        assert first.ask(get("web")).status == 200


def test_a_server_that_closes_answers_what_it_owes() -> None:
    with metadata_region() as region:
        region.create("web", "quiet")
        region.get("web")
        region.get("quiet")
        event = region.restart("web")
        idle, partial, busy, waiting = (region.guest() for _ in range(4))
        idle.ask(get("web"))
        partial.send(get("web")[:20])
        waiting.send(get("quiet", "If-None-Match: 1", "Prefer: wait=100"))
        busy.send(post("web", approval(event)) + get("web"))
        assert busy.answer().status == 200
        region.run(region.face.close())
        assert [idle.rest(), partial.rest()] == [b"", b""]
        assert busy.answer().status == 200
        assert waiting.answer().status == 304


def test_a_server_that_closes_does_not_wait_for_ever() -> None:
    settings = MetadataSettings(first_read_delay=timedelta(hours=1), limits=Limits(grace_seconds=0.05))
    with metadata_region(settings) as region:
        region.create("web")
        guest = region.guest()
        guest.send(get("web"))
        region.run(region.face.close())
        assert guest.rest() == b""

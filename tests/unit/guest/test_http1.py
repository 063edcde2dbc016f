from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.http1 import LONGEST_BODY, LONGEST_HEAD, BadResponse, OutgoingRequest, Response, ResponseReader

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Of-Us: yes\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;what=ever\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"
)
CLOSED = b"HTTP/1.0 200 OK\r\n\r\nhello"
EARLY = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + HELLO


def read(*pieces: bytes) -> Response | None:
    reader, found = ResponseReader(), None
    for piece in pieces:
        assert found is None, "it goes on after its end"
        found = reader.feed(piece)
    return found


def test_a_request_is_what_http_wants() -> None:
    request = OutgoingRequest("GET", "/metadata/x?a=b", (("Metadata", "true"),))
    assert request.encode("10.0.0.1:81", "/vm/web") == (
        b"GET /vm/web/metadata/x?a=b HTTP/1.1\r\nHost: 10.0.0.1:81\r\nMetadata: true\r\n\r\n"
    )


def test_a_request_with_a_body_tells_its_length() -> None:
    assert OutgoingRequest("POST", "/x", (), b"{}").encode("h").endswith(b"Content-Length: 2\r\n\r\n{}")
    assert OutgoingRequest("POST", "/x").encode("h").endswith(b"Content-Length: 0\r\n\r\n")


def test_an_answer_of_known_length_leaves_the_connection_usable() -> None:
    headers = {"content-length": "5", "x-of-us": "yes"}
    assert read(HELLO) == Response(200, headers, b"hello", reusable=True)


def test_a_connection_is_not_used_again_when_the_server_says_so_or_sends_too_much() -> None:
    said = read(b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n")
    more = read(HELLO + b"!")
    assert said is not None
    assert more is not None
    assert (said.reusable, more.reusable) == (False, False)


@pytest.mark.parametrize(
    ("data", "reusable"),
    [(HELLO, True), (CHUNKED, True), (EARLY, True), (CLOSED, False)],
    ids=["length", "chunks", "early", "closed"],
)
@given(cuts=st.lists(st.integers(0, 200), max_size=20))
def test_it_does_not_matter_how_an_answer_is_cut_into_pieces(data: bytes, reusable: bool, cuts: list[int]) -> None:
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in pairwise(places)]
    found = read(*pieces, *([b""] if data is CLOSED else []))
    assert found is not None
    assert (found.status, found.body, found.reusable) == (200, b"hello", reusable)


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_ends_with_its_head(status: int) -> None:
    found = read(b"HTTP/1.1 %d X\r\nContent-Length: 99\r\nETag: 7\r\n\r\n" % status)
    assert found is not None
    assert (found.body, found.headers["etag"], found.reusable) == (b"", "7", True)


def test_repeated_fields_are_joined() -> None:
    found = read(b"HTTP/1.1 304 X\r\nA: 1\r\nB: 2\r\na: 3\r\n\r\n")
    assert found is not None
    assert found.headers == {"a": "1, 3", "b": "2"}


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/2 200\r\n",
        b"HTTP/1.1 OK\r\n",
        b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"%x\r\n" % (LONGEST_BODY + 1),
        b"x" * (LONGEST_HEAD + 1),
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * LONGEST_HEAD,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (LONGEST_BODY + 1),
    ],
    ids=range(13),
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    with pytest.raises(BadResponse):
        read(data, b"y" if data.endswith(b"x") else b"")


@given(end=st.integers(0, len(HELLO) - 1))
def test_an_answer_that_is_cut_off_is_refused(end: int) -> None:
    reader = ResponseReader()
    if end:
        assert reader.feed(HELLO[:end]) is None
    assert reader.begun == (end > 0)
    with pytest.raises(BadResponse):
        reader.feed(b"")


@given(st.binary(max_size=300))
def test_any_bytes_are_an_answer_or_refused_and_nothing_else(data: bytes) -> None:
    with suppress(BadResponse):
        found = read(data) if data else None
        assert found is not None or read(*filter(None, [data]), b"") is not None

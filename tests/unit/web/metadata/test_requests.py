"""From bytes to requests, however they are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.web.metadata.asking.request import Request
from forewarn.web.metadata.http.requests import (
    CONTINUE,
    HEAD_TOO_LARGE,
    MALFORMED,
    TARGET_TOO_LONG,
    TOO_SLOW,
    Arrival,
    RequestReader,
    Spoiled,
)
from forewarn.web.metadata.settings import Limits

_GET = b"GET /a?b=c HTTP/1.1\r\nHost: h\r\nMetadata:  true \r\n\r\n"
_POST = b"POST /p HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
_CHUNKED = b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nTrailer: t\r\n\r\n"
_OFFER = b"POST /u HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 18\r\n\r\nGET / HTTP/1.1\r\n\r\n"
_STREAM = _GET + _POST + b"\r\n" + _CHUNKED + _OFFER + _GET


def _read(*pieces: bytes, limits: Limits | None = None) -> list[Arrival]:
    reader = RequestReader(limits or Limits())
    return [arrival for piece in pieces for arrival in reader.feed(piece)]


def _requests(arrivals: list[Arrival]) -> list[tuple[bytes, bytes, bytes]]:
    assert all(isinstance(arrival, Request) for arrival in arrivals)
    return [(found.verb, found.target, found.body) for found in arrivals if isinstance(found, Request)]


_MEANING = [
    (b"GET", b"/a?b=c", b""),
    (b"POST", b"/p", b"hello"),
    (b"POST", b"/c", b"hello"),
    (b"POST", b"/u", b"GET / HTTP/1.1\r\n\r\n"),
    (b"GET", b"/a?b=c", b""),
]


def test_a_stream_is_read_into_its_requests() -> None:
    assert _requests(_read(_STREAM)) == _MEANING


@given(st.lists(st.integers(0, len(_STREAM)), max_size=12))
def test_a_stream_means_the_same_however_it_is_cut(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(_STREAM)]
    pieces = [_STREAM[start:end] for start, end in pairwise(places)]
    assert _requests(_read(*pieces)) == _MEANING


def test_field_names_are_folded_and_values_stripped() -> None:
    (found,) = _read(_GET)
    assert isinstance(found, Request)
    assert found.fields == [(b"host", b"h"), (b"metadata", b"true")]
    assert found.values(b"metadata") == [b"true"]
    assert found.values(b"other") == []


def test_a_trailer_is_no_header_field() -> None:
    (found,) = _read(_CHUNKED)
    assert isinstance(found, Request)
    assert found.fields == [(b"transfer-encoding", b"chunked")]


@pytest.mark.parametrize(
    ("data", "keep_alive", "http_1_0"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", True, False),
        (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", False, False),
        (b"GET / HTTP/1.0\r\n\r\n", False, True),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", True, True),
        (b"CONNECT a:1 HTTP/1.1\r\n\r\n", False, False),
    ],
)
def test_a_request_says_whether_more_may_follow(data: bytes, keep_alive: bool, http_1_0: bool) -> None:
    reader = RequestReader(Limits())
    (found,) = reader.feed(data)
    assert isinstance(found, Request)
    assert (found.keep_alive, found.http_1_0) == (keep_alive, http_1_0)
    assert bool(reader.feed(_GET)) is keep_alive


def test_a_reader_knows_whether_a_request_is_under_way() -> None:
    reader = RequestReader(Limits())
    states = [reader.partial]
    for piece in (b"\r\n", b"GET / HT", b"TP/1.1\r\n\r\n", _POST[:-1], _POST[-1:], b"nonsense\r\n\r\n"):
        reader.feed(piece)
        states.append(reader.partial)
    assert states == [False, False, True, False, True, False, False]


def test_nothing_is_read_after_nonsense() -> None:
    assert _read(_GET + b"nonsense\r\n\r\n", _GET)[1:] == [Spoiled(MALFORMED)]


def test_a_request_that_is_given_up_is_the_last() -> None:
    reader = RequestReader(Limits())
    reader.feed(_GET[:10])
    assert reader.give_up() == [Spoiled(TOO_SLOW)]
    assert reader.give_up() == []
    assert reader.feed(_GET) == []


def test_a_client_that_expects_100_continue_gets_it_before_its_body() -> None:
    expecting = _POST.replace(b"\r\n\r\n", b"\r\nExpect: 100-Continue\r\n\r\n")
    found = _read(expecting[:-5], expecting[-5:])
    assert found[0] is CONTINUE
    assert _requests(found[1:]) == [(b"POST", b"/p", b"hello")]


def test_continue_is_sent_once_where_an_upgrade_offer_is_ignored() -> None:
    found = _read(_OFFER.replace(b"\r\nContent", b"\r\nExpect: 100-continue\r\nContent", 1))
    assert found[0] is CONTINUE
    assert _requests(found[1:]) == [_MEANING[3]]


def test_an_http_1_0_client_is_never_sent_100_continue() -> None:
    expecting = _POST.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n").replace(b"/1.1", b"/1.0")
    assert _requests(_read(expecting)) == [(b"POST", b"/p", b"hello")]


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"GET /12345678 HTTP/1.1\r\n\r\n", TARGET_TOO_LONG),
        (b"GET /1234567", None),
        (b"GET /12345678", TARGET_TOO_LONG),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 4 + b"\r\n", HEAD_TOO_LARGE),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 100 + b"\r\n\r\n", HEAD_TOO_LARGE),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 100, HEAD_TOO_LARGE),
        (b"GET / HTTP/1.1\r\n" + b"B" * 100, HEAD_TOO_LARGE),
    ],
)
def test_a_head_has_limits(data: bytes, answer: object) -> None:
    limits = Limits(target_bytes=8, head_bytes=50, header_fields=3)
    # Answers of the table
    assert _read(data, limits=limits) == ([] if answer is None else [Spoiled(answer)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        b"POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n" + _GET,
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 200,
    ],
)
def test_a_body_beyond_the_limit_is_not_taken_and_ends_the_reading(data: bytes) -> None:
    reader = RequestReader(Limits(body_bytes=5, head_bytes=100))
    (found,) = reader.feed(data)
    assert isinstance(found, Request)
    assert (found.oversized, found.keep_alive, found.body) == (True, False, b"")
    assert reader.feed(_GET) == []


@given(st.lists(st.binary(max_size=300), max_size=5))
def test_any_bytes_are_requests_or_end_in_one_refusal(pieces: list[bytes]) -> None:
    found = _read(*pieces)
    assert not any(isinstance(arrival, Spoiled) for arrival in found[:-1])

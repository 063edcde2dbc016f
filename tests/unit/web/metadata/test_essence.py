"""What of a request decides its answer. The real parser is the judge: what is left out must not matter to it."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import forewarn.web.metadata
from forewarn.web.metadata.asking.callers import is_of_a_page
from forewarn.web.metadata.asking.questions import question_of
from forewarn.web.metadata.asking.request import DECISIVE, Essences, Request
from forewarn.web.metadata.http.requests import Arrival, Continue, RequestReader, Spoiled
from forewarn.web.metadata.settings import Limits
from tests.unit.web.metadata.story import Story

_LINE = b"GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1"
_PLAIN = _LINE + b"\r\nHost: h\r\nMetadata: true\r\n\r\n"
_LIMITS = Limits(header_fields=12, head_bytes=600)
# Written out here too: a field that is forgotten there is then found by what the parser makes of it
_OF_MATTER = (
    *("host", "metadata", "x-forwarded-for", "origin", "if-none-match", "prefer", "content-encoding"),
    *("connection", "proxy-connection", "upgrade", "expect", "content-length", "transfer-encoding"),
)
_OF_NO_MATTER = ("user-agent", "accept", "traceparent", "date", "cookie", "te", "x-host", "hosts", "metadata2", "via")
_VALUES = (
    "",
    " true",
    " h",
    " example.org",
    ' "4"',
    " wait=9",
    " close",
    " keep-alive",
    " chunked",
    " 0",
    " 5",
    "  h2c ",
)

_names = st.sampled_from((*_OF_MATTER, *_OF_NO_MATTER)).flatmap(lambda name: st.sampled_from((name, name.title())))
_fields = st.builds("{}:{}".format, _names, st.sampled_from(_VALUES)).map(str.encode)
_requests = st.lists(_fields, max_size=14).map(lambda fields: b"\r\n".join((_LINE, b"Host: h", *fields, b"", b"")))


def _of(request: bytes) -> bytes | None:
    return Essences(_LIMITS).of(request)


def _understood(request: bytes) -> list[object]:
    """What the parser, the questions and the look for browsers make of it."""
    return [_meaning(arrival) for arrival in RequestReader(_LIMITS).feed(request)]


def _meaning(arrival: Arrival) -> object:
    match arrival:
        case Request() as found:
            story = Story()
            story.create("a")
            asked = question_of(found, lambda _: story.vm("a"), 120)
            return found.verb, found.target, found.body, found.keep_alive, found.http_1_0, asked, is_of_a_page(found)
        case Spoiled() | Continue():
            return arrival


def _same_with_nothing_else(essence: bytes) -> bytes:
    return essence.replace(b"\n", b"\r\n") + b"\r\n\r\n"


def test_a_request_is_the_same_whatever_its_client_counts_or_traces() -> None:
    first, second = (_PLAIN[:-2] + b"traceparent: 00-%032x-01\r\n\r\n" % number for number in (1, 2))
    assert first != second
    assert _of(first) == _of(second) == _of(_PLAIN) is not None


@pytest.mark.parametrize("name", _OF_MATTER)
def test_a_field_that_somebody_looks_at_makes_another_request(name: str) -> None:
    with_it = _PLAIN[:-2] + f"{name.title()}: x\r\n\r\n".encode()
    assert _of(with_it) != _of(_PLAIN)


@pytest.mark.parametrize("name", [*_OF_MATTER, *_OF_NO_MATTER])
def test_no_field_is_left_out_that_changes_something(name: str) -> None:
    for value, after in product(_VALUES, ("", "If-None-Match: 4\r\n")):
        request = _PLAIN[:-2] + f"{name.title()}:{value}\r\n{after}\r\n".encode()
        essence = _of(request)
        assert essence is not None
        assert _understood(request) == _understood(_same_with_nothing_else(essence))


@given(_requests)
def test_what_is_left_out_changes_nothing(request: bytes) -> None:
    essence = _of(request)
    if essence is not None:
        assert _understood(request) == _understood(_same_with_nothing_else(essence))


@given(_requests, st.integers(0, 400), st.binary(max_size=3), st.integers(0, 3))
def test_what_the_parser_takes_otherwise_has_no_essence(request: bytes, at: int, put: bytes, over: int) -> None:
    """Bytes are put in or written over: what then has an essence means what the essence says, and nothing more."""
    spoiled = request[:at] + put + request[at + over :]
    essence = _of(spoiled)
    if essence is not None:
        assert _understood(spoiled) == _understood(_same_with_nothing_else(essence))


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(_PLAIN + _PLAIN, id="two"),
        pytest.param(_PLAIN[:-1], id="not yet whole"),
        pytest.param(_PLAIN.replace(b"GET", b"POST"), id="another verb"),
        pytest.param(_PLAIN.replace(b"1.1", b"1.0"), id="another version"),
        pytest.param(_PLAIN[:-2] + b" folded\r\n\r\n", id="a folded line"),
        pytest.param(_PLAIN[:-2] + b"X : y\r\n\r\n", id="a space before the colon"),
        pytest.param(_PLAIN[:-2] + b"X: \x00\r\n\r\n", id="a control letter"),
        pytest.param(_PLAIN[:-2] + b"X: y\r\n" * 11 + b"\r\n", id="too many fields"),
        pytest.param(_PLAIN[:-2] + b"X: " + b"y" * 600 + b"\r\n\r\n", id="too long"),
    ],
)
def test_what_is_not_plainly_one_get_has_none(request_bytes: bytes) -> None:
    assert _of(request_bytes) is None


def test_every_field_that_the_face_looks_at_is_decisive() -> None:
    """But the client's name, which is noted of watched VMs: they are never answered from memory."""
    face = Path(forewarn.web.metadata.__file__).parent
    named = set[str]()
    for path in face.rglob("*.py"):
        text = path.read_text()
        named |= set(re.findall(r'\.values\(b"([^"]+)"\)', text))
        named |= set(re.findall(r'name == b"([^"]+)"', text))
        named |= set(re.findall(r'fields(?:\.get\(|\[)b"([^"]+)"', text))
        named |= set(re.findall(r'b"([^"]+)" in fields', text))
    assert {"metadata", "origin", "expect", "transfer-encoding"} <= named  # the look itself sees something
    assert named - {"user-agent"} <= set(DECISIVE)

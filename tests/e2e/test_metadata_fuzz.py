"""Whatever comes: an answer or a closed connection, and never a word in the log."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forewarn.web.metadata.settings import Limits, MetadataSettings
from tests.e2e.metadata_region import MetadataRegion, approval, get, metadata_region, post, request

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) [A-Z]")
_KNOWN = {100, 200, 304, 400, 404, 405, 408, 413, 414, 431}
_PATIENT = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def region() -> Iterator[MetadataRegion]:
    limits = Limits(request_seconds=0.2, idle_seconds=0.2, stalled_seconds=0.2, linger_seconds=0.2)
    with metadata_region(MetadataSettings(limits=limits)) as running:
        running.create("web")
        running.get("web")
        running.restart("web")
        yield running


_PIECES = st.sampled_from([
    b"GET", b"POST", b"HEAD", b" ", b"/metadata/scheduledevents", b"/vm/web", b"?api-version=2020-07-01", b"&", b"%00",
    b"HTTP/1.1", b"HTTP/1.0", b"\r\n", b"\r\n\r\n", b"\n", b"\r", b"\x00", b"Metadata: true", b"Metadata:", b"Host: a",
    b"Content-Length: 5", b"Content-Length: 99999999999999999999", b"Transfer-Encoding: chunked", b"5\r\nhello\r\n",
    b"0\r\n\r\n", b"Connection: close", b"Connection: upgrade", b"Upgrade: h2c", b"Expect: 100-continue", b"{}",
    b"If-None-Match: 1", b"Prefer: wait=0", b"X-Forwarded-For: a", b":", b"hello", b"\xff\xfe", b"#", b"http://",
])  # fmt: skip
_WHOLE = st.sampled_from([
    get("web"), get("web", "Connection: close"), get("nobody"), post("web", b"{}"), request("PUT", "/"),
    post("web", approval("00000000-0000-0000-0000-000000000000")), get("web", "Upgrade: h2c", "Connection: upgrade"),
    post("web", get("web"), "Upgrade: h2c", "Connection: upgrade"),
])  # fmt: skip


@_PATIENT
@given(data=st.binary(max_size=2000))
def test_any_bytes_end_in_an_answer_or_a_closed_connection(region: MetadataRegion, data: bytes) -> None:
    _survives(region, [data])


@_PATIENT
@given(pieces=st.lists(_PIECES, max_size=40), cuts=st.lists(st.integers(1, 50), max_size=5))
def test_anything_like_http_ends_in_an_answer_or_a_closed_connection(
    region: MetadataRegion, pieces: list[bytes], cuts: list[int]
) -> None:
    _survives(region, _cut(b"".join(pieces), cuts))


@_PATIENT
@given(
    wholes=st.lists(_WHOLE, min_size=1, max_size=6),
    noise=st.binary(max_size=20),
    at=st.integers(0, 2000),
    cuts=st.lists(st.integers(1, 400), max_size=6),
)
def test_good_requests_with_noise_in_them_end_in_an_answer_or_a_closed_connection(
    region: MetadataRegion, wholes: list[bytes], noise: bytes, at: int, cuts: list[int]
) -> None:
    data = b"".join(wholes)
    _survives(region, _cut(data[:at] + noise + data[at:], cuts))


def test_the_region_is_as_it_was(region: MetadataRegion) -> None:
    assert region.get("web").incarnation() == 2


def _survives(region: MetadataRegion, pieces: list[bytes]) -> None:
    guest = region.guest()
    try:
        for piece in pieces:
            guest.send(piece)
        guest.socket.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # it was refused before it had said all
    found = guest.rest()
    guest.close()
    assert {int(status) for status in _STATUS.findall(found)} <= _KNOWN
    assert not found or found.startswith(b"HTTP/1.1 ")


def _cut(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]

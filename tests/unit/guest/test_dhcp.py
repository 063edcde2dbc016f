from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.system.dhcp import build_discover, endpoint_in

MAC = bytes.fromhex("000d3a112233")
XID = 0xC0FFEE01
OPTIONS_AT = 240


def offer(*options: tuple[int, bytes], mac: bytes = MAC, xid: int = XID) -> bytes:
    """A server's answer: our question turned round, with these options."""
    fixed = bytearray(build_discover(mac, xid)[:OPTIONS_AT])
    fixed[0] = 2
    return bytes(fixed) + b"".join(bytes((code, len(value))) + value for code, value in options) + b"\xff"


TYPE = (53, b"\x02")
ENDPOINT = (245, bytes((168, 63, 129, 16)))


def test_the_question_is_a_discover_that_wants_a_broadcast() -> None:
    asked = build_discover(MAC, XID)
    assert len(asked) >= 300
    assert asked[:4] == bytes((1, 1, 6, 0))
    assert asked[4:8] == XID.to_bytes(4, "big")
    assert asked[10:12] == b"\x80\x00"
    assert asked[0x1C:0x22] == MAC
    assert asked[0xEC:0xF0] == bytes((99, 130, 83, 99))
    assert asked[0xF0:0xF3] == bytes((53, 1, 1))
    wanted = asked[0xF3:]
    assert wanted[0] == 55
    assert 245 in wanted[2 : 2 + wanted[1]]


def test_an_offer_tells_the_endpoint() -> None:
    assert endpoint_in(offer(TYPE, ENDPOINT), MAC, XID) == "168.63.129.16"
    assert endpoint_in(offer(TYPE, (3, b"\n\0\0\1"), (249, b""), ENDPOINT), MAC, XID) == "168.63.129.16"


def test_padding_between_options_is_skipped() -> None:
    plain = offer(TYPE, ENDPOINT)
    padded = plain[:OPTIONS_AT] + b"\0\0" + plain[OPTIONS_AT : OPTIONS_AT + 3] + b"\0" + plain[OPTIONS_AT + 3 :]
    assert endpoint_in(padded, MAC, XID) == "168.63.129.16"


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        build_discover(MAC, XID),
        offer(TYPE, ENDPOINT, xid=XID + 1),
        offer(TYPE, ENDPOINT, mac=bytes(6)),
        offer(TYPE),
        offer(TYPE, (245, b"\1\2\3")),
        offer(TYPE, (245, b"\0\0\0\0")),
        offer(TYPE, (255, b""), ENDPOINT),
        offer(TYPE, ENDPOINT)[:-3],
        offer(TYPE, ENDPOINT).replace(bytes((99, 130, 83, 99)), b"cook"),
    ],
    ids=["empty", "own question", "xid", "mac", "none", "short", "zero", "after the end", "cut off", "cookie"],
)
def test_anything_else_that_comes_tells_nothing(datagram: bytes) -> None:
    assert endpoint_in(datagram, MAC, XID) is None


@given(st.binary(max_size=80))
def test_no_options_can_break_the_reader(options: bytes) -> None:
    found = endpoint_in(offer()[:OPTIONS_AT] + options, MAC, XID)
    assert found is None or len(found.split(".")) == 4


@given(st.binary(max_size=400))
def test_no_datagram_can_break_the_reader(datagram: bytes) -> None:
    endpoint_in(datagram, MAC, XID)

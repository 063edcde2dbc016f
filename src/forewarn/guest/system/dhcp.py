"""DHCP as far as one question needs it: where is the metadata service of a machine without a virtual network?

Azure's answer to a DHCPDISCOVER carries it as option 245, four bytes of IPv4. Pure: datagrams as bytes; each
system has its own way to send them.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

OPTION_ENDPOINT = 245  # the address of Azure's WireServer, as walinuxagent reads it
CLIENT_PORT = 68  # RFC 2131, 4.1
SERVER_PORT = 67  # RFC 2131, 4.1

_FIXED = Struct(">BBBBIHHIIII16s64s128s4s")  # RFC 2131, figure 1, and the cookie of RFC 1497
_COOKIE = bytes((99, 130, 83, 99))  # RFC 1497
_REQUEST, _REPLY, _ETHERNET, _BROADCAST = 1, 2, 1, 0x8000  # RFC 2131: op, htype and the flag that asks for a broadcast
# Option codes of RFC 2132; 249 is Microsoft's classless routes
_PAD, _SUBNET, _ROUTER, _MESSAGE_TYPE, _WANTED, _ROUTES, _END = 0, 1, 3, 53, 55, 249, 255
_DISCOVER = 1
_LEAST_BYTES = 300  # what relays of the time of BOOTP pass on


def build_discover(mac: bytes, transaction: int) -> bytes:
    """A DHCPDISCOVER. It asks for a broadcast answer: the address that is offered is not ours, and is not taken."""
    assert len(mac) == 6, "an Ethernet address has six bytes"
    assert 0 <= transaction < 1 << 32, "a transaction is 32 bits"
    fixed = _FIXED.pack(
        _REQUEST, _ETHERNET, len(mac), 0, transaction, 0, _BROADCAST, 0, 0, 0, 0, mac, b"", b"", _COOKIE
    )
    wanted = bytes((_SUBNET, _ROUTER, _ROUTES, OPTION_ENDPOINT))
    options = bytes((_MESSAGE_TYPE, 1, _DISCOVER, _WANTED, len(wanted))) + wanted + bytes((_END,))
    return (fixed + options).ljust(_LEAST_BYTES, b"\0")


def endpoint_in(datagram: bytes, mac: bytes, transaction: int) -> str | None:
    """The address that an answer to our question tells; None for anything else that comes to port 68."""
    if len(datagram) < _FIXED.size:
        return None
    operation, _, length, _, asked, *_, hardware, _, _, cookie = _FIXED.unpack_from(datagram)
    if (operation, length, asked, cookie) != (_REPLY, len(mac), transaction, _COOKIE) or hardware[:length] != mac:
        return None
    told = next((value for code, value in _options(datagram[_FIXED.size :]) if code == OPTION_ENDPOINT), b"")
    return ".".join(map(str, told)) if len(told) == 4 and any(told) else None


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    """One after the other, up to the first that is cut off."""
    place = 0
    while place < len(data) and (code := data[place]) != _END:
        if code == _PAD:
            place += 1
            continue
        start = place + 2
        end = start + data[place + 1] if start <= len(data) else len(data) + 1
        if end > len(data):
            return
        yield code, data[start:end]
        place = end

"""Where the metadata service may be, in the order in which the documents look for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

ADDRESS_VARIABLE = "FOREWARN_ENDPOINT"  # ours: a URL, with the VM's prefix where there is one
FORMER_VARIABLE = "FOREWARN_METADATA"  # what it was called in 0.1; since then it is the server's alone
SAMPLE_VARIABLE = "SCHEDULEDEVENTSIP"  # of Microsoft's discovery sample: an address it once found

_URL = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]+(?:%[a-z0-9\-._]+)?)\]|(?P<host>[a-z0-9\-._]+))(?::(?P<port>\d{1,5}))?"
    r"(?P<path>/[a-z0-9\-._~!$&'()*+,;=:@%/]*)?(?:\?.*)?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A metadata service. ``prefix`` is what stands before ``/metadata``: at a desk, ``/vm/NAME``."""

    host: str
    port: int = 80  # of HTTP, where Azure's metadata service listens
    prefix: str = ""

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 80 else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"http://{self.authority}{self.prefix}"


AZURE = Endpoint("169.254.169.254")


@dataclass(frozen=True, slots=True)
class Places:
    """What to try, in order, and whether to ask the network (DHCP option 245) when none of it answers."""

    endpoints: tuple[Endpoint, ...]
    dhcp: bool = False
    doubt: str = ""  # a warning about how the address was given, or empty

    def __str__(self) -> str:
        return ", then ".join([*map(str, self.endpoints), *(["the address that DHCP tells"] if self.dhcp else [])])


def parse_endpoint(text: str) -> Endpoint:
    """An address, ``host:port`` or URL; a whole URL of the service's documentation will do, its path is cut.

    By hand: the standard library's reader of URLs would cost an idle agent a tenth of its memory.
    """
    scheme, found, rest = text.strip().partition("://")
    if found and scheme.lower() != "http":
        raise ValueError(f"{text!r} is no address of a metadata service, which speaks plain http.")
    parts = _URL.fullmatch(rest if found else scheme)
    port = int(parts["port"] or 80) if parts else 0
    if parts is None or not 0 < port < 65536:
        raise ValueError(f"{text!r} is no address of a metadata service; write http://169.254.169.254 or host:port.")
    return Endpoint(parts["six"] or parts["host"], port, _prefix(parts["path"] or ""))


def _prefix(path: str) -> str:
    place = path.lower().find("/metadata")
    return (path if place < 0 else path[:place]).rstrip("/")


def places(given: str | None, environment: Mapping[str, str]) -> Places:
    """Given address, environment, 169.254.169.254, DHCP.

    An address that was given, or set in FOREWARN_ENDPOINT, is the only one: a program that was pointed at a test
    region must never talk to the machine's real service because the region is down. What the sample's variable says
    may be stale, so it is only the first to be tried.
    """
    told = given or environment.get(ADDRESS_VARIABLE, "").strip()
    if told:
        return Places((parse_endpoint(told),))
    former = environment.get(FORMER_VARIABLE, "").strip()
    if former.lower().startswith("http"):  # a server's own setting is HOST:PORT
        doubt = f"{FORMER_VARIABLE} is the server's setting; say {ADDRESS_VARIABLE}={former} to a guest"
        return Places((parse_endpoint(former),), doubt=doubt)
    sample = environment.get(SAMPLE_VARIABLE, "").strip()
    first = (parse_endpoint(sample),) if sample else ()
    return Places((*first, *(() if AZURE in first else (AZURE,))), dhcp=True)

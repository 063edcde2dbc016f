"""The kinds of value a setting may have: each reads text and says in a sentence what is wrong with it."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from forewarn.settings.store_url import read_store, show_store
from forewarn.settings.times import parse_duration, show_duration

_SWITCHED = {"on": True, "off": False, "1": True, "0": False}  # 1 and 0 are how environments say it
FACES = ("metadata", "control", "resource-manager")
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Address:
    """Where a face listens. Port 0 takes any free one."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class ClockChoice:
    """``real``, ``xN`` (N times faster) or ``virtual`` (stands still until it is moved)."""

    kind: str  # "real", "fast" or "virtual", as the plane names its clocks
    speed: float

    def __str__(self) -> str:
        return f"x{self.speed:g}" if self.kind == "fast" else self.kind


@dataclass(frozen=True)
class SettingKind:
    """How to read a setting, how to show it, and how help names its value."""

    metavar: str
    read: Callable[[str], Any]
    show: Callable[[Any], str] = str
    choices: tuple[str, ...] = ()


def _read_address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:16925 or [::1]:16925")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if ":" in host and bare == host:
        raise ValueError(f"{text!r} is not HOST:PORT; an IPv6 address stands in brackets, such as [::1]:16925")
    return Address(bare, int(port))


def _read_address_or_off(text: str) -> Address | None:
    return None if text == "off" else _read_address(text)


def _show_address_or_off(address: Address | None) -> str:
    return "off" if address is None else str(address)


def _read_clock(text: str) -> ClockChoice:
    if text == "real":
        return ClockChoice("real", 1.0)
    if text == "virtual":
        return ClockChoice("virtual", 0.0)
    speed = _number(text[1:]) if text.startswith("x") else None
    if speed is None or not 0 < speed <= 1_000_000:
        raise ValueError(f"{text!r} is not a clock; write real, virtual, or xN (x60 makes a minute of a second)")
    return ClockChoice("fast", speed)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _read_path(text: str) -> Path:
    if not text.strip() or "\0" in text:
        raise ValueError("the name of a directory is missing")
    return Path(text)


def _read_path_or_none(text: str) -> str:
    if "\0" in text:
        raise ValueError("a directory cannot have that name")
    return text


def _read_switch(text: str) -> bool:
    if text not in _SWITCHED:
        raise ValueError(f"{text!r} is neither on nor off")
    return _SWITCHED[text]


def _show_switch(on: bool) -> str:
    return "on" if on else "off"


def _read_token(text: str) -> str:
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("a token is made of printable ASCII characters without spaces")
    return text


def _show_token(token: str) -> str:
    """A secret is never shown, only whether there is one."""
    return "(set)" if token else ""


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))


def _show_words(words: tuple[object, ...]) -> str:
    return ",".join(map(str, words))


def _read_faces(text: str) -> tuple[str, ...]:
    """In the order in which they are always told."""
    words = _words(text)
    unknown = [word for word in words if word not in FACES]
    if unknown or not words:
        named = f"{unknown[0]!r} is no face" if unknown else "a node needs a face"
        raise ValueError(f"{named}; choose among {', '.join(FACES)}")
    if len(set(words)) != len(words):
        raise ValueError(f"{text!r} names a face twice")
    return tuple(face for face in FACES if face in words)


def _read_name(text: str) -> str:
    if not text.isprintable() or len(text) > 100:
        raise ValueError("a name is at most 100 printable characters")
    return text.strip()


def _read_hosts(text: str) -> tuple[str, ...]:
    """Names and addresses without a port. ``*`` is for listening everywhere, never for a list."""
    hosts = tuple(word.lower().strip("[]") for word in _words(text))
    for host in hosts:
        if not all(letter.isascii() and (letter.isalnum() or letter in "-._:") for letter in host):
            raise ValueError(f"{host!r} is not the name or address of a host")
        if ":" in host and not _is_address(host):
            raise ValueError(f"{host!r} is not the name or address of a host; leave off the port")
    return hosts


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _read_networks(text: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(word) for word in _words(text))
    except ValueError:
        raise ValueError(f"{text!r} holds what is neither an address nor a network such as 10.0.0.0/24") from None


def _read_https_url(text: str) -> str:
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        usable = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        usable = False
    if not usable or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f"{text!r} is not like https://rm.example:16927")
    return text.rstrip("/")


def _read_collector_url(text: str) -> str:
    """The address before ``/v1/metrics``. Settings are shown to all who may read, so one with a secret is refused."""
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment or not text.isprintable() or " " in text:
        raise ValueError(f"{text!r} is not like http://127.0.0.1:4318")
    if "@" in parts.netloc:
        raise ValueError("a collector's secrets do not stand in its address; give them in OTEL_EXPORTER_OTLP_HEADERS")
    return text.rstrip("/")


def _read_interruption(text: str) -> int:
    if text == "-1":
        return -1
    seconds = float(text) if text.isascii() and text.isdecimal() else parse_duration(text).total_seconds()
    if seconds != int(seconds):
        raise ValueError(f"{text!r} is not a whole number of seconds")
    return int(seconds)


def whole(low: int, high: int) -> SettingKind:
    """A whole number within bounds."""

    def read(text: str) -> int:
        digits = text.strip()
        if not digits.isascii() or not digits.isdecimal() or not low <= int(digits) <= high:
            raise ValueError(f"{text!r} is not a whole number from {low} to {high}")
        return int(digits)

    return SettingKind("N", read)


def number(low: float, high: float) -> SettingKind:
    """A number within bounds."""

    def read(text: str) -> float:
        found = _number(text)
        if found is None or not low <= found <= high:
            raise ValueError(f"{text!r} is not a number from {low:g} to {high:g}")
        return found

    return SettingKind("N", read, lambda value: f"{value:g}")


def duration(low: str = "0", high: str = "3660d") -> SettingKind:
    """A duration within bounds."""
    least, most = parse_duration(low), parse_duration(high)

    def read(text: str) -> timedelta:
        found = parse_duration(text)
        if not least <= found <= most:
            raise ValueError(f"{text!r} is not between {show_duration(least)} and {show_duration(most)}")
        return found

    return SettingKind("DURATION", read, show_duration)


def one_of(*choices: str) -> SettingKind:
    """One word of a few."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text!r} is none of {', '.join(choices)}")
        return text

    return SettingKind("|".join(choices), read, choices=choices)


ADDRESS = SettingKind("HOST:PORT", _read_address)
ADDRESS_OR_OFF = SettingKind("HOST:PORT|off", _read_address_or_off, _show_address_or_off)
CLOCK = SettingKind("real|xN|virtual", _read_clock)
DIRECTORY = SettingKind("DIR", _read_path)
DIRECTORY_OR_NONE = SettingKind("DIR", _read_path_or_none)
FACES_LIST = SettingKind("FACE,...", _read_faces, _show_words)
HOSTS = SettingKind("HOST,...", _read_hosts, _show_words)
HTTPS_URL = SettingKind("URL", _read_https_url)
COLLECTOR_URL = SettingKind("URL", _read_collector_url)
NAME = SettingKind("NAME", _read_name)
NETWORKS = SettingKind("NETWORK,...", _read_networks, _show_words)
STORE = SettingKind("URL", read_store, show_store)
SWITCH = SettingKind("on|off", _read_switch, _show_switch, choices=("on", "off"))
TOKEN = SettingKind("TOKEN", _read_token, _show_token)
INTERRUPTION = SettingKind("SECONDS", _read_interruption)

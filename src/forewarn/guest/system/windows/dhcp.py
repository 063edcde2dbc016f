"""Asking by DHCP where the metadata service is: Windows' own client asks, and tells option 245. Blocks for seconds."""

from __future__ import annotations

import ctypes
import sys
from ctypes import wintypes

from forewarn.guest.system import DhcpFailed
from forewarn.guest.system.dhcp import OPTION_ENDPOINT

assert sys.platform == "win32"
import winreg  # noqa: E402 - there is none elsewhere

_INTERFACES = "SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters\\Interfaces"
_SYNCHRONOUS = 0x2  # DHCPCAPI_REQUEST_SYNCHRONOUS
_MORE_DATA = 234  # ERROR_MORE_DATA
_ANSWER_BYTES = 4096  # ours: an address has four


class _Option(ctypes.Structure):
    """DHCPCAPI_PARAMS."""

    _fields_ = (
        ("flags", wintypes.ULONG),
        ("number", wintypes.ULONG),
        ("is_vendors", wintypes.BOOL),
        ("data", ctypes.c_void_p),
        ("size", wintypes.DWORD),
    )


class _Options(ctypes.Structure):
    """DHCPCAPI_PARAMS_ARRAY."""

    _fields_ = (("count", wintypes.ULONG), ("first", ctypes.POINTER(_Option)))


def ask_dhcp() -> str:
    """The address that the first network card's server tells."""
    cards = _cards()
    if not cards:
        raise DhcpFailed("there is no network card that is set up by DHCP")
    problem = ""
    for card in cards:
        told = _ask(card)
        if isinstance(told, bytes) and len(told) == 4 and any(told):
            return ".".join(map(str, told))
        problem = problem or (told if isinstance(told, str) else "")
    raise DhcpFailed(problem or "no DHCP server told the address of the metadata service (option 245)")


def _ask(card: str) -> bytes | str:
    """What the option says, or what went wrong."""
    try:
        library = ctypes.WinDLL("dhcpcsvc")
    except OSError:
        return "this Windows has no DHCP client"
    asked = _Option(0, OPTION_ENDPOINT, False, None, 0)
    none, wanted = _Options(0, None), _Options(1, ctypes.pointer(asked))
    buffer = ctypes.create_string_buffer(_ANSWER_BYTES)
    size = wintypes.DWORD(_ANSWER_BYTES)
    library.DhcpCApiInitialize(ctypes.byref(wintypes.DWORD()))
    try:
        status = library.DhcpRequestParams(
            wintypes.DWORD(_SYNCHRONOUS), None, ctypes.c_wchar_p(card), None, none, wanted, buffer,
            ctypes.byref(size), None,
        )  # fmt: skip
    finally:
        library.DhcpCApiCleanup()
    if status and status != _MORE_DATA:
        return f"DHCP: {ctypes.FormatError(status).rstrip('.').lower()}"
    return ctypes.string_at(asked.data, asked.size) if asked.data and asked.size else b""


def _cards() -> list[str]:
    """The names of the network cards that have their address from a DHCP server."""
    found = []
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _INTERFACES) as all_of_them:
            for place in range(winreg.QueryInfoKey(all_of_them)[0]):
                name = winreg.EnumKey(all_of_them, place)
                with winreg.OpenKey(all_of_them, name) as card:
                    if _number(card, "EnableDHCP"):
                        found.append(name)
    except OSError:
        return found
    return found


def _number(key: winreg.HKEYType, name: str) -> int:
    try:
        return int(winreg.QueryValueEx(key, name)[0])
    except (OSError, ValueError):
        return 0

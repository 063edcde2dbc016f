"""Which boot this is."""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import wintypes

assert sys.platform == "win32"
import winreg  # noqa: E402 - there is none elsewhere

_KEY = "SOFTWARE\\forewarn-boot"
_VALUE = "id"
_VOLATILE = 1  # REG_OPTION_VOLATILE: gone when the system ends
_READ_WRITE = 0x20006 | 0x20019  # KEY_WRITE, KEY_READ


def boot_id() -> str:
    """A random number in a key of the registry that no disk keeps; empty where we may neither read nor make it.

    The time of the boot would do as well, were it not computed from a clock that is set now and then.
    """
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _KEY) as key:
            return str(winreg.QueryValueEx(key, _VALUE)[0])
    except OSError:
        return _make()


def _make() -> str:
    advapi32 = ctypes.WinDLL("advapi32")
    handle = wintypes.HKEY()
    root = wintypes.HKEY(winreg.HKEY_LOCAL_MACHINE)
    words = (root, _KEY, 0, None, _VOLATILE, _READ_WRITE, None, ctypes.byref(handle), None)
    if advapi32.RegCreateKeyExW(*words):
        return ""
    try:
        made = os.urandom(16).hex()
        winreg.SetValueEx(handle.value or 0, _VALUE, 0, winreg.REG_SZ, made)
    except OSError:
        return ""
    finally:
        advapi32.RegCloseKey(handle)
    return made

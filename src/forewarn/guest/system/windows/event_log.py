"""Entries in Windows' Event Log, as a handler of Python's logging."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from ctypes import wintypes
from pathlib import Path

assert sys.platform == "win32"
import winreg  # noqa: E402 - there is none elsewhere

SOURCE = "forewarn-agent"
AZURE_SOURCE, AZURE_ID = "AzureScheduledEvents", 1234  # what Microsoft's sample service writes, and people route
_KEY = "SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application"
_IDS = {logging.INFO: 1, logging.WARNING: 2, logging.ERROR: 3}  # ours: one for each level, so that people can filter
_KINDS = {logging.INFO: 0x4, logging.WARNING: 0x2, logging.ERROR: 0x1}  # EVENTLOG_INFORMATION_TYPE, _WARNING_, _ERROR_
_ALL_KINDS = 0x7  # the three together
_TEXT_MOST = 31_000  # letters: an entry holds 31 839

_advapi32 = ctypes.WinDLL("advapi32", use_last_error=True)
_advapi32.RegisterEventSourceW.restype = wintypes.HANDLE
_advapi32.ReportEventW.argtypes = (
    *(wintypes.HANDLE, wintypes.WORD, wintypes.WORD, wintypes.DWORD, ctypes.c_void_p),
    *(wintypes.WORD, wintypes.DWORD, ctypes.POINTER(wintypes.LPCWSTR), ctypes.c_void_p),
)


class EventLogHandler(logging.Handler):
    """What is logged from INFO on. With ``azure`` under the name and the number of Microsoft's sample."""

    def __init__(self, *, azure: bool = False) -> None:
        super().__init__(logging.INFO)
        self._azure = azure
        self._handle = _advapi32.RegisterEventSourceW(None, AZURE_SOURCE if azure else SOURCE)

    def emit(self, record: logging.LogRecord) -> None:
        level = logging.ERROR if record.levelno >= logging.ERROR else record.levelno // 10 * 10
        number = AZURE_ID if self._azure else _IDS.get(level, 1)
        text = (wintypes.LPCWSTR * 1)(self.format(record)[:_TEXT_MOST])
        if self._handle:  # one that cannot be written to takes nothing from the agent's work
            _advapi32.ReportEventW(self._handle, _KINDS.get(level, 0x4), 0, number, None, 1, 0, text, None)


def register_source(source: str) -> None:
    """Let the viewer show the sentence itself: a library of Windows or .NET has the message "%1" for every number."""
    with winreg.CreateKey(winreg.HKEY_LOCAL_MACHINE, f"{_KEY}\\{source}") as key:
        winreg.SetValueEx(key, "EventMessageFile", 0, winreg.REG_EXPAND_SZ, _message_file())
        winreg.SetValueEx(key, "TypesSupported", 0, winreg.REG_DWORD, _ALL_KINDS)


def source_is_there(source: str) -> bool:
    try:
        winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, f"{_KEY}\\{source}").Close()
    except FileNotFoundError:
        return False
    return True


def remove_source(source: str) -> None:
    """One that is not there is no fault."""
    try:
        winreg.DeleteKey(winreg.HKEY_LOCAL_MACHINE, f"{_KEY}\\{source}")
    except FileNotFoundError:
        return


def _message_file() -> str:
    """.NET's has all numbers; EventCreate's, which every Windows has, those up to 1000."""
    root = os.environ.get("SYSTEMROOT", "C:\\Windows")
    of_dotnet = Path(root) / "Microsoft.NET" / "Framework64" / "v4.0.30319" / "EventLogMessages.dll"
    return str(of_dotnet) if of_dotnet.exists() else "%SystemRoot%\\System32\\EventCreate.exe"

"""This process as a service: what the service manager asks of it, and what it is told.

The manager's calls are few, and made by ctypes; pywin32 or a wrapper program would have to be installed first. A
service that ends with a status other than 0 is a failure, after which the manager starts it again.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from ctypes import wintypes

assert sys.platform == "win32"

NAME = "forewarn-agent"

_OWN_PROCESS = 0x10  # SERVICE_WIN32_OWN_PROCESS
_STOPPED, _START_PENDING, _STOP_PENDING, _RUNNING = 1, 2, 3, 4  # winsvc.h
_STOP, _INTERROGATE, _SHUTDOWN, _PRESHUTDOWN = 0x1, 0x4, 0x5, 0xF  # SERVICE_CONTROL_...
_ACCEPTED = 0x1 | 0x4 | 0x100  # SERVICE_ACCEPT_STOP, _SHUTDOWN, _PRESHUTDOWN
_ASKED = {_STOP: "the service is stopped", _SHUTDOWN: "Windows shuts down", _PRESHUTDOWN: "Windows shuts down"}
_NOT_IMPLEMENTED = 120  # ERROR_CALL_NOT_IMPLEMENTED
_OUR_OWN_STATUS = 1066  # ERROR_SERVICE_SPECIFIC_ERROR
_NO_MANAGER = 1063  # ERROR_FAILED_SERVICE_CONTROLLER_CONNECT
_HINT_MILLISECONDS = 30_000  # ours: how long the manager shall believe that a start or an end goes on

_MAIN = ctypes.WINFUNCTYPE(None, wintypes.DWORD, ctypes.POINTER(wintypes.LPWSTR))
_HANDLER = ctypes.WINFUNCTYPE(wintypes.DWORD, wintypes.DWORD, wintypes.DWORD, ctypes.c_void_p, ctypes.c_void_p)
_advapi32 = ctypes.WinDLL("advapi32", use_last_error=True)
_advapi32.RegisterServiceCtrlHandlerExW.restype = wintypes.HANDLE
_advapi32.RegisterServiceCtrlHandlerExW.argtypes = (wintypes.LPCWSTR, _HANDLER, ctypes.c_void_p)
_advapi32.SetServiceStatus.argtypes = (wintypes.HANDLE, ctypes.c_void_p)


class _Status(ctypes.Structure):
    """SERVICE_STATUS."""

    _fields_ = tuple(
        (name, wintypes.DWORD) for name in ("kind", "state", "accepted", "status", "own_status", "checkpoint", "hint")
    )


class _Entry(ctypes.Structure):
    """SERVICE_TABLE_ENTRYW."""

    _fields_ = (("name", wintypes.LPWSTR), ("main", _MAIN))


class ManagedService:
    """The line to the service manager; a ``Supervisor``. A thread runs the work, the main thread hears controls."""

    alive_every_seconds: float | None = None

    def __init__(self, name: str = NAME) -> None:
        self._name = name
        self._handle: int | None = None
        self._state = _START_PENDING
        self._stop: Callable[[str], None] | None = None
        self._asked = ""  # to stop, before anybody listened
        self._guard = threading.Lock()
        self._on_control = _HANDLER(self._control)  # kept: the manager calls it for as long as we live
        self._status = 0

    def run(self, work: Callable[[], int]) -> int:
        """Work as the service until it ends; the status of the work. Raises ``OSError`` where no manager started us."""

        def main(_count: int, _words: object) -> None:
            self._handle = _advapi32.RegisterServiceCtrlHandlerExW(self._name, self._on_control, None)
            self._tell(_START_PENDING)
            self._status = 1
            try:
                self._status = work()
            finally:
                self._tell(_STOPPED)

        called = _MAIN(main)
        table = (_Entry * 2)(_Entry(self._name, called), _Entry(None, _MAIN()))
        if not _advapi32.StartServiceCtrlDispatcherW(table):
            problem = ctypes.get_last_error()
            if problem == _NO_MANAGER:
                raise OSError("--service is for the service manager; without it the agent runs here")
            raise ctypes.WinError(problem)
        return self._status

    def on_stop(self, stop: Callable[[str], None]) -> None:
        with self._guard:
            self._stop = stop
            asked = self._asked
        if asked:
            stop(asked)

    # Of a Supervisor

    def ready(self, status: str = "") -> None:
        if self._state == _START_PENDING:
            self._tell(_RUNNING)

    def alive(self) -> None:
        """Nothing to do: Windows' service manager has no watchdog."""

    def status(self, text: str) -> None:
        """Nothing to do: it has no place for such a line; the Event Log has it."""

    def stopping(self, status: str = "") -> None:
        self._tell(_STOP_PENDING)

    def _control(self, control: int, _kind: int, _data: object, _context: object) -> int:
        """Called by the manager, in the main thread."""
        if control in _ASKED:
            self._tell(_STOP_PENDING)
            with self._guard:
                stop, self._asked = self._stop, _ASKED[control]
            if stop is not None:
                stop(self._asked)
            return 0
        return 0 if control == _INTERROGATE else _NOT_IMPLEMENTED

    def _tell(self, state: int) -> None:
        self._state = state
        status = _Status(
            _OWN_PROCESS,
            state,
            _ACCEPTED if state == _RUNNING else 0,
            _OUR_OWN_STATUS if state == _STOPPED and self._status else 0,
            self._status if state == _STOPPED else 0,
            1 if state in (_START_PENDING, _STOP_PENDING) else 0,
            _HINT_MILLISECONDS if state in (_START_PENDING, _STOP_PENDING) else 0,
        )
        if self._handle:
            _advapi32.SetServiceStatus(self._handle, ctypes.byref(status))

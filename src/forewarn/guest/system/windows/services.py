"""The service manager of Windows, as far as steps and ``agent install`` need it; by ctypes, for nothing else is there.

Also a program: ``python -I -S services.py running|stop|start NAME``, which steps run as any other, with its time.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import wintypes
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[4]))  # without site, nobody else does

assert sys.platform == "win32"
from forewarn.durable_windows import failure  # noqa: E402 - found by the line above

STOPPED, START_PENDING, STOP_PENDING, RUNNING = 1, 2, 3, 4  # winsvc.h
_OWN_PROCESS, _AUTO_START, _ERROR_NORMAL, _WIN32 = 0x10, 2, 1, 0x30  # winsvc.h and winnt.h
_ACTIVE = 1  # SERVICE_ACTIVE
_CONTROL_STOP = 1  # SERVICE_CONTROL_STOP
_ALL = 0xF003F  # SC_MANAGER_ALL_ACCESS
_CONNECT = 0x1  # SC_MANAGER_CONNECT
_ALL_OF_SERVICE = 0xF01FF  # SERVICE_ALL_ACCESS
_QUERY, _START, _STOP, _DEPENDENTS = 0x4, 0x10, 0x20, 0x8  # SERVICE_QUERY_STATUS, _START, _STOP, _ENUMERATE_DEPENDENTS
_NOT_THERE, _RUNS_ALREADY, _NOT_ACTIVE, _MORE_DATA = 1060, 1056, 1062, 234  # winerror.h
_DESCRIPTION, _FAILURE_ACTIONS, _FAILURE_FLAG, _PRESHUTDOWN = 1, 2, 4, 7  # SERVICE_CONFIG_...
_RESTART = 1  # SC_ACTION_RESTART
# Ours: a failure may pass by itself; a day without one begins the count anew
_RESTART_MILLISECONDS, _FORGET_SECONDS = (5_000, 30_000, 60_000), 86_400
_PRESHUTDOWN_MILLISECONDS = 30_000  # ours: of the 180 s that Windows grants at most, what an agent needs to end
_LOOK_SECONDS = 0.1  # ours: between two looks whether a service has done what it was asked

_advapi32 = ctypes.WinDLL("advapi32", use_last_error=True)
for _name in ("OpenSCManagerW", "OpenServiceW", "CreateServiceW"):
    getattr(_advapi32, _name).restype = wintypes.HANDLE
_advapi32.OpenServiceW.argtypes = (wintypes.HANDLE, wintypes.LPCWSTR, wintypes.DWORD)
_advapi32.CreateServiceW.argtypes = (
    *(wintypes.HANDLE, wintypes.LPCWSTR, wintypes.LPCWSTR, wintypes.DWORD, wintypes.DWORD, wintypes.DWORD),
    *(wintypes.DWORD, wintypes.LPCWSTR, wintypes.LPCWSTR, ctypes.c_void_p, wintypes.LPCWSTR, wintypes.LPCWSTR),
    wintypes.LPCWSTR,
)
for _name in ("CloseServiceHandle", "DeleteService"):
    getattr(_advapi32, _name).argtypes = (wintypes.HANDLE,)
_advapi32.QueryServiceStatus.argtypes = (wintypes.HANDLE, ctypes.c_void_p)
_advapi32.ControlService.argtypes = (wintypes.HANDLE, wintypes.DWORD, ctypes.c_void_p)
_advapi32.StartServiceW.argtypes = (wintypes.HANDLE, wintypes.DWORD, ctypes.c_void_p)
_advapi32.ChangeServiceConfig2W.argtypes = (wintypes.HANDLE, wintypes.DWORD, ctypes.c_void_p)
_advapi32.EnumDependentServicesW.argtypes = (
    *(wintypes.HANDLE, wintypes.DWORD, ctypes.c_void_p, wintypes.DWORD),
    *(ctypes.POINTER(wintypes.DWORD), ctypes.POINTER(wintypes.DWORD)),
)


class ServiceState(ctypes.Structure):
    """SERVICE_STATUS."""

    _fields_ = tuple(
        (name, wintypes.DWORD) for name in ("kind", "state", "accepted", "status", "own_status", "checkpoint", "hint")
    )


class _Dependent(ctypes.Structure):
    """ENUM_SERVICE_STATUSW."""

    _fields_ = (("name", wintypes.LPWSTR), ("display", wintypes.LPWSTR), ("state", ServiceState))


class _Action(ctypes.Structure):
    """SC_ACTION."""

    _fields_ = (("kind", ctypes.c_int), ("milliseconds", wintypes.DWORD))


class _FailureActions(ctypes.Structure):
    """SERVICE_FAILURE_ACTIONSW."""

    _fields_ = (
        ("reset", wintypes.DWORD),
        ("message", wintypes.LPWSTR),
        ("command", wintypes.LPWSTR),
        ("count", wintypes.DWORD),
        ("actions", ctypes.POINTER(_Action)),
    )


def exists(name: str) -> bool:
    try:
        with _opened(name, _QUERY):
            return True
    except OSError as problem:
        if problem.winerror == _NOT_THERE:
            return False
        raise


def state_of(name: str) -> int:
    with _opened(name, _QUERY) as service:
        return _state(service)


def running_with_dependents(name: str) -> list[str]:
    """The services that depend on it and run, those first that depend on others, and itself at last, if it runs."""
    with _opened(name, _QUERY | _DEPENDENTS) as service:
        if _state(service) == STOPPED:
            return []
        size, count = wintypes.DWORD(), wintypes.DWORD()
        if _advapi32.EnumDependentServicesW(service, _ACTIVE, None, 0, ctypes.byref(size), ctypes.byref(count)):
            return [name]
        if (problem := failure(name)).winerror != _MORE_DATA:
            raise problem
        buffer = ctypes.create_string_buffer(size.value)
        got = _advapi32.EnumDependentServicesW(
            service, _ACTIVE, buffer, size.value, ctypes.byref(size), ctypes.byref(count)
        )
        if not got:
            raise failure(name)
        found = ctypes.cast(buffer, ctypes.POINTER(_Dependent))
        return [*(str(found[place].name) for place in range(count.value)), name]


def stop(name: str) -> None:
    """And wait until it has; one that does not run is no fault."""
    with _opened(name, _QUERY | _STOP) as service:
        if not _advapi32.ControlService(service, _CONTROL_STOP, ctypes.byref(ServiceState())):
            problem = failure(name)
            if problem.winerror != _NOT_ACTIVE and _state(service) not in (STOPPED, STOP_PENDING):
                raise problem
        _await(service, STOPPED, (STOP_PENDING, RUNNING), name)


def start(name: str) -> None:
    """And wait until it runs; one that runs is no fault."""
    with _opened(name, _QUERY | _START) as service:
        if not _advapi32.StartServiceW(service, 0, None):
            problem = failure(name)
            if problem.winerror != _RUNS_ALREADY:
                raise problem
        _await(service, RUNNING, (START_PENDING,), name)


def register(name: str, display: str, description: str, command: str) -> None:
    """A service that begins with Windows, and is begun again when it fails."""
    with _manager(_ALL) as manager:
        service = _advapi32.CreateServiceW(
            *(manager, name, display, _ALL_OF_SERVICE, _OWN_PROCESS, _AUTO_START, _ERROR_NORMAL, command),
            *(None, None, None, None, None),
        )
        if not service:
            raise failure(name)
        try:
            _settle(service, description)
        finally:
            _advapi32.CloseServiceHandle(service)


def _settle(service: int, description: str) -> None:
    text = ctypes.c_wchar_p(description)
    actions = (_Action * len(_RESTART_MILLISECONDS))(*(_Action(_RESTART, each) for each in _RESTART_MILLISECONDS))
    restarts = _FailureActions(_FORGET_SECONDS, None, None, len(actions), actions)
    also_a_bad_status, patience = wintypes.BOOL(True), wintypes.DWORD(_PRESHUTDOWN_MILLISECONDS)
    for what, value in (
        (_DESCRIPTION, text),
        (_FAILURE_ACTIONS, restarts),
        (_FAILURE_FLAG, also_a_bad_status),
        (_PRESHUTDOWN, patience),
    ):
        _advapi32.ChangeServiceConfig2W(service, what, ctypes.byref(value))  # without them it is a service all the same


def remove(name: str) -> None:
    """One that is not there is no fault."""
    try:
        with _opened(name, _ALL_OF_SERVICE) as service:
            if not _advapi32.DeleteService(service):
                raise failure(name)
    except OSError as problem:
        if problem.winerror != _NOT_THERE:
            raise


@contextmanager
def _manager(access: int) -> Iterator[int]:
    manager = _advapi32.OpenSCManagerW(None, None, access)
    if not manager:
        raise failure("the service manager")
    try:
        yield manager
    finally:
        _advapi32.CloseServiceHandle(manager)


@contextmanager
def _opened(name: str, access: int) -> Iterator[int]:
    with _manager(_CONNECT) as manager:
        service = _advapi32.OpenServiceW(manager, name, access)
        if not service:
            raise failure(name)
        try:
            yield service
        finally:
            _advapi32.CloseServiceHandle(service)


def _state(service: int) -> int:
    found = ServiceState()
    if not _advapi32.QueryServiceStatus(service, ctypes.byref(found)):
        raise failure()
    return int(found.state)


def _await(service: int, wanted: int, meanwhile: tuple[int, ...], name: str) -> None:
    """Wait without a limit until the service is in the wanted state; this runs in a process that its caller may end."""
    while (state := _state(service)) != wanted:
        if state not in meanwhile:
            raise OSError(
                f"the service {name} did not {'stop' if wanted == STOPPED else 'start'}; its own log says why"
            )
        time.sleep(_LOOK_SECONDS)


def main(verb: str, name: str) -> int:
    try:
        if verb == "running":
            sys.stdout.write("".join(f"{each}\n" for each in running_with_dependents(name)))
        elif verb == "stop":
            stop(name)
        else:
            start(name)
    except OSError as problem:
        sys.stdout.write(f"{name}: {problem.strerror or problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

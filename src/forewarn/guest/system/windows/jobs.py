"""Job objects: a program and all that it starts, which are ended together.

A job is found by its name, and dies with the last handle to it; so whoever holds the handle holds the whole tree.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import wintypes
from pathlib import Path
from zlib import crc32

assert sys.platform == "win32"
from forewarn.durable_windows import failure  # noqa: E402 - there is none elsewhere

_EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation
_KILL_ON_CLOSE = 0x2000  # JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
_TERMINATE = 0x8  # JOB_OBJECT_TERMINATE
_NAME_MOST = 120  # letters of a path in a job's name, which has MAX_PATH of them in all
_ENDED_BY_US = 1  # what the processes' status says

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
for _function in (_kernel32.CreateJobObjectW, _kernel32.OpenJobObjectW, _kernel32.GetCurrentProcess):
    _function.restype = wintypes.HANDLE
_kernel32.CreateJobObjectW.argtypes = (ctypes.c_void_p, wintypes.LPCWSTR)
_kernel32.OpenJobObjectW.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.LPCWSTR)
_kernel32.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD)
_kernel32.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
_kernel32.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
_kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("process_time", wintypes.LARGE_INTEGER),
        ("job_time", wintypes.LARGE_INTEGER),
        ("flags", wintypes.DWORD),
        ("least_working_set", ctypes.c_size_t),
        ("most_working_set", ctypes.c_size_t),
        ("most_processes", wintypes.DWORD),
        ("affinity", ctypes.c_size_t),
        ("priority", wintypes.DWORD),
        ("scheduling", wintypes.DWORD),
        ("transfers", ctypes.c_ulonglong * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("process_peak", ctypes.c_size_t),
        ("job_peak", ctypes.c_size_t),
    )


def job_name(receipt: Path) -> str:
    """The same for every process that knows the receipt."""
    text = str(receipt.absolute()).lower()
    return f"Global\\forewarn-{crc32(text.encode()):08x}-{text.replace(chr(92), '/')[-_NAME_MOST:]}"


def join_new_job(name: str) -> None:
    """Put this process, and so all that it will start, into a job that ends with this process."""
    job = _kernel32.CreateJobObjectW(None, name)
    if not job:
        raise failure(name)
    limits = _Limits(flags=_KILL_ON_CLOSE)
    done = _kernel32.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits))
    if not (done and _kernel32.AssignProcessToJobObject(job, _kernel32.GetCurrentProcess())):
        raise failure(name)


def end_job(name: str) -> bool:
    """End all that is in it at once. Whether there was such a job."""
    job = _kernel32.OpenJobObjectW(_TERMINATE, False, name)
    if not job:
        return False
    try:
        return bool(_kernel32.TerminateJobObject(job, _ENDED_BY_US))
    finally:
        _kernel32.CloseHandle(job)

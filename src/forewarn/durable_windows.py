"""What ``durable`` needs of Windows.

Files are opened as bytes, and so that others may rename them. What is for its owner only gets its access list when it
is made: SYSTEM, the administrators and the owner, nobody else, and what is made inside of a directory inherits it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import time
from ctypes import wintypes
from pathlib import Path

assert sys.platform == "win32"
import msvcrt  # noqa: E402 - there is none elsewhere

OWN = os.O_BINARY | os.O_NOINHERIT

# SDDL. P: nothing is inherited from above; OICI: what is made inside gets it too; FA: all rights. SY is SYSTEM, BA the
# administrators, S-1-3-4 whoever owns it.
OWNERS_ONLY = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;S-1-3-4)"

_OTHERS = 0o077  # the mode bits of group and others
_LOCKED_AT = 1 << 30  # far beyond what is written: a locked byte cannot even be read by others
_LOCK_LOOK_SECONDS = 0.05  # ours: between two looks at a lock that somebody else has
# Ours: virus scanners and backups open a file for moments; whoever has it longer is not in passing
_SHARING_TRIES, _SHARING_SECONDS = 40, 0.05
_SHARING_VIOLATION, _ACCESS_DENIED, _LOCK_VIOLATION = 32, 5, 33  # winerror.h
_EXCLUSIVE_AT_ONCE = 0x3  # LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY
_REPLACE, _WRITE_THROUGH = 0x1, 0x8  # MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH
_GENERIC_WRITE = 0x40000000  # winnt.h
_SHARE_ALL = 0x7  # FILE_SHARE_READ, _WRITE, _DELETE
_CREATE_NEW, _OPEN_ALWAYS = 1, 4  # fileapi.h
_NOT_WHAT_A_LINK_LEADS_TO = 0x00200000  # FILE_FLAG_OPEN_REPARSE_POINT
_NO_HANDLE = wintypes.HANDLE(-1).value
_SDDL_REVISION = 1  # sddl.h
_COMMON_APPDATA = 0x23  # CSIDL_COMMON_APPDATA, of shlobj.h
_PATH_MOST = 260  # MAX_PATH

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_advapi32 = ctypes.WinDLL("advapi32", use_last_error=True)
_kernel32.CreateFileW.restype = wintypes.HANDLE
_kernel32.CreateFileW.argtypes = (
    wintypes.LPCWSTR,
    wintypes.DWORD,
    wintypes.DWORD,
    ctypes.c_void_p,
    wintypes.DWORD,
    wintypes.DWORD,
    wintypes.HANDLE,
)


class _SecurityAttributes(ctypes.Structure):
    _fields_ = (("length", wintypes.DWORD), ("descriptor", ctypes.c_void_p), ("inherited", wintypes.BOOL))


class _Overlapped(ctypes.Structure):
    """OVERLAPPED, of which a lock needs the place only."""

    _fields_ = (
        ("internal", ctypes.c_void_p),
        ("internal_high", ctypes.c_void_p),
        ("offset", wintypes.DWORD),
        ("offset_high", wintypes.DWORD),
        ("event", wintypes.HANDLE),
    )


def program_data() -> str:
    """The directory of what programs keep for the whole machine. A service's environment may tell another one."""
    found = ctypes.create_unicode_buffer(_PATH_MOST)
    ctypes.WinDLL("shell32").SHGetFolderPathW(None, _COMMON_APPDATA, None, 0, found)
    return found.value or "C:\\ProgramData"


def sync(descriptor: int) -> None:
    os.fsync(descriptor)


sync_data = sync


def sync_directory(directory: Path) -> None:
    """NTFS keeps names in a log of its own, and a move is written through; a directory cannot be synced."""
    if not directory.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(directory))


def replace(path: Path, to: Path) -> None:
    """Move a file over another one, on disk when it returns. A program that has one of the two open (a virus scanner, a
    backup) is waited for."""
    for left in reversed(range(_SHARING_TRIES)):
        if _kernel32.MoveFileExW(str(path), str(to), _REPLACE | _WRITE_THROUGH):
            return
        problem = failure(str(to))
        if problem.winerror not in (_SHARING_VIOLATION, _ACCESS_DENIED, _LOCK_VIOLATION) or not left or to.is_dir():
            raise problem
        time.sleep(_SHARING_SECONDS)  # noqa: TID251 - the only place that waits here


def write_at(descriptor: int, data: bytes, place: int) -> int:
    os.lseek(descriptor, place, os.SEEK_SET)
    return os.write(descriptor, data)


def read_at(descriptor: int, most: int, place: int) -> bytes:
    os.lseek(descriptor, place, os.SEEK_SET)
    return os.read(descriptor, most)


def make_own(directory: Path, mode: int = 0o777) -> None:
    """With the access list of its place, or where the mode is its owner's alone with ``OWNERS_ONLY``."""
    if mode & _OTHERS:
        directory.mkdir()
        return
    with _Closed() as attributes:
        if not _kernel32.CreateDirectoryW(str(directory), ctypes.byref(attributes)):
            raise failure(str(directory))


def open_own(path: Path, mode: int) -> int:
    """A new file for writing. One that others may read is as its directory says."""
    if mode & _OTHERS:
        return opened(path, os.O_WRONLY, _CREATE_NEW, None)
    with _Closed() as attributes:
        return opened(path, os.O_WRONLY, _CREATE_NEW, attributes)


def open_to_append(path: Path) -> int:
    """Made if it is not there. It may be renamed while it is open, by us or by others."""
    return opened(path, os.O_WRONLY | os.O_APPEND, _OPEN_ALWAYS, None)


def opened(path: Path, flags: int, how: int, attributes: _SecurityAttributes | None) -> int:
    """A descriptor for writing to a file that others may read, write and rename meanwhile."""
    given = ctypes.byref(attributes) if attributes is not None else None
    handle = _kernel32.CreateFileW(str(path), _GENERIC_WRITE, _SHARE_ALL, given, how, _NOT_WHAT_A_LINK_LEADS_TO, None)
    if handle == _NO_HANDLE:
        raise failure(str(path))
    return msvcrt.open_osfhandle(handle, flags | OWN)


class _Closed:
    """The attributes of something new that only its owner, SYSTEM and administrators may touch."""

    def __enter__(self) -> _SecurityAttributes:
        self._descriptor = ctypes.c_void_p()
        convert = _advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW
        if not convert(OWNERS_ONLY, _SDDL_REVISION, ctypes.byref(self._descriptor), None):
            raise failure()
        return _SecurityAttributes(ctypes.sizeof(_SecurityAttributes), self._descriptor, False)

    def __exit__(self, *_: object) -> None:
        _kernel32.LocalFree(self._descriptor)


def failure(about: str | None = None) -> OSError:
    """What the last call to Windows said, in its own words."""
    problem = ctypes.WinError(ctypes.get_last_error())
    return OSError(problem.errno, problem.strerror, about, problem.winerror)


class FileLock:
    """As on other systems. The lock is on one byte, so that everybody can read what is noted in the file."""

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | OWN, 0o600)
        try:
            while not _locks(descriptor):
                if not wait:
                    raise BlockingIOError(errno.EAGAIN, "another process holds it", str(path))
                time.sleep(_LOCK_LOOK_SECONDS)  # noqa: TID251 - nobody tells when it is let go
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor: int | None = descriptor

    def note(self, text: str) -> None:
        """What others may read in the file, instead of what is there."""
        assert self._descriptor is not None, "the lock is held"
        os.ftruncate(self._descriptor, 0)
        write_at(self._descriptor, text.encode(), 0)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _locks(descriptor: int) -> bool:
    place = _Overlapped(offset=_LOCKED_AT)
    handle = wintypes.HANDLE(msvcrt.get_osfhandle(descriptor))
    if _kernel32.LockFileEx(handle, _EXCLUSIVE_AT_ONCE, 0, 1, 0, ctypes.byref(place)):
        return True
    problem = failure()
    if problem.winerror != _LOCK_VIOLATION:
        raise problem
    return False

"""Who owns a file or a directory, who may read it, and closing one that is there to all but who shall have it."""

from __future__ import annotations

import ctypes
import re
import sys
from ctypes import wintypes
from pathlib import Path

assert sys.platform == "win32"
from forewarn.durable_windows import OWNERS_ONLY, failure  # noqa: E402 - there is none elsewhere

# Who may tell the agent what to do: SYSTEM, the administrators, and what installs Windows itself (TrustedInstaller)
_TRUSTED = (
    *("S-1-5-18", "S-1-5-32-544"),
    "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
)
_TRUSTED_WORDS = ("SY", "BA", "LA", "OW", "S-1-3-4")  # the same in SDDL, and whoever owns it
# Of a list as text: kind and flags of an entry, and whom it is for; IO is only for what is made inside
_ENTRY = re.compile(r"\((\w+);(\w*);[^;]*;[^;]*;[^;]*;([^;)]+)\)")
_FILE = 1  # SE_FILE_OBJECT
_OWNER, _ACCESS_LIST, _NOT_INHERITED = 0x1, 0x4, 0x80000000  # OWNER_, DACL_, PROTECTED_DACL_SECURITY_INFORMATION
_QUERY_TOKEN, _TOKEN_USER = 0x8, 1  # TOKEN_QUERY, TokenUser
_TOKEN_BYTES = 256  # ours: a user's SID has 68 at most, a pointer and flags before it
_SDDL_REVISION = 1  # sddl.h

_advapi32 = ctypes.WinDLL("advapi32", use_last_error=True)
_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.GetCurrentProcess.restype = wintypes.HANDLE
_kernel32.LocalFree.argtypes = (ctypes.c_void_p,)
_kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)
_advapi32.OpenProcessToken.argtypes = (wintypes.HANDLE, wintypes.DWORD, ctypes.c_void_p)
_advapi32.GetTokenInformation.argtypes = (
    *(wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD),
    ctypes.c_void_p,
)
_advapi32.ConvertSidToStringSidW.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
_advapi32.GetNamedSecurityInfoW.argtypes = (wintypes.LPCWSTR, ctypes.c_int, wintypes.DWORD, *(ctypes.c_void_p,) * 5)
_advapi32.SetNamedSecurityInfoW.argtypes = (wintypes.LPCWSTR, ctypes.c_int, wintypes.DWORD, *(ctypes.c_void_p,) * 4)
_advapi32.ConvertSecurityDescriptorToStringSecurityDescriptorW.argtypes = (
    *(ctypes.c_void_p, wintypes.DWORD, wintypes.DWORD),
    *(ctypes.c_void_p, ctypes.c_void_p),
)
_advapi32.SetFileSecurityW.argtypes = (wintypes.LPCWSTR, wintypes.DWORD, ctypes.c_void_p)
_POINTER = ctypes.c_void_p
_advapi32.GetSecurityDescriptorDacl.argtypes = (_POINTER, _POINTER, _POINTER, _POINTER)


def stranger_who_owns(path: Path) -> str:
    """The SID of an owner other than this user, SYSTEM and the administrators; empty where one of these owns it."""
    owner = owner_of(path)
    return "" if owner in (*_TRUSTED, this_user()) else owner


def owner_of(path: Path) -> str:
    owner, descriptor = ctypes.c_void_p(), ctypes.c_void_p()
    status = _advapi32.GetNamedSecurityInfoW(
        str(path), _FILE, _OWNER, ctypes.byref(owner), None, None, None, ctypes.byref(descriptor)
    )
    if status:
        raise _told(status, path)
    try:
        return _text(owner)
    finally:
        _kernel32.LocalFree(descriptor)


def this_user() -> str:
    token, size = wintypes.HANDLE(), wintypes.DWORD()
    if not _advapi32.OpenProcessToken(_kernel32.GetCurrentProcess(), _QUERY_TOKEN, ctypes.byref(token)):
        raise failure()
    try:
        buffer = ctypes.create_string_buffer(_TOKEN_BYTES)
        if not _advapi32.GetTokenInformation(token, _TOKEN_USER, buffer, _TOKEN_BYTES, ctypes.byref(size)):
            raise failure()
        return _text(ctypes.c_void_p.from_buffer(buffer))  # TOKEN_USER begins with the pointer to it
    finally:
        _kernel32.CloseHandle(token)


def others_may_read(path: Path) -> bool:
    """Whether its access list lets anybody in beside its owner, this user, SYSTEM and the administrators."""
    descriptor, text = ctypes.c_void_p(), wintypes.LPWSTR()
    status = _advapi32.GetNamedSecurityInfoW(
        str(path), _FILE, _ACCESS_LIST, None, None, None, None, ctypes.byref(descriptor)
    )
    if status:
        raise _told(status, path)
    try:
        convert = _advapi32.ConvertSecurityDescriptorToStringSecurityDescriptorW
        if not convert(descriptor, _SDDL_REVISION, _ACCESS_LIST, ctypes.byref(text), None):
            raise failure(str(path))
        told = text.value or ""
        _kernel32.LocalFree(text)
    finally:
        _kernel32.LocalFree(descriptor)
    return lets_others_in(told, (owner_of(path), this_user()))


def lets_others_in(told: str, known: tuple[str, ...]) -> bool:
    """Whether an access list, as text (SDDL), admits others than ``known`` and those who may do everything anyway.

    A file without a list is open to all.
    """
    entries = _ENTRY.findall(told)
    allowed = {who for kind, flags, who in entries if kind == "A" and "IO" not in flags}
    return "D:" not in told or "NO_ACCESS_CONTROL" in told or not allowed <= {*known, *_TRUSTED, *_TRUSTED_WORDS}


def close_to_others(path: Path) -> None:
    """Give it, and what is in it and has no list of its own, the access list of something new that is ours alone."""
    descriptor, found = ctypes.c_void_p(), ctypes.c_void_p()
    convert = _advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW
    if not convert(OWNERS_ONLY, _SDDL_REVISION, ctypes.byref(descriptor), None):
        raise failure()
    try:
        there, by_default = wintypes.BOOL(), wintypes.BOOL()
        if not _advapi32.GetSecurityDescriptorDacl(
            descriptor, ctypes.byref(there), ctypes.byref(found), ctypes.byref(by_default)
        ):
            raise failure()
        what = _ACCESS_LIST | _NOT_INHERITED
        status = _advapi32.SetNamedSecurityInfoW(str(path), _FILE, what, None, None, found, None)
        if status:
            raise _told(status, path)
        # That one reaches what is inside, and under wine adds what comes from above; this one sets just the list
        if not _advapi32.SetFileSecurityW(str(path), _ACCESS_LIST, descriptor):
            raise failure(str(path))
    finally:
        _kernel32.LocalFree(descriptor)


def _text(sid: ctypes.c_void_p) -> str:
    text = wintypes.LPWSTR()
    if not _advapi32.ConvertSidToStringSidW(sid, ctypes.byref(text)):
        raise failure()
    try:
        return text.value or ""
    finally:
        _kernel32.LocalFree(text)


def _told(status: int, path: Path) -> OSError:
    problem = ctypes.WinError(status)
    return OSError(problem.errno, problem.strerror, str(path), problem.winerror)

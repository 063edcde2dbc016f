"""A server as a process: its event loop, its memory, how many files it may open, and the signals that end it."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

# Ctrl-C, and the polite request to end; on Windows also Ctrl-Break and a console window that is closed
STOPPING: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
if sys.platform == "win32":
    STOPPING = (*STOPPING, signal.SIGBREAK)
_MACOS_FILES = 10240  # OPEN_MAX: its hard limit says "unlimited", and means this
_COLLECT_EVERY = (10_000, 10, 1_000)  # new objects, small searches, larger ones; see spare_the_collector
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of malloc.h
_LARGE_BLOCK = 1 << 20  # ours: answers are smaller, a list of all VMs is larger from 131 000 on
_WINDOWS_SOCKETS = 16384  # ours: handles have no limit that matters, the memory behind sockets has


class ServerEnd:
    """When a server ends: by a signal, or because whoever was greeted asks for it, from any thread."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.signal = 0  # the one that came first
        self.loop = asyncio.get_running_loop()

    def ask(self) -> None:
        self.loop.call_soon_threadsafe(self.asked.set)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop, which answers two to three times as often; on Windows, for which there is none, asyncio's own."""
    if sys.platform == "win32":
        return asyncio.ProactorEventLoop()  # the other one there ends with 512 sockets
    import uvloop

    return uvloop.new_event_loop()


def spare_the_collector() -> None:
    """Keep the garbage collector from scanning the region: millions of values without a reference cycle.

    Later objects are scanned in small portions, during which the loop stands still: 100 000 objects take some 50 ms.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECT_EVERY)


def return_large_blocks() -> None:
    """Let memory of large blocks go back to the system when they are freed. To be called before a region is loaded.

    glibc learns from a block of many megabytes that was freed to keep the next ones. What only the loading of a million
    VMs needs, lists and tables of up to 40 MB, then stays with the thread that loaded them. Said once, the size from
    which a block is a mapping of its own is not learned any more. musl has no such call, and keeps less.
    """
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):  # a static musl has no library to ask, either
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)


def take_all_files() -> None:
    """Raise the limit of open files to the most that the system allows.

    Each connection is one, and the usual soft limit is 1024.
    """
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if sys.platform == "darwin":
            hard = min(hard, _MACOS_FILES)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_files_most() -> int:
    """How many files this process may have open."""
    if sys.platform == "win32":
        return _WINDOWS_SOCKETS
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


@contextmanager
def stopped_by_signals(ending: ServerEnd) -> Iterator[None]:
    """The first signal ends the server in good order; a second one ends it at once, which loses nothing written."""
    loop = asyncio.get_running_loop()

    def first(came: int) -> None:
        ending.signal = came
        ending.asked.set()
        for number in STOPPING:
            _ignore(loop, number)
            signal.signal(number, signal.SIG_DFL)  # not Python's own, which would cancel the closing and wait for it

    for number in STOPPING:
        _hear(loop, number, first)
    try:
        yield
    finally:
        for number in STOPPING:
            _ignore(loop, number)


def _hear(loop: asyncio.AbstractEventLoop, number: signal.Signals, heard: Callable[[int], None]) -> None:
    if sys.platform == "win32":  # loops have no handlers there, but wake up when a signal comes
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(heard, int(number)))
    else:
        loop.add_signal_handler(number, heard, int(number))


def _ignore(loop: asyncio.AbstractEventLoop, number: signal.Signals) -> None:
    if sys.platform == "win32":
        signal.signal(number, signal.SIG_DFL)
    else:
        loop.remove_signal_handler(number)

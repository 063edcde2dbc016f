"""The port to the operating system: what library and agent know of clock, threads, sockets, files, programs, chance.

Whatever differs from one system to the next, and whatever the simulator has of its own, is reached through a ``System``
that constructors are given. ``parts`` says what a system offers; ``standard`` has what Python does alike everywhere,
``posix`` the rest. Another system is a package beside ``posix`` and a line in ``this_machine``.
"""

from __future__ import annotations

import sys
from functools import cache

from forewarn.guest.system.parts import System

__all__ = ["System", "this_machine"]


@cache
def this_machine() -> System:
    """The system that this process runs on: the same object each time. The only place that asks which one it is."""
    if sys.platform == "win32":
        raise RuntimeError("forewarn.guest does not run on Windows yet; run it on Linux.")
    from forewarn.guest.system.posix import PosixSystem

    return PosixSystem()

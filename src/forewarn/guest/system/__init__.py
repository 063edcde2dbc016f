"""The port to the operating system: what library and agent know of clock, threads, sockets, files, programs, chance.

Whatever differs from one system to the next, and whatever the simulator has of its own, is reached through a ``System``
that constructors are given. ``parts`` says what a system offers; ``standard`` has what Python does alike everywhere,
``posix`` and ``windows`` the rest. Another system is a package beside those and a line in ``this_machine``.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forewarn.guest.system.parts import System  # the types weigh more than what they describe


class DhcpFailed(Exception):  # noqa: N818 - it reads as what happened
    """No server told the address, or we may not ask. ``lasting``: asking again as the same user gives the same."""

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.lasting = lasting


@cache
def this_machine() -> System:
    """The system that this process runs on: the same object each time. The only place that asks which one it is."""
    if sys.platform == "win32":
        from forewarn.guest.system.windows import WindowsSystem

        return WindowsSystem()
    else:  # noqa: RET505 - a type checker looks at one of the two only
        from forewarn.guest.system.posix import PosixSystem

        return PosixSystem()

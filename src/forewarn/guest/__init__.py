"""All that runs inside a VM: the client library and the agent. Needs nothing but Python.

Names are loaded when they are first used: who only polls does not pay for asyncio, which costs more than all of this.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forewarn.guest.aio import AsyncClient
    from forewarn.guest.client import Client
    from forewarn.guest.faults import Closed, Fault, GuestError, Refused, Unavailable
    from forewarn.guest.instance import Instance, concerns, own_name
    from forewarn.guest.reading import Reading
    from forewarn.guest.watch import Appeared, Change, Changed, Ended, Ending, Started, Watcher

_HOMES = {
    "aio": ("AsyncClient",),
    "client": ("Client",),
    "faults": ("Closed", "Fault", "GuestError", "Refused", "Unavailable"),
    "instance": ("Instance", "concerns", "own_name"),
    "reading": ("Reading",),
    "watch": ("Appeared", "Change", "Changed", "Ended", "Ending", "Started", "Watcher"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Appeared",
    "AsyncClient",
    "Change",
    "Changed",
    "Client",
    "Closed",
    "Ended",
    "Ending",
    "Fault",
    "GuestError",
    "Instance",
    "Reading",
    "Refused",
    "Started",
    "Unavailable",
    "Watcher",
    "concerns",
    "own_name",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)

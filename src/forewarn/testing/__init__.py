"""The test kit: a region inside a test, whose clock the test turns. Needs the server extra.

Names are loaded when they are first used: pytest imports the plugin in every run, also in those that need no region.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forewarn.testing.handles import EventHandle, NoEvent, VmHandle
    from forewarn.testing.moments import Moment
    from forewarn.testing.region import Region, open_region

_HOMES = {
    "EventHandle": "handles",
    "Moment": "moments",
    "NoEvent": "handles",
    "Region": "region",
    "VmHandle": "handles",
    "open_region": "region",
}

__all__ = ["EventHandle", "MissingServerExtra", "Moment", "NoEvent", "Region", "VmHandle", "open_region"]

_EXTRA = frozenset({"httptools", "immutables", "msgspec", "pydantic", "uvloop"})


class MissingServerExtra(ImportError):  # noqa: N818 - it says what is the matter
    """A region is a server, and the packages of one are not installed."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{home}"), name)
    except ModuleNotFoundError as problem:
        missing = (problem.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        raise MissingServerExtra(
            f"forewarn.testing needs {missing}, a package of the server extra; "
            "install it in a clone of forewarn: pip install '.[server]'"
        ) from None

"""Maps that share their structure: a changed one is a new value, and the old one stays what it was.

``Map`` is that of ``immutables``, written in C, where it is installed; else ``PlainMap``. That is for Python 3.14, for
which ``immutables`` has no wheel (docs/decisions, row 100).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Map"]

if TYPE_CHECKING:
    from immutables import Map as Map
else:
    try:
        from immutables import Map
    except ImportError:
        from forewarn.core.maps.plain import PlainMap as Map

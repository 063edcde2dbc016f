"""How the control faces stand to a store that other nodes write too.

What any node has answered with success is seen by the next request to another one, as long as the store answers. While
it does not, what a node knows will do, up to the bound that its owner has set.
"""

from __future__ import annotations

import logging

from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault

_log = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 1
UNCERTAIN = (
    "The store went away while it was told to keep this: it has happened, or it has not, but never half of it. "
    "Look before you ask again."
)


async def be_current(plane: Plane) -> None:
    """Know what was written before now, or fail. While the store is silent, what is known will do for a while."""
    if not plane.standing.stale:
        try:
            await plane.refresh()
        except JournalFault as fault:
            _log.debug("Reading on from what is known: %s", fault)
    if plane.standing.stale:
        raise JournalFault(plane.standing.stale)

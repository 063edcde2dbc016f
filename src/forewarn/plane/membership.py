"""The announcements of one node: what the others and `forewarn nodes` know of it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable

import msgspec
from msgspec.structs import replace

from forewarn import __version__
from forewarn.core.rules import Rules
from forewarn.plane.agreement import Agreement
from forewarn.plane.ports import JournalFault, Node, Shared
from forewarn.plane.standing import Standing
from forewarn.plane.system import Pace, ServerSystem

_log = logging.getLogger(__name__)


def _fresh_node(rules: Rules, system: ServerSystem) -> Node:
    """This process, before it has announced itself to the other nodes."""
    now = system.wall()
    return Node(
        id=system.new_id(),
        name=system.host_name(),
        version=__version__,
        faces=(),
        urls=(),
        rules=digest_of(rules),
        started_at=now,
        seen_at=now,
        seq=0,
        leads=False,
        draining=False,
    )


def digest_of(rules: Rules) -> str:
    """A digest of the rules: nodes with the same digest decide alike."""
    return hashlib.blake2b(msgspec.json.encode(rules, order="sorted"), digest_size=6).hexdigest()


class Membership:
    """One node's place among the others; ``seq`` tells how far it has come. Announces it, and keeps its ``odds``.

    What cannot be announced now is announced the next time.
    """

    def __init__(
        self,
        shared: Shared | None,
        standing: Standing,
        seq: Callable[[], int],
        rules: Rules,
        system: ServerSystem,
        pace: Pace,
    ) -> None:
        self._shared = shared
        self._standing = standing
        self._seq = seq
        self._wall = system.wall
        self._announce_seconds = pace.announce_seconds
        self._told = _fresh_node(rules, system)
        self._introduced = asyncio.Event()
        self._changed = asyncio.Event()
        self._agreement = Agreement()
        standing.on_lead(lambda leads: self.announce_soon())

    @property
    def node(self) -> Node:
        """This one, as it is now."""
        standing = self._standing
        return replace(self._told, seq=self._seq(), leads=standing.leads, draining=standing.draining)

    def introduce(self, name: str, faces: tuple[str, ...], urls: tuple[str, ...]) -> None:
        self._told = replace(self._told, name=name, faces=faces, urls=urls)
        self._introduced.set()

    def drain(self) -> None:
        """Announce that this node is about to end; it goes on working until then."""
        self._standing.draining = True
        self.announce_soon()

    def announce_soon(self) -> None:
        """Announce at once, because something about this node has changed."""
        self._changed.set()

    async def announce_on(self) -> None:
        """Announce this node to the others every few seconds, and at once when something about it has changed."""
        if self._shared is None:
            return
        await self._introduced.wait()
        while True:
            self._changed.clear()
            try:
                await asyncio.to_thread(self._shared.announce, self.node)
                await self.look()
            except JournalFault as fault:
                _log.debug("This node could not be announced: %s", fault)
            except Exception:
                _log.exception("This node could not be announced.")
            try:
                async with asyncio.timeout(self._announce_seconds):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def look(self) -> None:
        """See whether the others go by the same rules."""
        if self._shared is not None:
            self._standing.odds = self._agreement.look(await asyncio.to_thread(self._shared.nodes), self.node)

    async def withdraw(self) -> None:
        if self._shared is None:
            return
        try:
            await asyncio.to_thread(self._shared.withdraw, self._told.id)
        except JournalFault as fault:
            _log.debug("This node could not be withdrawn: %s", fault)

    @property
    def present(self) -> Callable[[], Awaitable[list[Node]]] | None:
        """How to ask which nodes there are; None where there cannot be another."""
        return None if self._shared is None else self.nodes

    async def nodes(self) -> list[Node]:
        """All nodes as the store lists them; a region without a shared store has this one."""
        if self._shared is None:
            return [replace(self.node, seen_at=self._wall())]
        return await asyncio.to_thread(self._shared.nodes)

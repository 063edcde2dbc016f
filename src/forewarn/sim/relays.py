"""The relays: production's, one for the VMs of a host, each with a line of its own to the nodes that can be cut."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forewarn.core.region import Region, Scope
from forewarn.plane.ports import Diverged, JournalFault
from forewarn.plane.system import ServerSystem
from forewarn.server.relaying.life import Relay, RelayOrder
from forewarn.server.relaying.line import Upstream
from forewarn.settings.kinds import Address
from forewarn.sim.control import CONTROL_PORT
from forewarn.sim.fabric.loop import PLACE, SimLoop
from forewarn.sim.fabric.network import Network
from forewarn.sim.nodes import METADATA, metadata_limits

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SimUpstream(Upstream):
    """Production's, over a line that is a place of its own: it can be cut while VMs reach the relay."""

    line: str = ""

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        token = PLACE.set(self.line)
        try:
            return await super()._connect()
        finally:
            PLACE.reset(token)


class SimRelay:
    """One relay. It ends only by being killed, or by another history, which there is none of."""

    def __init__(
        self, loop: SimLoop, network: Network, number: int, nodes: Sequence[str], system: ServerSystem
    ) -> None:
        self._loop, self._network, self._system = loop, network, system
        self.place, self.host, self.line = f"relay-{number}", f"host-{number}", f"relay-{number}-line"
        first = number % len(nodes)
        self._order = RelayOrder(
            tuple(
                SimUpstream(f"http://{node}:{CONTROL_PORT}", line=self.line)
                for node in (*nodes[first:], *nodes[:first])
            ),
            host=self.host,
            metadata=Address("127.0.0.1", METADATA[1]),
            limits=metadata_limits(),
            short_way=False,  # its network has no sockets
        )
        self.relay: Relay | None = None  # once it answers
        self._lives: list[Relay] = []  # what was killed is never closed: the collector must not do it, either
        self.dead = True
        self.died: Callable[[SimRelay], None] = lambda relay: None
        self.diverged: Callable[[SimRelay, Diverged], None] = lambda relay, fault: None

    def boot(self) -> None:
        """Begin to start. The process and all its tasks belong to the place."""
        self.dead = False
        context = contextvars.copy_context()
        context.run(PLACE.set, self.place)
        self._loop.create_task(self._run(), context=context)

    def kill(self) -> None:
        """As kill -9 would."""
        if self.dead:
            return
        self.dead, self.relay = True, None
        self._network.vanish(self.place, silent=False)
        self._network.vanish(self.line, silent=False)
        self._loop.abandon(self.place)
        self.died(self)

    def unlike(self, truth: Region) -> str:
        """What it holds that the region does not have, or the other way round; empty where they are alike."""
        assert self.relay is not None
        region = self.relay.ground.region
        there = [number for number, host in truth.hosts.items() if host.name == self.host]
        here = {key for number in there for key in truth.hosts[number].vms}
        if here != {*region.vms}:
            return f"its VMs are {', '.join(sorted(region.vms)) or 'none'}, and not {', '.join(sorted(here)) or 'none'}"
        for key in sorted(here):
            scope = truth.vms[key].scope
            held, found = region.scopes.get(scope), truth.scopes.get(scope)
            if _told_of(held) != _told_of(found):
                return f"{scope} is {_told_of(held)}, and not {_told_of(found)}"
        return ""

    async def _run(self) -> None:
        relay = Relay(self._order, self._system)
        self._lives.append(relay)
        try:
            await relay.open()
            self.relay = relay
            await relay.lost
        except Diverged as fault:
            self.diverged(self, fault)
        except JournalFault as fault:
            _log.info("%s cannot start: %s", self.place, fault)
            self._loop.call_soon(self.kill)


def _told_of(scope: Scope | None) -> object:
    """What readers are told of a scope; of one that nobody ever read, nothing."""
    if scope is None or scope.enabled_at is None:
        return None
    return scope.enabled_at, scope.incarnation, scope.events

"""A region whose VMs are served by whatever serves the metadata face: the node itself, a relay on its news, readers."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Any, TypeVar

from forewarn.core.commands import Command
from forewarn.core.facts import Fact
from forewarn.plane.system import SYSTEM, ServerSystem
from forewarn.server.listening import listen, serve_app, url_of
from forewarn.server.relaying.life import Relay, RelayOrder
from forewarn.server.relaying.line import Upstream
from forewarn.settings.kinds import Address
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.operator.app import end_streams
from tests.e2e.metadata_region import Guest, MetadataRegion
from tests.waiting import PATIENCE_SECONDS, until

NAMES = ("web", "web-0", "web-1", "fe-0", "pool_0")  # whom a relay serves
_ANYWHERE = Address("127.0.0.1", 0)
_T = TypeVar("_T")


class FaceBench(MetadataRegion):
    """The node's own face. ``until`` waits for what the face hears by itself."""

    patience_seconds = PATIENCE_SECONDS
    node_face: MetadataFace
    strangers: tuple[str, ...] = ()  # VMs that it does not serve

    async def open(self, *values: Any) -> None:
        await super().open(*values)
        self.node_face = self.face

    def until(self, look: Callable[[], _T], what: str = "") -> _T:
        return until(look, what, patience_seconds=self.patience_seconds)

    def at_node(self) -> Guest:
        """A connection to the node's own face, whatever serves the VMs."""
        connected = socket.create_connection(("127.0.0.1", self.node_face.port), 20)
        self._guests.append(Guest(connected))
        return self._guests[-1]


class RelayBench(FaceBench):
    """A relay over real sockets between the node and its VMs."""

    relay: Relay
    strangers = ("other",)
    relays_system: ServerSystem = SYSTEM

    async def open(self, *values: Any) -> None:
        await super().open(*values)
        self._stack = AsyncExitStack()
        listening = listen(_ANYWHERE, "control")
        self._stack.callback(listening.close)
        app = self.server.operator_app(metadata_url="")
        self._newsroom = app.state.desk.newsroom
        answering = await serve_app(app, listening, "operator face")
        self._stack.push_async_callback(answering.close)
        self._stack.callback(end_streams, app)
        url = url_of("http", _ANYWHERE, listening)
        self.relay = Relay(RelayOrder((Upstream(url),), NAMES, metadata=_ANYWHERE), self.relays_system)
        await self._stack.enter_async_context(self.relay.running())
        self.face = self.relay.face

    async def shut(self) -> None:
        await self._stack.aclose()
        self.face = self.node_face
        await super().shut()

    def submit(self, command: Command) -> tuple[Fact, ...]:
        """Back when the relay has heard of it, too."""
        facts = super().submit(command)
        self.caught_up()
        return facts

    def caught_up(self) -> None:
        seq = self.do(lambda: self.plane.seq)
        self.do(self._newsroom.clock_turned)  # or it would hear of what is not its own with the next beat only
        self.until(lambda: self.relay.ground.known_seq >= seq, "news at the relay")


class HastyRelayBench(RelayBench):
    """For planted bugs: what does not come soon is taken not to come."""

    patience_seconds = 1.0

    def guest(self, host: str = "127.0.0.1", source: str | None = None) -> Guest:
        found = super().guest(host, source)
        found.socket.settimeout(2)
        return found

    def caught_up(self) -> None:
        """A bug may keep the news away; the case itself finds that."""
        with suppress(AssertionError):
            super().caught_up()

"""The servers: production's plane and faces, started from the journal, killed at any moment, and started again."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from random import Random

from fastapi import FastAPI

from forewarn.core.rules import Rules
from forewarn.plane.clock import RealClock
from forewarn.plane.hands.settings import NO_MACHINES, Machines
from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault
from forewarn.plane.system import Pace, ServerSystem
from forewarn.server.assembly import Parts, assemble
from forewarn.sim.control import CONTROL_PORT, ControlConnection, OperatorAnswer, ask
from forewarn.sim.fabric.loop import PLACE, SimLoop
from forewarn.sim.fabric.network import Network
from forewarn.sim.fabric.store import LEAD_SECONDS, Handle, Store
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.settings import Limits, MetadataSettings

METADATA = ("169.254.169.254", 80)
STALENESS = timedelta(seconds=90)  # in production the setting `staleness`; longer here, because glances are rarer
SWEEP_SECONDS = 60.0  # how often the metadata face looks for connections that have gone quiet; in production 5 at most
PACE = Pace(
    staleness=STALENESS,
    announce_seconds=300.0,  # in production 3
    glance_seconds=20.0,  # in production 1
    lease_seconds=LEAD_SECONDS,  # in production 10
    snapshot_facts=150,  # in production 20 000
)
_ANSWER_SECONDS = 10.0  # ours: how long a simulated person waits for an answer
_log = logging.getLogger(__name__)


class NoAnswer(Exception):  # noqa: N818 - it is what a person got
    """The connection broke, or nothing came in time: whether it was done is not known."""


class SimNode:
    """One node. ``up`` from the moment it answers until it is killed or ends."""

    def __init__(
        self,
        loop: SimLoop,
        network: Network,
        store: Store,
        rules: Rules,
        place: str,
        random: Random,
        system: ServerSystem,
        lag: timedelta = timedelta(0),
        *,
        has_relays: bool = False,
    ) -> None:
        """With relays it listens for them; people call its control face itself."""
        self._loop, self._network, self._store, self._rules, self._random = loop, network, store, rules, random
        self._system, self._lag = system, lag
        self.place = place
        self.has_relays = has_relays
        self.up = False
        self.starts = 0
        self.plane: Plane | None = None
        self.faults: FaultRules | None = None
        self.handle = Handle(store, place, self.kill)
        self._app: FastAPI | None = None
        self._context = contextvars.copy_context()
        self.died: Callable[[SimNode], None] = lambda server: None
        self.machines: Callable[[], Machines] = lambda: NO_MACHINES  # of the life that begins

    def boot(self) -> None:
        """Begin to start. The process and all its tasks belong to the place."""
        self.handle = Handle(self._store, self.place, self.kill)
        self._context = contextvars.copy_context()
        self._context.run(PLACE.set, self.place)
        self._loop.create_task(self._run(), context=self._context)

    def kill(self) -> None:
        """As kill -9 would: nothing is finished, nothing is said."""
        if self.handle.dead:
            return
        self._end()
        self.died(self)

    def _end(self) -> None:
        self.up, self.plane, self._app = False, None, None
        self.handle.close()
        self._network.vanish(self.place, silent=False)
        self._loop.abandon(self.place)

    async def _run(self) -> None:
        handle = self.handle
        try:
            dice = Random()
            server = await assemble(self._parts(handle, dice))
            plane = server.plane
            await plane.start()
            dice.seed(self._random.random())
            await server.metadata_face().start("127.0.0.1", METADATA[1])
        except JournalFault as fault:
            _log.info("%s cannot start: %s", self.place, fault)
            self._loop.call_soon(self.kill)
            return
        app = server.operator_app(metadata_url="http://169.254.169.254", hosts=("*",))
        app.by_noun.load_all()  # no thread of a first request: two runs in one process are the same
        self._app = app
        if self.has_relays:
            await self._loop.create_server(partial(ControlConnection, app), "127.0.0.1", CONTROL_PORT)
        plane.membership.introduce(self.place, ("metadata", "control"), ())
        self.plane, self.faults, self.up = plane, server.parts.faults, True
        self.starts += 1
        await plane.standing.lost.wait()
        self._loop.call_soon(self.kill)

    def _parts(self, handle: Handle, dice: Random) -> Parts:
        """Production's, with the simulation's clock, chance and ids, and a slower pace."""
        system = self._system
        return Parts(
            journal=handle,
            clock_from=partial(RealClock, wall=system.wall, elapsed=system.elapsed, look_seconds=0.0),
            rules=self._rules,
            machines=self.machines(),
            metadata=metadata_settings(self._lag),
            faults=FaultRules(dice),
            system=system,
            pace=PACE,
        )

    # The operator face

    async def call(self, verb: str, path: str, body: object, who: str) -> OperatorAnswer:
        """A person's request, over the network and through the whole face."""
        await asyncio.sleep(self._network.round_trip() / 2)
        if self._app is None or self._network.is_cut(self.place):
            await asyncio.sleep(_ANSWER_SECONDS if self._app is not None else 0.0)
            raise NoAnswer
        context = self._context.copy()
        work = self._loop.create_task(ask(self._app, verb, path, body, who), context=context)
        await asyncio.wait([work], timeout=_ANSWER_SECONDS)
        if not work.done() or work.cancelled():
            raise NoAnswer
        await asyncio.sleep(self._network.round_trip() / 2)
        if self._network.is_cut(self.place) or not self.up:
            raise NoAnswer
        return work.result()


def metadata_settings(lag: timedelta) -> MetadataSettings:
    """Production's, on a network without sockets."""
    return MetadataSettings(limits=metadata_limits(), visibility_lag=lag, short_way=False)


def metadata_limits() -> Limits:
    """Production's, with the times of idle and stalled connections stretched: one look a minute is enough."""
    return Limits(
        wait_seconds=7200,
        idle_seconds=14_400.0,
        request_seconds=240.0,
        stalled_seconds=240.0,
        linger_seconds=120.0,
        sweep_seconds=SWEEP_SECONDS,
    )

"""A server put together from values: the plane and the faces on it, without a socket. Needs the server extra.

``server.parts`` makes the values from settings, for ``forewarn serve``. The test kit, the simulator and tests make
their own: everything that runs a plane with faces goes through here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from forewarn.core.rules import Rules
from forewarn.engines.simulated import SimulatedEngine
from forewarn.plane.clock import ClockFrom
from forewarn.plane.hands.settings import NO_MACHINES, Machines
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Journal, PretendedMachines
from forewarn.plane.system import PACE, SYSTEM, Pace, ServerSystem
from forewarn.web.access import Tokens
from forewarn.web.answers import Answers
from forewarn.web.faults import FaultRules
from forewarn.web.introduction import Introduction
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.web.operator.app import OperatorApp, operator_app
from forewarn.web.operator.desk import ReadersNow, Visible, no_readers
from forewarn.web.operator.schema.answers import SettingView
from forewarn.web.seen import LookingOn
from forewarn.web.signals.page import MetricsPage
from forewarn.web.slices.bulletins import RelayManners
from forewarn.web.watched import WatchedVms

if TYPE_CHECKING:
    from forewarn.web.resource_manager.call import ArmDesk


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a server is made of. The journal is open; it is closed with the plane."""

    journal: Journal
    clock_from: ClockFrom  # makes the clock from the instant of the last fact
    engine: PretendedMachines = field(default_factory=SimulatedEngine)
    machines: Machines = NO_MACHINES  # hosts where real ones run
    rules: Rules = field(default_factory=Rules)
    metadata: MetadataSettings = field(default_factory=MetadataSettings)
    faults: FaultRules = field(default_factory=FaultRules)
    watched: WatchedVms = field(default_factory=WatchedVms)
    answers: Answers = field(default_factory=Answers)
    onlooker: LookingOn | None = None  # who is told of every request that guests make
    bind_nics: bool = False  # whether addresses of the Resource Manager's NICs bind VMs
    token: str = ""  # of the control faces; empty: none is asked for
    region_name: str = ""
    kept_in: str = ""
    shown: tuple[SettingView, ...] = ()  # the settings, as the operator face shows them
    portal: bool = False  # whether the control face has pages for browsers
    request_log: bool = False  # whether every answer is logged
    system: ServerSystem = SYSTEM
    pace: Pace = PACE


@dataclass(frozen=True)
class Assembly:
    """A plane, and the faces that can stand on it."""

    parts: Parts
    plane: Plane

    @property
    def tokens(self) -> Tokens:
        """Who is let in at the control faces."""
        return Tokens(self.parts.token, lambda: self.plane.region)

    def metadata_face(self) -> MetadataFace:
        """What guests see; it listens once it is started."""
        parts = self.parts
        return MetadataFace(self.plane, parts.faults, parts.watched, parts.metadata, parts.answers, parts.onlooker)

    def operator_app(
        self,
        *,
        metadata_url: str,
        hosts: Collection[str] = (),
        resource_manager: Introduction | None = None,
        visible: Visible | None = None,
        metrics: MetricsPage | None = None,
        readers: ReadersNow = no_readers,
    ) -> OperatorApp:
        """The control face. ``hosts`` are names beside localhost that a Host header may carry; ``"*"`` allows any."""
        parts, tokens = self.parts, self.tokens
        portal = None
        if parts.portal:  # not loaded where it is not wanted
            from forewarn.web.portal.door import PortalDoor

            portal = PortalDoor(tokens, self.plane.system)
        app = operator_app(
            self.plane,
            parts.faults,
            parts.watched,
            parts.shown,
            hosts=hosts,
            tokens=tokens,
            metadata_url=metadata_url,
            region_name=parts.region_name,
            kept_in=parts.kept_in,
            resource_manager=resource_manager,
            visible=visible,
            not_before_format=parts.metadata.not_before_format,
            sessions=portal.sessions if portal else None,
            manners=self._manners(),
            readers=readers,
        )
        if portal:
            portal.add_to(app)
        if metrics:
            metrics.add_to(app)
        return app

    def _manners(self) -> RelayManners:
        """How relays of this server are to answer."""
        settings = self.parts.metadata
        return RelayManners(
            settings.first_read_delay,
            settings.visibility_lag,
            settings.throttle_per_second,
            settings.not_before_format,
            settings.unknown_event == "ok",
            self.parts.pace.staleness,
            self.parts.rules.disable_after,
        )

    @asynccontextmanager
    async def resource_manager(self, *, hosts: Collection[str] = ()) -> AsyncIterator[tuple[ArmDesk, ASGIApp]]:
        """The face for az and the SDKs. Deletions of groups that an earlier run left go on from here."""
        from forewarn.web.resource_manager import nic_bindings  # not loaded where it is not wanted
        from forewarn.web.resource_manager.app import resource_manager_app
        from forewarn.web.resource_manager.call import ArmDesk
        from forewarn.web.resource_manager.groups import deletion
        from forewarn.web.resource_manager.login.access import Access

        desk = ArmDesk(self.plane, access=Access(self.parts.token, self.tokens), bind_nics=self.parts.bind_nics)
        await deletion.finish(desk)
        await nic_bindings.bind_all(desk)
        stop = deletion.watch(desk)
        try:
            yield desk, resource_manager_app(desk, hosts=hosts)
        finally:
            stop()


async def assemble(parts: Parts) -> Assembly:
    """Read the journal, in a thread, and put a server together. Its life is ``plane.start`` and ``plane.close``."""
    opening = partial(Plane.open, system=parts.system, pace=parts.pace, machines=parts.machines)
    plane = await asyncio.to_thread(opening, parts.journal, parts.clock_from, parts.engine, parts.rules)
    return Assembly(parts, plane)


@asynccontextmanager
async def running(parts: Parts) -> AsyncIterator[Assembly]:
    """A server from its start to its close. The journal is closed in any case."""
    try:
        assembly = await assemble(parts)
    except BaseException:
        parts.journal.close()
        raise
    try:
        await assembly.plane.start()
        yield assembly
    finally:
        await assembly.plane.close()

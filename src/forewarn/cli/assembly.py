"""The server, put together: journal, plane, the faces, and the signals that end them. Needs the server extra."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import uvloop

from forewarn import __version__
from forewarn.cli.errors import CommandFailed, Exit
from forewarn.cli.fleet import create_missing
from forewarn.cli.fleet_file import FleetEntry
from forewarn.cli.listening import explained, hosts_of, listen, serve_app, url_of
from forewarn.cli.setting_kinds import Address, ClockChoice
from forewarn.cli.settings import Settings
from forewarn.core.causes import Cause
from forewarn.core.refusal import Refused
from forewarn.core.rules import Rules
from forewarn.drivers.simulated import Durations, SimulatedDriver
from forewarn.plane.clock import Clock, RealClock, TurnableClock, wall_time
from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault
from forewarn.stores.sqlite import SqliteJournal
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.metadata.faults import FaultRules
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.web.operator.app import end_streams, operator_app
from forewarn.web.operator.gate import ANY_HOST
from forewarn.web.operator.models import SettingView
from forewarn.web.resource_manager import group_deletion
from forewarn.web.resource_manager.access import Access
from forewarn.web.resource_manager.app import resource_manager_app
from forewarn.web.resource_manager.call import Desk
from forewarn.web.resource_manager.door import Door
from forewarn.web.resource_manager.tls import prepare

_log = logging.getLogger(__name__)
_COLLECT_EVERY = 50_000  # new objects; see _spare_the_collector
_SKEW_MOST = timedelta(minutes=5)  # a machine's clock may have been set back by so much; that is waited out


def run(settings: Settings, fleet: Sequence[FleetEntry], say: Callable[[str], None]) -> int:
    """Serve until SIGTERM or Ctrl-C. What stops a server from starting is one sentence."""
    logging.basicConfig(
        level=settings.log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s", force=True
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # it would tell our own story a second time
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(settings, fleet, say))
    except (JournalFault, Refused) as problem:
        raise CommandFailed(str(problem)) from None
    return Exit.OK


async def _serve(settings: Settings, fleet: Sequence[FleetEntry], say: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    with _stopped_by_signals(stop):
        async with open_server(settings, fleet) as server:
            _spare_the_collector()
            say(ready_line(settings, server))
            await stop.wait()
            _log.info("Shutting down.")


def _spare_the_collector() -> None:
    """A region is made of millions of values and no cycle: searching it for garbage costs much and finds nothing."""
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY, 20, 100)


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    plane: Plane
    metadata_url: str
    control_url: str
    resource_manager_url: str = ""  # empty where there is none


@asynccontextmanager
async def open_server(settings: Settings, fleet: Sequence[FleetEntry] = ()) -> AsyncIterator[Running]:
    """Everything that ``forewarn serve`` runs. It ends in the reverse order: the faces first, the journal last."""
    async with AsyncExitStack() as stack:
        plane = await _open_plane(settings, stack)
        await create_missing(plane, fleet)
        faults = FaultRules()
        face = MetadataFace(plane, faults, metadata_settings(settings))
        with explained(settings.metadata, "metadata"):
            await face.start(settings.metadata.host, settings.metadata.port)
        stack.push_async_callback(face.close)
        metadata_url = f"http://{Address(settings.metadata.host, face.port)}"
        door = await _open_resource_manager(settings, plane, stack)
        control_url = await _open_control(settings, plane, faults, metadata_url, door, stack)
        yield Running(plane, metadata_url, control_url, door.url if door else "")


async def _open_plane(settings: Settings, stack: AsyncExitStack) -> Plane:
    """The journal is opened first: whoever holds the data directory is the server of this region."""
    journal = await asyncio.to_thread(SqliteJournal, settings.data)
    try:
        plane = await asyncio.to_thread(Plane, journal, RealClock(), driver_of(settings), rules_of(settings))
    except BaseException:
        journal.close()
        raise
    stack.push_async_callback(plane.close)
    plane.clock = clock_of(settings.clock, plane.region.latest_at)
    await plane.start()
    return plane


async def _open_resource_manager(settings: Settings, plane: Plane, stack: AsyncExitStack) -> Door | None:
    """The face for az and the SDKs, which insist on https; its certificate is kept with the region."""
    address = settings.resource_manager
    if address is None:
        return None
    listening = listen(address, "resource_manager")
    stack.callback(listening.close)
    hosts = hosts_of(address)
    named = () if ANY_HOST in hosts else hosts
    try:
        files = await asyncio.to_thread(prepare, settings.data / "tls", named, wall_time())
        authority = await asyncio.to_thread(files.authority_pem)
    except OSError as problem:
        raise CommandFailed(f"the certificates in {settings.data / 'tls'} cannot be kept: {problem}.") from None
    desk = Desk(plane, access=Access(settings.token))
    await group_deletion.finish(desk)
    stack.callback(group_deletion.watch(desk))
    app = resource_manager_app(desk, hosts=hosts)
    close = await serve_app(app, listening, "Resource Manager", (files.certificate, files.key))
    stack.push_async_callback(close)
    return Door(url_of("https", address, listening), authority, desk)


async def _open_control(
    settings: Settings, plane: Plane, faults: FaultRules, metadata_url: str, door: Door | None, stack: AsyncExitStack
) -> str:
    listening = listen(settings.control, "control")
    stack.callback(listening.close)
    views = [SettingView(each.name, each.value, each.source, each.help) for each in settings.shown]
    app = operator_app(
        plane,
        faults,
        views,
        hosts=hosts_of(settings.control),
        token=settings.token or None,
        metadata_url=metadata_url,
        resource_manager=door,
    )
    stack.push_async_callback(await serve_app(app, listening, "operator API"))
    stack.callback(end_streams, app)
    return url_of("http", settings.control, listening)


@contextmanager
def _stopped_by_signals(stop: asyncio.Event) -> Iterator[None]:
    """The first signal ends the server in good order; a second one ends it at once, which loses nothing written."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def first() -> None:
        stop.set()
        for number in signals:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)  # not Python's own, which would cancel the closing and wait for it

    for number in signals:
        loop.add_signal_handler(number, first)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def ready_line(settings: Settings, server: Running) -> str:
    """The one line that says that everything answers."""
    count = len(server.plane.region.vms)
    data = settings.data if settings.data.is_absolute() else f"./{settings.data}"
    manager = f"resource manager {server.resource_manager_url}, " if server.resource_manager_url else ""
    return (
        f"forewarn {__version__} ready: metadata {server.metadata_url}, control {server.control_url}, {manager}"
        f"{count} {'VM' if count == 1 else 'VMs'}, clock {settings.clock}, data {data}"
    )


def rules_of(settings: Settings) -> Rules:
    """The settings that the core reads."""
    return Rules(
        update_domains=settings.update_domains,
        fault_domains=settings.fault_domains,
        vms_per_host=settings.vms_per_host,
        user_operation_limit=settings.user_operation_limit,
        disable_after=settings.disable_after,
        notices={Cause(name): value for name, value in settings.notices.items()},
        recoveries={Cause(name): value for name, value in settings.recoveries.items()},
        durations={Cause(name): value for name, value in settings.durations.items()},
    )


def driver_of(settings: Settings) -> SimulatedDriver:
    """The settings that the machines read."""
    return SimulatedDriver(
        Durations(
            restart=settings.reboot_impact,
            redeploy=settings.redeploy_impact,
            evict=settings.eviction_impact,
            delete=settings.deletion_impact,
        )
    )


def metadata_settings(settings: Settings) -> MetadataSettings:
    """The settings that the metadata face reads."""
    return MetadataSettings(
        first_read_delay=settings.first_read_delay,
        visibility_lag=settings.visibility_lag,
        throttle_per_second=settings.throttle_per_second,
        not_before_format="iso8601" if settings.not_before_format == "iso8601" else "rfc1123",
        unknown_event="ok" if settings.unknown_event == "ok" else "refuse",
    )


def clock_of(choice: ClockChoice, latest_at: datetime | None) -> Clock:
    """A clock that goes on where the journal ends. A turnable one stays there, however long the server was down.

    A new one starts on a whole second: NotBefore is rounded up to one, and 15 minutes should then be 15 minutes.
    """
    if choice.kind != "real":
        return TurnableClock(latest_at or wall_time().replace(microsecond=0), choice.speed)
    if latest_at is not None and latest_at > wall_time() + _SKEW_MOST:
        raise CommandFailed(
            f"this region's time is {latest_at:%Y-%m-%d %H:%M:%S} UTC, ahead of the real one, and time only goes on; "
            "go on with --clock virtual or --clock x1, or choose another --data directory."
        )
    return RealClock(latest_at)

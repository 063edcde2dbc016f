"""Settings as the parts of a server read them. Needs the server extra."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial
from pathlib import Path

from forewarn.core.causes import Cause
from forewarn.core.rules import NotMigratable, Rules
from forewarn.engines.simulated import Durations, SimulatedEngine
from forewarn.plane.clock import Clock, RealClock, TurnableClock, wall_time
from forewarn.plane.hands.settings import NO_MACHINES, Machines
from forewarn.plane.ports import Journal
from forewarn.plane.system import Pace
from forewarn.server.assembly import Parts
from forewarn.server.listening import GRACE_SECONDS
from forewarn.server.process import open_files_most
from forewarn.settings.extras import import_part
from forewarn.settings.kinds import ClockChoice
from forewarn.settings.machine_entries import MachinesEntry
from forewarn.settings.resolve import Settings
from forewarn.settings.store_url import show_store
from forewarn.stores.memory import MemoryJournal
from forewarn.stores.sqlite.journal import SqliteJournal
from forewarn.web.metadata.settings import Limits, MetadataSettings
from forewarn.web.operator.schema.answers import SettingView

MACHINES_USUALLY = MachinesEntry()
_log = logging.getLogger(__name__)


def parts_of(
    settings: Settings,
    journal: Journal,
    machines: Machines = NO_MACHINES,
    patience: MachinesEntry = MACHINES_USUALLY,
) -> Parts:
    """What ``forewarn serve`` is put together from."""
    return Parts(
        journal=journal,
        clock_from=partial(clock_of, settings),
        engine=engine_of(settings),
        machines=machines,
        rules=rules_of(settings, patience),
        metadata=metadata_settings(settings),
        bind_nics=settings.bind_nics,
        region_name=settings.name,
        kept_in=kept_in(settings),
        token=settings.token,
        shown=tuple(SettingView(each.name, each.value, each.source, each.help) for each in settings.shown),
        portal=settings.portal,
        request_log=settings.notes_answers,
        pace=Pace(staleness=settings.staleness),
    )


def rules_of(settings: Settings, machines: MachinesEntry = MACHINES_USUALLY) -> Rules:
    """The settings that the core reads."""
    return Rules(
        update_domains=settings.update_domains,
        fault_domains=settings.fault_domains,
        vms_per_host=settings.vms_per_host,
        availability_set_size=settings.availability_set_size,
        user_operation_limit=settings.user_operation_limit,
        disable_after=settings.disable_after,
        grace=machines.grace,
        crash_restarts=machines.crash_restarts,
        when_not_migratable=NotMigratable(machines.when_not_migratable),
        duration_from_engine=machines.duration_from_engine,
        notices={Cause(name): value for name, value in settings.notices.items()},
        recoveries={Cause(name): value for name, value in settings.recoveries.items()},
        durations={Cause(name): value for name, value in settings.durations.items()},
    )


def engine_of(settings: Settings) -> SimulatedEngine:
    """The settings that the machines read."""
    return SimulatedEngine(
        Durations(
            restart=settings.reboot_impact,
            redeploy=settings.redeploy_impact,
            evict=settings.eviction_impact,
            delete=settings.deletion_impact,
        )
    )


def metadata_settings(settings: Settings) -> MetadataSettings:
    """The settings that the metadata face reads."""
    limits = Limits(grace_seconds=GRACE_SECONDS) if settings.store else Limits()
    return MetadataSettings(
        first_read_delay=settings.first_read_delay,
        visibility_lag=settings.visibility_lag,
        throttle_per_second=settings.throttle_per_second,
        not_before_format="iso8601" if settings.not_before_format == "iso8601" else "rfc1123",
        unknown_event="ok" if settings.unknown_event == "ok" else "refuse",
        guest_sockets=guest_sockets(settings),
        desk=settings.desk,
        request_log=settings.notes_answers,
        limits=limits.within(open_files_most()),
    )


def guest_sockets(settings: Settings) -> Path | None:
    """The directory of sockets for guests: the one that was named, else one beside the journal."""
    if settings.guest_sockets:
        return Path(settings.guest_sockets)
    return None if settings.ephemeral or settings.store else settings.data / "guests"


def tell_if_short_of_files(limits: Limits) -> None:
    """Say what is left of the usual bounds where the system does not let a process have that many files."""
    usual = Limits()
    if (limits.connections, limits.connections_each) != (usual.connections, usual.connections_each):
        _log.warning(
            "This process may have %d files open, so VMs get %d connections in all and %d each, not %d and %d; "
            "raise the limit (ulimit -n, LimitNOFILE) for more.",
            open_files_most(),
            limits.connections,
            limits.connections_each,
            usual.connections,
            usual.connections_each,
        )


def journal_of(settings: Settings) -> Journal:
    """Memory, the database that nodes share, or the data directory, which has one server at a time. Opening blocks."""
    if settings.ephemeral:
        return MemoryJournal()
    if not settings.store:
        return SqliteJournal(settings.data)
    postgres = import_part("forewarn.stores.postgres.journal", "forewarn serve --store")
    journal: Journal = postgres.PostgresJournal(settings.store)
    return journal


def kept_in(settings: Settings) -> str:
    """Where the region is kept, as ``forewarn ping`` and ``/v1/ping`` tell it, so that regions can be told apart."""
    if settings.ephemeral:
        return "in memory"
    return show_store(settings.store) if settings.store else str(settings.data.resolve())


def clock_of(settings: Settings, latest_at: datetime | None) -> Clock:
    """The clock of a region whose last fact is of ``latest_at``; nodes that share a store go by its clock."""
    return RealClock(latest_at) if settings.store else local_clock(settings.clock, latest_at)


def local_clock(choice: ClockChoice, latest_at: datetime | None) -> Clock:
    """A clock that goes on where the journal ends. A turnable one stays there, however long the server was down.

    A new one starts on a whole second: NotBefore is rounded up to one, and 15 minutes should then be 15 minutes.
    """
    if choice.kind != "real":
        return TurnableClock(latest_at or wall_time().replace(microsecond=0), choice.speed)
    return RealClock(latest_at)

"""A server's life: it opens, says that it is ready, and ends when a signal or its store says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from forewarn import __version__
from forewarn.core.refusal import Refused
from forewarn.plane.hands.engine import EngineFault
from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault
from forewarn.server import desk
from forewarn.server import log as log_lines
from forewarn.server.opening import RunningServer, open_server
from forewarn.server.parts import kept_in
from forewarn.server.process import (
    ServerEnd,
    new_event_loop,
    return_large_blocks,
    spare_the_collector,
    stopped_by_signals,
    take_all_files,
)
from forewarn.settings.binding_file import BindingEntry
from forewarn.settings.errors import CommandFailed, Exit
from forewarn.settings.fleet_file import FleetEntry
from forewarn.settings.machine_entries import NOTHING_DECLARED, Declared
from forewarn.settings.notification_file import NotificationEntry
from forewarn.settings.resolve import Settings
from forewarn.settings.store_url import show_store
from forewarn.web.seen import LookingOn
from forewarn.web.signals import request_log

_log = logging.getLogger(__name__)


def run(
    settings: Settings,
    fleet: Sequence[FleetEntry],
    bindings: Sequence[BindingEntry],
    greet: Callable[[RunningServer], None],
    declared: Declared = NOTHING_DECLARED,
    onlooker: LookingOn | None = None,
    notifications: Sequence[NotificationEntry] = (),
) -> int:
    """Serve until SIGTERM or Ctrl-C. What stops a server from starting, or from going on, is one sentence.

    ``greet`` is called in a thread, once everything answers; the server ends when it has asked for that and returned.
    """
    log_lines.configure(settings.log_level, settings.log_format)
    if settings.notes_answers:
        request_log.switch_on(written=settings.request_log)
    settings, token = desk.prepared(settings)
    take_all_files()
    return_large_blocks()
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            opening = open_server(settings, fleet, bindings, declared, onlooker, notifications)
            runner.run(_serve(settings, opening, token, greet))
    except (JournalFault, Refused, EngineFault) as problem:
        raise CommandFailed(str(problem)) from None
    return Exit.OK


async def _serve(
    settings: Settings,
    opening: AbstractAsyncContextManager[RunningServer],
    token: str,
    greet: Callable[[RunningServer], None],
) -> None:
    ending = ServerEnd()
    with stopped_by_signals(ending):
        async with opening as server:
            spare_the_collector()
            await asyncio.to_thread(greet, replace(server, token=token, ending=ending))
            await _until_stopped(ending.asked, server.plane)
            await _drain(settings, server)
            _log.info("Shutting down.")


async def _until_stopped(stop: asyncio.Event, plane: Plane) -> None:
    """Wait for a signal. ``CommandFailed`` where the store turns out to have another history than this node."""
    waiting = [asyncio.ensure_future(each.wait()) for each in (stop, plane.standing.lost)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
    if plane.standing.lost.is_set():
        raise CommandFailed(
            f"{plane.standing.stale} This node ends; started anew, it begins with what the store holds."
        )


async def _drain(settings: Settings, server: RunningServer) -> None:
    """Go on serving while load balancers see on the health paths that they should send requests elsewhere."""
    server.plane.membership.drain()
    if settings.drain:
        _log.info("Draining for %g s.", settings.drain.total_seconds())
        await asyncio.sleep(settings.drain.total_seconds())


def ready_fields(settings: Settings, server: RunningServer) -> dict[str, Any]:
    """The same for programs."""
    portal = {"portal": f"{server.urls['control']}/portal/"} if settings.portal and "control" in server.urls else {}
    return {
        "ready": True,
        "version": __version__,
        "region": settings.name,
        **server.urls,
        **portal,
        "vms": len(server.plane.region.vms),
        "clock": str(settings.clock),
        "kept_in": kept_in(settings),
        **({"token": server.token} if server.token else {}),
    }


def ready_line(settings: Settings, server: RunningServer) -> str:
    """The one line that says that everything answers."""
    count = len(server.plane.region.vms)
    faces = "".join(f"{name.replace('_', ' ')} {url}, " for name, url in server.urls.items())
    if settings.portal and "control" in server.urls:
        faces += f"portal {server.urls['control']}/portal/, "
    vms = f"{count} {'VM' if count == 1 else 'VMs'}"
    region = f"region {settings.name}, " if settings.name else ""
    return f"forewarn {__version__} ready: {region}{faces}{vms}, clock {settings.clock}, {_kept(settings, server)}"


def _kept(settings: Settings, server: RunningServer) -> str:
    if settings.ephemeral:
        return "in memory: nothing is kept"
    if settings.store:
        return f"store {show_store(settings.store)}, node {server.name}"
    return f"data {settings.data if settings.data.is_absolute() else f'./{settings.data}'}"

"""A server's life: it opens, says that it is ready, and ends when a signal or its store says so."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import uvloop

from forewarn import __version__
from forewarn.core.refusal import Refused
from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault
from forewarn.server import log as log_lines
from forewarn.server.listening import take_all_files
from forewarn.server.opening import RunningServer, open_server
from forewarn.settings.binding_file import BindingEntry
from forewarn.settings.errors import CommandFailed, Exit
from forewarn.settings.fleet_file import FleetEntry
from forewarn.settings.resolve import Settings
from forewarn.settings.store_url import show_store

_log = logging.getLogger(__name__)
_COLLECT_EVERY = (10_000, 10, 1_000)  # new objects, small searches, larger ones; see _spare_the_collector


def run(
    settings: Settings,
    fleet: Sequence[FleetEntry],
    bindings: Sequence[BindingEntry],
    greet: Callable[[RunningServer], None],
) -> int:
    """Serve until SIGTERM or Ctrl-C. What stops a server from starting, or from going on, is one sentence.

    ``greet`` is called in a thread, once everything answers.
    """
    log_lines.configure(settings.log_level)
    take_all_files()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(settings, fleet, bindings, greet))
    except (JournalFault, Refused) as problem:
        raise CommandFailed(str(problem)) from None
    return Exit.OK


async def _serve(
    settings: Settings,
    fleet: Sequence[FleetEntry],
    bindings: Sequence[BindingEntry],
    greet: Callable[[RunningServer], None],
) -> None:
    stop = asyncio.Event()
    with _stopped_by_signals(stop):
        async with open_server(settings, fleet, bindings) as server:
            _spare_the_collector()
            await asyncio.to_thread(greet, server)
            await _until_stopped(stop, server.plane)
            await _drain(settings, server)
            _log.info("Shutting down.")


def _spare_the_collector() -> None:
    """Keep the garbage collector from scanning the region: millions of values without a reference cycle.

    Later objects are scanned in small portions, during which the loop stands still: 100 000 objects take some 50 ms.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECT_EVERY)


async def _until_stopped(stop: asyncio.Event, plane: Plane) -> None:
    """Until a signal comes, or the store turns out to have another history than this node, which then must stop."""
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

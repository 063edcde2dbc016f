"""A throw-away region around one VM, for ``forewarn try``, ``mock`` and ``run``: its settings, and the one event."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from forewarn.cli.api.client import OperatorClient, Server
from forewarn.settings.errors import CannotListen, CommandFailed, usage
from forewarn.settings.fleet_file import FleetEntry
from forewarn.settings.resolve import Settings, resolve
from forewarn.settings.times import show_duration

VM = "web-0"
ANY = "127.0.0.1:0"  # where the usual ports are taken, and always for a program that is told its address
FREE = {"metadata": ANY, "control": ANY, "resource_manager": ANY}
_SHORTEST_TERMINATE, _LONGEST_TERMINATE = timedelta(minutes=5), timedelta(minutes=15)  # as the Compute API has it


@dataclass(frozen=True)
class OneEvent:
    """A type of event: what its VM is created with, the command that brings it about, the setting of its notice."""

    options: str
    command: str
    notice: str
    spot: bool = False
    terminate_notice: timedelta | None = None

    def typed(self, vm: str) -> str:
        return self.command.format(vm=vm)


EVENTS = {
    "reboot": OneEvent("", "vm restart {vm}", "notice_user_restart"),
    "freeze": OneEvent("", "host maintain host-0 --kind freeze", "notice_freeze"),
    "redeploy": OneEvent("", "vm redeploy {vm}", "notice_user_redeploy"),
    "preempt": OneEvent(" --spot", "vm evict {vm}", "notice_eviction", spot=True),
    "terminate": OneEvent(" --terminate-notice 10m", "vm delete {vm}", "", terminate_notice=timedelta(minutes=10)),
}


def settings(**chosen: str) -> Settings:
    """Of the throw-away region alone: those of the user's own are not looked at."""
    return resolve({"ephemeral": "on", "log_level": "error", **chosen}, {})


def with_notice(event: OneEvent, notice: timedelta | None) -> tuple[OneEvent, dict[str, str]]:
    """The event so long ahead: by a setting of the region, or by the VM's own terminate notice."""
    if notice is None:
        return event, {}
    if event.notice:
        return event, {event.notice: show_duration(notice)}
    if not _SHORTEST_TERMINATE <= notice <= _LONGEST_TERMINATE:
        raise usage("--in of a Terminate is the VM's terminate notice, which is 5 to 15 minutes long, as on Azure.")
    return OneEvent(event.options, event.command, "", terminate_notice=notice), {}


def vm_entry(name: str, event: OneEvent | None, *, read: bool) -> FleetEntry:
    return FleetEntry(
        name, read=read, spot=bool(event and event.spot), terminate_notice=event.terminate_notice if event else None
    )


def bring_about(event: OneEvent, vm: str, control: str, tell: Callable[[str], None]) -> None:
    """By the same commands that a person would type. Blocks until it is done."""
    from forewarn.cli.main import main  # which imports this module's users

    OperatorClient(Server.find(control)).read(vm)
    typed = event.typed(vm)
    tell(f"$ forewarn {typed}")
    if main([*shlex.split(typed), "--url", control]):
        raise CommandFailed("that should have worked; what went wrong is told above.")


def serve(
    serving: Any,
    chosen: dict[str, str],
    fleet: tuple[FleetEntry, ...],
    greet: Callable[[Any], None],
    onlooker: Any = None,
) -> int:
    """At the usual addresses, or at free ones where those are taken."""
    try:
        return int(serving.run(settings(**chosen), fleet, (), greet, onlooker=onlooker))
    except CannotListen:
        return int(serving.run(settings(**chosen, **FREE), fleet, (), greet, onlooker=onlooker))

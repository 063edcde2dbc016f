"""The filters of lists, as options. Each has the name that the operator API gives it, and the API judges its value."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from forewarn.cli.api.client import Parameters
from forewarn.cli.parsing import Parser

_YES_NO = ("yes", "no")


@dataclass(frozen=True)
class Filter:
    """One option of a list. ``choices`` are what it may be; where there are none, anything."""

    name: str
    metavar: str
    help: str
    choices: tuple[str, ...] = ()


_NAME = Filter("name", "PART", "only those with this in their name")
_UD = Filter("ud", "N", "only of this update domain")
_FD = Filter("fd", "N", "only of this fault domain")
_REVERSE = Filter("reverse", "", "from the last one to the first", _YES_NO)

VMS = (
    Filter("scope", "KIND/NAME", "only the VMs of this scope"),
    _NAME,
    Filter("power", "STATE", "only those that are running, stopped, frozen, restarting, deallocated, …"),
    _UD,
    _FD,
    Filter("host", "HOST", "only those that live on this host"),
    Filter("spot", "", "only Spot VMs, or only others", _YES_NO),
    Filter("pending", "", "only those told of an event that has yet to start, or only others", _YES_NO),
    _REVERSE,
)
EVENTS = (
    Filter("type", "", "only of this type", ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")),
    Filter("phase", "PHASE", "only those that are scheduled, approved or started"),
    Filter("source", "", "only from here", ("Platform", "User")),
    Filter("host", "HOST", "only of this host's work"),
    Filter("campaign", "ID", "only of this campaign"),
    Filter("order", "", "oldest first, or soonest NotBefore first (default: scheduled)", ("scheduled", "not_before")),
    _REVERSE,
)
SCOPES = (
    Filter("kind", "", "only of this kind", ("vm", "availability-set", "cloud-service", "placement-group")),
    _NAME,
    Filter("enabled", "", "only those for which somebody reads, or only others", _YES_NO),
    _REVERSE,
)
HOSTS = (
    Filter("health", "", "only in this health", ("healthy", "failing", "failed")),
    Filter("work", "", "only those with open work, or only others", _YES_NO),
    Filter("down", "", "only those with VMs that do not run, or only others", _YES_NO),
    _UD,
    _FD,
    _REVERSE,
)


def add_filters(parser: Parser, filters: tuple[Filter, ...]) -> None:
    """All that are given must hold."""
    for each in filters:
        if each.choices:
            parser.add_argument(f"--{each.name}", default="", choices=each.choices, help=each.help)
        else:
            parser.add_argument(f"--{each.name}", default="", metavar=each.metavar, help=each.help)


def given(args: argparse.Namespace, filters: tuple[Filter, ...]) -> Parameters:
    return {each.name: getattr(args, each.name) for each in filters}

"""A region file in TOML: ``[settings]`` of the server, ``[[vm]]`` of its fleet, ``[[binding]]`` of VMs that exist.

What it declares of real machines is read by ``machine_tables``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from forewarn.settings.binding_file import BindingEntry, read_bindings
from forewarn.settings.errors import CommandFailed, usage
from forewarn.settings.fleet_file import FleetEntry, read_entries
from forewarn.settings.kinds import SWITCH
from forewarn.settings.machine_entries import Declared
from forewarn.settings.machine_tables import TABLES as MACHINE_TABLES
from forewarn.settings.machine_tables import check_together, read_machines, this_node
from forewarn.settings.near import complain_of_key
from forewarn.settings.notification_file import NotificationEntry, read_notifications
from forewarn.settings.resolve import resolve
from forewarn.settings.table import SETTINGS

if TYPE_CHECKING:  # for whose import every command would pay
    from forewarn.guest.agent.config.complaints import Complaint, Complaints

TABLES = ("settings", "vm", "binding", "notification", *MACHINE_TABLES)
_AT_LINE = re.compile(r" \(at line (?P<line>\d+), column \d+\)")


@dataclass(frozen=True)
class RegionFile:
    """What a region file says. Settings are still text: all sources are read by the same rules."""

    path: Path
    settings: dict[str, str]
    fleet: tuple[FleetEntry, ...]
    bindings: tuple[BindingEntry, ...] = ()
    declared: Declared = field(default_factory=Declared)
    notifications: tuple[NotificationEntry, ...] = ()


def read_region_file(path: Path) -> RegionFile:
    """Read the whole file: unknown keys and values are refused with their line and the nearest that exists."""
    file, complaints = _read(path)
    if complaints:
        first, further = str(complaints[0]).rstrip("."), len(complaints) - 1
        more = f" ({further} more: forewarn settings --check {path})" if further else ""
        raise usage(f"{first}{'' if first.endswith('?') else '.'}{more}")
    return file


def check_region_file(path: Path) -> tuple[RegionFile, tuple[Complaint, ...]]:
    """The file, and everything that is wrong with it, the values of its settings included."""
    from forewarn.guest.agent.config.complaints import Complaint

    file, complaints = _read(path, values=True)
    if not complaints:
        try:
            settings = resolve({}, {}, file.settings, path)
            check_together(file.declared, settings.clock, ephemeral=settings.ephemeral)
            this_node(file.declared, settings.node_name, shared=bool(settings.store))
        except CommandFailed as problem:  # each alone is right, and together they cannot be
            return file, (Complaint(str(path), 0, problem.message.rstrip(".")),)
    return file, complaints


def _read(path: Path, *, values: bool = False) -> tuple[RegionFile, tuple[Complaint, ...]]:
    """One pass over the file that finds everything that can be seen without the region.

    Whether the ``values`` of settings are right is left out where others may win over them.
    """
    from forewarn.guest.agent.config.complaints import Complaints
    from forewarn.guest.agent.config.toml_lines import LineNumbers

    nothing = RegionFile(path, {}, ())
    try:
        text = path.read_bytes().decode()
        tables = tomllib.loads(text)
    except OSError as problem:
        raise usage(f"cannot read {path}: {problem.strerror or problem}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        return nothing, (_not_toml(path, problem),)
    book = Complaints(str(path), LineNumbers(text))
    for key in tables:
        if key in SETTINGS:
            book.complain((key,), f"the key {key!r} belongs under [settings]")
        elif key not in TABLES:
            complain_of_key(book, (key,), key, (*TABLES, *SETTINGS))
    settings = _settings(book, tables.get("settings", {}))
    if values:
        _check_values(book, settings)
    fleet = read_entries(book, tables.get("vm", []))
    bindings = read_bindings(book, tables.get("binding", []))
    declared = read_machines(book, tables, path.parent)
    notifications = read_notifications(book, tables.get("notification", []), path.parent)
    return RegionFile(path, settings, fleet, bindings, declared, notifications), book.noted()


def _not_toml(path: Path, problem: ValueError) -> Complaint:
    from forewarn.guest.agent.config.complaints import Complaint

    found = _AT_LINE.search(str(problem))
    return Complaint(str(path), int(found["line"]) if found else 0, f"is not TOML: {_AT_LINE.sub('', str(problem))}")


def _settings(book: Complaints, table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        book.complain(("settings",), "settings are written under one [settings] line")
        return {}
    texts = {}
    for key, value in table.items():
        place = ("settings", key)
        if key not in SETTINGS:
            complain_of_key(book, place, f"settings.{key}", SETTINGS)
        elif isinstance(value, bool) and SETTINGS[key].kind is SWITCH:
            texts[key] = SWITCH.show(value)
        elif isinstance(value, bool) or not isinstance(value, str | int | float):
            book.complain(place, f"the setting {key} must be text or a number")
        else:
            texts[key] = str(value)
    return texts


def _check_values(book: Complaints, settings: dict[str, str]) -> None:
    for key, text in settings.items():
        try:
            SETTINGS[key].kind.read(text)
        except ValueError as problem:
            book.complain(("settings", key), f"the setting {key} is not right: {problem}")

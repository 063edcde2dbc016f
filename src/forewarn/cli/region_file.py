"""A region file in TOML: ``[settings]`` of the server, ``[[vm]]`` of its fleet, ``[[binding]]`` of VMs that exist."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forewarn.cli.binding_file import BindingEntry, read_bindings
from forewarn.cli.errors import usage
from forewarn.cli.fleet_file import FleetEntry, read_entries
from forewarn.cli.setting_kinds import SWITCH
from forewarn.cli.setting_table import SETTINGS
from forewarn.cli.settings import unknown_key

_TABLES = ("settings", "vm", "binding")


@dataclass(frozen=True)
class RegionFile:
    """What a region file says. Settings are still text: all sources are read by the same rules."""

    path: Path
    settings: dict[str, str]
    fleet: tuple[FleetEntry, ...]
    bindings: tuple[BindingEntry, ...] = ()


def read_region_file(path: Path) -> RegionFile:
    """Read and check the whole file: a key that nobody knows is refused, with the nearest that exists."""
    tables = _load(path)
    for key in tables:
        if key not in _TABLES:
            known = (*_TABLES, *SETTINGS)
            if key in SETTINGS:
                raise usage(f"{path}: the key {key!r} belongs under [settings].")
            raise unknown_key(path, key, known)
    return RegionFile(
        path,
        _settings(path, tables.get("settings", {})),
        read_entries(path, tables.get("vm", [])),
        read_bindings(path, tables.get("binding", [])),
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as problem:
        raise usage(f"cannot read {path}: {problem.strerror or problem}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise usage(f"{path} is not TOML: {problem}.") from None


def _settings(path: Path, table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        raise usage(f"{path}: settings are written under one [settings] line.")
    texts = {}
    for key, value in table.items():
        if key not in SETTINGS:
            raise unknown_key(path, f"settings.{key}", SETTINGS)
        if isinstance(value, bool) and SETTINGS[key].kind is SWITCH:
            value = SWITCH.show(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise usage(f"{path}: the setting {key} must be text or a number.")
        texts[key] = str(value)
    return texts

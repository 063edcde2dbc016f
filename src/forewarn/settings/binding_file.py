"""``[[binding]]`` tables of a region file: how VMs and scale sets that exist are known by their connections."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from forewarn.settings.errors import usage
from forewarn.settings.resolve import unknown_key


@dataclass(frozen=True)
class BindingEntry:
    """One VM's binding, or the pattern of one scale set."""

    vm: str = ""
    scale_set: str = ""
    address: str = ""
    local_address: str = ""
    netns: str = ""
    interface: str = ""

    def __str__(self) -> str:
        return f"VM {self.vm!r}" if self.vm else f"scale set {self.scale_set!r}"

    def body(self) -> dict[str, str]:
        """What the operator API is told about it."""
        said = (("address", self.address), ("local_address", self.local_address), ("netns", self.netns))
        return {name: value for name, value in (*said, ("interface", self.interface)) if value}


_KEYS = tuple(each.name for each in fields(BindingEntry))


def read_bindings(path: Path, tables: object) -> tuple[BindingEntry, ...]:
    if not isinstance(tables, list):
        raise usage(f"{path}: bindings are written as [[binding]] tables, with two brackets.")
    return tuple(_read_entry(path, f"[[binding]] number {number}", table) for number, table in enumerate(tables, 1))


def _read_entry(path: Path, place: str, table: object) -> BindingEntry:
    if not isinstance(table, dict):
        raise usage(f"{path}: {place} is not a table.")
    for key, value in table.items():
        if key not in _KEYS:
            raise unknown_key(path, f"binding.{key}", _KEYS)
        if not isinstance(value, str):
            raise usage(f"{path}: {key} of {place} must be text.")
    entry = BindingEntry(**table)
    if bool(entry.vm) == bool(entry.scale_set):
        raise usage(f"{path}: {place} names a vm or a scale_set, one of the two.")
    return entry

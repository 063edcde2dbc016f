"""``[[binding]]`` tables of a region file: how VMs and scale sets that exist are known by their connections."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from forewarn.settings.near import complain_of_key

if TYPE_CHECKING:
    from forewarn.guest.agent.config.complaints import Complaints


@dataclass(frozen=True)
class BindingEntry:
    """One VM's binding, or the pattern of one scale set."""

    vm: str = ""
    scale_set: str = ""
    address: str = ""
    local_address: str = ""
    netns: str = ""
    interface: str = ""
    unix: str = ""

    def __str__(self) -> str:
        return f"VM {self.vm!r}" if self.vm else f"scale set {self.scale_set!r}"

    def body(self) -> dict[str, str]:
        """What the operator API is told about it."""
        said = (("address", self.address), ("local_address", self.local_address), ("netns", self.netns))
        return {name: value for name, value in (*said, ("interface", self.interface), ("unix", self.unix)) if value}


_KEYS = tuple(each.name for each in fields(BindingEntry))


def read_bindings(book: Complaints, tables: object) -> tuple[BindingEntry, ...]:
    """The ``[[binding]]`` tables that are right; what is wrong with the others is noted by its line."""
    if not isinstance(tables, list):
        book.complain(("binding",), "bindings are written as [[binding]] tables, with two brackets")
        return ()
    found = (_read_entry(book, index, table) for index, table in enumerate(tables))
    return tuple(entry for entry in found if entry is not None)


def _read_entry(book: Complaints, index: int, table: object) -> BindingEntry | None:
    place, title = ("binding", index), f"[[binding]] number {index + 1}"
    if not isinstance(table, dict):
        book.complain(place, f"{title} is not a table")
        return None
    for key, value in table.items():
        if key not in _KEYS:
            complain_of_key(book, (*place, key), f"binding.{key}", _KEYS)
        elif not isinstance(value, str):
            book.complain((*place, key), f"{key} of {title} must be text")
    if not book.sound(place):
        return None
    entry = BindingEntry(**table)
    if bool(entry.vm) == bool(entry.scale_set):
        book.complain(place, f"{title} names a vm or a scale_set, one of the two")
        return None
    return entry

"""The VMs that someone asks for, by options or as ``[[vm]]`` tables of a region file: one shape for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from forewarn.settings.near import complain_of_key
from forewarn.settings.times import parse_duration

if TYPE_CHECKING:
    from forewarn.guest.agent.config.complaints import Complaints

COUNT_MAX = 10_000_000  # ten times what was measured (docs/scale.md)
_SHORTEST, _LONGEST = timedelta(minutes=5), timedelta(minutes=15)  # of a terminate notice, as on Azure
EVICTION_POLICIES = ("Deallocate", "Delete")


@dataclass(frozen=True)
class FleetEntry:
    """VMs that are alike: ``name`` alone for one, ``name-0 … name-(count-1)`` for more. Empty means "as usual"."""

    name: str
    count: int = 1
    availability_set: str = ""
    cloud_service: str = ""
    role: str = ""
    spot: bool = False
    eviction_policy: str = ""
    vnet: bool = True
    terminate_notice: timedelta | None = None
    size: str = ""
    os_type: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    address: str = ""
    local_address: str = ""
    netns: str = ""
    interface: str = ""
    unix: str = ""
    read: bool = False
    blueprint: str = ""
    host: str = ""

    def name_of(self, index: int) -> str:
        return self.name if self.count == 1 else f"{self.name}-{index}"

    def body(self) -> dict[str, Any]:
        """What the operator API is told about them, without the numbers."""
        notice = self.terminate_notice
        body: dict[str, Any] = {"name": self.name, "spot": self.spot, "vnet": self.vnet}
        optional = {
            "availability_set": self.availability_set,
            "cloud_service": self.cloud_service,
            "role": self.role,
            "eviction_policy": self.eviction_policy,
            "terminate_notice_seconds": None if notice is None else notice.total_seconds(),
            "size": self.size,
            "os_type": self.os_type,
            "tags": dict(self.tags),
            "address": self.address,
            "local_address": self.local_address,
            "netns": self.netns,
            "interface": self.interface,
            "unix": self.unix,
            "read": self.read,
            "blueprint": self.blueprint,
            "host": self.host,
        }
        return body | {key: value for key, value in optional.items() if value}


@dataclass(frozen=True)
class Stretch:
    """A stretch of an entry's numbers: what one request creates."""

    first: int
    count: int


def runs(entry: FleetEntry, at_most: int, wanted: Callable[[str], bool] = lambda name: True) -> Iterator[Stretch]:
    """The entry in requests of bounded size, leaving out the VMs that are not ``wanted`` (because they exist)."""
    start: int | None = None
    for index in range(entry.count + 1):
        open_here = index < entry.count and wanted(entry.name_of(index))
        if start is not None and (not open_here or index - start == at_most):
            yield Stretch(start, index - start)
            start = None
        if open_here and start is None:
            start = index


def check(entry: FleetEntry) -> None:
    """What can be seen without asking the region. The sentence carries no place: the caller knows it."""
    if not entry.name:
        raise ValueError("a VM needs a name")
    if not 1 <= entry.count <= COUNT_MAX:
        raise ValueError(f"count is {entry.count}, and must be from 1 to {COUNT_MAX}")
    if entry.availability_set and entry.cloud_service:
        raise ValueError("a VM is in an availability set or in a cloud service, not in both")
    if bool(entry.cloud_service) != bool(entry.role):
        raise ValueError("a cloud service and a role go together: give both or neither")
    if entry.eviction_policy and entry.eviction_policy not in EVICTION_POLICIES:
        raise ValueError(f"eviction policy {entry.eviction_policy!r} is none of {', '.join(EVICTION_POLICIES)}")
    if entry.eviction_policy and not entry.spot:
        raise ValueError("an eviction policy is for Spot VMs only")
    if entry.terminate_notice is not None and entry.spot:
        raise ValueError("a Spot VM has no terminate notice: its eviction is announced as Preempt")
    if entry.terminate_notice is not None and not _SHORTEST <= entry.terminate_notice <= _LONGEST:
        raise ValueError("the terminate notice must be between 5 and 15 minutes")
    if entry.host and not entry.blueprint:
        raise ValueError("a host is for real machines: name the blueprint that they are made from")
    if entry.count > 1 and (entry.address or entry.local_address or entry.netns or entry.interface):
        raise ValueError("an address or a network namespace belongs to a single VM, not to several")


def read_entries(book: Complaints, tables: object) -> tuple[FleetEntry, ...]:
    """The ``[[vm]]`` tables of a region file that are right; what is wrong with the others is noted by its line."""
    if not isinstance(tables, list):
        book.complain(("vm",), "VMs are written as [[vm]] tables, with two brackets")
        return ()
    found: dict[str, FleetEntry] = {}
    for index, table in enumerate(tables):
        entry = _read_entry(book, index, table)
        if entry is not None and found.setdefault(entry.name.lower(), entry) is not entry:
            book.complain(("vm", index, "name"), f"two [[vm]] tables are named {entry.name!r}")
    return tuple(found.values())


TYPES: dict[str, type] = {"count": int, "spot": bool, "vnet": bool, "read": bool, "tags": dict}
TYPE_WORDS = {int: "a whole number", bool: "true or false", dict: "a table of text", str: "text"}
_KEYS = tuple(each.name for each in fields(FleetEntry))


def _read_entry(book: Complaints, index: int, table: object) -> FleetEntry | None:
    place, title = ("vm", index), f"[[vm]] number {index + 1}"
    if not isinstance(table, dict):
        book.complain(place, f"{title} is not a table")
        return None
    for key, value in table.items():
        wanted = TYPES.get(key, str)
        if key not in _KEYS:
            complain_of_key(book, (*place, key), f"vm.{key}", _KEYS)
        elif type(value) is not wanted:
            book.complain((*place, key), f"{key} of {title} must be {TYPE_WORDS[wanted]}")
    if not book.sound(place):
        return None
    try:
        entry = _entry(table)
        check(entry)
    except ValueError as problem:
        book.complain(place, f"{title}: {problem}")
        return None
    return entry


def _entry(table: Mapping[str, Any]) -> FleetEntry:
    values = {"name": "", **table}
    if "terminate_notice" in values:
        values["terminate_notice"] = parse_duration(values["terminate_notice"])
    if not all(isinstance(value, str) for value in values.get("tags", {}).values()):
        raise ValueError("the values of tags must be text")
    return FleetEntry(**values)

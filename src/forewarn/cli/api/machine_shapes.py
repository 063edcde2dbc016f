"""What the operator API answers about real machines, as this command reads it; compared as ``shapes`` are."""

from __future__ import annotations

from typing import TypedDict


class Binding(TypedDict):
    address: str
    local_address: str
    netns: str
    interface: str
    unix: str


class Errand(TypedDict):
    id: str
    kind: str
    vm: str
    host: str
    to: str
    state: str
    made_at: str
    tries: int
    why: str


class Machine(TypedDict):
    vm: str
    engine: str
    host: str
    ref: str
    power: str
    boot_mark: str
    seen_at: str
    alarm: str
    doubled: bool
    also: str
    cannot: list[str]
    way: str
    errands: list[Errand]


class DeclaredHost(TypedDict):
    name: str
    engine: str
    kind: str
    node: str
    health: str
    has_fence: bool
    calls_hung: int


class Machines(TypedDict):
    machines: list[Machine]
    hosts: list[DeclaredHost]
    errands_open: int
    errands_hindered: int
    alarms: int
    hosts_silent: int
    hosts_fenced: int
    calls_hung: int


class Unadopted(TypedDict):
    host: str
    ref: str
    engine: str
    power: str


class Unreached(TypedDict):
    host: str
    why: str


class Unadopteds(TypedDict):
    machines: list[Unadopted]
    unreached: list[Unreached]


class Finding(TypedDict):
    topic: str
    ok: bool
    sentence: str


class Effect(TypedDict):
    type: str
    kind: str
    sentence: str


class Check(TypedDict):
    vm: str
    host: str
    ref: str
    way: str
    identity_safe: bool
    bound: bool
    findings: list[Finding]
    effects: list[Effect]


class Adopted(Check):
    dry_run: bool
    changes: list[str]


class Released(TypedDict):
    dry_run: bool
    vm: str
    host: str
    ref: str
    message: str


class HostChanged(TypedDict):
    dry_run: bool
    name: str
    health: str
    message: str

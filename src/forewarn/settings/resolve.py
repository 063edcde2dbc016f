"""A server's settings: flag before environment before region file before profile before default.

Nothing here needs a third-party package, so ``forewarn settings`` explains a region file anywhere; ``server.parts``
makes a server's parts of the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from forewarn.settings.errors import usage
from forewarn.settings.kinds import Address, ClockChoice, Network
from forewarn.settings.table import PROFILES, SETTINGS, Setting

_NEEDS_TOKEN = ("control", "resource_manager")


@dataclass(frozen=True)
class Shown:
    """One setting as it is shown: its value as text, where it came from, and what it is for."""

    name: str
    value: str
    source: str  # "flag", "environment", "file", "profile NAME" or "default"
    where: str  # the flag, the variable or the file; empty for a profile and a default
    help: str


@dataclass(frozen=True)
class Settings:
    """What a server was told, checked and typed. The three tables are keyed by cause as the core names it."""

    data: Path
    name: str
    store: str = field(repr=False)
    ephemeral: bool
    desk: bool
    clock: ClockChoice
    metadata: Address
    control: Address
    resource_manager: Address | None
    profile: str
    token: str = field(repr=False)
    hosts: tuple[str, ...]
    portal: bool
    log_level: str
    log_format: str
    guest_sockets: str
    request_log: bool
    metrics: bool
    otlp: str
    otlp_every: timedelta
    otlp_traces: bool
    unread_after: timedelta
    update_domains: int
    fault_domains: int
    bind_nics: bool
    vms_per_host: int
    availability_set_size: int
    user_operation_limit: int
    disable_after: timedelta
    first_read_delay: timedelta
    visibility_lag: timedelta
    throttle_per_second: float
    not_before_format: str
    unknown_event: str
    faces: tuple[str, ...]
    readers: int
    node_name: str
    staleness: timedelta
    drain: timedelta
    health: Address | None
    resource_manager_url: str
    trusted_proxies: tuple[Network, ...]
    reboot_impact: timedelta
    redeploy_impact: timedelta
    eviction_impact: timedelta
    deletion_impact: timedelta
    notices: Mapping[str, timedelta]
    recoveries: Mapping[str, timedelta]
    durations: Mapping[str, int]
    shown: tuple[Shown, ...] = field(compare=False, default=())

    @property
    def addresses(self) -> dict[str, Address]:
        """Where this node listens, by setting: for each face that it has, and for health where that is wanted."""
        everything = {
            "metadata": self.metadata if "metadata" in self.faces else None,
            "control": self.control if "control" in self.faces else None,
            "resource_manager": self.resource_manager if "resource-manager" in self.faces else None,
            "health": self.health,
        }
        return {name: address for name, address in everything.items() if address is not None}

    @property
    def notes_answers(self) -> bool:
        """Whether something is made of every answer: a line of the log, a span, or both."""
        return self.request_log or self.otlp_traces


@dataclass(frozen=True)
class _Found:
    """One setting's text and where it was found."""

    setting: Setting
    text: str
    source: str
    where: str = ""

    def value(self) -> Any:
        try:
            return self.setting.kind.read(self.text)
        except ValueError as problem:
            place = f" ({self.where})" if self.where else ""
            raise usage(f"the setting {self.setting.name}{place} is not right: {problem}{self._hint()}.") from None

    def _hint(self) -> str:
        """A guest's address in the server's variable: so 0.1 pointed guests at a VM, and so its environment may be."""
        if self.where != SETTINGS["metadata"].variable or not self.text.lower().startswith("http"):
            return ""
        return (
            f"; it looks like a guest's address, which belongs in FOREWARN_ENDPOINT (unset {self.where} for the server)"
        )


def resolve(
    flags: Mapping[str, str | None],
    environment: Mapping[str, str],
    file: Mapping[str, str] | None = None,
    path: Path | None = None,
) -> Settings:
    """Settle every setting and check them together. ``file`` is the region file's table, read by ``region_file``."""
    given = _Given(flags, environment, file or {}, str(path or ""))
    profile = given.find(SETTINGS["profile"], {}).value()
    found = [given.find(setting, PROFILES[profile], profile) for setting in SETTINGS.values()]
    values = {each.setting.name: each.value() for each in found}
    settings = _typed(values, tuple(_show(each, values[each.setting.name]) for each in found))
    check(settings)
    return settings


@dataclass(frozen=True)
class _Given:
    flags: Mapping[str, str | None]
    environment: Mapping[str, str]
    file: Mapping[str, str]
    path: str

    def find(self, setting: Setting, defaults: Mapping[str, str], profile: str = "") -> _Found:
        flag = self.flags.get(setting.name)
        if flag is not None:
            return _Found(setting, flag, "flag", setting.flag)
        if self.environment.get(setting.variable):  # an empty variable is how compose files say "not set"
            return _Found(setting, self.environment[setting.variable], "environment", setting.variable)
        if setting.name in self.file:
            return _Found(setting, self.file[setting.name], "file", self.path)
        if setting.name in defaults:
            return _Found(setting, defaults[setting.name], f"profile {profile}")
        return _Found(setting, setting.default, "default")


def _show(found: _Found, value: Any) -> Shown:
    setting = found.setting
    return Shown(setting.name, setting.kind.show(value), found.source, found.where, setting.help)


def _typed(values: dict[str, Any], shown: tuple[Shown, ...]) -> Settings:
    tables: dict[str, dict[str, Any]] = {"notice": {}, "recovery": {}, "duration": {}}
    plain = {}
    for name, value in values.items():
        first, _, cause = name.partition("_")
        if first in tables:
            tables[first][cause.replace("_", "-")] = value
        else:
            plain[name] = value
    notices, recoveries, durations = tables.values()
    return Settings(**plain, notices=notices, recoveries=recoveries, durations=durations, shown=shown)


def check(settings: Settings) -> None:
    """Refuse combinations of settings that would be unsafe or could not work; each alone was checked before."""
    _check_faces(settings)
    _check_addresses(settings)
    _check_keeping(settings)
    _check_readers(settings)
    if settings.desk and settings.store:
        raise usage("desk mode lets whoever reaches the port be any VM, so it has no shared store: leave off one.")
    if settings.otlp_traces and not settings.otlp:
        raise usage("otlp_traces sends spans to a collector: name it by --otlp, such as http://127.0.0.1:4318.")
    if settings.store and settings.clock.kind != "real":
        raise usage("nodes that share a store go by its clock, which cannot be turned; leave off --clock or --store.")


def _check_readers(settings: Settings) -> None:
    if settings.readers and "metadata" not in settings.faces:
        raise usage("readers answer at the metadata port, and faces leaves the metadata face off: change one of them.")
    if settings.readers and settings.clock.kind != "real":
        raise usage("readers go by a clock that nobody turns: leave off readers, or take --clock real.")
    if settings.readers and settings.otlp_traces:
        raise usage("readers answer VMs without telling of each answer, as otlp_traces has it: leave off one of them.")


def _check_faces(settings: Settings) -> None:
    chosen = any(each.name == "faces" and each.source != "default" for each in settings.shown)
    if settings.resource_manager is None and chosen and "resource-manager" in settings.faces:
        raise usage("faces asks for the resource-manager face and resource_manager is off: change one of them.")


def _check_keeping(settings: Settings) -> None:
    kept = [each for each in settings.shown if each.name in ("data", "store") and each.source != "default"]
    if settings.ephemeral and kept:
        raise usage(
            f"an ephemeral region is kept nowhere, and {kept[0].name} ({kept[0].where}) says where to keep it: "
            "leave off one of the two."
        )


def _check_addresses(settings: Settings) -> None:
    ports: dict[int, str] = {}
    for name, address in settings.addresses.items():
        if address.port and (other := ports.setdefault(address.port, name)) != name:
            raise usage(
                f"{other} and {name} must not share port {address.port}: whoever reaches one would reach the other."
            )
        if name in _NEEDS_TOKEN and not address.loopback and not settings.token and not settings.desk:
            raise usage(
                f"{name} listens on {address}, beyond loopback, and needs a token: set FOREWARN_TOKEN, "
                "or listen on 127.0.0.1."
            )

"""A domain that is not where it should be is looked for at all daemons before another is started.

The daemons are made up: what they hold, and what was started, is all that is asked here. Real ones are asked the same
in ``tests/platforms/libvirt``.
"""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from forewarn.core.machines.values import Errand, ErrandKind
from forewarn.engines.libvirt import acting, binding, looking, moving
from forewarn.engines.libvirt.binding import NO_DOMAIN, NO_DOMAIN_METADATA
from forewarn.engines.libvirt.engine import LibvirtEngine
from forewarn.engines.libvirt.hosts import LibvirtHost
from forewarn.plane.hands.engine import Done, EngineFault, ErrandResult, Failed, Unknown
from tests.contract.engines.bench import NOON, Permit

HOSTS = ("alpha", "beta", "gamma")
RUNNING, OFF, MIGRATED = (1, 1), (5, 1), (5, 4)  # state and reason, as libvirt numbers them
ERRAND = Errand(
    id="0A1B2C3D-0000-4000-8000-000000000001",
    kind=ErrandKind.REDEPLOY,
    engine="metal",
    host="alpha",
    made_at=NOON,
    vm="web",
    ref="web",
    to="beta",
    boot_mark="before",
    definition="<domain/>",
)


class LibvirtError(Exception):
    def get_error_code(self) -> int:
        return int(self.args[0])

    def get_error_message(self) -> str:
        return f"error {self.args[0]}"


class Domain:
    """One domain at one daemon."""

    def __init__(self, daemon: Daemon, state: tuple[int, int]) -> None:
        self._daemon, self._state = daemon, state
        self._stamps: dict[int, str] = {}

    def name(self) -> str:
        return "web"

    def state(self) -> list[int]:
        return [*self._state]

    def isActive(self) -> bool:  # noqa: N802 - libvirt's name
        return self._state[0] == 1

    def ID(self) -> int:  # noqa: N802 - libvirt's name
        return 7

    def autostart(self) -> int:
        return 0

    def metadata(self, _kind: int, _namespace: str, which: int) -> str:
        if which not in self._stamps:
            raise LibvirtError(NO_DOMAIN_METADATA)
        return self._stamps[which]

    def setMetadata(self, _kind: int, text: str, _key: str, _namespace: str, which: int) -> None:  # noqa: N802 - libvirt's name
        self._stamps[which] = text

    def XMLDesc(self, _flags: int) -> str:  # noqa: N802 - libvirt's name
        return "<domain/>"

    def create(self) -> None:
        self._state = RUNNING
        self._stamps[_LIVE] = self._stamps.get(_CONFIG, "")
        self._daemon.started.append(self._daemon.host)

    def destroy(self) -> None:
        self._state = OFF

    def undefineFlags(self, _flags: int) -> None:  # noqa: N802 - libvirt's name
        self._daemon.domain = None


class Daemon:
    """Holds one domain at most."""

    def __init__(self, host: str, started: list[str]) -> None:
        self.host, self.started = host, started
        self.domain: Domain | None = None

    def lookupByName(self, _name: str) -> Domain:  # noqa: N802 - libvirt's name
        if self.domain is None:
            raise LibvirtError(NO_DOMAIN)
        return self.domain

    def defineXML(self, _text: str) -> None:  # noqa: N802 - libvirt's name
        self.domain = Domain(self, OFF)


_LIVE, _CONFIG = 1, 2
_MODULE = SimpleNamespace(
    libvirtError=LibvirtError,
    VIR_DOMAIN_METADATA_ELEMENT=2,
    VIR_DOMAIN_AFFECT_LIVE=_LIVE,
    VIR_DOMAIN_AFFECT_CONFIG=_CONFIG,
    VIR_DOMAIN_XML_INACTIVE=2,
    VIR_DOMAIN_XML_SECURE=1,
    VIR_DOMAIN_UNDEFINE_MANAGED_SAVE=1,
    VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA=2,
    VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA=16,
    VIR_DOMAIN_UNDEFINE_NVRAM=4,
)


class Rack:
    """Three daemons, and the engine before them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (binding, looking, acting, moving):
            monkeypatch.setattr(module, "libvirt", lambda: _MODULE)
        self.started: list[str] = []
        self.daemons = {name: Daemon(name, self.started) for name in HOSTS}
        self.silent: set[str] = set()
        self._engine = LibvirtEngine("metal", [LibvirtHost(name, "test:///") for name in HOSTS], lambda: 0.0)
        monkeypatch.setattr(self._engine._hosts, "connect", self._connect)

    def _connect(self, name: str) -> Any:
        if name in self.silent:
            raise EngineFault(f"Host {name} cannot be reached.")
        return self.daemons[name]

    def put(self, host: str, state: tuple[int, int] = RUNNING) -> None:
        self.daemons[host].domain = Domain(self.daemons[host], state)

    def carry_out(self, errand: Errand) -> ErrandResult:
        return self._engine.carry_out(structs.replace(errand, grace=timedelta(0)), Permit())


@pytest.fixture
def rack(monkeypatch: pytest.MonkeyPatch) -> Rack:
    return Rack(monkeypatch)


MISSING = {
    "redeploy": ERRAND,
    "redeploy in place": structs.replace(ERRAND, to="alpha"),
    "start": structs.replace(ERRAND, kind=ErrandKind.START),
    "start in place": structs.replace(ERRAND, kind=ErrandKind.START, to="alpha"),
}


@pytest.mark.parametrize("errand", MISSING.values(), ids=MISSING)
def test_one_that_runs_at_a_third_host_is_started_nowhere_else(rack: Rack, errand: Errand) -> None:
    rack.put("gamma")
    assert rack.carry_out(errand) == Failed("web runs at gamma: it is started nowhere else.", lasting=False)
    assert rack.started == []


@pytest.mark.parametrize("errand", MISSING.values(), ids=MISSING)
@pytest.mark.parametrize("known", [False, True])
def test_one_that_is_missing_is_started_nowhere_while_a_host_that_may_run_it_is_silent(
    rack: Rack, errand: Errand, known: bool
) -> None:
    rack.silent = set() if known else {"gamma"}
    assert isinstance(rack.carry_out(structs.replace(errand, unheard=("gamma",) if known else ())), Unknown)
    assert rack.started == []


@pytest.mark.parametrize("errand", MISSING.values(), ids=MISSING)
def test_one_that_is_nowhere_is_made_from_what_was_told_of_it_and_hosts_that_are_off_are_not_asked(
    rack: Rack, errand: Errand
) -> None:
    rack.silent = {"gamma"}
    assert isinstance(rack.carry_out(structs.replace(errand, off_at=("gamma",))), Done)
    assert rack.started == [errand.to]
    assert isinstance(rack.carry_out(structs.replace(errand, off_at=("gamma",))), Done)
    assert rack.started == [errand.to]


@pytest.mark.parametrize("runs", [False, True])
def test_one_whose_host_was_lost_is_looked_for_at_the_hosts_that_answer(rack: Rack, runs: bool) -> None:
    """It was listed last where it was lost; somebody may have moved it just before that."""
    rack.silent = {"alpha"}
    if runs:
        rack.put("gamma")
    else:
        rack.silent.add("gamma")
    errand = structs.replace(ERRAND, source_off=True, unheard=() if runs else ("gamma",))
    told = rack.carry_out(errand)
    assert rack.started == ([] if runs else ["beta"])
    assert isinstance(told, Failed if runs else Done)


def test_one_whose_definition_is_at_a_third_host_takes_it_along(rack: Rack) -> None:
    rack.put("gamma", OFF)
    assert isinstance(rack.carry_out(structs.replace(ERRAND, definition="")), Done)
    assert rack.started == ["beta"]
    assert rack.daemons["gamma"].domain is None


BY_ALL = {**MISSING, "restart": structs.replace(ERRAND, kind=ErrandKind.RESTART, to="")}


@pytest.mark.parametrize("errand", BY_ALL.values(), ids=BY_ALL)
def test_one_that_was_migrated_by_hand_and_left_its_definition_is_not_started_from_that(
    rack: Rack, errand: Errand
) -> None:
    """As ``virsh migrate`` does it without ``--undefinesource``."""
    rack.put("alpha", MIGRATED)
    rack.put("gamma")
    told = rack.carry_out(errand)
    assert told == Failed("web runs at gamma: it is started nowhere else.", lasting=False)
    assert rack.started == []


@pytest.mark.parametrize("state", [OFF, MIGRATED], ids=["off", "migrated and off by now"])
@pytest.mark.parametrize("errand", BY_ALL.values(), ids=BY_ALL)
def test_one_that_is_off_and_runs_nowhere_is_started(rack: Rack, errand: Errand, state: tuple[int, int]) -> None:
    rack.put("alpha", state)
    assert isinstance(rack.carry_out(errand), Done)
    assert rack.started == [errand.to or "alpha"]


def test_one_that_somebody_has_taken_where_it_was_to_go_is_started_anew_there(rack: Rack) -> None:
    rack.put("beta")
    assert isinstance(rack.carry_out(ERRAND), Done)
    assert rack.started == ["beta"]

"""What readers are told of each publication, piece by piece, is what the region is, in days full of everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.plane.writing import Writing
from forewarn.server.readers import telling
from forewarn.server.readers.telling import changes, scope_slice, vm_slice
from forewarn.sim.plan import ALL, SimulationPlan
from forewarn.sim.running import simulate
from forewarn.sim.telling.trace import Trace
from forewarn.web.operator.live.subjects import named_by
from forewarn.web.slices.bulletins import Bulletin, ScopeSlice
from forewarn.web.slices.holding import Holding

FULL = SimulationPlan(11, vms=30, days=0.3, faults=ALL, pace=6.0)
SHORT = SimulationPlan(11, vms=30, days=0.5, faults=ALL)


@dataclass
class Mirror:
    """What a reader knows, and how it differs from what is."""

    told: Holding = field(default_factory=Holding)
    whole: bool = True
    publications: int = 0
    wrong: list[str] = field(default_factory=list)

    def follow(self, before: Region, after: Region, records: Any, at: Any) -> None:
        if self.whole:
            self._tell(at, tuple(map(vm_slice, before.vms.values())), (), _scopes(before))
        self._tell(at, *changes(before, after, records))
        self.publications += 1
        self._compare(after)

    def _tell(self, at: Any, vms: Any, gone: Any, scopes: Any) -> None:
        self.told.apply(Bulletin(0, "", 0.0, at, whole=self.whole, vms=vms, gone=gone, scopes=scopes))
        self.whole = False

    def _compare(self, region: Region) -> None:
        held = self.told.region
        if {key: vm_slice(vm) for key, vm in region.vms.items()} != {k: vm_slice(vm) for k, vm in held.vms.items()}:
            self.wrong.append("VMs")
        if dict(region.addresses) != dict(held.addresses):
            self.wrong.append("addresses")
        for key, vm in region.vms.items():
            is_so, is_told = region.scope_of(vm), held.scope_of(held.vms[key]) if key in held.vms else None
            if is_told is None or is_so.enabled_at != is_told.enabled_at:
                self.wrong.append(f"whether {is_so.key} is enabled")
            elif is_so.enabled_at is not None and scope_slice(region, is_so) != scope_slice(held, is_told):
                self.wrong.append(f"the document of {is_so.key}")


def _scopes(region: Region) -> tuple[ScopeSlice, ...]:
    scopes = {vm.scope: region.scope_of(vm) for vm in region.vms.values()}
    return tuple(scope_slice(region, scope) for scope in scopes.values() if scope.enabled_at is not None)


def _mirrored(patch: pytest.MonkeyPatch, plan: SimulationPlan) -> list[Mirror]:
    """Of every server of a simulation, from when it has read its journal."""
    mirrors: dict[Writing, Mirror] = {}
    true = Writing._publish

    def publish(self: Writing, written: Any) -> Any:
        before = self.region
        mirrors.setdefault(self, Mirror()).follow(before, written.region, written.records, self._now())
        return true(self, written)

    patch.setattr(Writing, "_publish", publish)
    simulate(plan, Trace(plan))
    return list(mirrors.values())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_readers_are_told_piece_by_piece_is_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    mirrors = _mirrored(monkeypatch, FULL)
    assert [wrong for mirror in mirrors for wrong in mirror.wrong][:5] == []
    assert sum(mirror.publications for mirror in mirrors) > 150, "too little has happened to prove anything"


def _no_starts(true: Callable[..., Any]) -> Callable[..., Any]:
    return lambda fact, before, after: () if isinstance(fact, f.EventStarted) else true(fact, before, after)


def _no_enablings(true: Callable[..., Any]) -> Callable[..., Any]:
    return lambda fact, before, after: () if isinstance(fact, f.ScopeEnabled) else true(fact, before, after)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("bug", [_no_starts, _no_enablings])
def test_a_kind_of_fact_that_readers_are_not_told_of_is_found(
    bug: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "named_by", bug(named_by))
    assert any(mirror.wrong for mirror in _mirrored(monkeypatch, SHORT))

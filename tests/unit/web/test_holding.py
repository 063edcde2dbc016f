"""What a relay holds is what it was told last, and no more."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from forewarn.core.region import Vm
from forewarn.core.specs import Orchestration, VmSpec
from forewarn.web.slices.bulletins import Bulletin, ScaleSetSlice, VmSlice
from forewarn.web.slices.holding import Holding

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def instance(number: int, of: str) -> VmSlice:
    told = ScaleSetSlice(of, "group", Orchestration.UNIFORM, True, of, "seed", NOON)
    spec = VmSpec(set_name=of)
    return VmSlice(Vm(f"{of}_{number}", spec, "", NOON, number, None), told)


def told(*vms: VmSlice, whole: bool = False, gone: tuple[str, ...] = ()) -> Bulletin:
    return Bulletin(1, "", 0.0, NOON, whole=whole, vms=vms, gone=gone)


def test_a_scale_set_without_vms_here_is_forgotten_when_everything_is_told_anew() -> None:
    holding = Holding()
    holding.apply(told(instance(0, "Pool"), instance(1, "Pool"), whole=True))
    for number in range(50):  # they come and go
        holding.apply(told(instance(0, f"set-{number}")))
        holding.apply(told(gone=(f"set-{number}_0",)))
    holding.apply(told(instance(0, "Pool"), instance(0, "other"), whole=True))
    assert set(holding.region.scale_sets) == {"pool", "other"}
    assert set(holding.region.vms) == {"pool_0", "other_0"}
    holding.apply(told(whole=True))
    assert (set(holding.region.scale_sets), set(holding.region.vms)) == (set(), set())


def test_a_scale_set_is_kept_while_a_part_of_its_vms_goes() -> None:
    holding = Holding()
    holding.apply(told(instance(0, "pool"), instance(1, "pool"), whole=True))
    holding.apply(told(gone=("pool_0",)))
    assert holding.region.scale_sets["pool"].seed == "seed"


def test_what_vms_have_alike_is_held_once_though_each_is_told_with_a_copy() -> None:
    holding = Holding()
    for number in range(3):
        slices = (VmSlice(Vm(f"web-{number}", VmSpec(size="Large"), "one command", NOON, number, 0)),)
        line = msgspec.json.encode(told(*slices, whole=not number))
        holding.apply(msgspec.json.decode(line, type=Bulletin))
    first, *others = holding.region.vms.values()
    assert len(others) == 2
    for other in others:
        for part in ("spec", "seed", "created_at", "binding", "traits"):
            assert getattr(other, part) is getattr(first, part), part

"""Incarnations that a VM does not get to see, because a fault rule skips them.

A VM under such a rule keeps getting the document it had until the one after next is there, as if two changes had
fallen between two of its polls.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from forewarn.core.region import Region, Vm
from forewarn.web.faults import FaultKind, FaultRule, FaultRules


@dataclass(slots=True)
class _Seen:
    """What a VM was last given, and the incarnation that is being kept from it (0: none)."""

    region: Region
    hidden: int = 0


@dataclass(slots=True)
class _Skipping:
    """One rule at work: what VMs had when it came, and what has become of those that asked since."""

    baseline: Region
    seen: dict[str, _Seen] = field(default_factory=dict)

    def hiding(self) -> int:
        return sum(1 for seen in self.seen.values() if seen.hidden)


class Skips:
    """Follows the rules of kind *skip*; a rule that is spent or cleared shows everything again."""

    def __init__(self, faults: FaultRules) -> None:
        self._faults = faults
        self._at_work: dict[str, _Skipping] = {}

    def follow(self, region: Region) -> None:
        """Take up rules that came or went; a new one counts from what there is to see now."""
        rules = [rule.id for rule in self._faults.list() if rule.kind is FaultKind.SKIP]
        self._at_work = {rule: self._at_work.get(rule) or _Skipping(region) for rule in rules}

    def shown(self, vm: Vm, region: Region) -> Region:
        """The region to show this VM."""
        if not self._at_work:
            return region
        for rule in self._faults.list():
            if rule.id in self._at_work and self._faults.names(rule, vm.key):
                return self._shown_by(rule, self._at_work[rule.id], vm, region)
        return region

    def _shown_by(self, rule: FaultRule, work: _Skipping, vm: Vm, region: Region) -> Region:
        seen = work.seen.setdefault(vm.key, _Seen(work.baseline))
        had, has = seen.region.scope_of(vm), region.scope_of(vm)
        if not _goes_on(seen.region, region, vm) or had.incarnation == has.incarnation:
            work.seen[vm.key] = _Seen(region)
            return region
        if not seen.hidden and self._may_hide(rule, work):
            seen.hidden = has.incarnation
        if seen.hidden == has.incarnation:
            return seen.region
        if seen.hidden:
            self._faults.count(rule)
        work.seen[vm.key] = _Seen(region)
        return region

    def _may_hide(self, rule: FaultRule, work: _Skipping) -> bool:
        left = rule.times is None or rule.answered + work.hiding() < rule.times
        return left and self._faults.falls(rule)


def _goes_on(earlier: Region, later: Region, vm: Vm) -> bool:
    """Whether it is the same VM in the same enabling: what a namesake saw, or an earlier enabling, is no past of it."""
    once = earlier.vms.get(vm.key)
    same = once is not None and once.seed == vm.seed
    return same and earlier.scope_of(vm).enabled_at == later.scope_of(vm).enabled_at

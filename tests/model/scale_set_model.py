"""Scale sets told a second time: from the decisions, with dictionaries, slowly, and without a look at the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

DAY = timedelta(hours=24)
DELETING = EVICTING = timedelta(seconds=5)
PREEMPT_NOTICE = timedelta(seconds=30)


@dataclass(frozen=True)
class Template:
    """A model of a set, as far as it matters here."""

    notice: timedelta | None = None
    spot: bool = False
    deleted_when_evicted: bool = False


@dataclass
class Instance:
    """One VM of a set."""

    number: int
    group: int
    version: int
    template: Template
    protected: bool = False
    down: bool = False


@dataclass
class Notice:
    """A Terminate or a Preempt, told or not."""

    vm: str
    kind: str
    not_before: datetime
    told: bool
    approved: bool = False
    ends: datetime | None = None  # known once it has started


@dataclass
class Set:
    """A scale set."""

    template: Template
    uniform: bool
    single: bool
    rule: str
    by_itself: bool
    all_down: bool
    version: int = 1
    next_id: int = 0
    deleting: bool = False
    instances: dict[str, Instance] = field(default_factory=dict)
    reads: dict[int, datetime] = field(default_factory=dict)  # group -> when somebody of it last read


class Model:
    """All sets, all notices, and who waits for which."""

    def __init__(
        self, now: datetime, group_size: int, fault_domains: int, restarts: Callable[[], dict[str, datetime]] = dict
    ) -> None:
        self.now = now
        self.restarts = restarts  # which VMs are restarting and until when; no rule of sets, so the region is asked
        self.group_size = group_size
        self.fault_domains = fault_domains
        self.sets: dict[str, Set] = {}
        self.notices: dict[str, Notice] = {}
        self.waiting: dict[str, set[str]] = {}  # operation -> notices
        self.failed: set[str] = set()  # operations

    # Looking

    def set_of(self, vm: str) -> Set:
        return next(each for each in self.sets.values() if vm in each.instances)

    def leaving(self, vm: str) -> str | None:
        return next((key for key, each in self.notices.items() if each.vm == vm and each.kind == "Terminate"), None)

    def staying(self, name: str) -> list[str]:
        found = self.sets[name].instances
        return sorted((vm for vm in found if self.leaving(vm) is None), key=lambda vm: found[vm].number)

    def reads(self, vm: str) -> bool:
        instance, last = self.set_of(vm).instances[vm], self.set_of(vm).reads
        return instance.group in last and self.now < last[instance.group] + DAY

    def victims(self, name: str, fewer: int) -> list[str]:
        """Slowly: again and again the one that goes first. Fewer than were asked for where the rest is protected."""
        found, left, going = self.sets[name], self.staying(name), list[str]()
        while len(going) < fewer and (free := [vm for vm in left if not found.instances[vm].protected]):
            order = sorted(free, key=lambda vm: found.instances[vm].number)
            if found.rule == "Default":
                order.sort(key=lambda vm: self._fullness(found, left, vm))
            going.append(order[0] if found.rule == "OldestVM" else order[-1])
            left = [vm for vm in left if vm not in going]
        return going

    def _fullness(self, found: Set, left: list[str], vm: str) -> int:
        """How many of those that are left share its fault domain."""
        domains = [found.instances[other].number % self.fault_domains for other in left]
        return domains.count(found.instances[vm].number % self.fault_domains)

    def free_group(self, name: str) -> int:
        found = self.sets[name]
        groups = [instance.group for instance in found.instances.values()]
        return 0 if found.single else next(n for n in range(999) if groups.count(n) < self.group_size)

    # Doing. What is deleted with a notice is told under the id that the region gave.

    def add(self, name: str, vm: str) -> None:
        found = self.sets[name]
        found.instances[vm] = Instance(found.next_id, self.free_group(name), found.version, found.template)
        found.next_id += 1

    def deletes_at_once(self, vm: str) -> bool:
        return self.set_of(vm).instances[vm].template.notice is None or not self.reads(vm)

    def delete(self, vm: str, made: dict[str, str]) -> str | None:
        """The notice that whoever asked has to wait for."""
        known = self.leaving(vm)
        if known is not None:
            return known
        if self.deletes_at_once(vm):
            self.gone(vm)
            return None
        notice = self.set_of(vm).instances[vm].template.notice
        assert notice is not None
        self.notices[made[vm]] = Notice(vm, "Terminate", self.now + notice, told=True)
        return made.pop(vm)

    def evict(self, vm: str, made: dict[str, str]) -> None:
        if any(each.vm == vm and each.kind == "Preempt" for each in self.notices.values()):
            return
        told = self.reads(vm)
        not_before = self.now + PREEMPT_NOTICE if told else self.now
        self.notices[made.pop(vm)] = Notice(vm, "Preempt", not_before, told)

    def read(self, vm: str) -> None:
        """Whoever begins to read is told of all that is still ahead of its group, and is asked."""
        found = self.set_of(vm)
        group = found.instances[vm].group
        found.reads[group] = self.now
        for each in self.notices.values():
            if each.vm in found.instances and found.instances[each.vm].group == group and each.ends is None:
                each.approved = each.approved and each.told
                each.told = True

    def gone(self, vm: str) -> None:
        for key in [key for key, each in self.notices.items() if each.vm == vm]:
            self.end(key, failed=self.notices[key].kind != "Terminate" and self.notices[key].ends is None)
        del self.set_of(vm).instances[vm]

    def end(self, key: str, *, failed: bool) -> None:
        del self.notices[key]
        for operation, waiting in self.waiting.items():
            if key in waiting:
                waiting.remove(key)
                if failed:
                    self.failed.add(operation)

    def cancel(self, key: str) -> None:
        vm, kind = self.notices[key].vm, self.notices[key].kind
        self.end(key, failed=True)
        if kind == "Terminate":
            self.set_of(vm).deleting = False

    def upgrade(self, name: str, vms: list[str]) -> None:
        found = self.sets[name]
        for vm in vms:
            found.instances[vm].version, found.instances[vm].template = found.version, found.template

    # Time

    def next_deadline(self) -> datetime | None:
        """One that is due while another has its VM in hand waits for the other's end."""
        busy, restarts = self._in_hand(), self.restarts()
        dues = [each.ends or each.not_before for each in self.notices.values() if each.ends or each.vm not in busy]
        return min([*dues, *(restarts[each.vm] for each in self.notices.values() if each.vm in restarts)], default=None)

    def _in_hand(self) -> set[str]:
        """VMs that something is being done to: whatever else is due for them waits."""
        return {each.vm for each in self.notices.values() if each.ends is not None} | self.restarts().keys()

    def settle(self) -> None:
        while self._settle_one():
            pass
        for name in [name for name, each in self.sets.items() if each.deleting and not each.instances]:
            del self.sets[name]

    def _settle_one(self) -> bool:
        for each in list(self.notices.values()):
            if each.ends is not None and each.ends <= self.now:
                self._strike(each)
                return True
            if each.ends is None and not each.approved and each.told and self._is_down(each.vm):
                each.approved = True
                return True
            if each.ends is None and self._may_start(each):
                each.ends = self.now + DELETING
                return True
        return False

    def _is_down(self, vm: str) -> bool:
        return self.set_of(vm).instances[vm].down and self.set_of(vm).all_down

    def _may_start(self, notice: Notice) -> bool:
        others = [each for each in self.notices.values() if each.vm in self.set_of(notice.vm).instances]
        awaited = [each for each in others if each.kind == "Terminate" and each.ends is None and not each.approved]
        if notice.kind == "Preempt":
            awaited = []
        in_hand = notice.vm in self._in_hand()
        return (notice.not_before <= self.now or (notice.approved and not awaited)) and not in_hand

    def _strike(self, notice: Notice) -> None:
        instance = self.set_of(notice.vm).instances[notice.vm]
        if notice.kind == "Terminate" or instance.template.deleted_when_evicted:
            self.gone(notice.vm)
        else:
            instance.down = True
            self.end(next(key for key, each in self.notices.items() if each is notice), failed=False)

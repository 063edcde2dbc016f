"""Scale sets against their model: Hypothesis plays the owner of two sets, their guests, the operator and the clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from io import BytesIO

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.region import DOWN, Power, replace
from forewarn.core.rules import Rules
from forewarn.core.specs import EvictionPolicy, Orchestration, Policy, ScaleInRule, ScaleSetSpec, UpgradeMode, VmSpec
from forewarn.stores.snapshots import region as snapshots
from forewarn.terms import Document
from tests.model.scale_set_model import Model, Set, Template
from tests.unit.core.world import DAY, HOUR, MINUTE, NOON, SECOND, World

RULES = Rules(update_domains=2, fault_domains=2, vms_per_host=3, user_operation_limit=0, placement_group_size=3)
NAMES = ["web", "db"]
CAPACITY_MOST = 8

pick = st.integers(0, 1_000)
templates = st.sampled_from(
    [
        Template(),
        Template(5 * MINUTE),
        Template(15 * MINUTE),
        Template(spot=True),
        Template(spot=True, deleted_when_evicted=True),
    ]
)
rules = st.sampled_from([rule.value for rule in ScaleInRule])
hurries = st.sampled_from([SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE, HOUR, DAY - SECOND, DAY])


class ScaleSetMachine(RuleBasedStateMachine):
    """A region and its model, side by side. ``World`` checks the invariants and the journal after every command."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(RULES)
        self.model = Model(NOON, RULES.placement_group_size, RULES.fault_domains, self.restarts)
        self.asked = 0

    # Doing

    def restarts(self) -> dict[str, datetime]:
        """VMs that are restarting, and until when."""
        under_way = (event for event in self.world.region.events.values() if event.cause is Cause.USER_RESTART)
        return {
            vm: event.impact_ends_at
            for event in under_way
            if event.impact_ends_at is not None and event.impact_ended_at is None
            for vm in event.vms
        }

    def instances(self) -> list[str]:
        return sorted(vm for found in self.model.sets.values() for vm in found.instances)

    def some(self, *picks: int) -> list[str]:
        known = self.instances()
        return list(dict.fromkeys(known[each % len(known)] for each in picks))

    def ask(self, *commands: c.Single) -> tuple[str, dict[str, str]]:
        """Ask in one operation. What came of it: its id, and the events by their VM."""
        self.asked += 1
        operation = f"OP-{self.asked}"
        facts = self.world.do(c.Together(commands, operation, "model"))
        born = [fact.event for fact in facts if isinstance(fact, f.EventScheduled | f.EventBornStarted)]
        self.model.waiting[operation] = set()
        return operation, {event.vms[0]: event.id for event in born}

    def refused(self, *commands: c.Single) -> None:
        self.world.refused(c.Together(commands, "NEVER", "model"))

    def deleted(self, operation: str, vms: list[str], made: dict[str, str]) -> None:
        notices = [self.model.delete(vm, made) for vm in vms]
        self.model.waiting[operation] |= {key for key in notices if key is not None}
        assert not made
        self.model.settle()

    # Owners

    @initialize(template=templates, uniform=st.booleans(), silent=st.booleans())
    def begin_with(self, template: Template, uniform: bool, silent: bool) -> None:
        """A set of five, which mostly reads."""
        self.put(0, template, "Default", 5, uniform, single=False, by_itself=False, all_down=True)
        if not silent:
            for vm in self.instances():
                self.read(self.instances().index(vm))

    @rule(
        p=pick,
        template=templates,
        scale_in=rules,
        capacity=st.sampled_from([None, *range(CAPACITY_MOST + 1)]),
        uniform=st.booleans(),
        single=st.booleans(),
        by_itself=st.booleans(),
        all_down=st.booleans(),
    )
    def put(
        self,
        p: int,
        template: Template,
        scale_in: str,
        capacity: int | None,
        uniform: bool,
        single: bool,
        by_itself: bool,
        all_down: bool,
    ) -> None:
        name = NAMES[p % 2]
        asked = Set(template, uniform, single, scale_in, by_itself, all_down)
        command = self.command(name, asked, capacity)
        known = self.model.sets.get(name)
        if self.cannot(known, asked, capacity) or self.protected_are_in_the_way(name, capacity):
            self.refused(command)
            return
        operation, made = self.ask(command)
        self.took(name, asked)
        self.resized(name, capacity, operation, made)

    def command(self, name: str, asked: Set, capacity: int | None) -> c.PutScaleSet:
        template = asked.template
        policy = EvictionPolicy.DELETE if template.deleted_when_evicted else EvictionPolicy.DEALLOCATE
        return c.PutScaleSet(
            name,
            "rg",
            VmSpec(spot=template.spot, eviction_policy=policy, terminate_notice=template.notice),
            self.world.seed(),
            ScaleSetSpec(
                UpgradeMode.AUTOMATIC if asked.by_itself else UpgradeMode.MANUAL,
                ScaleInRule(asked.rule),
                Policy(all_instances_down=asked.all_down),
            ),
            Orchestration.UNIFORM if asked.uniform else Orchestration.FLEXIBLE,
            asked.single,
            capacity=capacity,
        )

    def cannot(self, known: Set | None, asked: Set, capacity: int | None) -> bool:
        if asked.single and (capacity or 0) > RULES.placement_group_size:
            return True
        if known is None:
            return False
        return known.deleting or known.uniform != asked.uniform or asked.single > known.single

    def protected_are_in_the_way(self, name: str, capacity: int | None) -> bool:
        if name not in self.model.sets or capacity is None:
            return False
        fewer = len(self.model.staying(name)) - capacity
        return fewer > 0 and len(self.model.victims(name, fewer)) < fewer

    def took(self, name: str, asked: Set) -> None:
        known = self.model.sets.setdefault(name, asked)
        known.version += known.template != asked.template
        known.template, known.rule, known.single = asked.template, asked.rule, asked.single
        known.by_itself, known.all_down = asked.by_itself, asked.all_down
        if known.by_itself:
            self.model.upgrade(name, list(known.instances))
        self.model.settle()

    def resized(self, name: str, capacity: int | None, operation: str, made: dict[str, str]) -> None:
        fewer = 0 if capacity is None else len(self.model.staying(name)) - capacity
        known = set(self.instances())
        new = sorted(
            (vm for vm in self.world.region.vms.values() if vm.key not in known and vm.scale_set == name),
            key=lambda vm: vm.number,
        )
        assert len(new) == max(0, -fewer)
        for vm in new:
            self.model.add(name, vm.key)
        self.deleted(operation, self.model.victims(name, fewer), made)

    @precondition(lambda self: self.instances())
    @rule(p=pick, q=pick, r=pick)
    def delete_instances(self, p: int, q: int, r: int) -> None:
        vms = self.some(p, q, r)
        name = next(name for name, found in self.model.sets.items() if vms[0] in found.instances)
        command = c.DeleteInstances(name, tuple(vms), self.world.seed())
        if any(vm not in self.model.sets[name].instances for vm in vms):
            self.refused(command)
            return
        operation, made = self.ask(command)
        self.deleted(operation, vms, made)

    @rule(p=pick)
    def delete_set(self, p: int) -> None:
        name = NAMES[p % 2]
        command = c.DeleteScaleSet(name, self.world.seed())
        if name not in self.model.sets:
            self.refused(command)
            return
        operation, made = self.ask(command)
        self.model.sets[name].deleting = True
        self.deleted(operation, list(self.model.sets[name].instances), made)

    @precondition(lambda self: self.instances())
    @rule(p=pick, q=pick, protected=st.booleans())
    def protect_or_upgrade(self, p: int, q: int, protected: bool) -> None:
        (vm,) = self.some(p)
        name = self.world.vm(vm).scale_set
        if q % 2:
            self.ask(c.ProtectInstance(vm, protected))
            self.model.sets[name].instances[vm].protected = protected
        else:
            self.ask(c.UpgradeInstances(name, (vm,)))
            self.model.upgrade(name, [vm])

    @precondition(lambda self: self.instances())
    @rule(p=pick, how=st.sampled_from(["stop", "deallocate", "start", "restart"]))
    def handle(self, p: int, how: str) -> None:
        (vm,) = self.some(p)
        instance = self.model.set_of(vm).instances[vm]
        going = self.world.vm(vm).power in (Power.EVICTING, Power.DELETING)
        commands: dict[str, c.Single] = {
            "stop": c.StopVms((vm,)),
            "deallocate": c.DeallocateVms((vm,)),
            "start": c.StartVms((vm,)),
            "restart": c.RestartVms((vm,), self.world.seed()),
        }
        if how == "restart" and (instance.down or going):
            self.refused(commands[how])
            return
        self.world.do(commands[how])
        instance.down = how in ("stop", "deallocate") or (instance.down and how != "start")
        self.model.settle()

    @precondition(lambda self: self.instances())
    @rule(p=pick)
    def evict(self, p: int) -> None:
        (vm,) = self.some(p)
        instance = self.model.set_of(vm).instances[vm]
        command = c.EvictVms((vm,), self.world.seed())
        going = self.world.vm(vm).power in (Power.EVICTING, Power.DELETING)
        if not instance.template.spot or instance.down or going:
            self.refused(command)
            return
        operation, made = self.ask(command)
        self.model.evict(vm, made)
        mine = {key for key, each in self.model.notices.items() if each.vm == vm and each.kind == "Preempt"}
        self.model.waiting[operation] |= mine
        assert not made
        self.model.settle()

    # Guests and operators

    @precondition(lambda self: self.instances())
    @rule(p=pick)
    def read(self, p: int) -> None:
        (vm,) = self.some(p)
        self.world.read(vm)
        self.model.read(vm)

    @precondition(lambda self: any(each.told for each in self.model.notices.values()))
    @rule(p=pick, q=pick, approve=st.booleans())
    def approve_or_cancel(self, p: int, q: int, approve: bool) -> None:
        told = sorted(key for key, each in self.model.notices.items() if each.told)
        keys = list(dict.fromkeys([told[p % len(told)], told[q % len(told)]]))
        if approve:
            self.world.approve(*keys)
            for key in keys:
                self.model.notices[key].approved = True
        elif any(self.model.notices[key].ends is not None for key in keys):
            self.refused(c.CancelEvents(tuple(keys), "why"))
        else:
            self.world.cancel(*keys)
            for key in keys:
                self.model.cancel(key)
        self.model.settle()

    # Time and trouble

    @rule(by=hurries)
    def advance(self, by: timedelta) -> None:
        to = self.world.now + by
        while (due := self.model.next_deadline()) is not None and due <= to:
            self._to(max(due, self.world.now))
        self._to(to)

    def _to(self, to: datetime) -> None:
        self.world.advance(to - self.world.now)
        self.model.now = self.world.now
        self.model.settle()
        self.agreed()

    @rule()
    def restart_the_server(self) -> None:
        before = self.world.region
        packed = b"".join(snapshots.pack(before, 1, b""))
        self.world.region = snapshots.unpack(BytesIO(packed))[0]
        assert replace(self.world.region, agenda=before.agenda) == before

    # What must hold

    @invariant()
    def agreed(self) -> None:
        self.sets_are_what_the_model_says()
        self.documents_show_what_the_model_says()
        self.operations_are_where_the_model_says()

    def sets_are_what_the_model_says(self) -> None:
        region = self.world.region
        assert set(region.scale_sets) == set(self.model.sets)
        for name, found in self.model.sets.items():
            scale_set = region.scale_sets[name]
            assert (scale_set.model, scale_set.next_id) == (found.version, found.next_id)
            assert (scale_set.deleting, scale_set.capacity) == (found.deleting, len(self.model.staying(name)))
            assert {vm: self.seen(vm) for vm in scale_set.instances} == {
                vm: (each.number, each.version, f"{name}~{each.group}", each.protected, each.down)
                for vm, each in found.instances.items()
            }

    def seen(self, key: str) -> tuple[int, int, str, bool, bool]:
        vm = self.world.region.vms[key]
        return vm.number, vm.traits.model, vm.spec.set_name, vm.traits.protected, vm.power in DOWN

    def documents_show_what_the_model_says(self) -> None:
        shown = {
            event.event_id: (event.type, event.resources[0], event.status, event.not_before)
            for document in self.documents()
            for event in document.events
            if event.type in ("Terminate", "Preempt")
        }
        assert shown == {
            key: (each.kind, each.vm) + (("Scheduled", each.not_before) if each.ends is None else ("Started", None))
            for key, each in self.model.notices.items()
            if each.told
        }

    def documents(self) -> list[Document]:
        region = self.world.region
        return [self.world.document(next(iter(scope.members))) for scope in region.scopes.values() if scope.members]

    def operations_are_where_the_model_says(self) -> None:
        for operation, waiting in self.model.waiting.items():
            found = self.world.operation(operation)
            assert (set(found.waiting), found.ended_at is None) == (waiting, bool(waiting))
            assert bool(found.error) == (operation in self.model.failed)

    def teardown(self) -> None:
        """Left alone, everything comes to its end."""
        self.advance(DAY)
        self.advance(DAY)
        assert not self.world.region.events
        assert all(operation.ended_at is not None for operation in self.world.region.operations.values())


TestScaleSets = ScaleSetMachine.TestCase
TestScaleSets.settings = settings(
    max_examples=100,
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

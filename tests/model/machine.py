"""The rules by which Hypothesis plays operator, owner, guest, clock and bad luck."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import HOST_MAINTENANCE, Cause
from forewarn.core.invariants import region as invariants
from forewarn.core.refusal import Refused
from forewarn.core.region import DOWN, Event, Power
from forewarn.core.rules import Rules
from forewarn.core.specs import EvictionPolicy, Policy, ScopeKind, VmSpec
from tests.model.campaign_watch import CampaignWatch
from tests.model.model import Model
from tests.model.naming import by_vm, number_of, started_by, tenants
from tests.model.system import MemoryShelf, Shelf, System

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
RULES = Rules(update_domains=2, fault_domains=1, vms_per_host=2, user_operation_limit=3)
NAMES = [f"vm-{number}" for number in range(7)]
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

_STEERING: dict[str, type[c.PauseCampaign | c.ResumeCampaign | c.CancelCampaign]] = {
    "pause": c.PauseCampaign,
    "resume": c.ResumeCampaign,
    "cancel": c.CancelCampaign,
}
pick = st.integers(0, 1_000)
homes = st.sampled_from(["lone", "set", "service"])
hurries = st.sampled_from(
    [SECOND / 4, SECOND, 30 * SECOND, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, HOUR, 24 * HOUR - SECOND, 24 * HOUR]
)


def chosen(among: list[str], *picks: int) -> list[str]:
    """Some of what there is, each once."""
    return list(dict.fromkeys(among[each % len(among)] for each in picks))


class RegionMachine(RuleBasedStateMachine):
    """A region and its model, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.system = System(self.shelf(), RULES, START)
        self.model = Model(START, RULES.update_domains, RULES.user_operation_limit)
        self.campaigns: dict[str, CampaignWatch] = {}
        self.seeds = 0

    def shelf(self) -> Shelf:
        return MemoryShelf()

    # Doing and being refused

    def seed(self) -> str:
        self.seeds += 1
        return f"seed-{self.seeds}"

    def names(self) -> list[str]:
        return sorted(self.model.machines)

    def hosts(self) -> list[str]:
        return [f"host-{number}" for number in sorted(self.system.region.hosts)]

    def do(self, command: c.Command) -> list[Event]:
        """The events that were raised, without those of campaigns: the model has been told of these."""
        facts = self.system.do(command)
        raised = [fact.event for fact in facts if isinstance(fact, f.EventScheduled | f.EventBornStarted)]
        self.model.started = [started_by(fact) for fact in facts if started_by(fact)]
        self._moved = {
            fact.vm for fact in facts if isinstance(fact, f.VmMoved | f.VmDeallocated | f.VmStarted | f.VmDeleted)
        }
        self._of_campaigns = [event for event in raised if event.campaign]
        self._spared = [fact for fact in facts if isinstance(fact, f.VmSpared)]
        self._spare()
        return [event for event in raised if not event.campaign]

    def _spare(self) -> None:
        """Tell the model who has left a host, as far as it knows of the events that were ahead there."""
        known = [fact for fact in self._spared if fact.event_id in self.model.notices]
        self._spared = [fact for fact in self._spared if fact not in known]
        for fact in known:
            self.model.spare(fact.event_id, fact.vm)

    def agree(self) -> None:
        """Tell the model what campaigns did in this step, and see whether they were allowed to."""
        by_host: dict[tuple[str, int], list[Event]] = defaultdict(list)
        for event in self._of_campaigns:
            assert event.host is not None
            by_host[event.campaign, event.host].append(event)
        for (campaign, host), events in by_host.items():
            self.model.check_that_nothing_is_in_the_way(campaign, tenants(events))
            self.campaigns[campaign].takes(host, events, self.system.region)
            self.model.maintain(self.campaigns[campaign].kind, host, tenants(events), campaign)
        if self._spared:
            self._spare()
            self.model.settle()
        self.model.check_that_all_has_started()
        for watch in self.campaigns.values():
            watch.steady -= self._moved
            watch.look(self.system.region)

    def refused(self, command: c.Command) -> None:
        before = self.system.region
        with pytest.raises(Refused):
            self.system.do(command)
        assert self.system.region is before

    # The fleet

    @initialize(
        fleet=st.lists(st.tuples(homes, st.booleans(), st.sampled_from([None, 5]), pick), max_size=len(NAMES)),
        silent=pick,
    )
    def begin_with(self, fleet: list[tuple[str, bool, int | None, int]], silent: int) -> None:
        """Some VMs, most of which read."""
        for place, (home, spot, minutes, p) in enumerate(fleet):
            self.create(NAMES[place], home, spot, minutes, p)
            if (place + silent) % 4:
                self.read(place)

    @rule(name=st.sampled_from(NAMES), home=homes, spot=st.booleans(), minutes=st.sampled_from([None, 5, 15]), p=pick)
    def create(self, name: str, home: str, spot: bool, minutes: int | None, p: int) -> None:
        notice = None if minutes is None or spot else minutes * MINUTE
        policy = EvictionPolicy.DELETE if p % 2 else EvictionPolicy.DEALLOCATE
        kind, scope, role = {
            "lone": (ScopeKind.VM, f"vm/{name}", ""),
            "set": (ScopeKind.AVAILABILITY_SET, "availability-set/front", ""),
            "service": (ScopeKind.CLOUD_SERVICE, "cloud-service/shop", "Web" if p % 3 else "Api"),
        }[home]
        set_name = "" if home == "lone" else scope.partition("/")[2]
        spec = VmSpec(kind, set_name, role, spot=spot, eviction_policy=policy, terminate_notice=notice)
        command = c.CreateVms((name,), spec, self.seed())
        if name in self.model.machines:
            self.refused(command)
            return
        assert self.do(command) == []
        self.model.create(name, scope, role, spot=spot, deleted_when_evicted=bool(p % 2), terminate_notice=notice)
        self.agree()

    @precondition(lambda self: self.model.machines)
    @rule(p=pick, q=pick)
    def delete(self, p: int, q: int) -> None:
        names = chosen(self.names(), p, q)
        made = by_vm(self.do(c.DeleteVms(tuple(names), self.seed())))
        for name in names:
            self.model.delete(name, made.pop(name, None))
        assert not made
        self.agree()

    @precondition(lambda self: self.model.machines)
    @rule(p=pick, command=st.sampled_from([c.StopVms, c.DeallocateVms, c.StartVms]))
    def stop_or_start(self, p: int, command: type[c.StopVms | c.DeallocateVms | c.StartVms]) -> None:
        (name,) = chosen(self.names(), p)
        assert self.do(command((name,))) == []
        if command is c.StartVms:
            self.model.start(name)
        else:
            self.model.stop(name)
        self.agree()

    # Owners

    @precondition(lambda self: self.model.machines)
    @rule(p=pick, q=pick, kind=st.sampled_from(["user-restart", "user-redeploy"]))
    def ask(self, p: int, q: int, kind: str) -> None:
        names = chosen(self.names(), p, q)
        command = (c.RestartVms if kind == "user-restart" else c.RedeployVms)(tuple(names), self.seed())
        waiting = [name for name in names if self.model.would_wait(kind, name)]
        if any(self.unfit(name) for name in names) or self.model.over_the_limit(waiting):
            self.refused(command)
            return
        made = by_vm(self.do(command))
        for name in names:
            self.model.ask(kind, name, made.pop(name, None))
        assert not made
        self.agree()

    @precondition(lambda self: self.model.machines)
    @rule(p=pick)
    def evict(self, p: int) -> None:
        (name,) = chosen([name for name in self.names() if self.model.machines[name].spot] or self.names(), p)
        command = c.EvictVms((name,), self.seed())
        if not self.model.machines[name].spot or self.unfit(name):
            self.refused(command)
            return
        made = by_vm(self.do(command))
        self.model.ask("eviction", name, made.pop(name, None))
        assert not made
        self.agree()

    def unfit(self, name: str) -> bool:
        going = self.system.region.vms[name].power in (Power.EVICTING, Power.DELETING)
        return self.model.machines[name].down or going

    @precondition(lambda self: self.model.machines)
    @rule(p=pick, reboot=st.booleans(), redeploy=st.booleans(), down=st.booleans())
    def set_policy(self, p: int, reboot: bool, redeploy: bool, down: bool) -> None:
        (name,) = chosen(self.names(), p)
        scope = self.model.machines[name].scope
        assert self.do(c.SetPolicy(scope, Policy(reboot, redeploy, down))) == []
        auto = {kind for kind, wanted in (("user-restart", reboot), ("user-redeploy", redeploy)) if wanted}
        self.model.set_policy(scope, auto, down)
        self.agree()

    # Guests

    @precondition(lambda self: self.model.machines)
    @rule(p=pick, ago=st.sampled_from([0 * SECOND, MINUTE, 5 * HOUR]))
    def read(self, p: int, ago: timedelta = 0 * SECOND) -> None:
        """A first read is told at once; of later ones the region may hear when they are old."""
        (name,) = chosen(self.names(), p)
        enabled = self.model.audiences[self.model.machines[name].scope].enabled
        read_at = self.system.now - ago if enabled else self.system.now
        assert self.do(c.Pulse(((name, read_at),))) == []
        self.model.read(name, read_at)
        self.agree()

    @precondition(lambda self: self.model.notices and self.model.machines)
    @rule(p=pick, q=pick, r=pick)
    def approve(self, p: int, q: int, r: int) -> None:
        """Any VM, any of all events there are: its scope's are started, another's are refused."""
        (name,) = chosen(self.names(), p)
        ids = chosen(sorted(self.model.notices), q, r)
        scope = self.model.machines[name].scope
        if not self.model.may_approve(ids, scope):
            self.refused(c.Approve(tuple(ids), name, scope))
            ids = [event_id for event_id in ids if self.model.may_approve([event_id], scope)]
        assert self.do(c.Approve(tuple(event_id.lower() for event_id in ids), name, scope)) == []
        self.model.approve(ids)
        self.agree()

    # Operators

    @precondition(lambda self: self.model.notices)
    @rule(p=pick, q=pick, approve=st.booleans())
    def approve_or_cancel(self, p: int, q: int, approve: bool) -> None:
        ids = chosen(sorted(self.model.notices), p, q)
        command = c.Approve(tuple(ids), "operator") if approve else c.CancelEvents(tuple(ids), "plans changed")
        if not (self.model.may_approve(ids, None) if approve else self.model.may_cancel(ids)):
            self.refused(command)
            return
        assert self.do(command) == []
        if approve:
            self.model.approve(ids)
        else:
            self.model.cancel(ids)
        self.agree()

    def _is_being_rebuilt(self, name: str) -> bool:
        return any(n.kind == "failure" and not n.over and name in n.targets for n in self.model.notices.values())

    @precondition(lambda self: self.system.region.hosts)
    @rule(p=pick, q=pick, cause=st.sampled_from(HOST_MAINTENANCE), fails=st.booleans())
    def work_on_hosts(self, p: int, q: int, cause: Cause, fails: bool) -> None:
        hosts = chosen(self.hosts(), p, q)
        living = {host: sorted(self.system.region.hosts[number_of(host)].vms) for host in hosts}
        if fails:
            made = self.do(c.FailHosts(tuple(hosts), self.seed()))
        else:
            made = self.do(c.MaintainHosts(tuple(hosts), cause, self.seed()))
        for host in hosts:
            events = [event for event in made if event.host == number_of(host)]
            hit = [name for name in living[host] if not (fails and self._is_being_rebuilt(name))]
            assert sorted(key for event in events for key in event.vms) == hit
            if fails:
                self.model.withdraw_work_on(number_of(host), living[host])
            if events:
                self.model.maintain("failure" if fails else cause.value, number_of(host), tenants(events))
        self.model.settle()
        assert {event.host for event in made} <= {number_of(host) for host in hosts}
        self.agree()

    # Campaigns

    @precondition(lambda self: len(self.campaigns) < 3 and self.model.machines)
    @rule(cause=st.sampled_from(HOST_MAINTENANCE), p=st.integers(0, 2))
    def start_campaign(self, cause: Cause, p: int) -> None:
        campaign_id = f"C{len(self.campaigns)}"
        command = c.StartCampaign(campaign_id, cause, hosts_at_once=p)
        steady = {name for name, machine in self.model.machines.items() if not machine.down}
        self.campaigns[campaign_id] = CampaignWatch(campaign_id, cause.value, p, steady)
        assert self.do(command) == []
        self.agree()

    @precondition(lambda self: self.campaigns)
    @rule(p=pick, how=st.sampled_from(["pause", "resume", "cancel"]))
    def steer_campaign(self, p: int, how: str) -> None:
        (campaign_id,) = chosen(sorted(self.campaigns), p)
        watch = self.campaigns[campaign_id]
        command = _STEERING[how](campaign_id)
        if watch.state in ("completed", "canceled"):
            self.refused(command)
            return
        watch.state = {"pause": "paused", "resume": "running", "cancel": "canceled"}[how]
        assert self.do(command) == []
        if how == "cancel":
            self.model.cancel_campaign(campaign_id)
        self.agree()

    # Time and trouble

    @rule(by=hurries)
    def advance(self, by: timedelta) -> None:
        self._advance_to(self.system.now + by)

    @precondition(lambda self: self.model.next_deadline() is not None)
    @rule()
    def advance_to_next(self) -> None:
        due = self.model.next_deadline()
        assert due is not None
        self._advance_to(due)

    def _advance_to(self, to: datetime) -> None:
        while (due := self.model.next_deadline()) is not None and due <= to:
            assert self.system.next_deadline() == due
            self._tick_at(due)
            self.documents_are_what_the_model_says()
        self._tick_at(to)

    def _tick_at(self, at: datetime) -> None:
        self.system.now = self.model.now = at
        assert self.do(c.Tick()) == []
        self.model.settle()
        self.agree()

    @rule(from_snapshot=st.booleans())
    def restart_the_server(self, from_snapshot: bool) -> None:
        self.system.restart(from_snapshot=from_snapshot)

    @precondition(lambda self: self.model.machines)
    @rule(p=pick, what=st.sampled_from(["restart", "delete", "read", "tick", "maintain"]))
    def the_journal_fails_once(self, p: int, what: str) -> None:
        (name,) = chosen(self.names(), p)
        commands: dict[str, c.Command] = {
            "restart": c.RestartVms((name,), self.seed()),
            "delete": c.DeleteVms((name,), self.seed()),
            "read": c.Pulse(((name, self.system.now),)),
            "tick": c.Tick(moved=True),
            "maintain": c.MaintainHosts((), Cause.REBOOT, self.seed()),
        }
        self.system.fail_once(commands[what])

    # What must hold

    @invariant()
    def the_invariants_hold(self) -> None:
        invariants.check(self.system.region, now=self.system.now, user_operation_limit=RULES.user_operation_limit)

    @invariant()
    def the_fleet_is_what_the_model_says(self) -> None:
        found = {
            vm.key: (vm.scope, vm.resource_name, vm.update_domain, vm.power in DOWN)
            for vm in self.system.region.vms.values()
        }
        assert found == {
            name: (machine.scope, machine.resource, machine.update_domain, machine.down)
            for name, machine in self.model.machines.items()
        }

    @invariant()
    def documents_are_what_the_model_says(self) -> None:
        region = self.system.region
        for vm in region.vms.values():
            scope = region.scope_of(vm)
            assert (scope.enabled_at is not None) == self.model.audiences[vm.scope].enabled
            shown = {
                event.event_id: (
                    event.status,
                    event.type,
                    event.resources,
                    event.not_before,
                    event.description,
                    event.source,
                    event.duration_seconds,
                )
                for event in self.system.document(scope).events
            }
            assert shown == self.model.shown(vm.scope), (shown, self.model.shown(vm.scope))
        assert self.system.next_deadline() == self.model.next_deadline()

    def teardown(self) -> None:
        """Left alone, everything comes to its end."""
        for _ in range(1_000):
            due = self.model.next_deadline()
            if due is None:
                break
            self._advance_to(due)
        assert not self.system.region.events
        assert all(watch.state != "running" for watch in self.campaigns.values()), "a campaign stands still"
        self.system.shelf.close()

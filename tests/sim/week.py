"""A week in the life of a region whose VMs all run the agent, in one thread and in no time.

    python -m tests.sim.week --seed 7            # 200 VMs, 7 days
    python -m tests.sim.week --seed 7 --vms 40 --days 1

The same numbers give the same week. What must hold is watched on the way (``tests.sim.world``) and at the end; the
first thing that does not is told with the command that shows it again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from datetime import timedelta
from random import Random

from forewarn.core import commands as c
from forewarn.core.causes import HOST_MAINTENANCE
from forewarn.core.region import DOWN, Power, ScaleSetSpec, ScopeKind, UpgradeMode, Vm, VmSpec
from forewarn.guest.agent.config import AgentConfig, Barrier, Rule, Sharing, Step, Verdict
from tests.sim.world import START, World

_STEPS = (
    Step("out-of-balancer", "ready-file", {"path": "ready"}, timeout_seconds=5),
    Step("drain", "command", {"run": ["drain"], "undo": ["undrain"]}, timeout_seconds=120, repeatable=True),
    Step("flush", "command", {"run": ["flush"]}, timeout_seconds=10),
    Step("leave-cluster", "command", {"run": ["leave"], "undo": ["join"]}, timeout_seconds=60),
)
_SHORT = Rule("evictions", Verdict.PREPARE_THEN_APPROVE, types=("Preempt",), steps=("out-of-balancer", "flush"))
_ALL = Rule("all", Verdict.PREPARE_THEN_APPROVE)
_QUIET = Rule("users", Verdict.PREPARE_ONLY, sources=("User",), steps=("out-of-balancer",))
_POLICIES = ((_SHORT,), (_SHORT, _ALL), (_SHORT, _QUIET, _ALL))  # behind the first stand the built-in rules
_EVERY_SECONDS = 600.0  # something happens on average, where there are 200 VMs
_SOON_SECONDS = 240.0  # within which one thing leads to another, so that trouble meets preparations
_PULSE = timedelta(hours=1)
_REST = timedelta(days=9)  # a predicted failure gives a week of notice


def configure(name: str) -> AgentConfig:
    """By the set that a VM is in: those who share an event have the same file."""
    place = sum(map(ord, name.rstrip("0123456789").rstrip("-_"))) if "lone" not in name else sum(map(ord, name))
    sharing = Sharing.NEVER if place % 6 == 5 else Sharing.TOGETHER
    barrier = Barrier(sharing, listen="sim", secret_file="sim")
    return AgentConfig(name=name, rules=_POLICIES[place % len(_POLICIES)], steps=_STEPS, barrier=barrier)


class Week:
    """The fleet and its fate."""

    def __init__(self, seed: int, vms: int) -> None:
        self.random = Random(seed)
        self.world = World(self.random, configure)
        self._vms = max(vms, 12)
        self._made = 0
        self._pulse_at = START
        self._build()
        self._deeds: tuple[tuple[int, Callable[[], None]], ...] = (
            (12, self._maintain),
            (3, self._campaign),
            (4, self._interfere),
            (14, self._operate),
            (10, self._evict),
            (6, self._delete),
            (3, self._resize),
            (4, self._reimage),
            (2, self._fail_host),
            (8, self._cancel),
            (5, self._stop),
            (20, self._start_all),
            (10, self._spoil_reads),
            (10, self._crash_agents),
        )
        self._more_trouble = (self._cancel, self._spoil_reads, self._crash_agents, self._operate, self._evict)

    def _build(self) -> None:
        """About a third each: lone VMs (some of them Spot), availability sets, scale sets."""
        lone, sets = self._vms // 3, max(1, self._vms // 30)
        self._create_lone(lone)
        for number in range(sets):
            spec = VmSpec(ScopeKind.AVAILABILITY_SET, f"aset{number}", os_image_notice=timedelta(minutes=15))
            names = tuple(f"aset{number}-{i}" for i in range(max(2, lone // sets)))
            self.world.do(c.CreateVms(names, spec, self.world.seed()))
        each = max(2, (self._vms - len(self.world.region.vms)) // sets)
        for number in range(sets):
            self._put(f"set{number}", each)
        self._create_lone(self._vms - len(self.world.region.vms))

    def _create_lone(self, many: int) -> None:
        for _ in range(many):
            spot = self._made % 3 == 0
            spec = VmSpec(spot=spot, terminate_notice=None if spot else timedelta(minutes=self.random.choice((5, 15))))
            self.world.do(c.CreateVms((f"lone-{self._made}",), spec, self.world.seed()))
            self._made += 1

    def _put(self, name: str, capacity: int) -> None:
        model = VmSpec(terminate_notice=timedelta(minutes=5))
        spec = ScaleSetSpec(upgrade=UpgradeMode.MANUAL)
        self.world.do(c.PutScaleSet(name, "forewarn", model, self.world.seed(), spec, capacity=capacity))

    # Choosing

    def _pick(self, fits: Callable[[Vm], bool] = lambda vm: True, most: int = 3) -> tuple[str, ...]:
        found = sorted(key for key, vm in self.world.region.vms.items() if vm.power not in DOWN and fits(vm))
        return tuple(self.random.sample(found, min(len(found), self.random.randint(1, most))))

    def _pick_busy(self, most: int) -> tuple[str, ...]:
        """Rather those for whom something is scheduled."""
        busy = self._pick(lambda vm: bool(vm.events), most) if self.random.random() < 0.7 else ()
        return busy or self._pick(most=most)

    def _hosts(self, most: int) -> tuple[str, ...]:
        found = [host.name for _, host in sorted(self.world.region.hosts.items()) if host.vms]
        return tuple(self.random.sample(found, min(len(found), self.random.randint(1, most))))

    # Deeds

    def _maintain(self) -> None:
        cause = self.random.choice(HOST_MAINTENANCE)
        self.world.do(c.MaintainHosts(self._hosts(2), cause, self.world.seed()))

    def _campaign(self) -> None:
        cause = self.random.choice(HOST_MAINTENANCE[:5])
        at_once = self.random.choice((0, 1, 2))
        self.world.do(c.StartCampaign(self.world.seed(), cause, self._hosts(4), hosts_at_once=at_once))

    def _interfere(self) -> None:
        running = sorted(key for key, each in self.world.region.campaigns.items() if each.ended_at is None)
        for key in running[:3]:
            kind = self.random.choice((c.PauseCampaign, c.ResumeCampaign, c.ResumeCampaign, c.CancelCampaign))
            self.world.do(kind(key))

    def _operate(self) -> None:
        kind = self.random.choice((c.RestartVms, c.RedeployVms))
        self.world.do(kind(self._pick(), self.world.seed()))

    def _evict(self) -> None:
        """Rather one that is just preparing for something else, which must then give way."""
        names = self._pick(lambda vm: vm.spec.spot and vm.power is Power.RUNNING and bool(vm.events))
        if names := names or self._pick(lambda vm: vm.spec.spot and vm.power is Power.RUNNING):
            self.world.do(c.EvictVms(names, self.world.seed()))

    def _delete(self) -> None:
        if names := self._pick(lambda vm: vm.spec.kind is ScopeKind.VM and not vm.spec.spot, 2):
            self.world.do(c.DeleteVms(names, self.world.seed()))
            self._create_lone(len(names))

    def _resize(self) -> None:
        scale_set = self.world.region.scale_sets[self.random.choice(sorted(self.world.region.scale_sets))]
        self._put(scale_set.name, max(2, scale_set.capacity + self.random.randint(-3, 3)))

    def _reimage(self) -> None:
        self.world.do(c.ReimageVms(self._pick(most=2), self.world.seed()))

    def _fail_host(self) -> None:
        self.world.do(c.FailHosts(self._hosts(1), self.world.seed()))

    def _cancel(self) -> None:
        if events := sorted(self.world.region.events):
            self.world.do(c.CancelEvents((self.random.choice(events),), "somebody thought better of it"))

    def _stop(self) -> None:
        kind = self.random.choice((c.StopVms, c.DeallocateVms))
        self.world.do(kind(self._pick(most=2)))

    def _start_all(self) -> None:
        down = tuple(sorted(key for key, vm in self.world.region.vms.items() if vm.power in DOWN))
        if down:
            self.world.do(c.StartVms(down))

    def _spoil_reads(self) -> None:
        seconds = self.random.choice((3, 30, 120, 900))
        for name in self._pick_busy(20):
            guest = self.world.guests[name]
            guest.faults_until = max(guest.faults_until, self.world.now + timedelta(seconds=seconds))

    def _crash_agents(self) -> None:
        for name in self._pick_busy(8):
            guest = self.world.guests[name]
            if guest.agent_up:
                guest.restart_agent(self.world.now)

    # The whole

    def run(self, days: float) -> None:
        end = START + timedelta(days=days)
        weights, deeds = [weight for weight, _ in self._deeds], [deed for _, deed in self._deeds]
        pause = _EVERY_SECONDS * 200 / self._vms
        while self.world.now < end:
            self._pass(self.random.expovariate(1 / pause))
            self.random.choices(deeds, weights)[0]()
            while self.random.random() < 0.6:
                self._pass(self.random.uniform(0, _SOON_SECONDS))
                self.random.choice(self._more_trouble)()
        self._come_to_rest()

    def _pass(self, seconds: float) -> None:
        """Let time pass; every hour the region hears who has read."""
        to = self.world.now + timedelta(seconds=seconds)
        while self._pulse_at <= to:
            self.world.run_until(self._pulse_at)
            self.world.pulse()
            self._pulse_at += _PULSE
        self.world.run_until(to)

    def _come_to_rest(self) -> None:
        """No new trouble; what was begun ends, and every VM that exists is in service."""
        world, end = self.world, self.world.now + _REST
        while world.now < end:
            self._start_all()
            for key in sorted(key for key, each in world.region.campaigns.items() if each.ended_at is None):
                world.do(c.ResumeCampaign(key))
            self._pass(_PULSE.total_seconds())
            if not world.region.events and not any(map(self._why_out, world.guests)):
                break
        world.check()
        assert not world.region.events, f"events that never ended: {sorted(world.region.events)}"
        out = [f"{name} is out of service: {why}" for name in sorted(world.guests) if (why := self._why_out(name))]
        assert not out, "\n".join(out)

    def _why_out(self, name: str) -> str:
        power, guest = self.world.region.vms[name].power, self.world.guests[name]
        return guest.unfinished() if power is Power.RUNNING and guest.agent_up else f"its VM is {power}"


def replayed(seed: int, vms: int, days: float) -> World:
    """One week. A failure says how to see it again."""
    week: Week | None = None
    try:
        week = Week(seed, vms)
        week.run(days)
    except Exception as problem:
        at = "" if week is None else f" at {week.world.now:%F %T}"
        again = f"python -m tests.sim.week --seed {seed} --vms {vms} --days {days:g}"
        raise AssertionError(f"{problem}\nfailed{at}; to see it again: {again}") from problem
    return week.world


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.week", description="Simulate a week of a region.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from --seed on")
    parser.add_argument("--vms", type=int, default=200)
    parser.add_argument("--days", type=float, default=7.0)
    given = parser.parse_args()
    for seed in range(given.seed, given.seed + given.seeds):
        world = replayed(seed, given.vms, given.days)
        told = ", ".join(f"{name} {many}" for name, many in sorted(world.counts.items()))
        print(f"seed {seed}: {len(world.region.vms)} VMs at the end; {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

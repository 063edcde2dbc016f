"""Those who disturb VMs: users who restart, delete and scale, and a platform that maintains, evicts and fails.

All of them go through the operator face, as ``forewarn vm restart`` does, and none of them knows more than it tells.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from forewarn.core.causes import HOST_MAINTENANCE
from forewarn.core.phases import Phase
from forewarn.core.region import DOWN, Power, Vm
from forewarn.core.specs import ScopeKind
from forewarn.sim.control import OperatorAnswer
from forewarn.sim.nodes import NoAnswer
from forewarn.sim.world import World

# Ours: something happens on average, where there are 200 VMs; with a quarter of them, half as often
_EVERY_SECONDS = 2400.0
_SOON_SECONDS = 240.0  # ours: one thing leads to another within a notice, so that trouble meets preparations
_AGAIN = 0.4  # ours: how likely one thing leads to another
_TRIES = 20  # thirty seconds apart: ten minutes, longer than any outage that is simulated
_USER_OPERATIONS = ("user-restart", "user-redeploy")

Deed = Callable[[], Awaitable[None]]


class People:
    """They choose with a die of their own."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = world.random("people")
        self._vms = world.plan.vms
        self._made = 0
        self._deeds: tuple[tuple[int, Deed], ...] = (
            (12, self._maintain),
            (3, self._campaign),
            (4, self._interfere),
            (14, self._operate),
            (5, self._again),
            (2, self._one_too_many),
            (10, self._evict),
            (6, self._delete),
            (4, self._resize),
            (4, self._reimage),
            (2, self._fail_host),
            (8, self._cancel),
            (3, self._approve),
            (6, self._stop),
            (14, self.start_all),
        )
        self._more = (self._cancel, self._operate, self._evict, self._stop, self.start_all, self._maintain)

    # The fleet

    async def build(self) -> None:
        """About a third each: lone VMs (some of them Spot), availability sets, scale sets."""
        lone, sets = self._vms // 3, max(1, self._vms // 30)
        await self._create_lone(lone)
        for number in range(sets):
            body = {"name": f"aset{number}", "count": max(2, lone // sets), "availability_set": f"aset{number}"}
            await self._insist("/v1/vms", {**body, "os_image_notice_seconds": 900})
        each = max(2, (self._vms - len(self._world.truth.vms)) // sets)
        for number in range(sets):
            body = {"name": f"set{number}", "capacity": each, "terminate_notice_seconds": 300}
            if number % 3 == 2:
                body |= {"policy": {"auto_approve_reboot": True}, "orchestration": "Flexible"}
            await self._insist("/v1/scale-sets", body)
        await self._create_lone(self._vms - len(self._world.truth.vms))

    async def _create_lone(self, many: int) -> None:
        for _ in range(many):
            number = self._number()
            spot = number % 3 == 0
            body: dict[str, Any] = {"name": f"lone-{number}", "spot": spot}
            if not spot:
                body["terminate_notice_seconds"] = self._random.choice((300, 900))
            elif number % 2:
                body["eviction_policy"] = "Delete"
            await self._ask("POST", "/v1/vms", body)

    def _number(self) -> int:
        """A number for a new VM: a fresh one, or that of a VM that is gone, of which its name must find nothing."""
        gone = [number for number in range(self._made) if f"lone-{number}" not in self._world.truth.vms]
        if gone and self._random.random() < 0.6:
            return self._random.choice(gone)
        self._made += 1
        return self._made - 1

    # Asking

    async def _ask(self, verb: str, path: str, body: object) -> OperatorAnswer | None:
        """None where no answer came: whether it was done is not known."""
        world = self._world
        up = [server for server in world.servers if server.up] or world.servers
        server = self._random.choice(up)
        try:
            answer = await server.call(verb, path, body, "sim")
        except NoAnswer:
            world.trace.note(world.elapsed, "deed", ask=f"{verb} {path}", body=body, answer="none")
            world.history.counts["deeds unanswered"] += 1
            return None
        world.trace.note(world.elapsed, "deed", ask=f"{verb} {path}", body=body, answer=answer.status)
        word = "done" if answer.good else "refused" if answer.status < 500 else "failed"
        world.history.counts[f"deeds {word}"] += 1
        if answer.status == 500:
            world.blame("operator face", f"{verb} {path} {body} was answered with {answer.body}", "")
        return answer

    async def _insist(self, path: str, body: object) -> None:
        for _ in range(_TRIES):
            answer = await self._ask("POST", path, body)
            if answer is not None and answer.status < 500:
                return
            await asyncio.sleep(30.0)

    # Choosing

    def _pick(self, fits: Callable[[Vm], bool] = lambda vm: True, most: int = 3) -> list[str]:
        found = sorted(key for key, vm in self._world.truth.vms.items() if vm.power not in DOWN and fits(vm))
        return self._random.sample(found, min(len(found), self._random.randint(1, most)))

    def _hosts(self, most: int) -> list[str]:
        found = [host.name for _, host in sorted(self._world.truth.hosts.items()) if host.vms]
        return self._random.sample(found, min(len(found), self._random.randint(1, most)))

    async def _about(self, path: str, names: list[str]) -> None:
        if names:
            await self._ask("POST", path, {"names": names})

    # Deeds

    async def _maintain(self) -> None:
        """Now and then of a host that has something ahead already."""
        kind, hosts = self._random.choice(HOST_MAINTENANCE), self._hosts(2)
        busy = sorted({each.host for each in self._world.truth.events.values() if each.host is not None})
        if busy and self._random.random() < 0.3:
            hosts = [self._world.truth.hosts[self._random.choice(busy)].name]
        await self._ask("POST", "/v1/hosts/maintain", {"hosts": hosts, "kind": kind})

    async def predict_failure(self, scope: str) -> None:
        """A week's notice for all VMs on a host on which a VM of the scope is."""
        hosts = sorted({vm.host for vm in self._world.truth.vms.values() if vm.scope == scope and vm.host is not None})
        if hosts:
            host = self._world.truth.hosts[hosts[0]].name
            await self._ask("POST", "/v1/hosts/maintain", {"hosts": [host], "kind": "predicted-failure"})

    async def _campaign(self) -> None:
        body: dict[str, Any] = {"kind": self._random.choice(HOST_MAINTENANCE[:5]), "hosts": self._hosts(4)}
        if at_once := self._random.choice((0, 1, 2)):
            body["hosts_at_once"] = at_once
        await self._ask("POST", "/v1/campaigns", body)

    async def _interfere(self) -> None:
        running = sorted(key for key, each in self._world.truth.campaigns.items() if each.ended_at is None)
        for key in running[:3]:
            what = self._random.choice(("pause", "resume", "resume", "cancel"))
            await self._ask("POST", f"/v1/campaigns/{key}/{what}", None)

    async def _again(self) -> None:
        """The same once more, for a VM that it is being done to, or was until a moment ago."""
        asked = [(event.vms, event.cause.value) for event in self._world.truth.events.values() if event.vms]
        found = sorted((cause.removeprefix("user-"), vms[0]) for vms, cause in asked if cause in _USER_OPERATIONS)
        if found:
            verb, name = self._random.choice(found)
            await self._operate_on(verb, [name])

    async def _one_too_many(self) -> None:
        """Restarts of so many VMs that with those that wait already they are eleven, and ten may be."""
        works = self._world.judge.oracle.memory.works.values()
        waiting = sum(work.pending and work.cause in _USER_OPERATIONS for work in works)
        free = sorted(key for key, vm in self._world.truth.vms.items() if vm.power is Power.RUNNING and not vm.events)
        if len(free) >= 11 - waiting > 0:
            await self._operate_on("restart", self._random.sample(free, 11 - waiting))

    async def _operate(self) -> None:
        await self._operate_on(self._random.choice(("restart", "redeploy")), self._pick())

    async def _operate_on(self, verb: str, names: list[str]) -> None:
        asked_at = self._world.truth.latest_at
        answer = await self._ask("POST", f"/v1/vms/{verb}", {"names": names}) if names else None
        if answer is not None and answer.good and asked_at is not None:
            self._check_done(names, f"user-{verb}", asked_at)

    def _check_done(self, names: list[str], cause: str, asked_at: datetime) -> None:
        """What a person was told is under way must be so, or must have been so since it was asked for."""
        lives = [life for life in self._world.history.lives.values() if life.cause == cause]
        for name in names:
            over = [life.impact_ended_at or life.ended_at for life in lives if name in life.vms]
            if name in self._world.truth.vms and not any(end is None or end >= asked_at for end in over):
                told = f"{cause} of {name} was answered as done, and no event of it is open or was since"
                self._world.blame("asked", told, f"vm/{name}")

    async def _evict(self) -> None:
        """Rather one that is just preparing for something else, which must then give way."""
        names = self._pick(lambda vm: vm.spec.spot and vm.power is Power.RUNNING and bool(vm.events))
        await self._about("/v1/vms/evict", names or self._pick(lambda vm: vm.spec.spot and vm.power is Power.RUNNING))

    async def _delete(self) -> None:
        names = self._pick(lambda vm: vm.spec.kind is ScopeKind.VM and not vm.spec.spot, 2)
        await self._about("/v1/vms/delete", names)
        await self._create_lone(max(0, self._vms - len(self._world.truth.vms)))

    async def _resize(self) -> None:
        sets = self._world.truth.scale_sets
        name = self._random.choice(sorted(sets))
        capacity = max(2, sets[name].capacity + self._random.randint(-3, 3))
        await self._ask("POST", f"/v1/scale-sets/{name}/scale", {"capacity": capacity})

    async def _reimage(self) -> None:
        await self._about("/v1/vms/reimage", self._pick(most=2))

    async def _fail_host(self) -> None:
        """Now and then twice, while its VMs are on their way to another."""
        hosts = self._hosts(1)
        await self._ask("POST", "/v1/hosts/fail", {"hosts": hosts})
        if self._random.random() < 0.4:
            await asyncio.sleep(self._random.uniform(1.0, 50.0))
            await self._ask("POST", "/v1/hosts/fail", {"hosts": hosts})

    async def _cancel(self) -> None:
        """Rather one for whose approval others wait."""
        events = self._world.truth.events
        approved = {event.group for event in events.values() if event.group and event.phase is Phase.APPROVED}
        awaited = [key for key, event in events.items() if event.group in approved and event.phase is Phase.SCHEDULED]
        if found := sorted(awaited) or sorted(events):
            await self._ask("POST", "/v1/events/cancel", {"ids": [self._random.choice(found)]})

    async def _approve(self) -> None:
        if events := sorted(self._world.truth.events):
            await self._ask("POST", "/v1/events/approve", {"ids": [self._random.choice(events)]})

    async def _stop(self) -> None:
        await self._about(f"/v1/vms/{self._random.choice(('stop', 'deallocate'))}", self._pick(most=2))

    async def start_all(self) -> None:
        down = sorted(key for key, vm in self._world.truth.vms.items() if vm.power in DOWN)
        await self._about("/v1/vms/start", down)

    # The whole

    async def live(self) -> None:
        """Runs until its task is canceled."""
        weights, deeds = [weight for weight, _ in self._deeds], [deed for _, deed in self._deeds]
        pause = _EVERY_SECONDS * (200 / self._vms) ** 0.5 / self._world.plan.pace
        while True:
            await asyncio.sleep(self._random.expovariate(1 / pause))
            await self._random.choices(deeds, weights)[0]()
            while self._random.random() < _AGAIN:
                await asyncio.sleep(self._random.uniform(0, _SOON_SECONDS))
                await self._random.choice(self._more)()

    async def tidy(self) -> None:
        """After the faults: everything that stands is started, everything that waits may go on."""
        await self.start_all()
        for key in sorted(key for key, each in self._world.truth.campaigns.items() if each.ended_at is None):
            await self._ask("POST", f"/v1/campaigns/{key}/resume", None)

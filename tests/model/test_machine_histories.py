"""Random histories of real machines, judged by the rules for machines. ``HISTORIES=300`` lives more of them."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.looking.errands import due_errands, errands_of
from forewarn.core.machines.values import (
    ErrandKind,
    ErrandOutcome,
    ErrandReport,
    Listing,
    OpenErrand,
    SeenWhy,
    Sighting,
)
from forewarn.core.refusal import Refused
from forewarn.core.region import DOWN, HostHealth
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import CallLost
from forewarn.plane.hands.carrying import HandsWarrant, as_engines_want_it
from forewarn.plane.hands.engine import Done, EngineFault, Failed, NotYet, Unknown
from forewarn.plane.hands.sites import Sites
from forewarn.plane.hands.watching import believed
from tests.model.machine_histories import HOSTS, MACHINES, OFF, PAUSED, RUNNING, AtOnce, Judge, Platform, asked
from tests.unit.core.real_world import ENGINE, RealWorld

HISTORIES = int(os.environ.get("HISTORIES", "40"))
STEPS = 60  # ours: each machine is asked for a handful of things
_NO_SITES = Sites(())
_SECOND = timedelta(seconds=1)


class History(RealWorld):
    """One of them. What hands do is done here by turns: try, list, say who is silent."""

    def __init__(self, seed: int) -> None:
        super().__init__(*HOSTS, capacity=6)
        self.random, self.story, self._deep = Random(seed), [f"seed {seed}"], False
        self.platform = Platform(HOSTS, make_flag=AtOnce, random=self.random, now=lambda: self.now)
        self.platform.elapsed = lambda: self.now.timestamp()
        self.platform.migration_seconds = 30.0
        self.platform.between = self._between
        self.judge = self.platform.judge = Judge(self.platform)
        self.engine = TwinEngine(self.platform, ENGINE)
        self._before: dict[str, Listing] = {}
        self._unsent: list[tuple[c.Sight, Listing | None]] = []  # with the listing that was made before it
        self._lied: set[str] = set()
        self._untold: dict[str, datetime] = {}  # hosts of which no listing was told since a machine was moved by hand
        self._unsure: dict[str, set[str]] = {}  # errands whose call hung -> hosts to be listed before the next try
        for name in MACHINES:
            machine = self.platform.put(f"ref-{name}", self.random.choice(HOSTS), vm=name)
            self.adopt(name, machine.host, mark=machine.mark)
            self.judge.look(machine.ref)
        for host in HOSTS:  # from here on it is known how to make each machine again
            self._list_one(host, 1.0)

    # What may happen

    def live(self) -> None:
        for _ in range(STEPS):
            self.advance(_SECOND)
            self.random.choice((self._wait, self._ask, self._try, self._try, self._try, self._list, self._list,
                                self._list, self._mishap, self._silence, self._power))()  # fmt: skip
            assert not self.judge.faults, self.told()
        self._rest()
        assert not self.judge.faults, self.told()

    def do(self, command: c.Command) -> tuple[f.Fact, ...]:
        facts = super().do(command)
        if hasattr(self, "judge"):
            self.judge.told(facts)
            self.story += [f"{self.now:%T} {type(command).__name__}", *(f"    {fact}" for fact in facts)]
        return facts

    def _submit(self, command: c.Command) -> None:
        with suppress(Refused):
            self.do(command)

    def _between(self) -> None:
        if not self._deep:
            self._deep = True
            self.advance(_SECOND)
            self.random.choice((self._ask, self._list, self._mishap, self._power))()
            self.advance(_SECOND)
            self._deep = False

    def _wait(self) -> None:
        self.advance(timedelta(seconds=self.random.choice((1, 5, 40, 900))))

    def _ask(self) -> None:
        vms = sorted(self.region.vms)
        if vms:
            self._submit(asked(self.random, vms, self.seed()))

    def _mishap(self) -> None:
        running = sorted(key for key, each in self.platform.machines.items() if each.power is RUNNING)
        if running and self.random.random() < 0.5:
            host, ref = self.random.choice(running)
            how = self.random.choice(("crash", "guest", "boot", "pause", "move", "move"))
            self.story.append(f"{self.now:%T} {how} {ref} at {host}")
            if how == "move":
                self._move(host, ref)
            elif how == "boot":
                self.platform.boot(ref, host)
                self.judge.look(ref)
            elif how == "pause":
                self.platform.machines[host, ref].power = PAUSED
            else:
                self.platform.end(ref, SeenWhy.CRASH if how == "crash" else SeenWhy.GUEST)

    def _move(self, host: str, ref: str) -> None:
        """To a host that takes part. A machine that leaves its host just before that is lost, and is at a host that
        falls silent before it was ever listed there, cannot be told from one that was lost: that is not done here."""
        healthy = [
            name for name in HOSTS if self.health(name) is HostHealth.HEALTHY and name not in self.platform.silent
        ]
        free = [name for name in healthy if (name, ref) not in self.platform.machines]
        if free and host in healthy:
            to = self.random.choice(free)
            self.platform.move(ref, host, to)
            self.judge.look(ref)
            self._untold |= {host: self.now, to: self.now}

    # Hosts

    def _silence(self) -> None:
        """A host does not answer for a while, with or without its power; or does again."""
        if self.platform.silent and self.random.random() < 0.5:
            self._answer(self.random.choice(sorted(self.platform.silent)))
        elif len(self.platform.silent) < 2:
            host = self.random.choice(HOSTS)
            if host in self._untold:
                return
            self.story.append(f"{self.now:%T} {host} is silent")
            self.platform.silent.add(host)
            if self.random.random() < 0.3:
                self.platform.lose_power(host)
            self._submit(c.HostFellSilent(host))

    def _power(self) -> None:
        """A silent host is turned off for certain: by its fence, or by a person."""
        silent = [name for name in HOSTS if self.health(name) is HostHealth.SILENT]
        if silent and self.random.random() < 0.4:
            host = self.random.choice(silent)
            self.platform.lose_power(host)
            self._submit(c.ConfirmLost(host, "a person"))

    def _answer(self, host: str) -> None:
        """It is back; one that had no power may start by itself what it has."""
        self.story.append(f"{self.now:%T} {host} answers")
        if host in self.platform.unpowered and self.health(host) is HostHealth.FENCED and self.random.random() < 0.5:
            for name, ref in sorted(self.platform.machines):
                if name == host:
                    self.platform.boot(ref, host)
                    self.judge.started_itself(host, ref)
        self.platform.unpowered.discard(host)
        self.platform.silent.discard(host)

    # Hands

    def _due(self) -> list[OpenErrand]:
        due = sorted(due_errands(self.region), key=lambda each: each.errand.id)
        return [
            each
            for each in due
            if not _NO_SITES.blocked(each.errand, self.region)
            and (each.errand.kind is ErrandKind.PAUSE or not self._unsure.get(each.errand.id))
        ]

    def _try(self) -> None:
        due = self._due()
        if due and not self._deep:
            self._carry_out(self.random.choice(due))

    def _carry_out(self, found: OpenErrand) -> None:
        errand = found.errand
        if found.tried_at is None:
            self.do(c.TryErrand(errand.id))
        if errand.kind is ErrandKind.FENCE:
            self.platform.lose_power(errand.host)
            result: object = Done(Sighting("", errand.host, OFF))
        else:
            warrant = HandsWarrant(found.tried_at is not None, errand.until, lambda: self.now, lambda: True)
            try:
                result = self.engine.carry_out(as_engines_want_it(errand, self.region), warrant)
            except CallLost as fault:
                result = Unknown(str(fault))
        self.story.append(
            f"{self.now:%T} tried {errand.kind.value} of {errand.ref} {errand.host}>{errand.to}: {result}"
        )
        match result:
            case Done(sighting):
                report = ErrandReport(ErrandOutcome.DONE, sighting=sighting)
            case Failed(why, lasting):
                report = ErrandReport(ErrandOutcome.FAILED, why, lasting)
            case Unknown(why):
                self._unsure[errand.id] = {errand.host, errand.to} - {""}
                report = ErrandReport(ErrandOutcome.UNKNOWN, why)
            case NotYet(why):
                report = ErrandReport(ErrandOutcome.NOT_YET, why)
        self.do(c.ReportErrand(errand.id, report))

    def _list(self) -> None:
        """Now, or asked for now and told later; whole, or with one left out, or twice."""
        luck = self.random.random() if self.platform.troubled else 1.0
        if self._unsent and luck < 0.3:
            self._tell(*self._unsent.pop(self.random.randrange(len(self._unsent))))
            return
        for host in HOSTS:
            if self.random.random() < 0.6 or luck == 1.0:
                self._list_one(host, luck)

    def _list_one(self, host: str, luck: float) -> None:
        if host in self.platform.silent:
            return
        self.platform.land_late(host)
        try:
            listing = self.engine.listing(host)
        except EngineFault:
            return
        for hosts in self._unsure.values():
            hosts.discard(host)
        lies = luck < 0.4 and host not in self._lied
        self._lied = self._lied | {host} if lies else self._lied - {host}  # never twice in a row
        if lies:
            listing = Listing(host, self.random.random() < 0.5, listing.machines[1:])
        sight, before = c.Sight(ENGINE, listing, self.now), self._before.get(host)
        self._before[host] = listing
        if luck < 0.5:
            self._unsent.append((sight, before))
        else:
            self._tell(sight, before)
        if 0.5 < luck < 0.6:
            self._tell(sight, before)

    def _tell(self, sight: c.Sight, before: Listing | None) -> None:
        """As the hand of that host does: what lacks something new is believed when two in a row say so."""
        host = sight.listing.host
        if self.health(host) is HostHealth.SILENT:
            self._submit(c.HostAnswered(host))
        listing = believed(self.region, sight.listing, before)
        self._submit(c.Sight(ENGINE, listing, sight.begun_at))
        moved_at = self._untold.get(host)
        if moved_at is not None and sight.begun_at is not None and moved_at <= sight.begun_at and listing.complete:
            del self._untold[host]

    # Rest

    def _rest(self) -> None:
        """No more trouble: what was begun ends, and every machine is as the region says."""
        self.story.append(f"{self.now:%T} REST")
        self.platform.troubled = False
        self._unsent.clear()
        for host in sorted(self.platform.silent):
            self._answer(host)
        quiet = 0
        for _ in range(100):
            self.advance(timedelta(seconds=61))
            for host in HOSTS:
                self._list_one(host, 1.0)
            for found in self._due():
                if found.errand.id in self.region.errands:
                    self._carry_out(self.region.errands[found.errand.id])
            quiet = 0 if self.region.errands or self.region.events else quiet + 1
            if quiet > 4:
                break
        assert not self.region.errands, self.told()
        assert not self.region.events, self.told()
        self._look_at_all()

    def _look_at_all(self) -> None:
        for key, machine in self.region.machines.items():
            copies = self.platform.copies(machine.ref)
            running = [each for each in copies if each.power is RUNNING]
            assert not [each for each in copies if each.power is PAUSED], (key, self.told())
            assert len(running) <= 1, (key, running, self.told())
            runs = self.region.vms[key].power not in DOWN
            assert bool(running) is runs or machine.alarm, (key, copies, self.region.vms[key].power, self.told())
            assert not running or running[0].host == machine.host, (key, copies, machine, self.told())
        for event in self.region.events.values():
            assert not any(errands_of(self.region, event))

    def told(self) -> str:
        return "\n".join([*self.judge.faults, *self.story[-80:]])


FOUND = (701398,)  # a deletion was called done while a migration that it had ended arrived all the same


@pytest.mark.parametrize("seed", [*range(HISTORIES), *FOUND])
def test_a_random_history_keeps_the_rules_for_machines(seed: int) -> None:
    History(seed).live()

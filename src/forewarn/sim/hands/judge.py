"""What must never be where hands work at real machines. Judged from outside: by what the platform does.

Written from the rules for machines, not from the code that keeps them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from forewarn.core import facts as f
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import Errand, ErrandKind, MachinePower
from forewarn.core.region import DOWN, HostHealth, RealHost, Region
from forewarn.engines.twin.hosts import TwinCall
from forewarn.plane.ports import Record
from forewarn.sim.hands.platform import SeenHosts

_ONCE = frozenset({TwinCall.RESTART, TwinCall.PAUSE, TwinCall.START})
_STARTS = frozenset({TwinCall.RESTART, TwinCall.START})
_TURNS_OFF = frozenset({ErrandKind.STOP, ErrandKind.OFF, ErrandKind.DELETE})
_REBOOTED = frozenset({ErrandKind.RESTART, ErrandKind.REIMAGE, ErrandKind.REDEPLOY})

Blame = Callable[[str, str, str], None]  # rule, sentence, subject


class HandsJudge:
    """Sees every change before it is made, and every fact once it is on disk."""

    def __init__(self, platform: SeenHosts, blame: Blame, now: Callable[[], datetime]) -> None:
        self._platform, self._blame, self._now = platform, blame, now
        self._errands: dict[str, Errand] = {}
        self._disks: dict[str, set[int]] = {}  # errand -> the disks that there were when it was made
        self._tried: dict[str, datetime] = {}  # errands that are under way, and since when
        self._done: Counter[tuple[str, TwinCall]] = Counter()
        self._lost: set[str] = set()  # hosts that were off for certain; what they start when they are back is theirs
        self.counts: Counter[str] = Counter()

    # What is done to machines

    def about_to(self, call: TwinCall, host: str, ref: str, errand: str, to: str) -> None:
        self.counts[f"call {call}"] += 1
        away = {host, *self._lost}
        others = [each for each in self._platform.machines.values() if each.ref == ref and each.host not in away]
        if call in _STARTS and any(each.power is MachinePower.RUNNING for each in others):
            where = ", ".join(each.host for each in others)
            self._blame("one copy", f"{ref} is started at {host} while it runs at {where}", self._subject(errand))
        if errand and call in _ONCE:
            self._done[errand, call] += 1
            if self._done[errand, call] > 1:
                self._blame("once", f"errand {errand} does {call} to {ref} a second time", self._subject(errand))

    def lost_memory(self, ref: str) -> None:
        """A machine went off by itself: what was done to it may have to be done again."""
        for errand_id, call in list(self._done):
            known = self._errands.get(errand_id)
            if known is not None and call is not TwinCall.PAUSE and (known.ref or known.vm_id) == ref:
                del self._done[errand_id, call]

    def _subject(self, errand_id: str) -> str:
        errand = self._errands.get(errand_id)
        return "" if errand is None else errand.event or f"vm/{errand.vm}"

    # What the region says

    def look(self, records: Sequence[Record], region: Region) -> None:
        called_lost = {host.name for host in region.hosts.values() if host.health is HostHealth.FENCED}
        self._lost = called_lost & self._platform.powerless
        for record in records:
            match record.fact:
                case mf.ErrandMade(errand=errand, at=at, tried=tried):
                    self._errands[errand.id] = errand
                    self._tried |= {errand.id: at} if tried else {}
                    self._disks[errand.id] = {each.disk for each in self._platform.machines.values()}
                    self.counts[f"errand {errand.kind}"] += 1
                case mf.ErrandTried(errand_id=errand_id, at=at):
                    self._tried[errand_id] = at
                case mf.ErrandEnded(errand_id=errand_id):
                    self._tried.pop(errand_id, None)
                    self._ended(self._errands[errand_id])
                case mf.MachineReleased(vm=key):
                    self._released(key, region)
                case mf.HostBack(host=number):
                    self._platform.powerless.discard(region.hosts[number].name)
                case mf.ErrandGivenUp(errand_id=errand_id):
                    self._tried.pop(errand_id, None)
                    self.counts["given up"] += 1
                    self._given_up(self._errands[errand_id])
                case f.ImpactEnded(event_id=event_id):
                    if any(each.errand.event == event_id for each in region.errands.values()):
                        self._blame("early", f"the impact of {event_id} is over before its errands are", event_id)
                case f.EventCompleted():
                    self.counts["events completed"] += 1
                case _:
                    pass

    def _ended(self, errand: Errand) -> None:
        """No errand ends before what it wants is so."""
        ref, subject = errand.ref or errand.vm_id, errand.event or f"vm/{errand.vm}"
        reached = [
            each
            for (host, name), each in self._platform.machines.items()
            if name == ref and host not in self._platform.silent and host not in self._lost
        ]
        if errand.kind is ErrandKind.PAUSE and errand.until is not None:
            if self._now() < errand.until - timedelta(seconds=1):
                self._blame("early", f"the pause of {ref} is over before {errand.until}", subject)
            if any(each.power is MachinePower.PAUSED for each in reached):
                self._blame("early", f"{ref} is called back, and it is paused", subject)
        if errand.kind in _REBOOTED and any(each.mark == errand.boot_mark for each in reached):
            self._blame("early", f"{ref} is called restarted, and it has its memory of before", subject)
        old = [each for each in reached if each.disk in self._disks[errand.id] and each.power is MachinePower.RUNNING]
        if errand.kind in (ErrandKind.REIMAGE, ErrandKind.REDEPLOY) and old:
            self._blame("early", f"{ref} is called made anew, and it has its disk of before", subject)
        left = [each for each in reached if each.host == errand.host or each.power is not MachinePower.OFF]
        if errand.kind is ErrandKind.DELETE and left and errand.vm:  # one that is off may be left at a lost host
            self._blame("early", f"{ref} is called deleted, and it is there", subject)

    def _given_up(self, errand: Errand) -> None:
        """Of a machine that could not be made nothing is left, as far as anybody can reach it."""
        away = self._platform.silent | self._lost
        for (host, ref), machine in sorted(self._platform.machines.items()):
            if errand.kind is ErrandKind.CREATE and machine.errand == errand.id and host not in away:
                self._blame("left", f"{ref} could not be made, and is at {host}", f"vm/{errand.vm}")

    def _released(self, key: str, region: Region) -> None:
        """Blame a release in the middle of what could have been ended first."""
        self.counts["released"] += 1
        for errand in [each for each in self._errands.values() if each.vm == key and each.id in self._tried]:
            began = self._tried.pop(errand.id)
            answers = all(host.answers for host in region.hosts.values() if isinstance(host, RealHost))
            copies = [each.power for each in self._platform.machines.values() if each.ref == errand.ref]
            late = errand.kind is not ErrandKind.PAUSE and self._now() - began > errand.patience
            if answers and not late and MachinePower.RUNNING not in copies and errand.kind not in _TURNS_OFF:
                self._blame("let go", f"{key} is let go in the middle of its {errand.kind}", f"vm/{key}")

    # At rest

    def look_at_all(self, region: Region) -> None:
        """With nothing going on, every machine does what the region says."""
        for key, machine in sorted(region.machines.items()):
            copies = self._platform.copies(machine.ref)
            running = [each for each in copies if each.power is MachinePower.RUNNING]
            if any(each.power is MachinePower.PAUSED for each in copies):
                self._blame("paused", f"{key} has been left paused", f"vm/{key}")
            if len(running) > 1:
                self._blame("one copy", f"{key} runs at {', '.join(each.host for each in running)}", f"vm/{key}")
            told = (machine.power is MachinePower.RUNNING, region.vms[key].power not in DOWN)
            if told != (bool(running), bool(running)) and not machine.alarm:
                what = f"runs at {running[0].host}" if running else "does not run"
                self._blame("power", f"{key} is {machine.power} in the region, and {what}", f"vm/{key}")
            if running and (machine.host, machine.boot_mark) != (running[0].host, running[0].mark):
                self._blame("place", f"{key} is {running[0].mark} at {running[0].host}, not {machine}", f"vm/{key}")

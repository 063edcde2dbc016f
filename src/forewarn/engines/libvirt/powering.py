"""Errands that leave a machine where it is: pause, restart, stop, start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from forewarn.core.machines.values import Errand, MachinePower
from forewarn.engines.libvirt.acting import act, definition_of, stamp_errand, undefine
from forewarn.engines.libvirt.hosts import Hosts
from forewarn.engines.libvirt.looking import MIGRATED_AWAY, SHUT_OFF, found, seen
from forewarn.plane.hands.engine import Done, EngineFault, ErrandResult, Failed, NotYet, Warrant

SOON_SECONDS = 0.5  # between two looks at a machine that is going off: a guest takes seconds, a look a millisecond


class Powering:
    """Looks, makes the next change that is missing, and looks again."""

    def __init__(self, hosts: Hosts, elapsed: Callable[[], float]) -> None:
        self._hosts = hosts
        self._elapsed = elapsed
        self._asked_at: dict[str, float] = {}  # errand -> when the guest was asked to go off; a new process asks again

    def pause(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Pause a machine for the errand's time. Tried before, it is only ended: how long it lasted is unknown."""
        connection = self._hosts.connect(errand.host)
        there = seen(connection, errand.ref, errand.host)
        left = warrant.left()
        if there.power is MachinePower.RUNNING:
            if warrant.again or left <= 0:
                return Done(there)
            act(warrant, found(connection, errand.ref).suspend)  # type: ignore[union-attr]  # it was seen to run
            return NotYet("paused", left)
        if there.power is MachinePower.PAUSED:
            if left > 0:
                return NotYet("paused", left)
            act(warrant, found(connection, errand.ref).resume)  # type: ignore[union-attr]  # it was seen paused
            return Done(seen(connection, errand.ref, errand.host))
        return _not_there(errand, there.power)

    def restart(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Done when the running definition carries this errand's stamp: it was started since this was asked."""
        connection = self._hosts.connect(errand.host)
        there = seen(connection, errand.ref, errand.host)
        if there.power is MachinePower.RUNNING and there.errand == errand.id:
            return Done(there)
        domain = found(connection, errand.ref)
        if domain is None:
            return _not_there(errand, there.power)
        gone_to = self._gone_to(domain, errand, errand.host)
        if gone_to:
            return _stays(errand, gone_to)
        stamp_errand(domain, errand.id, warrant)
        if not self.is_off(domain, errand, warrant):
            return NotYet("the guest is shutting down", SOON_SECONDS)
        act(warrant, domain.create)
        return Done(seen(connection, errand.ref, errand.host))

    def stop(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Off, and still defined at its host. So it is for OFF too: the definition stays where it was, for the region
        keeps none, and the next start takes it along."""
        connection = self._hosts.connect(errand.host)
        domain = found(connection, errand.ref)
        if domain is None:
            return _not_there(errand, MachinePower.GONE)
        stamp_errand(domain, errand.id, warrant)
        if not self.is_off(domain, errand, warrant):
            return NotYet("the guest is shutting down", SOON_SECONDS)
        return Done(seen(connection, errand.ref, errand.host))

    def put_away(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """OFF. A copy that is no VM's must not be there: cut off and forgotten, its volumes stay."""
        if errand.vm:
            return self.stop(errand, warrant)
        connection = self._hosts.connect(errand.host)
        domain = found(connection, errand.ref)
        if domain is not None and domain.isActive():
            act(warrant, domain.destroy)
            domain = found(connection, errand.ref)
        if domain is not None:
            act(warrant, lambda: undefine(domain))
        return Done(seen(connection, errand.ref, errand.host))

    def start(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Runs at ``to``; the definition comes along from where it was left."""
        target = errand.to or errand.host
        there = seen(self._hosts.connect(target), errand.ref, target)
        if there.power is MachinePower.RUNNING:
            return Done(there)
        for host in dict.fromkeys((target,) if errand.source_off else (target, errand.host or target)):
            if found(self._hosts.connect(host), errand.ref) is not None:
                return self.start_from(host, target, errand, warrant)
        return self.start_missing(target, errand, warrant)

    def start_missing(self, target: str, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Start a machine that is not where it should be, after all hosts were asked for it.

        Somebody may have moved it. Where none runs it, its definition comes along from the host that has one, or it is
        made from what was told of it.
        """
        running = self._runs_at(errand, target)
        if running:
            return _stays(errand, running)
        for host in () if errand.source_off else self._may_have(errand, target):
            if found(self._hosts.connect(host), errand.ref) is not None:
                return self.start_from(host, target, errand, warrant)
        return self.start_from(target, target, errand, warrant)

    def _may_have(self, errand: Errand, *first: str) -> Iterator[str]:
        """The hosts that may run a machine. Raises ``EngineFault`` for one that does not answer: it may run there.

        If its own host is known to be off, hosts that do not answer are passed over: it was listed there last.
        """
        passed = (errand.host, *errand.unheard) if errand.source_off else ()
        for host in dict.fromkeys((*first, *self._hosts.names)):
            if host in passed:
                continue
            if host in errand.unheard:
                raise EngineFault(f"{host} does not answer, so {errand.ref} may run there.")
            if host not in errand.off_at:
                yield host

    def _runs_at(self, errand: Errand, other_than: str) -> str:
        for host in self._may_have(errand):
            domain = None if host == other_than else found(self._hosts.connect(host), errand.ref)
            if domain is not None and domain.isActive():
                return host
        return ""

    def _gone_to(self, domain: Any, errand: Errand, host: str) -> str:
        """The host where a machine runs that somebody has migrated by hand, leaving its definition here."""
        migrated = not domain.isActive() and tuple(domain.state()) == (SHUT_OFF, MIGRATED_AWAY)
        return self._runs_at(errand, host) if migrated else ""

    def start_from(self, left_at: str, target: str, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Start at ``target`` a machine whose definition is at ``left_at``, where it is off; then forget it there."""
        connection = self._hosts.connect(target)
        left = None if errand.source_off else found(self._hosts.connect(left_at), errand.ref)
        gone_to = "" if left is None else self._gone_to(left, errand, left_at)
        if gone_to:
            return _stays(errand, gone_to)
        if left is not None and left_at != target:
            if left.isActive():
                return Failed(f"{errand.ref} still runs at {left_at}: it is started nowhere else.", lasting=False)
            stamp_errand(left, errand.id, warrant)
            if left.autostart():  # a host that boots later must not start a second copy of what has left it
                act(warrant, lambda: left.setAutostart(0))
            if found(connection, errand.ref) is None:
                text = definition_of(left)
                act(warrant, lambda: connection.defineXML(text))
        domain = found(connection, errand.ref)
        if domain is None and left is None and errand.definition:  # it is at no host, or only at one that was lost
            act(warrant, lambda: connection.defineXML(errand.definition))
            domain = found(connection, errand.ref)
        if domain is None:
            return _not_there(errand, MachinePower.GONE)
        if not domain.isActive():
            stamp_errand(domain, errand.id, warrant)
            act(warrant, domain.create)
        if left is not None and left_at != target:
            act(warrant, lambda: undefine(left))
        return Done(seen(connection, errand.ref, target))

    def is_off(self, domain: Any, errand: Errand, warrant: Warrant) -> bool:
        """Take the next step towards off: ask the guest, and once its time is over, cut it off."""
        if not domain.isActive():
            return True
        asked_at = self._asked_at.get(errand.id)
        if asked_at is None:
            if errand.grace.total_seconds() > 0:
                act(warrant, partial(self._ask, domain, errand))
                return not domain.isActive()
            asked_at = float("-inf")
        if self._elapsed() - asked_at < errand.grace.total_seconds():
            return False
        act(warrant, domain.destroy)
        self._asked_at.pop(errand.id, None)
        return True

    def _ask(self, domain: Any, errand: Errand) -> None:
        """Kept before it is done: a QEMU that hangs never answers, and must be cut off all the same."""
        self._asked_at[errand.id] = self._elapsed()
        domain.shutdown()


def _stays(errand: Errand, host: str) -> Failed:
    return Failed(f"{errand.ref} runs at {host}: it is started nowhere else.", lasting=False)


def _not_there(errand: Errand, power: MachinePower) -> Failed:
    """A machine that is gone does not come back by asking; one that is off may be started meanwhile."""
    why = f"Host {errand.host or errand.to} has no machine {errand.ref} that could be asked this: it is {power}."
    return Failed(why, lasting=power is MachinePower.GONE)

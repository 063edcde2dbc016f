"""Errands: which follow from an event or a command, and what follows from the end of one.

An errand ends by what is seen, or is given up where asking again cannot help and nothing was broken by then. What has
been begun and cannot be left half done is tried for ever, and the machine carries an alarm meanwhile.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from forewarn.core import facts as f
from forewarn.core import keys
from forewarn.core.causes import CAUSES, Cause, Effect
from forewarn.core.deciding.events import leave_host
from forewarn.core.deciding.impacts import begin_real, end_impact
from forewarn.core.deciding.placement import find_target
from forewarn.core.draft import Draft
from forewarn.core.guids import derive_guid
from forewarn.core.looking.errands import current, errands_of, is_over
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import PLACED, Errand, ErrandKind, MachinePower, OpenErrand
from forewarn.core.region import DOWN, Event, HostHealth, Power, RealHost, Vm
from forewarn.core.specs import EvictionPolicy

_KINDS = {
    Effect.PAUSE: ErrandKind.PAUSE,
    Effect.MIGRATE: ErrandKind.MIGRATE,
    Effect.RESTART: ErrandKind.RESTART,
    Effect.REDEPLOY: ErrandKind.REDEPLOY,
    Effect.DELETE: ErrandKind.DELETE,
    Effect.REIMAGE: ErrandKind.REIMAGE,
}

_PATIENCE = timedelta(minutes=10)  # ours, beyond the grace: as long as an event stays after a failure
GIVEN_UP_LATE = frozenset({ErrandKind.RESTART, ErrandKind.START})  # the rest cannot be left half done, and goes on
_FOR_RUNNING = frozenset(_KINDS.values()) - {ErrandKind.DELETE}


def kind_of(cause: Cause, vm: Vm) -> ErrandKind:
    """What an event of that cause does to the machine of a VM."""
    effect = CAUSES[cause].effect
    if effect is Effect.EVICT:
        return ErrandKind.DELETE if vm.spec.eviction_policy is EvictionPolicy.DELETE else ErrandKind.OFF
    return _KINDS[effect]


# Making them


def make_for(draft: Draft, event: Event) -> None:
    """Make one errand for each real machine of an event that has started.

    A machine that is down stays down, except to be deleted.
    """
    for key in event.vms:
        vm = draft.region.vms[key]
        if key not in draft.region.machines or _is_settled(draft, key, event):
            continue
        kind = kind_of(event.cause, vm)
        if vm.power not in DOWN or kind is ErrandKind.DELETE:
            _make_one(draft, vm, kind, event)
        elif event.cause is Cause.FAILURE and vm.host is not None:  # it starts elsewhere when it is asked to
            draft.record(f.VmDeallocated(draft.now, key))
    if not any(errands_of(draft.region, event)):
        begin_real(draft, event)
        draft.touched.append(keys.of_event(event.id))


def _is_settled(draft: Draft, key: str, event: Event) -> bool:
    """Whether it is deleted or rebuilt already, so that the loss of its host changes nothing for it."""
    kinds = {draft.region.errands[each].errand.kind for each in draft.region.machines[key].errands}
    return event.cause is Cause.FAILURE and not kinds.isdisjoint({ErrandKind.DELETE, ErrandKind.REDEPLOY})


def _make_one(draft: Draft, vm: Vm, kind: ErrandKind, event: Event) -> None:
    until = None
    if kind is ErrandKind.PAUSE:
        until = draft.now + timedelta(seconds=max(event.duration_seconds, 0))
    make(draft, vm, kind, event.id, event=event.id, until=until)


def make(
    draft: Draft,
    vm: Vm,
    kind: ErrandKind,
    seed: str,
    *,
    event: str = "",
    to: str = "",
    until: datetime | None = None,
    tried: bool = False,
    crashed: bool = False,
) -> Errand:
    """One errand for a real VM. Where it is to be is chosen now, and a place kept there; without room it waits."""
    machine = draft.region.machines[vm.key]
    host = draft.region.real_host(machine.host)
    if kind in PLACED and not to:
        found = find_target(draft.region, vm, kind)
        to = "" if found is None else found.name
    errand = Errand(
        id=derive_guid(seed, vm.key, kind.value),
        kind=kind,
        engine=machine.engine,
        host=machine.host,
        made_at=draft.now,
        vm=vm.key,
        vm_id=vm.vm_id,
        ref=machine.ref,
        to=to,
        boot_mark=machine.boot_mark,
        until=until,
        grace=draft.rules.grace,
        patience=draft.rules.grace + _PATIENCE,
        event=event,
        blueprint=vm.spec.blueprint,
        source_off=host is not None and host.health is HostHealth.FENCED,
    )
    assert errand.id not in draft.region.errands, "a seed was used twice"
    draft.record(mf.ErrandMade(draft.now, errand, event or f"vm/{vm.key}", tried, crashed))
    return errand


def new_seed(draft: Draft, vm: Vm) -> str:
    """A seed for an errand outside events; different for each, also within one instant."""
    return derive_guid(vm.seed, vm.key, draft.now.isoformat(), str(draft.region.machines[vm.key].made))


def ask(draft: Draft, vm: Vm, kind: ErrandKind, to: str = "") -> None:
    """Make an errand that a person asked for outside events. The command's operation waits for it."""
    seed = new_seed(draft, vm)
    draft.awaits[make(draft, vm, kind, seed, to=to).id] = None


def make_of_host(draft: Draft, host: RealHost, kind: ErrandKind, seed: str, ref: str = "", boot_mark: str = "") -> None:
    """One that is no VM's: a host to be fenced, or a copy there that must not run."""
    errand_id = derive_guid(seed, host.name, kind.value, ref, boot_mark)
    if errand_id not in draft.region.errands:
        errand = Errand(errand_id, kind, host.engine, host.name, draft.now, ref=ref, boot_mark=boot_mark)
        draft.record(mf.ErrandMade(draft.now, errand, f"host/{host.number}"))


# Their ends


def subject_of(draft: Draft, errand: Errand) -> str:
    """Whose story it belongs to."""
    if errand.vm:
        return errand.event or f"vm/{errand.vm}"
    host = draft.region.real_host(errand.host)
    return f"host/{'' if host is None else host.number}"


def end(draft: Draft, found: OpenErrand) -> None:
    """End an errand whose aim has been seen, and change its VM accordingly."""
    errand = found.errand
    draft.record(mf.ErrandEnded(draft.now, errand.id, subject_of(draft, errand), errand.kind, errand.vm))
    _over(draft, errand)
    vm = draft.region.vms.get(errand.vm)
    if vm is None:
        return
    home = draft.region.real_host(draft.region.machines[vm.key].host)
    match errand.kind:
        case ErrandKind.STOP if vm.power in DOWN:
            pass  # it has been turned off otherwise meanwhile
        case ErrandKind.STOP:
            draft.record(f.VmStopped(draft.now, vm.key))
        case ErrandKind.OFF if vm.power is Power.DEALLOCATED:
            pass
        case ErrandKind.OFF:
            draft.record(f.VmDeallocated(draft.now, vm.key))
        case ErrandKind.DELETE:
            draft.record(f.VmDeleted(draft.now, vm.key))
        case ErrandKind.CREATE | ErrandKind.START:
            assert home is not None
            draft.record(f.VmStarted(draft.now, vm.key, home.number))
            leave_host(draft, vm.key)
        case ErrandKind.MIGRATE | ErrandKind.REDEPLOY:
            assert home is not None
            if vm.host != home.number:
                draft.record(f.VmMoved(draft.now, vm.key, home.number))
                leave_host(draft, vm.key)
        case _:
            pass


def give_up(draft: Draft, found: OpenErrand, why: str) -> None:
    """Asking again cannot help, or it is not wanted any more. A VM that could not be created is none."""
    errand = found.errand
    draft.record(mf.ErrandGivenUp(draft.now, errand.id, subject_of(draft, errand), errand.kind, errand.vm, why))
    _over(draft, errand)
    if errand.kind is ErrandKind.CREATE and errand.vm in draft.region.vms:
        draft.record(f.VmDeleted(draft.now, errand.vm))


def is_overdue(draft: Draft, found: OpenErrand) -> bool:
    """Whether an errand's patience is over; a pause has an end of its own, a migration a time limit of the hand's."""
    errand = found.errand
    if errand.kind in (ErrandKind.PAUSE, ErrandKind.MIGRATE) or not errand.patience or found.tried_at is None:
        return False
    return draft.now - found.tried_at > errand.patience


def overdue(draft: Draft, found: OpenErrand, why: str) -> None:
    """Give up a start or a restart whose patience is over, with an alarm for people."""
    errand, minutes = found.errand, int(found.errand.patience.total_seconds() // 60)
    give_up(draft, found, why)
    vm, machine = draft.region.vms[errand.vm], draft.region.machines[errand.vm]
    alarm(draft, vm.key, f"{errand.kind.value} was given up after {minutes} minutes: {why}")
    if vm.power not in DOWN and machine.power in (MachinePower.OFF, MachinePower.GONE) and not machine.errands:
        draft.record(f.VmStopped(draft.now, vm.key))


def _over(draft: Draft, errand: Errand) -> None:
    event = draft.region.events.get(errand.event)
    if event is None:
        return
    begin_real(draft, event)
    event = draft.region.events[event.id]
    if event.impact_ended_at is None and is_over(draft.region, event, draft.now):
        end_impact(draft, event)


def alarm(draft: Draft, key: str, sentence: str = "") -> None:
    """Note that a person should look at a machine, and why. An empty sentence takes the alarm back."""
    if draft.region.machines[key].alarm != sentence:
        draft.record(mf.MachineAlarmed(draft.now, key, sentence))


def clear_way(draft: Draft, vm: Vm, why: str) -> None:
    """A person wants the VM down or gone: what does not work is not tried any longer, but for its very making."""
    found = current(draft.region, vm.key)
    if found is None or found.errand.kind in (ErrandKind.CREATE, ErrandKind.DELETE):
        return
    if found.why or not found.is_placed:
        give_up(draft, found, why)


def take_turn(draft: Draft, key: str) -> None:
    """The next errand of a machine is due. What only a running one needs is not for one that has been turned off."""
    found, vm = current(draft.region, key), draft.region.vms.get(key)
    if found is None or vm is None or found.tried_at is not None or vm.power not in DOWN:
        return
    kind, off = found.errand.kind, draft.region.machines[key].power in (MachinePower.OFF, MachinePower.GONE)
    if kind in _FOR_RUNNING:
        give_up(draft, found, f"the VM is {vm.power.value}")
    elif off and (kind is ErrandKind.STOP or (kind is ErrandKind.OFF and vm.power is Power.DEALLOCATED)):
        end(draft, found)  # it is as that wants it


def place_waiting(draft: Draft, engine: str) -> None:
    """Hosts have changed: errands that wait for room may have found some, the oldest first."""
    waiting = [each for each in draft.region.errands.values() if not each.is_placed and each.errand.engine == engine]
    for found in sorted(waiting, key=lambda each: (each.errand.made_at, each.errand.id)):
        vm = draft.region.vms[found.errand.vm]
        kind = found.errand.kind
        target = find_target(draft.region, vm, kind, found.turned_down) or find_target(draft.region, vm, kind)
        if target is not None:
            place(draft, found, target.name)


def place_again(draft: Draft, found: OpenErrand) -> None:
    """Choose another host for an errand whose target is no longer usable; none for now where no host has room."""
    vm = draft.region.vms[found.errand.vm]
    target = find_target(draft.region, vm, found.errand.kind, (*found.turned_down, found.errand.to))
    place(draft, found, "" if target is None else target.name)


def place(draft: Draft, found: OpenErrand, to: str) -> None:
    errand = found.errand
    draft.record(mf.ErrandPlaced(draft.now, errand.id, subject_of(draft, errand), errand.kind, errand.vm, to))

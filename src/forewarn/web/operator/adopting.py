"""Taking machines up that an engine runs already, checking them, and letting them go again.

The fact is on disk before anything is written at the machine; where that then fails, the fact is taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forewarn.core import commands as c
from forewarn.core.causes import CAUSES, Cause
from forewarn.core.deciding.machines.errands import kind_of
from forewarn.core.looking.lookup import vm_named
from forewarn.core.machines.values import ErrandKind, MachinePower, Sighting
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import RealHost, Region, Vm, fold
from forewarn.core.specs import NO_BINDING, Binding, EvictionPolicy, ScopeKind, VmSpec
from forewarn.plane.hands.engine import ADDRESS, MAC, MIGRATABLE, NAMESPACE, Finding, Way, is_identity_safe
from forewarn.plane.hands.hands import Hands
from forewarn.plane.hands.settings import MachineHost
from forewarn.web.operator.desk import Asker, DryRun
from forewarn.web.operator.schema.machines import (
    AdoptBody,
    AdoptedAnswer,
    CheckAnswer,
    EffectAnswer,
    FindingAnswer,
    ReleasedAnswer,
    UnadoptedAnswer,
    UnadoptedsAnswer,
    UnreachedAnswer,
)
from forewarn.web.operator.schema.requests import duration

_USUAL_WAYS = {"docker": Way.NETWORK, "libvirt": Way.ADDRESS}
_BY_NAMESPACE = {"docker": Way.NAMESPACE, "libvirt": Way.NIC}
_CHANGES = {
    "docker": "Nothing is written at a container: the region knows it by its name.",
    "libvirt": "One element is written into the metadata of its definition (urn:forewarn:machine:1); release empties "
    "it.",
}
_SHOWN_CAUSES = (  # the plainest cause of each type of event
    Cause.FREEZE,
    Cause.LIVE_MIGRATION,
    Cause.USER_RESTART,
    Cause.USER_REDEPLOY,
    Cause.EVICTION,
    Cause.DELETION,
)
_EFFECTS = {
    ErrandKind.PAUSE: "It is paused, and goes on when the announced time is over.",
    ErrandKind.MIGRATE: "It is moved to another host while it runs.",
    ErrandKind.RESTART: "It is shut down, after the grace cut off, and started again.",
    ErrandKind.REDEPLOY: "It is started anew at another host, or at its own where there is none.",
    ErrandKind.OFF: "It is turned off, and stays off.",
    ErrandKind.DELETE: "It is removed, with what was made for it.",
}


async def unadopted(region: Region, hands: Hands) -> UnadoptedsAnswer:
    """What the engines run that the region does not know, as far as this node reaches them."""
    found: list[UnadoptedAnswer] = []
    unreached: list[UnreachedAnswer] = []
    for host in hands.hosts:
        try:
            listed = await listed_at(hands, host)
        except Refused as refused:
            unreached.append(UnreachedAnswer(host=host.name, why=refused.message))
            continue
        found += [
            UnadoptedAnswer(host=host.name, ref=each.ref, engine=host.engine.name, power=each.power.value)
            for each in listed
            if (host.engine.name, each.ref) not in region.refs
        ]
    return UnadoptedsAnswer(machines=sorted(found, key=lambda each: (each.host, each.ref)), unreached=unreached)


async def listed_at(hands: Hands, host: MachineHost) -> Sequence[Sighting]:
    return (await hands.ask(host.name, lambda engine: engine.listing(host.name))).machines


async def adopt(asker: Asker, hands: Hands, body: AdoptBody) -> AdoptedAnswer:
    """Look, refuse what must not be, write the fact, mark the machine."""
    host = hands.declared(body.host)
    seen = next((each for each in await listed_at(hands, host) if each.ref == body.ref), None)
    if seen is None or seen.power is MachinePower.GONE:
        raise Refused(Hint.NOT_FOUND, f"Host '{host.name}' has no machine '{body.ref}'; 'machine list' shows them.")
    way = Way(body.way) if body.way else _USUAL_WAYS.get(host.kind, Way.ADDRESS)
    findings = await hands.ask(host.name, lambda engine: engine.examine(host.name, body.ref, way))
    _refuse_shared(body.ref, findings)
    safe = is_identity_safe(findings)
    binding = _binding(way, findings) if safe else NO_BINDING
    name = body.vm or body.ref
    command = c.AdoptMachine(
        name,
        _spec(body, host),
        asker.new_guid(),
        host.name,
        seen.ref,
        seen.boot_mark,
        seen.power,
        binding,
        _impossible(findings),
        way.value,
    )
    await asker.submit(command)
    region = asker.look().region
    vm = region.vms[fold(name)]
    if not isinstance(asker, DryRun):
        await _mark(asker, hands, host, seen.ref, vm)
    checked = _checked(region, vm, host.name, seen.ref, way, findings)
    changes = [_CHANGES.get(host.kind, "Its engine is told that it is a machine of this region.")]
    return await asker.tell_few(AdoptedAnswer, **dict(checked), changes=changes)


async def _mark(asker: Asker, hands: Hands, host: MachineHost, ref: str, vm: Vm) -> None:
    try:
        await hands.ask(host.name, lambda engine: engine.adopt(host.name, ref, vm.name, vm.vm_id))
    except Refused:
        await asker.submit(c.ReleaseMachine(vm.name))
        raise


def _refuse_shared(ref: str, findings: Iterable[Finding]) -> None:
    """Two machines with one hardware address or address steal each other's answers, behind valid filters too."""
    for each in findings:
        if each.topic in (ADDRESS, MAC) and not each.ok:
            raise Refused(Hint.CONFLICT, f"Machine '{ref}' is not adopted: {each.sentence}")


def _spec(body: AdoptBody, host: MachineHost) -> VmSpec:
    kind = ScopeKind.AVAILABILITY_SET if body.availability_set else ScopeKind.VM
    return VmSpec(
        kind=kind,
        set_name=body.availability_set or "",
        spot=body.spot,
        eviction_policy=EvictionPolicy(body.eviction_policy),
        terminate_notice=duration(body.terminate_notice_seconds),
        resource_group=body.resource_group,
        engine=host.engine.name,
    )


def _impossible(findings: Iterable[Finding]) -> tuple[ErrandKind, ...]:
    """The kinds of errands that cannot be carried out on this machine, as its engine found."""
    found = {each.topic for each in findings if not each.ok}
    cannot = {kind for kind in ErrandKind if kind.value in found}
    return tuple(sorted(cannot | ({ErrandKind.MIGRATE} if MIGRATABLE in found else set())))


def _binding(way: Way, findings: Iterable[Finding]) -> Binding:
    """How the metadata face is to know it, where the findings say by what."""
    values = {each.topic: each.value for each in findings if each.ok and each.value}
    if way in (Way.ADDRESS, Way.NETWORK):
        return Binding(address=values.get(ADDRESS, ""))
    if way in (Way.NAMESPACE, Way.NIC):
        namespace = values.get(NAMESPACE, "")
        return Binding(netns=namespace, interface=namespace if way is Way.NIC else "")
    if way is Way.UNIX:
        return Binding(unix=values.get(NAMESPACE, ""))
    return NO_BINDING


async def check(region: Region, hands: Hands, name: str, wanted: str | None) -> CheckAnswer:
    """What the engine finds out about the machine of a VM now."""
    vm = vm_named(region, name)
    machine = region.machines.get(vm.key)
    if machine is None:
        raise Refused(Hint.CONFLICT, f"VM '{vm.name}' has no machine to check: it is only pretended.")
    host = hands.declared(machine.host)
    way = Way(wanted or machine.way or _way_of(vm, host))
    findings = await hands.ask(host.name, lambda engine: engine.examine(host.name, machine.ref, way))
    return _checked(region, vm, host.name, machine.ref, way, findings)


def _way_of(vm: Vm, host: MachineHost) -> Way:
    if vm.binding.netns:
        return _BY_NAMESPACE.get(host.kind, Way.NAMESPACE)
    return _USUAL_WAYS.get(host.kind, Way.ADDRESS)


def _checked(region: Region, vm: Vm, host: str, ref: str, way: Way, findings: Sequence[Finding]) -> CheckAnswer:
    known = region.real_host(host)
    return CheckAnswer(
        vm=vm.name,
        host=host,
        ref=ref,
        way=way.value,
        identity_safe=is_identity_safe(findings),
        bound=vm.binding != NO_BINDING,
        findings=[FindingAnswer(topic=each.topic, ok=each.ok, sentence=each.sentence) for each in findings],
        effects=[_effect(cause, vm, known, findings) for cause in _SHOWN_CAUSES],
    )


def _effect(cause: Cause, vm: Vm, host: RealHost | None, findings: Iterable[Finding]) -> EffectAnswer:
    kind, kind_of_event = kind_of(cause, vm), CAUSES[cause].type
    told = kind_of_event.value + (" by live migration" if cause is Cause.LIVE_MIGRATION else "")
    hindrance = _hindrance(kind, host, findings)
    if hindrance:
        return EffectAnswer(type=told, kind="", sentence=f"Cannot be done: {hindrance}")
    only_spot = cause is Cause.EVICTION and not vm.spec.spot
    sentence = "Not for this VM, which is no Spot VM." if only_spot else _EFFECTS[kind]
    return EffectAnswer(type=told, kind=kind.value, sentence=sentence)


def _hindrance(kind: ErrandKind, host: RealHost | None, findings: Iterable[Finding]) -> str:
    if host is not None and not host.can(kind):
        return f"engine '{host.engine}' does not {kind.value} machines."
    topics = (kind.value, MIGRATABLE) if kind is ErrandKind.MIGRATE else (kind.value,)
    return next((each.sentence for each in findings if each.topic in topics and not each.ok), "")


async def release(asker: Asker, hands: Hands, name: str) -> ReleasedAnswer:
    """The region forgets it first; then the mark at the machine is taken away, where its engine answers."""
    region = asker.look().region
    vm = vm_named(region, name)
    machine = region.machines.get(vm.key)
    await asker.submit(c.ReleaseMachine(vm.name))
    assert machine is not None, "the core has refused a VM without a machine"
    message = "The region has forgotten it; the machine goes on as it is."
    if machine.ref and not isinstance(asker, DryRun):
        try:
            await hands.ask(machine.host, lambda engine: engine.release(machine.host, machine.ref))
        except Refused as refused:
            message += f" What adoption wrote there stays: {refused.message}"
    return await asker.tell_few(ReleasedAnswer, vm=vm.name, host=machine.host, ref=machine.ref, message=message)

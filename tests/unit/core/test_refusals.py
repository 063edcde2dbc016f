"""Every no that the core can say: refused, and nothing has changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.refusal import Hint
from forewarn.core.specs import Binding, Policy, VmSpec
from tests.unit.core.world import MINUTE, SPOT, World, in_set

_V = VmSpec()

# Commands against a region with the VMs web (reads, has a started event), off (deallocated), spot, a campaign C1 that
# is over, and the hosts of those VMs.
REFUSALS: dict[str, tuple[c.Command, Hint]] = {
    "create nobody": (c.CreateVms((), _V, "s"), Hint.INVALID),
    "create a bad name": (c.CreateVms(("good", "bad name"), _V, "s"), Hint.INVALID),
    "create what exists": (c.CreateVms(("good", "WEB"), _V, "s"), Hint.CONFLICT),
    "create a name twice": (c.CreateVms(("good", "Good"), _V, "s"), Hint.INVALID),
    "create in a bad set": (c.CreateVms(("good",), in_set("bad set"), "s"), Hint.INVALID),
    "create with a set and no kind": (c.CreateVms(("good",), VmSpec(set_name="front"), "s"), Hint.INVALID),
    "create with a role and no service": (c.CreateVms(("good",), in_set("new", role="Web"), "s"), Hint.INVALID),
    "create with a bad terminate notice": (
        c.CreateVms(("good",), VmSpec(terminate_notice=MINUTE), "s"),
        Hint.INVALID,
    ),
    "create Spot with a terminate notice": (
        c.CreateVms(("good",), VmSpec(spot=True, terminate_notice=5 * MINUTE), "s"),
        Hint.INVALID,
    ),
    "create two for one address": (c.CreateVms(("x", "y"), _V, "s", Binding("10.0.0.9")), Hint.INVALID),
    "create with a taken address": (c.CreateVms(("x",), in_set("new"), "s", Binding("10.0.0.4")), Hint.CONFLICT),
    "bind nobody": (c.BindVm("nobody", Binding()), Hint.NOT_FOUND),
    "bind to no address": (c.BindVm("off", Binding("no address")), Hint.INVALID),
    "bind to no loopback": (c.BindVm("off", Binding(local_address="10.0.0.9")), Hint.INVALID),
    "bind to a taken address": (c.BindVm("off", Binding("10.0.0.4")), Hint.CONFLICT),
    "delete nobody": (c.DeleteVms((), "s"), Hint.INVALID),
    "delete the unknown": (c.DeleteVms(("web", "nobody"), "s"), Hint.NOT_FOUND),
    "restart nobody": (c.RestartVms((), "s"), Hint.INVALID),
    "restart the unknown": (c.RestartVms(("web", "nobody"), "s"), Hint.NOT_FOUND),
    "restart what is off": (c.RestartVms(("web", "off"), "s"), Hint.CONFLICT),
    "redeploy the unknown": (c.RedeployVms(("web", "nobody"), "s"), Hint.NOT_FOUND),
    "redeploy what is off": (c.RedeployVms(("web", "off"), "s"), Hint.CONFLICT),
    "evict the unknown": (c.EvictVms(("spot", "nobody"), "s"), Hint.NOT_FOUND),
    "evict what is not Spot": (c.EvictVms(("spot", "web"), "s"), Hint.CONFLICT),
    "deallocate the unknown": (c.DeallocateVms(("web", "nobody")), Hint.NOT_FOUND),
    "start the unknown": (c.StartVms(("off", "nobody")), Hint.NOT_FOUND),
    "start nobody": (c.StartVms(()), Hint.INVALID),
    "set a policy for the unknown": (c.SetPolicy("vm/nobody", Policy()), Hint.NOT_FOUND),
    "maintain the unknown": (c.MaintainHosts(("host-0", "host-99"), Cause.FREEZE, "s"), Hint.NOT_FOUND),
    "maintain what is no host": (c.MaintainHosts(("web",), Cause.FREEZE, "s"), Hint.NOT_FOUND),
    "maintain by a user's cause": (c.MaintainHosts((), Cause.USER_RESTART, "s"), Hint.INVALID),
    "maintain by failing": (c.MaintainHosts((), Cause.FAILURE, "s"), Hint.INVALID),
    "maintain by evicting": (c.MaintainHosts((), Cause.EVICTION, "s"), Hint.INVALID),
    "fail nothing": (c.FailHosts((), "s"), Hint.INVALID),
    "fail the unknown": (c.FailHosts(("host-0", "host-99"), "s"), Hint.NOT_FOUND),
    "campaign over the unknown": (c.StartCampaign("C2", Cause.FREEZE, ("host-99",)), Hint.NOT_FOUND),
    "campaign over no scope": (c.StartCampaign("C2", Cause.FREEZE, scopes=("vm/nobody",)), Hint.NOT_FOUND),
    "campaign over what is off": (c.StartCampaign("C2", Cause.FREEZE, scopes=("vm/off",)), Hint.CONFLICT),
    "campaign by a deletion": (c.StartCampaign("C2", Cause.DELETION), Hint.INVALID),
    "campaign with less than no hosts": (c.StartCampaign("C2", Cause.FREEZE, hosts_at_once=-1), Hint.INVALID),
    "campaign with a used id": (c.StartCampaign("C1", Cause.FREEZE), Hint.CONFLICT),
    "pause the unknown": (c.PauseCampaign("C9"), Hint.NOT_FOUND),
    "resume the unknown": (c.ResumeCampaign("C9"), Hint.NOT_FOUND),
    "cancel the unknown": (c.CancelCampaign("C9"), Hint.NOT_FOUND),
    "pause what is over": (c.PauseCampaign("C1"), Hint.CONFLICT),
    "resume what is over": (c.ResumeCampaign("C1"), Hint.CONFLICT),
    "cancel what is over": (c.CancelCampaign("C1"), Hint.CONFLICT),
    "approve the unknown": (c.Approve(("0",), "operator"), Hint.NOT_FOUND),
    "cancel an unknown event": (c.CancelEvents(("0",), "why"), Hint.NOT_FOUND),
}

# The same for commands that name an event: web has one that is scheduled and one that has started.
WITH_EVENTS: dict[str, tuple[Callable[[str, str], c.Command], Hint]] = {
    "approve from elsewhere": (lambda pending, _: c.Approve((pending,), "spot", "vm/spot"), Hint.NOT_FOUND),
    "approve with an unknown one": (lambda pending, _: c.Approve((pending, "0"), "web", "vm/web"), Hint.NOT_FOUND),
    "cancel what has started": (lambda pending, started: c.CancelEvents((pending, started), "w"), Hint.CONFLICT),
    "cancel with an unknown one": (lambda pending, _: c.CancelEvents((pending, "0"), "w"), Hint.NOT_FOUND),
}


@pytest.fixture
def lived_in(world: World) -> tuple[World, str, str]:
    """A region in which something is going on, and web's pending and started events."""
    world.do(c.CreateVms(("web",), VmSpec(), "made", Binding("10.0.0.4")))
    world.reading("spot", spec=SPOT)
    world.create("off")
    world.deallocate("off")
    world.start_campaign("C1")
    world.do(c.CancelCampaign("C1"))
    world.advance(MINUTE)
    world.read("web")
    pending, started = world.restart("web") + world.redeploy("web")
    world.approve(started)
    return world, pending, started


@pytest.mark.parametrize(("command", "hint"), REFUSALS.values(), ids=list(REFUSALS))
def test_a_bad_command_is_refused_and_nothing_has_changed(
    command: c.Command, hint: Hint, lived_in: tuple[World, str, str]
) -> None:
    world, _, _ = lived_in
    facts = len(world.facts)
    assert world.refused(command).hint is hint
    assert len(world.facts) == facts


@pytest.mark.parametrize(("command", "hint"), WITH_EVENTS.values(), ids=list(WITH_EVENTS))
def test_a_command_of_which_one_event_is_refused_is_refused_as_a_whole(
    command: Callable[[str, str], c.Command], hint: Hint, lived_in: tuple[World, str, str]
) -> None:
    world, pending, started = lived_in
    assert world.refused(command(pending, started)).hint is hint


def test_a_refusal_is_said_as_a_sentence(lived_in: tuple[World, str, str]) -> None:
    world, _, _ = lived_in
    for command, _hint in REFUSALS.values():
        message = world.refused(command).message
        assert message[0].isupper() or message.startswith(("'", "hosts_at_once "))
        assert "\n" not in message

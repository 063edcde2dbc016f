"""Every no about scale sets and what came with them: refused, and nothing has changed."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.refusal import Hint
from forewarn.core.specs import Orchestration, Policy, VmSpec
from tests.unit.core.world import MINUTE, World, in_set

_V, _POLICY = VmSpec(), Policy()


def put(name: str = "web", capacity: int | None = None, spec: VmSpec = _V, group: str = "rg") -> c.PutScaleSet:
    return c.PutScaleSet(name, group, spec, "s", capacity=capacity)


# Against a region with the uniform set web of two, the uniform set db of one, the availability set front with the VM
# lone in it, and the VM pool_1.
REFUSALS: dict[str, tuple[c.Command, Hint, str]] = {
    "no name": (put(""), Hint.INVALID, "cannot name a scale set"),
    "a name with a slash": (put("a/b"), Hint.INVALID, "cannot name a scale set"),
    "a name with a tilde": (put("web~0"), Hint.INVALID, "cannot name a scale set"),
    "a name too long for its instances": (put("w" * 65), Hint.INVALID, "at most 64 characters"),
    "less than nothing": (put(capacity=-1), Hint.INVALID, "between 0 and 1000"),
    "too many": (put(capacity=1001), Hint.INVALID, "between 0 and 1000"),
    "a name that a VM has": (put("pool", 3), Hint.CONFLICT, "'pool_1' exists already"),
    "another resource group": (put("WEB", group="else"), Hint.CONFLICT, "'web' exists already, in resource group 'rg'"),
    "another orchestration": (
        c.PutScaleSet("web", "rg", _V, "s", orchestration=Orchestration.FLEXIBLE),
        Hint.CONFLICT,
        "The orchestration mode of scale set 'web' cannot be changed.",
    ),
    "a role": (put(spec=VmSpec(role="Web")), Hint.INVALID, "needs a role"),
    "a short notice": (put(spec=VmSpec(terminate_notice=MINUTE)), Hint.INVALID, "between 5 and 15 minutes"),
    "a notice on Spot": (put(spec=VmSpec(spot=True, terminate_notice=5 * MINUTE)), Hint.INVALID, "on Spot"),
    "another image notice": (put(spec=VmSpec(os_image_notice=5 * MINUTE)), Hint.INVALID, "must be 15 minutes"),
    "delete an unknown set": (c.DeleteScaleSet("nobody", "s"), Hint.NOT_FOUND, "no scale set named 'nobody'"),
    "delete instances of an unknown set": (c.DeleteInstances("nobody", ("web_0",), "s"), Hint.NOT_FOUND, "'nobody'"),
    "delete no instance": (c.DeleteInstances("web", (), "s"), Hint.INVALID, "at least one"),
    "delete an unknown instance": (c.DeleteInstances("web", ("web_0", "web_9"), "s"), Hint.NOT_FOUND, "'web_9'"),
    "delete an instance of another set": (
        c.DeleteInstances("web", ("web_0", "db_0"), "s"),
        Hint.NOT_FOUND,
        "Scale set 'web' has no instance 'db_0'.",
    ),
    "delete a VM as an instance": (c.DeleteInstances("web", ("lone",), "s"), Hint.NOT_FOUND, "no instance 'lone'"),
    "delete an instance as a VM": (
        c.DeleteVms(("lone", "web_0"), "s"),
        Hint.CONFLICT,
        "VM 'web_0' belongs to scale set 'web'; delete the instance there.",
    ),
    "upgrade an unknown set": (c.UpgradeInstances("nobody"), Hint.NOT_FOUND, "'nobody'"),
    "upgrade an unknown instance": (c.UpgradeInstances("web", ("web_9",)), Hint.NOT_FOUND, "'web_9'"),
    "upgrade an instance of another set": (c.UpgradeInstances("web", ("db_0",)), Hint.NOT_FOUND, "'db_0'"),
    "protect the unknown": (c.ProtectInstance("web_9", True), Hint.NOT_FOUND, "'web_9'"),
    "protect a VM": (c.ProtectInstance("lone", True), Hint.CONFLICT, "'lone' is not an instance of a scale set"),
    "a policy for an unknown group": (c.SetPolicy("placement-group/web~1", _POLICY), Hint.NOT_FOUND, "web~1"),
    "stop the unknown": (c.StopVms(("lone", "nobody")), Hint.NOT_FOUND, "'nobody'"),
    "stop nobody": (c.StopVms(()), Hint.INVALID, "at least one"),
    "reimage the unknown": (c.ReimageVms(("lone", "nobody"), "s"), Hint.NOT_FOUND, "'nobody'"),
    "change the unknown": (c.RespecifyVm("nobody", _V), Hint.NOT_FOUND, "'nobody'"),
    "change an instance into a VM": (c.RespecifyVm("web_0", _V), Hint.CONFLICT, "cannot be moved"),
    "change a VM's group": (c.RespecifyVm("lone", in_set("front")), Hint.CONFLICT, "in resource group 'rg'"),
    "a bad availability set": (c.PutAvailabilitySet("a b", "rg", _POLICY), Hint.INVALID, "availability set"),
    "an availability set of another group": (
        c.PutAvailabilitySet("front", "else", Policy(True)),
        Hint.CONFLICT,
        "Availability set 'front' exists already, in resource group 'rg'.",
    ),
    "delete an unknown availability set": (c.DeleteAvailabilitySet("nobody"), Hint.NOT_FOUND, "'nobody'"),
    "delete an availability set in use": (c.DeleteAvailabilitySet("front"), Hint.CONFLICT, "has VMs in it"),
    "delete a scale set as an availability set": (c.DeleteAvailabilitySet("web~0"), Hint.NOT_FOUND, "'web~0'"),
    "an operation that was": (c.Together((), "OP", ""), Hint.CONFLICT, "operation OP already"),
}


@pytest.fixture
def lived_in(world: World) -> World:
    world.reading_set("web", 2)
    world.reading_set("db", 1)
    world.create("lone", spec=in_set("front", resource_group="rg"))
    world.create("pool_1")
    world.together("OP")
    return world


@pytest.mark.parametrize(("command", "hint", "words"), REFUSALS.values(), ids=list(REFUSALS))
def test_a_bad_command_about_a_scale_set_is_refused_and_nothing_has_changed(
    command: c.Command, hint: Hint, words: str, lived_in: World
) -> None:
    facts = len(lived_in.facts)
    refused = lived_in.refused(command)
    assert (refused.hint, len(lived_in.facts)) == (hint, facts)
    assert words in refused.message
    assert refused.message[0].isupper() or refused.message.startswith("'")


SINGLES = [each for each in REFUSALS.values() if not isinstance(each[0], c.Together)]


@pytest.mark.parametrize(("command", "hint", "words"), SINGLES)
def test_a_command_of_which_one_instance_is_refused_is_refused_as_a_whole(
    command: c.Single, hint: Hint, words: str, lived_in: World
) -> None:
    before = (c.RestartVms(("web_1",), "before"), c.KeepResource("/x", "{}"))
    refused = lived_in.refused(c.Together((*before, command), "NEW", "test"))
    assert (refused.hint, words in refused.message) == (hint, True)

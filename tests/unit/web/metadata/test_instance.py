"""What a VM is told about itself."""

from __future__ import annotations

from forewarn.core.commands import DeallocateVms, PutScaleSet
from forewarn.core.region import Binding, EvictionPolicy, ScopeKind, VmSpec
from forewarn.web.metadata.instance import instance_info
from tests.unit.web.metadata.story import Story


def test_a_vm_is_told_what_it_is() -> None:
    story = Story()
    spec = VmSpec(size="Standard_F2", os_type="Windows", tags=(("team", "web"),))
    story.create("Web", spec=spec, binding=Binding(address="10.0.0.4"))
    info = instance_info(story.region, story.vm("web"))
    assert (info.name, info.computer_name, info.size, info.os_type) == ("Web", "Web", "Standard_F2", "Windows")
    assert (info.update_domain, info.fault_domain, info.tags) == ("0", "0", (("team", "web"),))
    assert (info.private_ip, info.private_ipv6, info.priority, info.eviction_policy) == ("10.0.0.4", "", "", "")
    assert info.vm_id == story.vm("web").vm_id
    assert info.resource_id.endswith("/resourceGroups/forewarn/providers/Microsoft.Compute/virtualMachines/Web")
    assert info.host_id.endswith("/hosts/host-0")
    assert len(info.mac) == 12
    assert int(info.mac, 16)


def test_a_spot_vm_knows_what_awaits_it() -> None:
    story = Story()
    story.create("a", spec=VmSpec(spot=True, eviction_policy=EvictionPolicy.DELETE))
    info = instance_info(story.region, story.vm("a"))
    assert (info.priority, info.eviction_policy) == ("Spot", "Delete")


def test_a_role_instance_has_its_name_from_its_role() -> None:
    story = Story()
    story.create("a", spec=VmSpec(kind=ScopeKind.CLOUD_SERVICE, set_name="s", role="Front"))
    info = instance_info(story.region, story.vm("a"))
    assert (info.name, info.computer_name) == ("Front_IN_0", "a")


def test_a_deallocated_vm_is_on_no_host_and_ipv6_has_a_place_of_its_own() -> None:
    story = Story()
    story.create("a", binding=Binding(address="fd00::4"))
    story.tell(DeallocateVms(("a",)))
    info = instance_info(story.region, story.vm("a"))
    assert (info.host_id, info.private_ip, info.private_ipv6) == ("", "", "fd00::4")


def test_an_instance_of_a_uniform_set_knows_its_set_and_its_number() -> None:
    story = Story()
    story.tell(PutScaleSet("web", "shop", VmSpec(), "seed", computer_prefix="webvm", capacity=40))
    info = instance_info(story.region, story.vm("web_37"))
    assert (info.name, info.computer_name, info.scale_set_name) == ("web_37", "webvm000011", "web")
    assert info.resource_id.endswith(
        "/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/37"
    )
    assert info.scale_set_id == ""
    assert info.placement_group_id == instance_info(story.region, story.vm("web_0")).placement_group_id

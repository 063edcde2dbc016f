"""What a VM is told about itself."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

import pytest

from forewarn.core.commands import DeallocateVms, PutScaleSet
from forewarn.core.specs import Binding, EvictionPolicy, ScopeKind, VmSpec
from forewarn.web.documents.instance import instance_info
from forewarn.wire.instance import instance_tree
from tests.unit.web.metadata.story import Story


def test_a_vm_is_told_what_it_is() -> None:
    story = Story()
    spec = VmSpec(size="Standard_F2", os_type="Windows", tags=(("team", "web"),))
    story.create("Web", spec=spec, binding=Binding(address="10.0.0.4"))
    info = instance_info(story.region, story.vm("web"))
    assert (info.name, info.computer_name, info.size, info.os_type) == ("Web", "Web", "Standard_F2", "Windows")
    assert (info.update_domain, info.fault_domain, info.tags) == ("0", "0", (("team", "web"),))
    assert (info.priority, info.eviction_policy) == ("", "")
    assert info.vm_id == story.vm("web").vm_id
    assert info.resource_id.endswith("/resourceGroups/forewarn/providers/Microsoft.Compute/virtualMachines/Web")
    assert info.host_id.endswith("/hosts/host-0")
    (interface,) = info.interfaces
    assert (interface.ipv4, interface.ipv6) == ((("10.0.0.4", ""),), ())
    assert len(interface.mac) == 12
    assert int(interface.mac, 16)


def test_windows_has_a_computer_name_of_fifteen_letters_at_most() -> None:
    story = Story()
    story.create("database-of-the-shop", spec=VmSpec(os_type="Windows"))
    story.create("database-of-the-firm", spec=VmSpec())
    names = [instance_info(story.region, story.vm(name)).computer_name for name in story.region.vms]
    assert sorted(names) == ["database-of-the", "database-of-the-firm"]


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
    assert (info.host_id, info.interfaces[0].ipv6) == ("", ("fd00::4",))


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


def _check_field(holder: Any, name: str) -> Any:
    """As Azure's agent for Linux does it (``ImdsClient.validate`` of WALinuxAgent), which complains otherwise."""
    assert name in holder, f"Missing field: [{name}]"
    assert holder[name], f"Empty field: [{name}]"
    return holder[name]


@pytest.mark.parametrize("address", ["", "10.0.0.4", "fd00::4"])
def test_no_vm_is_told_an_empty_address(address: str) -> None:
    story = Story()
    story.create("a", binding=Binding(address=address) if address else None)
    story.tell(PutScaleSet("web", "shop", VmSpec(), "seed", capacity=2))
    for name in ("a", "web_0", "web_1"):
        tree: Any = instance_tree(instance_info(story.region, story.vm(name)), "2018-02-01")
        interface = _check_field(_check_field(tree, "network"), "interface")[0]
        _check_field(interface, "macAddress")
        private = _check_field(_check_field(_check_field(interface, "ipv4"), "ipAddress")[0], "privateIpAddress")
        assert IPv4Address(private).is_private


def test_an_address_is_a_vms_own_and_stays() -> None:
    story = Story()
    story.create(*(f"vm-{number}" for number in range(200)))
    found = [instance_info(story.region, vm).interfaces for vm in story.region.vms.values()]
    story.tell(DeallocateVms(("vm-0",)))
    assert len({each[0].ipv4 for each in found}) == len({each[0].mac for each in found}) == 200
    assert [instance_info(story.region, vm).interfaces for vm in story.region.vms.values()] == found

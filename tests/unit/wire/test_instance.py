from __future__ import annotations

from itertools import pairwise

import pytest

from forewarn.wire.instance import InstanceInfo, Interface, instance_tree
from forewarn.wire.tree import Node, as_json, as_text, walk
from forewarn.wire.versions import IMDS_VERSIONS

INFO = InstanceInfo(
    name="web-0",
    vm_id="5c08b38e-4d57-4c23-ac45-aca61037f084",
    location="westus",
    os_type="Linux",
    size="Standard_D2s_v5",
    update_domain="3",
    fault_domain="1",
    resource_group="front",
    subscription_id="8d10da13-8125-4ba9-a717-bf7490507b3d",
    resource_id="/subscriptions/8d10da13-8125-4ba9-a717-bf7490507b3d/resourceGroups/front/providers/Microsoft.Compute/virtualMachines/web-0",
    placement_group_id="f67c14ab-e92c-408c-ae2d-da15866ec79a",
    scale_set_name="",
    zone="2",
    computer_name="web-0",
    priority="Spot",
    eviction_policy="Delete",
    tags=(("Department", "IT"), ("Colour", "blue")),
    interfaces=(
        Interface(mac="000D3A00FA89", ipv4=(("10.0.0.4", ""),), subnet_address="10.0.0.0", subnet_prefix="24"),
    ),
    dns_servers=("10.0.0.2", "10.0.0.3"),
)
NEWEST = IMDS_VERSIONS[-1]


def leaves(node: Node, path: str = "") -> dict[str, Node]:
    """Every leaf and every empty container by its path."""
    if isinstance(node, str) or not node:
        return {path: node}
    children = node.items() if isinstance(node, dict) else ((str(index), item) for index, item in enumerate(node))
    return {below: leaf for key, child in children for below, leaf in leaves(child, f"{path}/{key}").items()}


def at(path: str, version: str = NEWEST) -> Node | None:
    return walk(instance_tree(INFO, version), path.split("/"))


def in_order(node: Node) -> bool:
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return (not isinstance(node, dict) or list(node) == sorted(node)) and all(in_order(child) for child in children)


@pytest.mark.parametrize("version", IMDS_VERSIONS)
def test_every_version_has_strings_only_and_keys_in_order(version: str) -> None:
    tree = instance_tree(INFO, version)

    assert list(tree) == ["compute", "network"]
    assert all(leaf == [] or isinstance(leaf, str) for leaf in leaves(tree).values())
    assert in_order(tree)


def test_a_newer_version_only_adds_to_compute() -> None:
    before: set[str] = set()
    for version in IMDS_VERSIONS:
        now = set(leaves(instance_tree(INFO, version)["compute"]))
        assert before <= now
        before = now


@pytest.mark.parametrize(
    ("path", "since", "value"),
    [
        ("compute/name", "2017-03-01", "web-0"),
        ("compute/vmId", "2017-03-01", INFO.vm_id),
        ("compute/location", "2017-03-01", "westus"),
        ("compute/osType", "2017-03-01", "Linux"),
        ("compute/vmSize", "2017-03-01", "Standard_D2s_v5"),
        ("compute/platformUpdateDomain", "2017-03-01", "3"),
        ("compute/platformFaultDomain", "2017-03-01", "1"),
        ("compute/resourceGroupName", "2017-08-01", "front"),
        ("compute/subscriptionId", "2017-08-01", INFO.subscription_id),
        ("compute/placementGroupId", "2017-08-01", INFO.placement_group_id),
        ("compute/tags", "2017-08-01", "Department:IT;Colour:blue"),
        ("compute/vmScaleSetName", "2017-12-01", ""),
        ("compute/zone", "2017-12-01", "2"),
        ("compute/resourceId", "2019-03-11", INFO.resource_id),
        ("compute/tagsList/1/value", "2019-06-04", "blue"),
        ("compute/osProfile/computerName", "2020-07-15", "web-0"),
        ("compute/priority", "2020-12-01", "Spot"),
        ("compute/evictionPolicy", "2020-12-01", "Delete"),
        ("compute/virtualMachineScaleSet/id", "2021-03-01", ""),
        ("compute/extendedLocation/name", "2021-03-01", ""),
        ("compute/platformSubFaultDomain", "2021-10-01", ""),
        ("compute/host/id", "2021-11-15", ""),
        ("compute/hostGroup/id", "2021-11-15", ""),
        ("compute/physicalZone", "2023-11-15", ""),
        ("network/interface/0/ipv4/ipAddress/0/privateIpAddress", "2017-04-02", "10.0.0.4"),
        ("network/interface/0/ipv4/subnet/0/prefix", "2017-03-01", "24"),
        ("network/interface/0/macAddress", "2017-04-02", "000D3A00FA89"),
    ],
)
def test_a_field_appears_with_its_first_version_and_stays(path: str, since: str, value: str) -> None:
    assert {version: at(path, version) for version in IMDS_VERSIONS} == {
        version: value if version >= since else None for version in IMDS_VERSIONS
    }


def test_compute_grows_in_these_versions_and_in_no_other() -> None:
    sizes = {version: len(leaves(instance_tree(INFO, version)["compute"])) for version in IMDS_VERSIONS}
    grown = [new for old, new in pairwise(IMDS_VERSIONS) if sizes[new] > sizes[old]]

    assert sizes["2017-03-01"] == 11
    assert grown == [
        *("2017-08-01", "2017-12-01", "2018-04-02", "2018-10-01", "2019-02-01", "2019-03-11", "2019-06-01"),
        *("2019-06-04", "2020-06-01", "2020-07-15", "2020-09-01", "2020-10-01", "2020-12-01", "2021-01-01"),
        *("2021-02-01", "2021-03-01", "2021-10-01", "2021-11-01", "2021-11-15", "2021-12-13", "2023-07-01"),
        "2023-11-15",
    ]


def test_the_preview_version_names_the_network_in_its_own_way() -> None:
    interface = at("network/interface/0", "2017-03-01")
    assert interface is not None

    assert as_text(interface) == "ipv4/\nipv6/\nmac"
    assert as_json(interface) == (
        b'{"ipv4":{"ipaddress":[{"ipaddress":"10.0.0.4","publicip":""}],"subnet":[{"address":"10.0.0.0",'
        b'"dnsservers":[{"ipaddress":"10.0.0.2"},{"ipaddress":"10.0.0.3"}],"prefix":"24"}]},'
        b'"ipv6":{"ipaddress":[]},"mac":"000D3A00FA89"}'
    )


def test_the_network_is_exactly_these_bytes() -> None:
    network = at("network")
    assert network is not None

    assert as_json(network) == (
        b'{"interface":[{"ipv4":{"ipAddress":[{"privateIpAddress":"10.0.0.4","publicIpAddress":""}],'
        b'"subnet":[{"address":"10.0.0.0","prefix":"24"}]},"ipv6":{"ipAddress":[]},"macAddress":"000D3A00FA89"}]}'
    )


def test_the_first_general_version_is_exactly_these_bytes() -> None:
    compute = at("compute", "2017-04-02")
    assert compute is not None

    assert as_json(compute) == (
        b'{"location":"westus","name":"web-0","offer":"","osType":"Linux","platformFaultDomain":"1",'
        b'"platformUpdateDomain":"3","publisher":"","sku":"","version":"",'
        b'"vmId":"5c08b38e-4d57-4c23-ac45-aca61037f084","vmSize":"Standard_D2s_v5"}'
    )


def test_a_machine_without_tags_has_an_empty_string_and_an_empty_list() -> None:
    tree = instance_tree(InstanceInfo(name="a", vm_id="b"), NEWEST)

    assert walk(tree, ("compute", "tags")) == ""
    assert walk(tree, ("compute", "tagsList")) == []

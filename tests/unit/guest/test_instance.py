from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.instance import INSTANCE_VERSIONS, Instance, concerns, decode_instance, doubt_about, own_name
from forewarn.wire.instance import InstanceInfo, instance_tree
from forewarn.wire.json_bytes import WireError
from forewarn.wire.tree import as_json
from forewarn.wire.versions import IMDS_VERSIONS
from tests.unit.guest.stage import an_event

INFO = InstanceInfo(
    name="aks-pool-vmss_18",
    vm_id="02aab8a4-74ef-476e-8182-f6d2ba4166a6",
    scale_set_name="aks-pool-vmss",
    computer_name="aks-pool-vmss00000i",
    priority="Spot",
)
SET_ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/3"


def told(version: str = INSTANCE_VERSIONS[0]) -> Instance:
    return decode_instance(as_json(instance_tree(INFO, version)))


def test_an_instance_is_what_the_service_tells() -> None:
    instance = told()
    assert (instance.name, instance.vm_id, instance.scale_set_name) == (INFO.name, INFO.vm_id, INFO.scale_set_name)
    assert (instance.computer_name, instance.priority) == ("aks-pool-vmss00000i", "Spot")
    assert "network" in instance.raw


@pytest.mark.parametrize("version", IMDS_VERSIONS)
def test_every_version_tells_the_name(version: str) -> None:
    assert told(version).name == INFO.name


def test_the_versions_asked_for_exist() -> None:
    assert set(INSTANCE_VERSIONS) <= set(IMDS_VERSIONS)
    assert sorted(INSTANCE_VERSIONS, reverse=True) == list(INSTANCE_VERSIONS)


def test_strange_types_are_as_good_as_absent() -> None:
    body = json.dumps({"compute": {"name": "web", "vmId": 7, "osProfile": "x", "zone": None, "new": {}}}).encode()
    assert decode_instance(body) == Instance(name="web")


def test_a_scale_sets_instance_is_known_by_its_resource_id_too() -> None:
    assert decode_instance(json.dumps({"compute": {"resourceId": SET_ID}}).encode()).name == "web_3"


@pytest.mark.parametrize(
    "body", [b"", b" ", b"[]", b"{}", b'{"compute":[]}', b'{"compute":{}}', b'{"compute":{"name":""}}']
)
def test_instance_metadata_without_a_name_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        decode_instance(body)


# Whose event it is


@pytest.mark.parametrize("resource", ["web-0", "WEB-0", "_web-0", "_Web-0", " web-0 "])
def test_an_event_is_ours_however_our_name_is_spelled(resource: str) -> None:
    assert concerns(replace(an_event(), resources=("other", resource)), "Web-0")


@pytest.mark.parametrize("resource", ["web-00", "web", "xweb-0", "__web-0", "web-0.internal", ""])
def test_an_event_of_a_name_that_only_looks_alike_is_not(resource: str) -> None:
    assert not concerns(replace(an_event(), resources=(resource,)), "web-0")


@given(st.lists(st.text()))
def test_an_empty_name_names_no_vm(resources: list[str]) -> None:
    assert not concerns(replace(an_event(), resources=tuple(resources)), "")


def test_a_given_name_stands_above_what_the_service_says() -> None:
    assert own_name(" mine ", told()) == "mine"
    assert own_name("", told()) == INFO.name


def test_without_either_there_is_no_name_and_no_guess() -> None:
    with pytest.raises(ValueError, match="name is not known"):
        own_name("", None)


@pytest.mark.parametrize("given_name", ["aks-pool-vmss00000i", "AKS-pool-vmss00000I"])
def test_a_host_name_is_told_from_the_name_in_events(given_name: str) -> None:
    for instance in (told(), replace(told(), computer_name="")):
        doubt = doubt_about(given_name, instance)
        assert doubt is not None
        assert "host name" in doubt
        assert "'aks-pool-vmss_18'" in doubt


def test_any_other_name_is_doubted_too_and_the_right_one_is_not() -> None:
    assert "not the name" in (doubt_about("web", told()) or "")
    assert doubt_about("AKS-pool-vmss_18", told()) is None
    assert doubt_about("", told()) is None

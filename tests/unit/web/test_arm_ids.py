"""Ids of resources: the shapes that Azure's clients take apart."""

from __future__ import annotations

import pytest

from forewarn.web import arm_ids

GROUP = "/subscriptions/s/resourceGroups/g"


@pytest.mark.parametrize(
    ("kind", "names", "expected"),
    [
        ("Microsoft.Compute/virtualMachines", ("web",), f"{GROUP}/providers/Microsoft.Compute/virtualMachines/web"),
        ("Microsoft.Network/virtualNetworks/subnets", ("net", "front"),
         f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net/subnets/front"),
        ("Microsoft.Network/virtualNetworks/subnets", ("net",),
         f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net/subnets"),
        ("Microsoft.Compute/virtualMachines", (), f"{GROUP}/providers/Microsoft.Compute/virtualMachines"),
    ],
)  # fmt: skip
def test_an_id_has_a_name_behind_each_part_of_its_kind(kind: str, names: tuple[str, ...], expected: str) -> None:
    assert arm_ids.resource_id(arm_ids.group_id("s", "g"), kind, *names) == expected


def test_the_patterns_of_routes_have_the_shape_of_the_ids() -> None:
    assert arm_ids.IN_GROUP.format(subscription="s", group="g") == arm_ids.group_id("s", "g") == GROUP
    assert arm_ids.IN_SUBSCRIPTION.format(subscription="s") == arm_ids.subscription_id("s")


def test_an_event_is_approved_below_what_it_is_of() -> None:
    web = arm_ids.resource_id(GROUP, arm_ids.VMS, "web")
    below = "providers/Microsoft.Maintenance/scheduledevents"

    assert arm_ids.acknowledge_path(web, "E1") == f"{web}/{below}/E1/acknowledge"
    assert arm_ids.acknowledge_path("/subscriptions/s") == f"/subscriptions/s/{below}/acknowledge"

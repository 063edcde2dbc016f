"""Lists of which some is asked for: the documented filters work, every other is refused."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.unit.web.resource_manager.bench import DEPLOYMENTS, RG, Bench, S

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def things(bench: Bench) -> None:
    """A network and a VM in each of two groups, with tags."""
    for group, place in (("rg1", "westus"), ("rg2", "eastus")):
        await bench.group(group)
        base = RG.replace("rg1", group) + "/providers"
        tags = {"Team": group, "odd": "it's"} if group == "rg1" else {"Department": "x"}
        network = {"location": place, "tags": tags}
        await bench.put(f"{base}/Microsoft.Network/virtualNetworks/net-{group}", network)
        await bench.put(f"{base}/Microsoft.Compute/virtualMachines/vm-{group}", {"location": place, "tags": tags})


async def names(bench: Bench, text: str, path: str = f"{S}/resources", **more: str) -> list[str]:
    query = "&".join(f"{quote(key)}={quote(value)}" for key, value in {"$filter": text, **more}.items())
    return [each["name"] for each in (await bench.get(f"{path}?{query}"))["value"]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["vm-rg1", "vm-rg2", "net-rg1", "net-rg2"]),
        ("resourceGroup eq 'RG2'", ["vm-rg2", "net-rg2"]),
        ("resourceGroup eq 'none'", []),
        ("resourceGroup ne 'rg2'", ["vm-rg1", "net-rg1"]),
        ("resourceType eq 'Microsoft.Network/virtualNetworks'", ["net-rg1", "net-rg2"]),
        ("name eq 'vm-rg1' or name eq 'net-rg2'", ["vm-rg1", "net-rg2"]),
        ("location eq 'East US' and resourceType eq 'microsoft.compute/virtualMachines'", ["vm-rg2"]),
        ("substringof('-rg1', name)", ["vm-rg1", "net-rg1"]),
        ("substringof('2', resourceGroup) and substringof('vm', name)", ["vm-rg2"]),
        ("tagName eq 'team'", ["vm-rg1", "net-rg1"]),
        ("tagName eq 'Team' and tagValue eq 'rg1'", ["vm-rg1", "net-rg1"]),
        ("tagName eq 'Team' and tagValue eq 'rg2'", []),
        ("tagName eq 'odd' and tagValue eq 'it''s'", ["vm-rg1", "net-rg1"]),
        ("startswith(tagName, 'depart')", ["vm-rg2", "net-rg2"]),
    ],
)
async def test_lists_of_resources_take_the_documented_filters(bench: Bench, text: str, found: list[str]) -> None:
    assert await names(bench, text) == found


async def test_lists_can_be_of_one_group_and_limited_to_a_number_of_results(bench: Bench) -> None:
    assert await names(bench, "substringof('net', name)", f"{RG}/resources") == ["net-rg1"]
    assert await names(bench, "", **{"$top": "3"}) == ["vm-rg1", "vm-rg2", "net-rg1"]
    assert await names(bench, "location eq 'eastus'", **{"$top": "1"}) == ["vm-rg2"]
    shown = await bench.get(f"{S}/resources?$expand=createdTime,changedTime,provisioningState")
    assert [each["provisioningState"] for each in shown["value"]] == ["Succeeded"] * 4


async def test_lists_of_groups_and_deployments_take_their_documented_filters(bench: Bench) -> None:
    await bench.put(f"{S}/resourceGroups/rg3", {"location": "westus", "tags": {"team": "web"}})
    template = {"properties": {"mode": "Incremental", "template": {"resources": []}}}
    await bench.put(f"{DEPLOYMENTS}/d", template)

    assert await names(bench, "tagName eq 'team' and tagValue eq 'web'", f"{S}/resourceGroups") == ["rg3"]
    assert await names(bench, "provisioningState eq 'Succeeded'", DEPLOYMENTS) == ["d"]
    assert await names(bench, "provisioningState eq 'Failed'", DEPLOYMENTS) == []


REFUSED: list[tuple[str, dict[str, str]]] = [
    *(
        (f"{S}/resources", {"$filter": text})
        for text in (
            "resourceGroup",
            "resourceGroup eq rg1",
            "resourceGroup eq 'rg1' or",
            "resourceGroup eq 'rg1' location eq 'westus'",
            "name eq 'a' or name eq 'b' and name eq 'c'",
            "name gt 'a'",
            "substringof('a', location)",
            "plan/name eq 'x'",
            "x" * 5000,
        )
    ),
    (f"{S}/resources", {"$top": "0"}),
    (f"{S}/resources", {"$top": "many"}),
    (f"{S}/resources", {"$top": "9" * 5000}),
    (f"{S}/resources", {"$expand": "everything"}),
    (f"{S}/resourceGroups", {"$filter": "name eq 'rg1'"}),
    (DEPLOYMENTS, {"$filter": "name eq 'd'"}),
    (f"{S}/providers/Microsoft.Compute/skus", {"$filter": "name eq 'x'"}),
    (f"{RG}/providers/Microsoft.Compute/virtualMachines", {"$filter": "name eq 'x'"}),
    (f"{RG}/providers/Microsoft.Compute/virtualMachines", {"$top": "1"}),
    (f"{RG}/providers/Microsoft.Compute/virtualMachines", {"$expand": "instanceView,everything"}),
    (f"{RG}/providers/Microsoft.Compute/virtualMachines/vm-rg1", {"$expand": "everything"}),
    (f"{RG}/providers/Microsoft.Compute/virtualMachineScaleSets", {"$expand": "everything"}),
    (f"{RG}/providers/Microsoft.Compute/availabilitySets", {"$filter": "name eq 'x'"}),
    (f"{RG}/providers/Microsoft.Compute/virtualMachineScaleSets", {"$filter": "name eq 'x'"}),
    (f"{RG}/providers/Microsoft.Network/virtualNetworks", {"$filter": "name eq 'x'"}),
    (f"{RG}/providers/Microsoft.Network/virtualNetworks", {"$top": "1"}),
]


@pytest.mark.parametrize(("path", "query"), REFUSED)
async def test_what_is_not_documented_is_refused(bench: Bench, path: str, query: dict[str, Any]) -> None:
    text = "&".join(f"{quote(key)}={quote(value)}" for key, value in query.items())

    error = await bench.refused(400, "GET", f"{path}?{text}")

    assert error["target"] in query

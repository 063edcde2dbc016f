"""Whatever stands in a body, the answer is an answer: done, or refused and nothing changed."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.web.resource_manager.compute.bench import NEWEST, Bench, open_bench, path_of, scale_set_body, terminate

APPROVE = {"automaticallyApprove": True}
POLICY = {
    "userInitiatedReboot": APPROVE,
    "userInitiatedRedeploy": {},
    "allInstancesDown": APPROVE,
    "scheduledEventsAdditionalPublishingTargets": {"eventGridAndResourceGraph": {"enable": True}},
}
PROFILE = {**terminate(), "osImageNotificationProfile": {"enable": "true", "notBeforeTimeout": "PT15M"}}
INTERFACES = {"networkInterfaces": [{"id": "/nic", "properties": {"primary": True}}]}
BODIES: dict[str, dict[str, Any]] = {
    "virtualMachineScaleSets/web": scale_set_body(
        scheduledEventsPolicy=POLICY,
        scaleInPolicy={"rules": ["Default"]},
        profile={"scheduledEventsProfile": PROFILE, "priority": "Regular", "billingProfile": {"maxPrice": -1}},
    ),
    "virtualMachineScaleSets/loose": scale_set_body(orchestrationMode="Flexible"),
    "virtualMachineScaleSets/web/virtualMachines/0": {
        "tags": {"a": "b"},
        "properties": {"protectionPolicy": {"protectFromScaleIn": True, "protectFromScaleSetActions": False}},
    },
    "virtualMachines/one": {
        "location": "westus",
        "tags": {"a": "b"},
        "zones": ["1"],
        "identity": {"type": "SystemAssigned", "userAssignedIdentities": {"/me": {}}},
        "properties": {
            "hardwareProfile": {"vmSize": "Standard_A1"},
            "storageProfile": {"osDisk": {"osType": "Linux"}, "dataDisks": [{"lun": 0, "diskSizeGB": 4}]},
            "osProfile": {"computerName": "one", "windowsConfiguration": {}},
            "networkProfile": INTERFACES,
            "availabilitySet": {"id": path_of("availabilitySets/front")},
            "scheduledEventsProfile": PROFILE,
            "scheduledEventsPolicy": POLICY,
        },
    },
    "availabilitySets/front": {
        "location": "westus",
        "sku": {"name": "Aligned"},
        "properties": {"platformFaultDomainCount": 2, "scheduledEventsPolicy": POLICY},
    },
    "virtualMachineScaleSets/web/delete": {"instanceIds": ["0"]},
    "virtualMachineScaleSets/web/restart": {"instanceIds": ["1"]},
    "virtualMachineScaleSets/web/providers/Microsoft.Maintenance/scheduledevents": {
        "value": ["00000000-0000-0000-0000-000000000000"]
    },
}
VERSIONS = ["2015-06-15", "2018-10-01", "2019-03-01", "2021-03-01", "2022-11-01", "2024-03-01", NEWEST, "2031-01-01"]
TELLING = st.sampled_from(
    [
        *("PT5M", "PT20M", "Spot", "low", "Delete", "Flexible", "Rolling", "NewestVM", "true", "FALSE", "*", "", "-1"),
        *(path_of("availabilitySets/front"), path_of("virtualMachineScaleSets/web"), "eastus", "a" * 300, "\0"),
    ]
)
PLAIN = st.none() | st.booleans() | st.integers(-3, 30) | st.integers() | st.floats(allow_nan=False) | TELLING
VALUES = st.recursive(
    PLAIN | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        *("properties", "enable", "notBeforeTimeout", "automaticallyApprove", "capacity", "id", "priority", "mode"),
        *("virtualMachineProfile", "scheduledEventsProfile", "scheduledEventsPolicy", "SKU", "rules", "evictionPolicy"),
    ]
) | st.text(max_size=6)


def holders(value: Any) -> list[Any]:
    """Every object and list in a body, itself first."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [value] if isinstance(value, dict | list) and value else []
    return found + [each for item in inner for each in holders(item)]


@st.composite
def mutations(draw: st.DrawFn, body: Any) -> Any:
    """The body with a few things replaced, removed or added."""
    body = copy.deepcopy(body)
    for _ in range(draw(st.integers(0, 3))):
        there = holders(body)
        if not there:
            break
        holder = draw(st.sampled_from(range(len(there))))
        _mutate(draw, there[holder])
    return draw(VALUES) if draw(st.integers(0, 30)) == 0 else body


def _mutate(draw: st.DrawFn, holder: Any) -> None:
    places = list(holder) if isinstance(holder, dict) else range(len(holder))
    place = draw(st.sampled_from(places))
    match draw(st.sampled_from(["replace", "remove", "add"])):
        case "replace":
            holder[place] = draw(VALUES)
        case "remove":
            del holder[place]
        case _ if isinstance(holder, dict):
            holder[draw(NAMES)] = draw(VALUES)
        case _:
            holder.append(draw(VALUES))


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, Any, str]:
    place = draw(st.sampled_from(sorted(BODIES)))
    acts = place.endswith(("delete", "restart", "scheduledevents"))
    method = "POST" if acts else draw(st.sampled_from(["PUT", "PATCH"]))
    return method, place, draw(mutations(BODIES[place])), draw(st.sampled_from(VERSIONS))


async def ask_all(asked: list[tuple[str, str, Any, str]], *, prepared: bool) -> None:
    async with open_bench() as bench:
        if prepared:
            for place in ("availabilitySets/front", *(each for each in BODIES if each.count("/") == 1)):
                await bench.ask("PUT", place, BODIES[place])
        for method, place, body, version in asked:
            await ask(bench, method, place, body, version)


async def ask(bench: Bench, method: str, place: str, body: Any, version: str) -> None:
    await bench.settled()
    before = bench.plane.seq, bench.plane.region
    reply = await bench.ask(method, place, copy.deepcopy(body), version=version)
    if reply.status >= 400:
        assert set(reply.body) == {"error"}
        assert before == (bench.plane.seq, bench.plane.region)
    assert reply.status < 500
    msgspec.json.encode(reply.body)
    for kind in ("virtualMachineScaleSets", "virtualMachines", "availabilitySets"):
        page = await bench.get(kind)
        for shown in page["value"]:
            again = await bench.get(shown["id"])
            assert again == shown
    if "web" in bench.plane.region.scale_sets:
        await bench.get("virtualMachineScaleSets/web/virtualMachines", expand="instanceView")


@settings(max_examples=150)
@given(asked=st.lists(requests(), min_size=1, max_size=4), prepared=st.booleans())
def test_every_json_body_is_answered_without_a_server_error(
    asked: list[tuple[str, str, Any, str]], prepared: bool
) -> None:
    asyncio.run(ask_all(asked, prepared=prepared))

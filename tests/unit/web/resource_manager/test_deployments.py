"""Deployments: a template carried out, its status, its failure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forewarn.stores.memory import MemoryJournal
from tests.unit.web.resource_manager.bench import DEPLOYMENTS, NETWORK, URL, Bench, open_bench

pytestmark = pytest.mark.anyio
D = f"{DEPLOYMENTS}/first"
ADDRESS = {
    "type": "Microsoft.Network/publicIPAddresses",
    "apiVersion": "2022-01-01",
    "name": "[concat(parameters('name'), 'IP')]",
    "location": "[resourceGroup().location]",
    "tags": {},
    "dependsOn": [],
}
INTERFACE = {
    "type": "Microsoft.Network/networkInterfaces",
    "apiVersion": "2015-06-15",
    "name": "[variables('nic')]",
    "location": "westus",
    "dependsOn": ["[concat('Microsoft.Network/publicIPAddresses/', parameters('name'), 'IP')]"],
    "properties": {
        "note": "[reference(resourceId('Microsoft.Network/publicIPAddresses', 'webIP'), '2022-01-01').ipAddress]",
        "ipConfigurations": [{"name": "one", "properties": {"subnet": {"id": "[resourceId('A.B/c', 'd')]"}}}],
    },
}


def deployment(*resources: Any, outputs: Any = None, **properties: Any) -> dict[str, Any]:
    template = {
        "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "parameters": {"name": {"type": "string"}, "key": {"type": "securestring", "defaultValue": "hush"}},
        "variables": {"nic": "[concat(parameters('name'), 'Nic')]"},
        "resources": list(resources),
        "outputs": outputs or {},
    }
    given = {"name": {"value": "web"}}
    return {"properties": {"template": template, "parameters": given, "mode": "incremental", **properties}}


@pytest.fixture(autouse=True)
async def group(bench: Bench) -> None:
    await bench.group()


async def status_of(bench: Bench, answer: Any) -> dict[str, Any]:
    url = answer.headers["azure-asyncoperation"]
    assert url.startswith(f"{URL}{DEPLOYMENTS}/first/operationStatuses/")
    assert answer.headers["retry-after"] == "1"
    found: dict[str, Any] = await bench.get(url.partition("?")[0])
    return found


async def test_a_template_is_carried_out(bench: Bench) -> None:
    outputs = {"NIC": {"type": "object", "value": "[reference(variables('nic')).ipConfigurations[0].properties]"}}

    answer = await bench.ask("PUT", D, deployment(INTERFACE, ADDRESS, outputs=outputs), 201)

    assert answer.json()["properties"]["provisioningState"] == "Accepted"
    assert await status_of(bench, answer) == {"status": "Succeeded"}
    address = await bench.get(f"{NETWORK}/publicIPAddresses/webIP")
    nic = await bench.get(f"{NETWORK}/networkInterfaces/webNic")
    assert nic["properties"]["note"] == address["properties"]["ipAddress"]
    assert address["tags"] == {}
    found = await bench.get(D)
    assert found["properties"]["provisioningState"] == "Succeeded"
    assert found["properties"]["outputs"]["nic"]["value"]["privateIPAddress"] == "10.0.0.4"
    assert found["properties"]["outputResources"] == [{"id": address["id"]}, {"id": nic["id"]}]
    assert found in (await bench.get(DEPLOYMENTS))["value"]


async def test_what_is_secret_is_not_told_back(bench: Bench) -> None:
    await bench.put(D, deployment())

    assert (await bench.get(D))["properties"]["parameters"] == {
        "name": {"type": "String", "value": "web"},
        "key": {"type": "Securestring"},
    }
    assert "hush" not in str([record.fact for record in bench.plane.journal.read(0, 100)])


async def test_a_resource_that_fails_fails_the_deployment(bench: Bench) -> None:
    bad = {**INTERFACE, "dependsOn": [], "properties": {}, "location": "", "name": "bad"}

    answer = await bench.ask("PUT", D, deployment(ADDRESS, bad), 201)

    status = await status_of(bench, answer)
    assert status["status"] == "Failed"
    assert status["error"]["code"] == "DeploymentFailed"
    assert status["error"]["target"] == D
    assert status["error"]["message"].startswith("At least one resource deployment operation failed.")
    (detail,) = status["error"]["details"]
    assert detail == {
        "code": "LocationRequired",
        "message": "The location property is required for this definition.",
        "target": f"{NETWORK}/networkInterfaces/bad",
    }
    found = await bench.get(D)
    assert found["properties"]["provisioningState"] == "Failed"
    assert found["properties"]["error"] == status["error"]
    assert found["properties"]["outputResources"] == [{"id": f"{NETWORK}/publicIPAddresses/webIP"}]
    operations = (await bench.get(f"{D}/operations"))["value"]
    assert [each["properties"]["provisioningState"] for each in operations] == ["Succeeded", "Failed"]


async def test_a_reference_to_nothing_fails_the_deployment(bench: Bench) -> None:
    outputs = {"x": {"type": "string", "value": "[reference(resourceId('A.B/c', 'd'), '2020-01-01').x]"}}

    answer = await bench.ask("PUT", D, deployment(outputs=outputs), 201)

    (detail,) = (await status_of(bench, answer))["error"]["details"]
    assert detail["code"] == "ResourceNotFound"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (None, "InvalidRequestContent"),
        ([], "InvalidRequestContent"),
        ({"properties": {}}, "InvalidRequestContent"),
        ({"properties": {"templateLink": {"uri": "https://example"}}}, "InvalidRequestContent"),
        (deployment(mode="Complete"), "InvalidDeploymentMode"),
        (deployment({**ADDRESS, "name": "[nothing()]"}), "InvalidTemplate"),
        (deployment({**ADDRESS, "name": "[reference('webIP').x]"}), "InvalidTemplate"),
        (deployment({**ADDRESS, "type": "Microsoft.Resources/deployments"}), "InvalidTemplate"),
        (deployment(parameters={}), "InvalidTemplate"),
        (deployment({**ADDRESS, "name": "a\\b"}), "InvalidResourceName"),
        (deployment({**ADDRESS, "name": "x" * 300}), "InvalidResourceName"),
    ],
)
async def test_a_bad_deployment_makes_nothing(bench: Bench, body: Any, code: str) -> None:
    for method, path in (("PUT", D), ("POST", f"{D}/validate")):
        assert (await bench.refused(400, method, path, body))["code"] == code


async def test_validating_makes_nothing(bench: Bench) -> None:
    before = bench.plane.seq

    found = (await bench.ask("POST", f"{D}/validate", deployment(ADDRESS))).json()

    assert found["properties"]["validatedResources"] == [{"id": f"{NETWORK}/publicIPAddresses/webIP"}]
    assert bench.plane.seq == before


async def test_a_template_may_come_as_az_sends_it(bench: Bench) -> None:
    content = b'{"properties": {"mode": "Incremental", template:{\n // nothing\n "resources": [],\n}}}'

    await bench.ask("PUT", D, status=201, content=content)


async def test_a_deployment_is_forgotten_when_asked(bench: Bench) -> None:
    await bench.put(D, deployment(ADDRESS))
    await bench.ask("HEAD", D, status=204)

    await bench.ask("DELETE", D, status=204)

    assert (await bench.refused(404, "GET", D))["code"] == "DeploymentNotFound"
    await bench.ask("HEAD", D, status=404)
    await bench.get(f"{NETWORK}/publicIPAddresses/webIP")


async def test_a_deployment_that_has_ended_cannot_be_canceled(bench: Bench) -> None:
    await bench.put(D, deployment())

    assert (await bench.refused(409, "POST", f"{D}/cancel"))["code"] == "DeploymentCannotBeCancelled"


async def test_a_status_outlives_the_server() -> None:
    journal = MemoryJournal()
    async with open_bench(journal=journal) as before:
        await before.group()
        answer = await before.ask("PUT", D, deployment(ADDRESS), 201)
    async with open_bench(journal=journal) as after:
        assert await status_of(after, answer) == {"status": "Succeeded"}
        await after.refused(404, "GET", f"{D}/operationStatuses/other")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "x", "[parameters('name')]", "[reference('x')]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
RESOURCE = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["Microsoft.Network/publicIPAddresses", "A.B/c", "x"]) | JSON,
        "apiVersion": st.just("2022-01-01") | JSON,
        "name": st.sampled_from(["a", "b", "a/b"]) | JSON,
        "location": st.just("westus") | JSON,
        "dependsOn": st.just(["a"]) | JSON,
        "copy": st.just({"name": "l", "count": 2}) | JSON,
        "condition": JSON,
        "resources": JSON,
        "properties": JSON,
    },
)
TEMPLATE = st.fixed_dictionaries(
    {"resources": st.lists(RESOURCE, max_size=3) | JSON},
    optional={"parameters": JSON, "variables": JSON, "outputs": st.dictionaries(st.text(max_size=3), JSON, max_size=2)},
)


@given(template=TEMPLATE, parameters=JSON)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_is_deployed_is_made_or_refused(bench: Bench, template: Any, parameters: Any) -> None:
    body = {"properties": {"template": template, "parameters": parameters, "mode": "Incremental"}}

    answer = await bench.client.put(f"{D}?api-version=2024-11-01", json=body)

    assert answer.status_code in (201, 400), answer.text
    if answer.status_code == 201:
        await bench.get(D)

"""The one subscription, its places and providers, and the images that always exist."""

from __future__ import annotations

import pytest

from forewarn.web.documents.whereabouts import SUBSCRIPTION, TENANT
from tests.unit.web.resource_manager.bench import RG, Bench, S

pytestmark = pytest.mark.anyio
IMAGES = (
    f"{S}/providers/Microsoft.Compute/locations/westus/publishers/Canonical"
    "/artifacttypes/vmimage/offers/jammy/skus/22_04-lts/versions"
)


async def test_there_is_one_subscription(bench: Bench) -> None:
    (found,) = (await bench.get("/subscriptions"))["value"]

    assert found == await bench.get(S)
    assert (found["subscriptionId"], found["tenantId"], found["state"]) == (SUBSCRIPTION, TENANT, "Enabled")


async def test_there_is_one_tenant(bench: Bench) -> None:
    (found,) = (await bench.get("/tenants"))["value"]

    assert found["tenantId"] == TENANT


async def test_the_usual_places_have_names(bench: Bench) -> None:
    names = [each["name"] for each in (await bench.get(f"{S}/locations"))["value"]]

    assert names[0] == "local"
    assert "westus" in names


async def test_a_provider_tells_its_types(bench: Bench) -> None:
    found = await bench.get(f"{S}/providers/microsoft.network")

    assert (found["namespace"], found["registrationState"]) == ("Microsoft.Network", "Registered")
    kinds = {each["resourceType"]: each["apiVersions"] for each in found["resourceTypes"]}
    assert kinds["virtualNetworks"][0] > kinds["virtualNetworks"][-1]
    assert found in (await bench.get(f"{S}/providers"))["value"]


async def test_registering_a_provider_changes_nothing(bench: Bench) -> None:
    found = (await bench.ask("POST", f"{S}/providers/Microsoft.Compute/register")).json()

    assert found["registrationState"] == "Registered"


async def test_an_unknown_provider_is_refused(bench: Bench) -> None:
    assert (await bench.refused(404, "GET", f"{S}/providers/Nobody.Nothing"))["code"] == "InvalidResourceNamespace"


async def test_every_image_has_a_version(bench: Bench) -> None:
    (found,) = await bench.get(f"{IMAGES}?$top=1&$orderby=name%20desc")
    shown = await bench.get(f"{IMAGES}/{found['name']}")

    assert shown["id"] == found["id"] == f"{IMAGES}/{found['name']}"
    assert shown["properties"]["osDiskImage"] == {"operatingSystem": "Linux"}
    assert "plan" not in shown["properties"]


async def test_the_publisher_of_an_image_tells_its_operating_system(bench: Bench) -> None:
    shown = await bench.get(IMAGES.replace("Canonical", "MicrosoftWindowsServer") + "/latest")

    assert shown["properties"]["osDiskImage"] == {"operatingSystem": "Windows"}


async def test_an_unknown_image_counts_as_linux(bench: Bench) -> None:
    await bench.group()

    found = await bench.get(f"{RG}/providers/Microsoft.Compute/images/mine")

    assert found["name"] == "mine"
    assert found["properties"]["storageProfile"]["osDisk"]["osType"] == "Linux"
    definition = await bench.get(f"{RG}/providers/Microsoft.Compute/galleries/g/images/i")
    assert definition["properties"]["osState"] == "Generalized"
    await bench.get(f"{RG}/providers/Microsoft.Compute/galleries/g/images/i/versions/1.0.0")


async def test_an_image_that_was_put_is_that_one(bench: Bench) -> None:
    await bench.group()
    properties = {"storageProfile": {"osDisk": {"osType": "Windows", "osState": "Specialized"}}}
    path = f"{RG}/providers/Microsoft.Compute/images/mine"
    await bench.put(path, {"location": "westus", "properties": properties}, 200)

    assert (await bench.get(path))["properties"]["storageProfile"]["osDisk"]["osState"] == "Specialized"


async def test_images_can_be_looked_through(bench: Bench) -> None:
    publishers = f"{S}/providers/Microsoft.Compute/locations/westus/publishers"
    offers = f"{publishers}/canonical/artifacttypes/vmimage/offers"

    assert "Canonical" in [each["name"] for each in await bench.get(publishers)]
    assert {"ubuntu-24_04-lts"} < {each["name"] for each in await bench.get(offers)}
    assert [each["name"] for each in await bench.get(f"{offers}/ubuntu-24_04-lts/skus")] == ["server"]
    assert await bench.get(f"{publishers}/nobody/artifacttypes/vmimage/offers") == []


async def test_sizes_are_the_same_everywhere(bench: Bench) -> None:
    everywhere = (await bench.get(f"{S}/providers/Microsoft.Compute/skus"))["value"]
    here = (await bench.get(f"{S}/providers/Microsoft.Compute/skus?$filter=location eq 'West US'"))["value"]
    sizes = (await bench.get(f"{S}/providers/Microsoft.Compute/locations/westus/vmSizes"))["value"]

    assert {each["name"] for each in here} == {each["name"] for each in sizes} == {each["name"] for each in everywhere}
    assert len(here) == len(sizes) < len(everywhere)
    assert all(each["locationInfo"][0]["zones"] == ["1", "2", "3"] for each in here)

"""The one subscription of a region: what it is, where it could be, and which providers it has."""

from __future__ import annotations

from typing import Any

from forewarn.web.arm_ids import IN_SUBSCRIPTION, part_id, subscription_id
from forewarn.web.resource_manager.call import ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.errors import ArmError
from forewarn.web.resource_manager.routing import Router

NAME = "Forewarn"
# Names for a place that is always this one; clients and templates like to name a place they know.
_PLACES = (
    ("westus", "West US"),
    ("westus2", "West US 2"),
    ("westus3", "West US 3"),
    ("centralus", "Central US"),
    ("eastus", "East US"),
    ("eastus2", "East US 2"),
    ("northeurope", "North Europe"),
    ("westeurope", "West Europe"),
    ("uksouth", "UK South"),
    ("francecentral", "France Central"),
    ("germanywestcentral", "Germany West Central"),
    ("swedencentral", "Sweden Central"),
    ("southeastasia", "Southeast Asia"),
    ("japaneast", "Japan East"),
    ("australiaeast", "Australia East"),
)
# Newest first: templates ask for apiVersions[0].
_PROVIDERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Microsoft.Compute": (
        (
            "2026-04-01",
            "2025-04-01",
            "2024-11-01",
            "2024-07-01",
            "2024-03-01",
            "2023-09-01",
            "2022-11-01",
            "2019-03-01",
        ),
        (
            "availabilitySets",
            "disks",
            "galleries",
            "galleries/images",
            "galleries/images/versions",
            "images",
            "locations",
            "locations/operations",
            "locations/publishers",
            "proximityPlacementGroups",
            "virtualMachines",
            "virtualMachineScaleSets",
            "virtualMachineScaleSets/virtualMachines",
        ),
    ),
    "Microsoft.Network": (
        ("2024-05-01", "2023-09-01", "2022-01-01", "2020-05-01", "2015-06-15"),
        (
            "applicationSecurityGroups",
            "loadBalancers",
            "natGateways",
            "networkInterfaces",
            "networkSecurityGroups",
            "publicIPAddresses",
            "publicIPPrefixes",
            "routeTables",
            "virtualNetworks",
            "virtualNetworks/subnets",
        ),
    ),
    "Microsoft.Maintenance": (("2023-10-01-preview", "2023-04-01"), ("maintenanceConfigurations", "scheduledevents")),
    "Microsoft.ManagedIdentity": (("2023-01-31", "2018-11-30"), ("userAssignedIdentities",)),
    "Microsoft.Resources": (
        ("2024-11-01", "2022-09-01", "2021-04-01"),
        ("deployments", "resourceGroups", "resources", "subscriptions", "tenants"),
    ),
    "Microsoft.Storage": (("2023-05-01", "2022-09-01"), ("storageAccounts",)),
}
_NAMESPACES = {name.lower(): name for name in _PROVIDERS}


def add_to(router: Router) -> None:
    router.add("GET", "/subscriptions", _list)
    router.add("GET", IN_SUBSCRIPTION, _show)
    router.add("GET", f"{IN_SUBSCRIPTION}/locations", _locations)
    router.add("GET", "/tenants", _tenants)
    router.add("GET", "/providers", _providers)
    router.add("GET", f"{IN_SUBSCRIPTION}/providers", _providers)
    provider = part_id(IN_SUBSCRIPTION, "providers", "{namespace}")
    router.add("GET", provider, _provider)
    router.add("POST", f"{provider}/register", _provider)


def check(desk: ArmDesk, subscription: str) -> None:
    """Refuse any subscription but the one that this region has."""
    if subscription.lower() != desk.subscription:
        raise ArmError(404, "SubscriptionNotFound", f"The subscription '{subscription}' could not be found.")


def places(desk: ArmDesk) -> dict[str, str]:
    """The locations, by name, as people read them."""
    return {desk.location: "Local", **dict(_PLACES)}


def place_name(text: str) -> str:
    """A location as ids write it: 'West US' is westus."""
    return text.replace(" ", "").lower()


def api_versions(namespace: str, kind: str) -> tuple[str, ...]:
    """What ``providers()`` of a template answers, newest first; none for an unknown provider."""
    name = _NAMESPACES.get(namespace.lower())
    versions, kinds = _PROVIDERS[name] if name else ((), ())
    return versions if kind.lower() in (each.lower() for each in kinds) else ()


async def _list(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, {"value": [_subscription(desk)], "count": {"type": "Total", "value": 1}})


async def _show(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, _subscription(desk))


def _subscription(desk: ArmDesk) -> dict[str, Any]:
    return {
        "id": subscription_id(desk.subscription),
        "subscriptionId": desk.subscription,
        "tenantId": desk.tenant,
        "displayName": NAME,
        "state": "Enabled",
        "authorizationSource": "RoleBased",
        "managedByTenants": [],
        "subscriptionPolicies": {
            "locationPlacementId": "Public_2014-09-01",
            "quotaId": "Internal_2014-09-01",
            "spendingLimit": "Off",
        },
    }


async def _tenants(desk: ArmDesk, call: Call) -> ArmReply:
    tenant = {"id": f"/tenants/{desk.tenant}", "tenantId": desk.tenant, "displayName": NAME, "tenantCategory": "Home"}
    return ArmReply(200, {"value": [tenant]})


async def _locations(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, {"value": [_location(desk, name, shown) for name, shown in places(desk).items()]})


def _location(desk: ArmDesk, name: str, shown: str) -> dict[str, Any]:
    return {
        "id": part_id(subscription_id(desk.subscription), "locations", name),
        "name": name,
        "type": "Region",
        "displayName": shown,
        "regionalDisplayName": shown,
        "metadata": {"regionType": "Physical", "regionCategory": "Recommended"},
    }


async def _providers(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, {"value": [_provider_document(desk, name) for name in _PROVIDERS]})


async def _provider(desk: ArmDesk, call: Call) -> ArmReply:
    name = _NAMESPACES.get(call.names["namespace"].lower())
    if name is None:
        raise ArmError(
            404, "InvalidResourceNamespace", f"The resource namespace '{call.names['namespace']}' is invalid."
        )
    return ArmReply(200, _provider_document(desk, name))


def _provider_document(desk: ArmDesk, name: str) -> dict[str, Any]:
    versions, kinds = _PROVIDERS[name]
    everywhere = list(places(desk).values())
    return {
        "id": part_id(subscription_id(desk.subscription), "providers", name),
        "namespace": name,
        "registrationPolicy": "RegistrationRequired",
        "registrationState": "Registered",
        "resourceTypes": [{"resourceType": kind, "locations": everywhere, "apiVersions": versions} for kind in kinds],
    }

"""Images. Every image that a client names exists, because nothing boots it; its name decides Linux or Windows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from forewarn.web.arm_ids import COMPUTE, IN_GROUP, IN_SUBSCRIPTION, resource_id
from forewarn.web.documents.whereabouts import IMAGE_VERSION
from forewarn.web.resource_manager import generic
from forewarn.web.resource_manager.call import TOP, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.listing import first_of
from forewarn.web.resource_manager.places import require
from forewarn.web.resource_manager.routing import Router

_PUBLISHERS = resource_id(IN_SUBSCRIPTION, f"{COMPUTE}/locations/publishers", "{location}")
_OFFERS = _PUBLISHERS + "/{publisher}/artifacttypes/vmimage/offers"
_SKUS = _OFFERS + "/{offer}/skus"
_VERSIONS = _SKUS + "/{sku}/versions"
_COMPUTE = resource_id(IN_GROUP, COMPUTE)
_MICROSOFT = "MicrosoftWindowsServer"
_LINUX_NAMES = ("ubuntu", "debian", "centos", "rhel", "redhat", "suse", "sles", "linux", "flatcar")
# "sql2022-ws2022" and the like run on a Windows Server; the publishers here offer nothing else.
_WINDOWS_NAMES = re.compile(
    r"windows|\bws20\d\d|\bwin(?:20\d\d|1[01])\b|microsoft(?:visualstudio|sharepoint|dynamicsax|biztalk)"
)

# alias, publisher, offer, sku: the names by which ``az vm create --image`` knows images
_LINUX = (
    ("Debian11", "Debian", "debian-11", "11-backports-gen2"),
    ("Debian12", "Debian", "debian-12", "12-gen2"),
    ("OpenSuseLeap154Gen2", "SUSE", "openSUSE-leap-15-4", "gen2"),
    ("RHELRaw8LVMGen2", "RedHat", "RHEL", "8-lvm-gen2"),
    ("SuseSles15SP3", "SUSE", "sles-15-sp3", "gen2"),
    ("Ubuntu2204", "Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2"),
    ("Ubuntu2404", "Canonical", "ubuntu-24_04-lts", "server"),
    ("FlatcarLinuxFreeGen2", "kinvolk", "flatcar-container-linux-free", "stable-gen2"),
    ("AzureLinux4", "microsoftazurelinux", "azurelinux-4", "4"),
)
_WINDOWS = (
    ("Win2022Datacenter", _MICROSOFT, "WindowsServer", "2022-datacenter-g2"),
    ("Win2022AzureEditionCore", _MICROSOFT, "WindowsServer", "2022-datacenter-azure-edition-core"),
    ("Win2019Datacenter", _MICROSOFT, "WindowsServer", "2019-datacenter-gensecond"),
    ("Win2016Datacenter", _MICROSOFT, "WindowsServer", "2016-datacenter-gensecond"),
)


def _named(rows: tuple[tuple[str, str, str, str], ...]) -> dict[str, Any]:
    return {
        alias: {"publisher": publisher, "offer": offer, "sku": sku, "version": "latest", "architecture": "x64"}
        for alias, publisher, offer, sku in rows
    }


ALIASES = {
    "$schema": "http://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json",
    "contentVersion": "1.0.0.0",
    "parameters": {},
    "variables": {},
    "resources": [],
    "outputs": {"aliases": {"type": "object", "value": {"Linux": _named(_LINUX), "Windows": _named(_WINDOWS)}}},
}


def add_to(router: Router) -> None:
    router.add("GET", _PUBLISHERS, _list_publishers)
    router.add("GET", _OFFERS, _list_offers)
    router.add("GET", _SKUS, _list_skus)
    router.add("GET", _VERSIONS, _list_versions, (TOP,))
    router.add("GET", _VERSIONS + "/{version}", _show_version)
    router.add("GET", _COMPUTE + "/images/{image}", _show_image)
    router.add("GET", _COMPUTE + "/galleries/{gallery}/images/{image}", _show_definition)
    router.add("GET", _COMPUTE + "/galleries/{gallery}/images/{image}/versions/{version}", _show_gallery_version)


async def _list_publishers(desk: ArmDesk, call: Call) -> ArmReply:
    return _listed(call, (publisher for _, publisher, _, _ in (*_LINUX, *_WINDOWS)))


async def _list_offers(desk: ArmDesk, call: Call) -> ArmReply:
    return _listed(
        call, (offer for _, publisher, offer, _ in (*_LINUX, *_WINDOWS) if _is(call, "publisher", publisher))
    )


async def _list_skus(desk: ArmDesk, call: Call) -> ArmReply:
    rows = (row for row in (*_LINUX, *_WINDOWS) if _is(call, "publisher", row[1]) and _is(call, "offer", row[2]))
    return _listed(call, (sku for *_, sku in rows))


def _is(call: Call, what: str, name: str) -> bool:
    return call.names[what].lower() == name.lower()


def _listed(call: Call, names: Iterable[str]) -> ArmReply:
    """Names of one level; what is not in the table exists too, but not everything can be listed."""
    found = dict.fromkeys(names)
    location = call.names["location"]
    return ArmReply(200, [{"location": location, "name": name, "id": f"{call.path}/{name}"} for name in found])


async def _list_versions(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, first_of(call, [_version(call, IMAGE_VERSION)]))


async def _show_version(desk: ArmDesk, call: Call) -> ArmReply:
    wanted = call.names["version"]
    name = IMAGE_VERSION if wanted.lower() == "latest" else wanted
    shown = _version(call, name)
    shown["properties"] = {
        "hyperVGeneration": "V2",
        "architecture": "x64",
        "osDiskImage": {"operatingSystem": os_type(*(call.names[part] for part in ("publisher", "offer", "sku")))},
        "dataDiskImages": [],
        "features": [],
        "automaticOSUpgradeProperties": {"automaticOSUpgradeSupported": True},
    }
    return ArmReply(200, shown)


def os_type(*words: str) -> str:
    """What an image by such names would run: publisher, offer and sku, or parts of an id."""
    text = " ".join(words).lower()
    if any(name in text for name in _LINUX_NAMES):
        return "Linux"
    return "Windows" if _WINDOWS_NAMES.search(text) else "Linux"


def _version(call: Call, name: str) -> dict[str, Any]:
    folder = "/".join(call.path.split("/")[: _VERSIONS.count("/") + 1])
    return {"location": call.names["location"], "name": name, "id": f"{folder}/{name}"}


async def _show_image(desk: ArmDesk, call: Call) -> ArmReply:
    disk = {"osType": os_type(call.names["image"]), "osState": "Generalized", "storageAccountType": "Standard_LRS"}
    return _kept_or(desk, call, {"storageProfile": {"osDisk": disk, "dataDisks": []}, "hyperVGeneration": "V2"})


async def _show_definition(desk: ArmDesk, call: Call) -> ArmReply:
    system = os_type(call.names["image"])
    return _kept_or(desk, call, {"osType": system, "osState": "Generalized", "hyperVGeneration": "V2"})


async def _show_gallery_version(desk: ArmDesk, call: Call) -> ArmReply:
    return _kept_or(desk, call, {"publishingProfile": {}, "storageProfile": {"osDiskImage": {}}})


def _kept_or(desk: ArmDesk, call: Call, properties: dict[str, Any]) -> ArmReply:
    """The image or disk that was put under this id; where there is none, a document that a VM can be made of."""
    kept = generic.find(desk, call.path)
    if kept is not None:
        return ArmReply(200, kept)
    place = require(call.path)
    made = {**properties, "provisioningState": "Succeeded"}
    return ArmReply(200, {**place.head(), "location": desk.location, "properties": made})

"""What a VM may know about itself at ``/metadata/instance``, and from which version on.

The first version of each field is that of Microsoft's page on the service. Every primitive is a string, and what does
not apply is ``""`` with its key still there. Keys come in alphabetical order, as they do from the service.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from forewarn.wire.tree import Node, insert, sort_keys

_PREVIEW = "2017-03-01"  # the only version whose network part has other keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One network interface."""

    mac: str  # twelve hexadecimal digits without separators
    ipv4: tuple[tuple[str, str], ...] = ()  # private and public address
    ipv6: tuple[str, ...] = ()
    subnet_address: str = ""
    subnet_prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceInfo:
    """All that the tree is made of. Numbers are given as the strings they become."""

    name: str  # equals the VM's name in documents
    vm_id: str
    location: str = ""
    os_type: str = ""  # Linux, Windows
    size: str = ""
    update_domain: str = ""
    fault_domain: str = ""
    environment: str = "AzurePublicCloud"
    resource_group: str = ""
    subscription_id: str = ""
    resource_id: str = ""
    placement_group_id: str = ""
    scale_set_name: str = ""
    scale_set_id: str = ""  # of a flexible scale set only
    zone: str = ""
    physical_zone: str = ""
    computer_name: str = ""
    admin_username: str = ""
    priority: str = ""  # Spot, or nothing
    eviction_policy: str = ""
    host_id: str = ""
    publisher: str = ""
    offer: str = ""
    sku: str = ""
    image_version: str = ""  # as it was asked for: may be "latest"
    exact_version: str = ""
    image_id: str = ""
    no_passwords: str = ""  # true, false
    public_keys: tuple[tuple[str, str], ...] = ()  # path and key
    user_data: str = ""  # Base64
    tags: tuple[tuple[str, str], ...] = ()
    interfaces: tuple[Interface, ...] = ()
    dns_servers: tuple[str, ...] = ()


_Value = Callable[[InstanceInfo], Node]


def _none(_: InstanceInfo) -> Node:
    return ""


def _no(_: InstanceInfo) -> Node:
    return "false"


def _no_items(_: InstanceInfo) -> Node:
    return []


def _provider(_: InstanceInfo) -> Node:
    return "Microsoft.Compute"


def _tags(info: InstanceInfo) -> Node:
    return ";".join(f"{name}:{value}" for name, value in info.tags)


def _tags_list(info: InstanceInfo) -> Node:
    return [{"name": name, "value": value} for name, value in info.tags]


def _public_keys(info: InstanceInfo) -> Node:
    return [{"keyData": key, "path": path} for path, key in info.public_keys]


_OS_DISK = "storageProfile.osDisk"
_IMAGE = "storageProfile.imageReference"

# First version, path below ``compute``, value.
_COMPUTE: tuple[tuple[str, str, _Value], ...] = (
    ("2017-03-01", "location", attrgetter("location")),
    ("2017-03-01", "name", attrgetter("name")),
    ("2017-03-01", "offer", attrgetter("offer")),
    ("2017-03-01", "osType", attrgetter("os_type")),
    ("2017-03-01", "platformFaultDomain", attrgetter("fault_domain")),
    ("2017-03-01", "platformUpdateDomain", attrgetter("update_domain")),
    ("2017-03-01", "publisher", attrgetter("publisher")),
    ("2017-03-01", "sku", attrgetter("sku")),
    ("2017-03-01", "version", attrgetter("exact_version")),
    ("2017-03-01", "vmId", attrgetter("vm_id")),
    ("2017-03-01", "vmSize", attrgetter("size")),
    ("2017-08-01", "placementGroupId", attrgetter("placement_group_id")),
    ("2017-08-01", "resourceGroupName", attrgetter("resource_group")),
    ("2017-08-01", "subscriptionId", attrgetter("subscription_id")),
    ("2017-08-01", "tags", _tags),
    ("2017-12-01", "vmScaleSetName", attrgetter("scale_set_name")),
    ("2017-12-01", "zone", attrgetter("zone")),
    ("2018-04-02", "plan.name", _none),
    ("2018-04-02", "plan.product", _none),
    ("2018-04-02", "plan.publisher", _none),
    ("2018-04-02", "publicKeys", _public_keys),
    ("2018-10-01", "azEnvironment", attrgetter("environment")),
    ("2018-10-01", "provider", _provider),
    ("2019-02-01", "customData", _none),
    ("2019-03-11", "resourceId", attrgetter("resource_id")),
    ("2019-06-01", "storageProfile.dataDisks", _no_items),
    ("2019-06-01", f"{_IMAGE}.id", attrgetter("image_id")),
    ("2019-06-01", f"{_IMAGE}.offer", attrgetter("offer")),
    ("2019-06-01", f"{_IMAGE}.publisher", attrgetter("publisher")),
    ("2019-06-01", f"{_IMAGE}.sku", attrgetter("sku")),
    ("2019-06-01", f"{_IMAGE}.version", attrgetter("image_version")),
    ("2019-06-01", f"{_OS_DISK}.caching", _none),
    ("2019-06-01", f"{_OS_DISK}.createOption", _none),
    ("2019-06-01", f"{_OS_DISK}.diffDiskSettings.option", _none),
    ("2019-06-01", f"{_OS_DISK}.diskSizeGB", _none),
    ("2019-06-01", f"{_OS_DISK}.encryptionSettings.enabled", _no),
    ("2019-06-01", f"{_OS_DISK}.image.uri", _none),
    ("2019-06-01", f"{_OS_DISK}.managedDisk.id", _none),
    ("2019-06-01", f"{_OS_DISK}.managedDisk.storageAccountType", _none),
    ("2019-06-01", f"{_OS_DISK}.name", _none),
    ("2019-06-01", f"{_OS_DISK}.osType", attrgetter("os_type")),
    ("2019-06-01", f"{_OS_DISK}.vhd.uri", _none),
    ("2019-06-01", f"{_OS_DISK}.writeAcceleratorEnabled", _no),
    ("2019-06-04", "tagsList", _tags_list),
    ("2020-06-01", "isHostCompatibilityLayerVm", _no),
    ("2020-06-01", "securityProfile.secureBootEnabled", _no),
    ("2020-06-01", "securityProfile.virtualTpmEnabled", _no),
    ("2020-07-15", "osProfile.adminUsername", attrgetter("admin_username")),
    ("2020-07-15", "osProfile.computerName", attrgetter("computer_name")),
    ("2020-09-01", "licenseType", _none),
    ("2020-10-01", "osProfile.disablePasswordAuthentication", attrgetter("no_passwords")),
    ("2020-12-01", "evictionPolicy", attrgetter("eviction_policy")),
    ("2020-12-01", "priority", attrgetter("priority")),
    ("2021-01-01", "userData", attrgetter("user_data")),
    ("2021-02-01", "storageProfile.resourceDisk.size", _none),
    ("2021-03-01", "extendedLocation.name", _none),
    ("2021-03-01", "extendedLocation.type", _none),
    ("2021-03-01", "virtualMachineScaleSet.id", attrgetter("scale_set_id")),
    ("2021-10-01", "platformSubFaultDomain", _none),
    ("2021-11-01", "additionalCapabilities.hibernationEnabled", _no),
    ("2021-11-01", "securityProfile.encryptionAtHost", _no),
    ("2021-11-01", f"{_OS_DISK}.encryptionSettings.diskEncryptionKey.secretUrl", _none),
    ("2021-11-01", f"{_OS_DISK}.encryptionSettings.diskEncryptionKey.sourceVault.id", _none),
    ("2021-11-01", f"{_OS_DISK}.encryptionSettings.keyEncryptionKey.keyUrl", _none),
    ("2021-11-01", f"{_OS_DISK}.encryptionSettings.keyEncryptionKey.sourceVault.id", _none),
    ("2021-11-15", "host.id", attrgetter("host_id")),
    ("2021-11-15", "hostGroup.id", _none),
    ("2021-12-13", "securityProfile.securityType", _none),
    ("2023-07-01", f"{_IMAGE}.communityGalleryImageId", _none),
    ("2023-07-01", f"{_IMAGE}.exactVersion", attrgetter("exact_version")),
    ("2023-07-01", f"{_IMAGE}.sharedGalleryImageId", _none),
    ("2023-11-15", "physicalZone", attrgetter("physical_zone")),
)


def instance_tree(info: InstanceInfo, version: str) -> dict[str, Node]:
    """The whole answer for one of ``versions.IMDS_VERSIONS``; dates compare as text."""
    compute: dict[str, Node] = {}
    for since, path, value in _COMPUTE:
        if since <= version:
            insert(compute, path.split("."), value(info))
    interfaces: list[Node] = [
        _preview_interface(info, each) if version == _PREVIEW else _interface(each) for each in info.interfaces
    ]
    return {"compute": sort_keys(compute), "network": {"interface": interfaces}}


def _interface(interface: Interface) -> Node:
    addresses: list[Node] = [
        {"privateIpAddress": private, "publicIpAddress": public} for private, public in interface.ipv4
    ]
    return {
        "ipv4": {
            "ipAddress": addresses,
            "subnet": [{"address": interface.subnet_address, "prefix": interface.subnet_prefix}],
        },
        "ipv6": {"ipAddress": [{"privateIpAddress": each} for each in interface.ipv6]},
        "macAddress": interface.mac,
    }


def _preview_interface(info: InstanceInfo, interface: Interface) -> Node:
    """2017-03-01 had lower-case keys and the name servers."""
    servers: list[Node] = [{"ipaddress": server} for server in info.dns_servers]
    addresses: list[Node] = [{"ipaddress": private, "publicip": public} for private, public in interface.ipv4]
    subnet: Node = {"address": interface.subnet_address, "dnsservers": servers, "prefix": interface.subnet_prefix}
    return {
        "ipv4": {"ipaddress": addresses, "subnet": [subnet]},
        "ipv6": {"ipaddress": [{"ipaddress": each} for each in interface.ipv6]},
        "mac": interface.mac,
    }

"""What a body says about a machine that the machine itself will ask for: its place, image, users, data, interfaces."""

from __future__ import annotations

from typing import Any

from forewarn.core.region import fold
from forewarn.core.specs import Particulars, VmSpec
from forewarn.web.documents.whereabouts import IMAGE_VERSION, LOCATION
from forewarn.web.resource_manager import generic, images
from forewarn.web.resource_manager.call import ArmDesk
from forewarn.web.resource_manager.compute.schema import Object


def read(document: Object, profile: Object) -> Particulars:
    """From a whole document; ``profile`` is the part of it that describes one machine."""
    image, system = _image(profile), profile.get("osProfile", {})
    linux = system.get("linuxConfiguration", {})
    keys = linux.get("ssh", {}).get("publicKeys", [])
    location = document.get("location", "")
    return Particulars(
        location="" if location == LOCATION else location,
        zones=tuple(document.get("zones", ())),
        publisher=image.get("publisher", ""),
        offer=image.get("offer", ""),
        sku=image.get("sku", ""),
        version=image.get("version", ""),
        image_id=image.get("id", ""),
        computer_name=system.get("computerName", ""),
        admin_username=system.get("adminUsername", ""),
        no_passwords=linux.get("disablePasswordAuthentication"),
        public_keys=tuple((key.get("path", ""), key.get("keyData", "")) for key in keys),
        user_data=profile.get("userData", ""),
        interfaces=_interfaces(profile.get("networkProfile", {})),
    )


def _image(profile: Object) -> Object:
    found: Object = profile.get("storageProfile", {}).get("imageReference", {})
    return found


def _interfaces(network: Object) -> tuple[str, ...]:
    """The primary one first."""
    listed = [each for each in network.get("networkInterfaces", []) if each.get("id")]
    listed.sort(key=lambda each: not each.get("properties", {}).get("primary", False))
    return tuple(str(each["id"]) for each in listed)


def shown(about: Particulars, number: int) -> Object:
    """The same as a document has it, for a machine that no body described by itself; ``number`` is the instance's."""
    image = {"publisher": about.publisher, "offer": about.offer, "sku": about.sku, "version": about.version}
    reference = {name: value for name, value in {**image, "id": about.image_id}.items() if value}
    linux: Object = {}
    if about.no_passwords is not None:
        linux["disablePasswordAuthentication"] = about.no_passwords
    if about.public_keys:
        linux["ssh"] = {"publicKeys": [{"path": path, "keyData": key} for path, key in about.public_keys]}
    properties: Object = {
        "storageProfile": {"imageReference": reference} if reference else {},
        "osProfile": {
            **({"adminUsername": about.admin_username} if about.admin_username else {}),
            **({"linuxConfiguration": linux} if linux else {}),
        },
    }
    if about.user_data:
        properties["userData"] = about.user_data
    zone = about.zone(number)
    return {"properties": properties, **({"zones": [zone]} if zone else {})}


def with_exact_version(properties: Object) -> Object:
    """The profile as the service tells it back: an image of the latest version says which that is."""
    image = _image(properties)
    if not image.get("publisher"):
        return properties
    written = image.get("version", "")
    exact = IMAGE_VERSION if fold(written) in ("", "latest") else written
    storage = {**properties["storageProfile"], "imageReference": {**image, "exactVersion": exact}}
    return {**properties, "storageProfile": storage}


def os_type(desk: ArmDesk, profile: Object, current: VmSpec | None) -> str:
    """What the machine runs, where no disk says it outright: its configuration tells, or else its image."""
    system = profile.get("osProfile", {})
    if "windowsConfiguration" in system:
        return "Windows"
    if "linuxConfiguration" in system:
        return "Linux"
    image = _image(profile)
    if image.get("publisher"):
        return images.os_type(*(str(image.get(name, "")) for name in ("publisher", "offer", "sku")))
    for name in ("id", "sharedGalleryImageId", "communityGalleryImageId"):
        if image.get(name):
            return _of_image(desk, str(image[name]))
    return current.os_type if current is not None else "Linux"


def _of_image(desk: ArmDesk, image_id: str) -> str:
    """As the kept image or gallery definition says; by its name where there is none."""
    definition = image_id.partition("/versions/")[0] if "/versions/" in image_id else image_id
    kept: dict[str, Any] = (generic.find(desk, definition) or {}).get("properties", {})
    disk = kept.get("storageProfile", {})
    told = kept.get("osType") or (disk.get("osDisk", {}) if isinstance(disk, dict) else {}).get("osType")
    if str(told).lower() in ("linux", "windows"):
        return str(told).capitalize()
    return images.os_type(*definition.split("/"))

"""What is to be known about a domain before anything is asked of it, read from its definition."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from forewarn.core.machines.values import ErrandKind
from forewarn.engines.libvirt.acting import definition_of
from forewarn.plane.hands.engine import Remark

CLEAN_TRAFFIC = "clean-traffic"  # libvirt's own filter: a NIC sends only from its hardware address and its address


def remarks_on(domain: Any) -> tuple[Remark, ...]:
    """In the order in which a person wants to know it."""
    root = ElementTree.fromstring(definition_of(domain))  # noqa: S314 - libvirt wrote it
    return (*_identity(root), *_moves(root))


def _identity(root: ElementTree.Element) -> list[Remark]:
    """Whether what comes from the machine's address can only come from the machine."""
    interfaces = root.findall("./devices/interface")
    if not interfaces:
        return [Remark("identity", False, "It has no network interface: it cannot read its document.")]
    told = []
    for interface in interfaces:
        mac = _attribute(interface, "mac", "address")
        held = _held_address(interface)
        if held:
            told.append(Remark("identity", True, f"Interface {mac} can send only as {held} ({CLEAN_TRAFFIC})."))
        else:
            advice = f"give it the filter {CLEAN_TRAFFIC} with its address as parameter IP, or bind the VM by namespace"
            told.append(Remark("identity", False, f"Interface {mac} may send under any address: {advice}."))
    return told


def _held_address(interface: ElementTree.Element) -> str:
    """The one address that its filter lets it use; empty where it has no such filter, or a filter without address."""
    for reference in interface.findall("filterref"):
        if reference.get("filter", "").startswith(CLEAN_TRAFFIC):
            for parameter in reference.findall("parameter"):
                if parameter.get("name") == "IP":
                    return parameter.get("value", "")
    return ""


def _moves(root: ElementTree.Element) -> list[Remark]:
    if root.find("./devices/hostdev") is not None:
        why = "parts of its host were given to it (hostdev)"
        return [Remark(kind, False, f"Cannot be done: {why}.") for kind in (ErrandKind.MIGRATE, ErrandKind.REDEPLOY)]
    told = []
    files = _written_files(root)
    if files:
        told.append(Remark(ErrandKind.MIGRATE, True, f"Only where every host has these files: {', '.join(files)}."))
    else:
        told.append(Remark(ErrandKind.MIGRATE, True, "No disk of its own holds it at its host."))
    model = root.find("cpu")
    if model is not None and model.get("mode") in ("host-passthrough", "maximum"):
        told.append(Remark(ErrandKind.MIGRATE, False, f"Its CPU is {model.get('mode')}: another host's may differ."))
    return told


def _written_files(root: ElementTree.Element) -> list[str]:
    """Files that the machine writes to, and that another host may not have."""
    return [
        _attribute(disk, "source", "file")
        for disk in root.findall("./devices/disk[@type='file']")
        if disk.find("readonly") is None and disk.find("source") is not None
    ]


def _attribute(element: ElementTree.Element, child: str, name: str) -> str:
    found = element.find(child)
    return "" if found is None else found.get(name, "")

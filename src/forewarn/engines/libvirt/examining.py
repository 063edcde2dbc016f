"""What is to be known about a domain before anything is asked of it, read from its definition and those of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from xml.etree import ElementTree

from forewarn.core.machines.values import ErrandKind
from forewarn.plane.hands.engine import (
    ADDRESS,
    AUTOSTART,
    FILTERED,
    MAC,
    MIGRATABLE,
    NAMESPACE,
    REACHABLE,
    Finding,
    Way,
)

CLEAN_TRAFFIC = "clean-traffic"  # libvirt's own filter: a NIC sends only from its hardware address and its address
TAP_PREFIX = "fw"  # of the taps that the hook of docs/machines.md moves
_WAYS = (Way.ADDRESS, Way.NIC, Way.UNIX)
_QEMU = "{http://libvirt.org/schemas/domain/qemu/1.0}"
_ON_A_BRIDGE = ("bridge", "network")
SOCKET_SUFFIX = ".sock"
_OF_THE_HOST_CPU = ("host-passthrough", "maximum")

Interface = ElementTree.Element


def examined(
    definition: str, way: Way, others: Mapping[str, str] | None = None, *, autostart: bool | None = None
) -> tuple[Finding, ...]:
    """In the order in which a person wants to know it. ``others``: machine and host -> definition, all but this one.
    ``autostart``: whether its host starts it with itself; None where there is no other host to run a copy of it."""
    told = _examined(definition, way, others or {})
    return told if autostart is None else (*told, _by_itself(autostart))


def _by_itself(autostart: bool) -> Finding:
    """Once its host was fenced its copy runs elsewhere; a host with power again must not start it before it is asked
    for: libvirt does so before anybody can be asked."""
    if autostart:
        why = "Its autostart is on: a host that was fenced and gets power again starts it by itself, beside its copy "
        return Finding(AUTOSTART, False, f"{why}elsewhere: virsh autostart --disable (forewarn starts it again).")
    return Finding(AUTOSTART, True, "A host that was fenced and gets power again does not start it by itself.")


def _examined(definition: str, way: Way, others: Mapping[str, str]) -> tuple[Finding, ...]:
    root = _parsed(definition)
    if way not in _WAYS:
        known = ", ".join(_WAYS)
        return (Finding(FILTERED, False, f"libvirt's machines have no way '{way}': use one of {known}."), *_moves(root))
    by_way = {Way.ADDRESS: _by_address, Way.NIC: _by_nic, Way.UNIX: _by_unix_socket}
    return (*by_way[way](root, others), *_moves(root))


def _by_address(root: ElementTree.Element, others: Mapping[str, str]) -> list[Finding]:
    """Every NIC must be held: one that is not can send under the address of any neighbour."""
    interfaces = [each for each in _interfaces(root) if each.get("type") in _ON_A_BRIDGE]
    if not interfaces:
        return [
            Finding(REACHABLE, False, "It has no NIC on a bridge or a network of libvirt's: use --way nic or unix.")
        ]
    bridge = _bridge(interfaces[0])
    told = [
        Finding(
            REACHABLE,
            True,
            f"Its NIC is on {bridge}; 169.254.169.254/32 has to be there at every host, under one MAC.",
        )
    ]
    loose = [each for each in interfaces if not _held_address(each)]
    for interface in loose:
        advice = f"give it <filterref filter='{CLEAN_TRAFFIC}'> with its address as parameter IP"
        told.append(Finding(FILTERED, False, f"NIC {_mac(interface)} may send under any address: {advice}."))
    others_nics = [(where, each) for where, text in others.items() for each in _interfaces(_parsed(text))]
    told += _loose_neighbours({_bridge(each) for each in interfaces}, others_nics)
    for interface in interfaces:
        held = _held_address(interface)
        if held:
            told.append(Finding(FILTERED, True, f"NIC {_mac(interface)} sends only as {held} ({CLEAN_TRAFFIC})."))
            told.append(_alone(ADDRESS, held, ((where, _held_address(each)) for where, each in others_nics)))
        told.append(_alone(MAC, _mac(interface), ((where, _mac(each)) for where, each in others_nics)))
    return told


def _loose_neighbours(bridges: set[str], nics: list[tuple[str, Interface]]) -> list[Finding]:
    """Its own filter protects others from it; what protects it are the filters of those on its bridge."""
    return [
        Finding(FILTERED, False, f"{where}, on {_bridge(each)} too, may send under its address: it has no filter.")
        for where, each in nics
        if each.get("type") in _ON_A_BRIDGE and _bridge(each) in bridges and not _held_address(each)
    ]


def _by_nic(root: ElementTree.Element, others: Mapping[str, str]) -> list[Finding]:
    """libvirt's hook puts a tap of that name into a namespace. Where it does not, nobody is heard."""
    own = [each for each in _interfaces(root) if each.get("type") == "ethernet"]
    if not own:
        return [
            Finding(NAMESPACE, False, "It has no NIC of its own: add <interface type='ethernet'> (docs/machines.md).")
        ]
    device = _attribute(own[0], "target", "dev")
    if not device.startswith(TAP_PREFIX):
        why = f"The hook knows its tap by a name that begins with {TAP_PREFIX}: give it <target dev='{TAP_PREFIX}1'/>."
        return [Finding(NAMESPACE, False, why)]
    taps = ((where, _attribute(each, "target", "dev")) for where, text in others.items() for each in _taps(text))
    return [
        Finding(REACHABLE, True, f"NIC {_mac(own[0])} leads to nobody but the region, once the hook is at every host."),
        Finding(NAMESPACE, True, f"Its tap {device} goes into a namespace of that name.", device),
        _alone(ADDRESS, device, taps, what="tap"),
    ]


def _by_unix_socket(root: ElementTree.Element, others: Mapping[str, str]) -> list[Finding]:
    """QEMU's user networking hands what is sent to 169.254.169.254 to one Unix socket of its own."""
    socket = _forwarded(root)
    if not socket:
        return [
            Finding(NAMESPACE, False, "No guestfwd of it leads from 169.254.169.254 to a socket (docs/machines.md).")
        ]
    taken = _alone(
        ADDRESS, socket, ((where, _forwarded(_parsed(text))) for where, text in others.items()), what="socket"
    )
    name = PurePosixPath(socket).name
    if not name.endswith(SOCKET_SUFFIX):
        why = f"Its guestfwd leads to {socket}: a server listens at NAME{SOCKET_SUFFIX} in its guest_sockets directory."
        return [Finding(NAMESPACE, False, why), taken]
    return [
        Finding(REACHABLE, True, f"Its requests go to {socket}, if that is the server's guest_sockets directory."),
        Finding(NAMESPACE, True, f"Only this machine's QEMU is told of {socket}.", name.removesuffix(SOCKET_SUFFIX)),
        taken,
    ]


def _alone(topic: str, value: str, others: Iterable[tuple[str, str]], what: str = "") -> Finding:
    """Two with one address or MAC on a bridge get each other's answers, even behind filters that hold."""
    named = what or {ADDRESS: "address", MAC: "hardware address"}[topic]
    twin = next((where for where, each in others if each and each.lower() == value.lower()), "")
    if twin:
        return Finding(topic, False, f"{twin} has the {named} {value} too: each would get the other's answers.")
    return Finding(topic, True, f"No other machine of this engine has the {named} {value}.", value)


def _moves(root: ElementTree.Element) -> list[Finding]:
    if root.find("./devices/hostdev") is not None:
        why = "Cannot be done: parts of its host were given to it (hostdev)."
        return [Finding(topic, False, why) for topic in (MIGRATABLE, ErrandKind.MIGRATE, ErrandKind.REDEPLOY)]
    model = root.find("cpu")
    if model is not None and model.get("mode") in _OF_THE_HOST_CPU:
        why = f"Its CPU is {model.get('mode')}: another host's may differ, and then libvirt refuses."
        return [Finding(MIGRATABLE, False, why)]
    files = _written_files(root)
    if files:
        return [Finding(MIGRATABLE, True, f"Where every host has these files: {', '.join(files)}.")]
    return [Finding(MIGRATABLE, True, "No disk of its own holds it at its host.")]


def _parsed(definition: str) -> ElementTree.Element:
    return ElementTree.fromstring(definition)  # noqa: S314 - libvirt wrote it


def _interfaces(root: ElementTree.Element) -> list[Interface]:
    return root.findall("./devices/interface")


def _taps(definition: str) -> list[Interface]:
    return [each for each in _interfaces(_parsed(definition)) if each.get("type") == "ethernet"]


def _bridge(interface: Interface) -> str:
    if interface.get("type") == "bridge":
        return f"bridge {_attribute(interface, 'source', 'bridge')}"
    return f"libvirt's network {_attribute(interface, 'source', 'network')}"


def _held_address(interface: Interface) -> str:
    """The one address that its filter lets it use; empty where it has no such filter, or a filter without address."""
    for reference in interface.findall("filterref"):
        if reference.get("filter", "").startswith(CLEAN_TRAFFIC):
            for parameter in reference.findall("parameter"):
                if parameter.get("name") == "IP":
                    return parameter.get("value", "")
    return ""


def _forwarded(root: ElementTree.Element) -> str:
    """The socket behind ``guestfwd=tcp:169.254.169.254:80-cmd:... PATH``; the path is the last word."""
    for argument in root.findall(f"./{_QEMU}commandline/{_QEMU}arg"):
        for part in argument.get("value", "").split(","):
            if part.startswith("guestfwd=tcp:169.254.169.254:80-"):
                words = part.split()
                return words[-1].removeprefix("UNIX-CONNECT:") if len(words) > 1 else ""
    return ""


def _mac(interface: Interface) -> str:
    return _attribute(interface, "mac", "address")


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

"""What is to be known about a container before a region takes it up, as ``machine check`` tells it."""

from __future__ import annotations

from collections.abc import Sequence

from forewarn.core.machines.values import ErrandKind
from forewarn.engines.docker.containers import Container
from forewarn.engines.docker.making import local_volumes
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

METADATA_ADDRESS = "169.254.169.254"  # where forewarn itself is, on the network of that way
_NEAR = "169.254.169."
_WAYS = (Way.NETWORK, Way.NAMESPACE)
# dockerd starts these with itself (https://docs.docker.com/engine/containers/start-containers-automatically/); podman's
# own unit for that (podman-restart.service) starts those of 'always'
_STARTED_WITH_ENGINE = frozenset({"always", "unless-stopped"})
_OTHER_POLICY = "use 'no' or 'on-failure' (forewarn starts again what has crashed)"
_FORGING = frozenset({"NET_RAW", "NET_ADMIN", "ALL"})


def examined(
    container: Container, way: Way, others: Sequence[Container] = (), *, several_engines: bool = False
) -> tuple[Finding, ...]:
    """Whether that way identifies the container and leads to the region, and which events cannot be carried out.

    ``several_engines``: its copy may be made at another one, once its own is lost.
    """
    if way not in _WAYS:
        known = " or ".join(_WAYS)
        told = [Finding(FILTERED, False, f"Containers have no way '{way}': use {known}.")]
    elif way is Way.NETWORK:
        told = [_reachable(container), *_by_network(container, others)]
    else:
        told = _by_namespace(container, others)
    return (*told, *_impossible(container), *(_by_itself(container) if several_engines else ()))


def _by_network(container: Container, others: Sequence[Container]) -> list[Finding]:
    """An address proves nothing where the container, or a neighbour on its network, may send under any."""
    told = [_held(container)]
    address = _address(container)
    networks = set(container.networks)
    for other in others:
        shared = networks & set(other.networks)
        if not shared or METADATA_ADDRESS in _addresses(other):
            continue
        if _may_forge(other):
            why = f"{other.name}, on the network {min(shared)} too, may send under another's address."
            told.append(Finding(FILTERED, False, why))
        if _macs(container) & _macs(other):
            told.append(Finding(MAC, False, f"{other.name} has its hardware address too."))
        if address and address in _addresses(other):
            told.append(Finding(ADDRESS, False, f"{other.name} has the address {address} too."))
    if address and not any(each.topic == ADDRESS for each in told):
        told.append(Finding(ADDRESS, True, f"It has {address}, and no other container of this engine has.", address))
    return told


def _by_namespace(container: Container, others: Sequence[Container]) -> list[Finding]:
    """Whether the network namespace is the container's own.

    The metadata socket stands inside it, so what is outside cannot pass for this container by any address.
    """
    if container.settings.get("Privileged"):
        return [Finding(NAMESPACE, False, "It is privileged, so it can go into any other's network.")]
    mode = _network_mode(container)
    if _is_shared(mode):
        return [Finding(NAMESPACE, False, f"It shares the network of another ({mode}), so its socket is not its own.")]
    for other in others:
        if _network_mode(other) in (f"container:{container.id}", f"container:{container.name}"):
            return [
                Finding(NAMESPACE, False, f"{other.name} shares its network, so it would speak as {container.name}.")
            ]
    return [
        Finding(
            REACHABLE,
            True,
            f"Once its network is named {container.name} and has {METADATA_ADDRESS} at its loopback, anew with each "
            "start: docs/machines.md has a program that does so.",
        ),
        Finding(NAMESPACE, True, "Its network is its own.", container.name),
    ]


def _held(container: Container) -> Finding:
    mode = _network_mode(container)
    if container.settings.get("Privileged"):
        return Finding(FILTERED, False, "It is privileged, so it can send under any other's address.")
    if _is_shared(mode):
        return Finding(FILTERED, False, f"It shares the network of another ({mode}), so its address is not its own.")
    if _may_forge(container):
        return Finding(
            FILTERED, False, "It may send under another's address: drop NET_RAW (cap_drop) and add no NET_ADMIN."
        )
    return Finding(FILTERED, True, "It cannot send under another's address.")


def _may_forge(container: Container) -> bool:
    settings = container.settings
    dropped = {str(name).removeprefix("CAP_") for name in settings.get("CapDrop") or ()}
    added = {str(name).removeprefix("CAP_") for name in settings.get("CapAdd") or ()}
    return bool(settings.get("Privileged") or added & _FORGING or not dropped & {"NET_RAW", "ALL"})


def _reachable(container: Container) -> Finding:
    near = [address for address in _addresses(container) if address.startswith(_NEAR)]
    if near:
        return Finding(REACHABLE, True, f"It has {near[0]} on the network of {METADATA_ADDRESS}.")
    has = _addresses(container)
    if has:
        return Finding(REACHABLE, False, f"None of its networks has {METADATA_ADDRESS} in it; it has {has[0]}.")
    return Finding(REACHABLE, False, "It has no address.")


def _impossible(container: Container) -> list[Finding]:
    told = [Finding(MIGRATABLE, False, "A container cannot be moved while it runs: a Freeze pauses it instead.")]
    if container.policy == "always":
        why = "Its restart policy is 'always', so the engine starts it whenever the engine itself is started: "
        told.append(Finding(ErrandKind.STOP, False, f"{why}{_OTHER_POLICY}."))
    if container.settings.get("AutoRemove"):
        why = "It was made with --rm: the engine removes it as soon as it is off."
        told += [Finding(kind, False, why) for kind in (ErrandKind.STOP, ErrandKind.RESTART)]
    stay = local_volumes(container)
    if stay:
        why = f"Its volume {stay[0]} is at this engine only, so a Redeploy makes it anew here, never elsewhere."
        told.append(Finding(ErrandKind.REDEPLOY, False, why))
    return told


def _by_itself(container: Container) -> list[Finding]:
    """Once its host was fenced its copy runs elsewhere; a host with power again must not start it before it is asked
    for: whether one may is the engine's own rule, and no listing comes before it."""
    if container.policy in _STARTED_WITH_ENGINE:
        why = f"Its restart policy is '{container.policy}': a host that was fenced and gets power again starts it by "
        return [Finding(AUTOSTART, False, f"{why}itself, beside its copy elsewhere: {_OTHER_POLICY}.")]
    return [Finding(AUTOSTART, True, "A host that was fenced and gets power again does not start it by itself.")]


def _address(container: Container) -> str:
    """The one by which the region knows it: on the metadata network if it has one there."""
    has = _addresses(container)
    return next((each for each in has if each.startswith(_NEAR)), has[0] if has else "")


def _addresses(container: Container) -> list[str]:
    return [str(told["IPAddress"]) for told in container.networks.values() if told.get("IPAddress")]


def _macs(container: Container) -> set[str]:
    return {str(told["MacAddress"]).lower() for told in container.networks.values() if told.get("MacAddress")}


def _network_mode(container: Container) -> str:
    return str(container.settings.get("NetworkMode", ""))


def _is_shared(mode: str) -> bool:
    return mode == "host" or mode.startswith(("container:", "ns:"))

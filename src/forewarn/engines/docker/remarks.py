"""What is to be known about a container before a region takes it up, as ``machine check`` tells it."""

from __future__ import annotations

from forewarn.engines.docker.containers import Container
from forewarn.engines.docker.making import local_volumes
from forewarn.plane.hands.engine import Remark

_FORGING = ("NET_RAW", "CAP_NET_RAW", "NET_ADMIN", "CAP_NET_ADMIN", "ALL", "CAP_ALL")


def remarks_on(container: Container) -> tuple[Remark, ...]:
    """Whether its address proves who it is, whether it can reach the region, and what an event would not do."""
    remarks = [_identity(container), _reachable(container)]
    remarks.append(
        Remark("migratable", False, "A container cannot be moved while it runs: a Freeze pauses it instead.")
    )
    if container.policy == "always":
        remarks.append(
            Remark(
                "stop",
                False,
                "Its restart policy is 'always', so the engine starts it whenever the engine itself is started: use "
                "'unless-stopped'.",
            )
        )
    if container.settings.get("AutoRemove"):
        remarks.append(Remark("stop", False, "It was made with --rm: the engine removes it as soon as it is off."))
    stay = local_volumes(container)
    if stay:
        remarks.append(
            Remark(
                "redeploy",
                False,
                f"Its volume {stay[0]} is at this engine only, so a Redeploy makes it anew here, never elsewhere.",
            )
        )
    return tuple(remarks)


def _identity(container: Container) -> Remark:
    settings = container.settings
    if settings.get("Privileged"):
        return Remark("identity", False, "It is privileged, so it can send under any other's address.")
    mode = str(settings.get("NetworkMode", ""))
    if mode == "host" or mode.startswith("container:"):
        return Remark("identity", False, f"It shares the network of another ({mode}), so its address is not its own.")
    dropped = {str(name).removeprefix("CAP_") for name in settings.get("CapDrop") or ()}
    added = {str(name) for name in settings.get("CapAdd") or ()} & set(_FORGING)
    if added or not dropped & {"NET_RAW", "ALL"}:
        return Remark(
            "identity", False, "It may send under another's address: drop NET_RAW (cap_drop) and add no NET_ADMIN."
        )
    return Remark("identity", True, "It cannot send under another's address.")


def _reachable(container: Container) -> Remark:
    addresses = [told.get("IPAddress") for told in container.networks.values() if told.get("IPAddress")]
    near = [address for address in addresses if str(address).startswith("169.254.169.")]
    if near:
        return Remark("reachable", True, f"It has {near[0]} on the network of 169.254.169.254.")
    if addresses:
        return Remark("reachable", False, f"None of its networks has 169.254.169.254 in it; it has {addresses[0]}.")
    return Remark("reachable", False, "It has no address.")

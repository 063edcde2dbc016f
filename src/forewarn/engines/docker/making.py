"""What a container is made from: another one like it, or a blueprint of the server's own files."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from forewarn.core.machines.values import Errand
from forewarn.engines.docker.calls import Dialect
from forewarn.engines.docker.containers import (
    ERRAND_LABEL,
    HOST_LABEL,
    POLICY_LABEL,
    VM_LABEL,
    Container,
    is_anonymous,
)

NO_POLICY = {"Name": "no", "MaximumRetryCount": 0}
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_.-]+")
_OF_PODMAN = ("HOSTNAME=", "container=podman")  # what it puts into every container's environment by itself
# What podman's inspect tells otherwise than create wants it: its defaults, as if somebody had asked for them
_PODMAN_DEFAULTS = (
    "CgroupnsMode", "ConsoleSize", "IpcMode", "LogConfig", "MemorySwappiness", "PidMode", "PidsLimit", "Runtime",
    "ShmSize", "UTSMode",
)  # fmt: skip


class Blueprint(Struct, frozen=True):
    """A container to be, by its name in the server's own files."""

    name: str
    image: str
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    network: str = ""
    volumes: tuple[str, ...] = ()  # NAME:PATH; the machine's own, and gone with it
    mounts: tuple[str, ...] = ()  # of the host, as Docker writes them: /from:/to[:ro]
    memory: int = 0  # bytes; 0: as much as there is


def name_of(vm: str) -> str:
    """A container's name for a VM of that key. Engines want two characters or more, the first a letter or a digit."""
    name = _ILLEGAL.sub("-", vm).strip("-_.")
    return name if len(name) > 1 else f"vm-{name}"


def volumes_of(blueprint: Blueprint, ref: str) -> dict[str, str]:
    """The machine's own volumes: name -> where it is mounted."""
    pairs = (volume.partition(":")[::2] for volume in blueprint.volumes)
    return {f"{ref}-{name}": path for name, path in pairs}


def labels_of(errand: Errand, host: str) -> dict[str, str]:
    """By which an errand finds again what it has made, and a deletion what is a VM's."""
    return {ERRAND_LABEL: errand.id, HOST_LABEL: host, VM_LABEL: errand.vm_id}


def from_blueprint(blueprint: Blueprint, errand: Errand, ref: str, host: str) -> dict[str, Any]:
    """Restarted by forewarn alone, and without the capability to send under another's address. Its volumes are there
    by then: podman would make them without their labels."""
    labels = labels_of(errand, host)
    body: dict[str, Any] = {
        "Image": blueprint.image,
        "Env": list(blueprint.environment),
        "Labels": labels,
        "Hostname": ref[:63],
        "HostConfig": {
            "CapDrop": ["NET_RAW"],
            "Binds": list(blueprint.mounts),
            "Mounts": [
                {"Type": "volume", "Source": name, "Target": path, "VolumeOptions": {"Labels": labels}}
                for name, path in volumes_of(blueprint, ref).items()
            ],
            "RestartPolicy": NO_POLICY,
            "Memory": blueprint.memory,
        },
    }
    if blueprint.command:
        body["Cmd"] = list(blueprint.command)
    if blueprint.network:
        body["HostConfig"]["NetworkMode"] = blueprint.network
        if not _shares_network(body["HostConfig"]):
            body["NetworkingConfig"] = {"EndpointsConfig": {blueprint.network: {}}}
    return body


def like(old: Container, errand: Errand, host: str, dialect: Dialect) -> dict[str, Any]:
    """The same image, settings, networks, addresses and named volumes; nothing that was written inside it.

    It is not to start by itself while the old one is there: where the engine would do that (dockerd, with a restart
    policy), it gets its policy when the old one is gone.
    """
    config = {key: value for key, value in old.told["Config"].items() if value is not None}
    if old.id.startswith(config.get("Hostname") or "-"):
        del config["Hostname"]
    config["Labels"] = {**old.labels, ERRAND_LABEL: errand.id, HOST_LABEL: host}
    settings = {key: value for key, value in old.settings.items() if value is not None}
    if dialect.podman:
        _correct_podman(config, settings, old)
    elif old.policy != "no":
        config["Labels"][POLICY_LABEL] = f"{old.policy} {settings['RestartPolicy'].get('MaximumRetryCount') or 0}"
        settings["RestartPolicy"] = NO_POLICY
    body = {**config, "HostConfig": settings}
    first = next(iter(old.networks), None)
    if first is not None and not _shares_network(settings):
        settings["NetworkMode"] = first if dialect.podman else settings.get("NetworkMode", first)
        body["NetworkingConfig"] = {"EndpointsConfig": {first: endpoint(old, first)}}
    return body


def endpoint(old: Container, network: str) -> dict[str, Any]:
    """The new container's place on a network: the old one's aliases, and its address, by which the region knows it."""
    told = old.networks[network]
    made: dict[str, Any] = {}
    if told.get("IPAMConfig"):
        made["IPAMConfig"] = told["IPAMConfig"]
    elif told.get("IPAddress"):  # podman does not say whether somebody asked for it
        made["IPAMConfig"] = {"IPv4Address": told["IPAddress"]}
    aliases = [alias for alias in told.get("Aliases") or () if not old.id.startswith(alias)]
    if aliases:
        made["Aliases"] = aliases
    return made


def local_volumes(old: Container) -> list[str]:
    """Named volumes that no other engine has."""
    mounts = old.told.get("Mounts") or ()
    volumes = [mount for mount in mounts if mount.get("Type") == "volume" and mount.get("Driver") == "local"]
    return [mount["Name"] for mount in volumes if not is_anonymous(mount.get("Name", ""))]


def kept_policy(new: Container) -> dict[str, Any] | None:
    """The restart policy that this container is still owed."""
    name, _, retries = new.labels.get(POLICY_LABEL, "").partition(" ")
    return {"Name": name, "MaximumRetryCount": int(retries)} if name and new.policy == "no" else None


def _shares_network(settings: dict[str, Any]) -> bool:
    mode = str(settings.get("NetworkMode", ""))
    return mode in ("host", "none") or mode.startswith(("container:", "ns:"))


def _correct_podman(config: dict[str, Any], settings: dict[str, Any], old: Container) -> None:
    config["Env"] = [each for each in config.get("Env", ()) if not each.startswith(_OF_PODMAN)]
    if not config.get("Entrypoint"):
        config.pop("Entrypoint", None)
    for name in _PODMAN_DEFAULTS:
        settings.pop(name, None)
    binds = [str(each).split(":") for each in settings.get("Binds", ())]
    config["Volumes"] = {each[1]: {} for each in binds if is_anonymous(each[0])}
    settings["Binds"] = [":".join([*each[:2], *_mode(each[2:])]) for each in binds if not is_anonymous(each[0])]
    if not old.networks and settings.get("NetworkMode") == "bridge":
        settings["NetworkMode"] = "none"


def _mode(options: list[str]) -> list[str]:
    return ["ro"] if options and "ro" in options[0].split(",") else []

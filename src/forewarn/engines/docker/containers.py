"""What an engine says of one container, as a machine."""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec import Struct

from forewarn.core.machines.values import MachinePower, SeenWhy, Sighting

ERRAND_LABEL = "forewarn.errand"  # the errand that made the container
HOST_LABEL = "forewarn.host"  # at which of the hosts behind one socket it counts
VM_LABEL = "forewarn.vm-id"  # whose it is; on its volumes too
POLICY_LABEL = "forewarn.restart"  # the restart policy it gets once its predecessor is gone

_ASIDE = re.compile(r"\.forewarn-(?:new|old)-[0-9a-z]{1,8}$")
_KILLED = 128 + 9  # exit codes as shells and both engines write them: 128 and the signal's number
_ENDED = 128 + 15  # the same
_ANONYMOUS = re.compile(r"[0-9a-f]{64}$")


class Container(Struct, frozen=True):
    """One container as ``inspect`` tells it."""

    id: str
    name: str
    power: MachinePower
    boot_mark: str
    why: SeenWhy
    told: dict[str, Any]  # all of it, for whoever makes another one like it

    @property
    def labels(self) -> dict[str, str]:
        return self.told["Config"].get("Labels") or {}

    @property
    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = self.told["HostConfig"]
        return settings

    @property
    def networks(self) -> dict[str, dict[str, Any]]:
        return self.told["NetworkSettings"].get("Networks") or {}

    @property
    def policy(self) -> str:
        """What the engine does by itself when the container ends."""
        return (self.settings.get("RestartPolicy") or {}).get("Name") or "no"

    def seen(self, host: str, ref: str = "", definition: str = "") -> Sighting:
        return Sighting(
            ref=ref or self.name,
            host=host,
            power=self.power,
            boot_mark=self.boot_mark,
            why=self.why,
            errand=self.labels.get(ERRAND_LABEL, ""),
            definition=definition,
        )


def definition_of(container: Container) -> str:
    """All that is needed to make it again at another host, as JSON: what ``like`` reads of it."""
    told, config = container.told, dict(container.told["Config"])
    if container.id.startswith(config.get("Hostname") or "-"):
        del config["Hostname"]  # the engine made it up of the id
    labels = {key: text for key, text in container.labels.items() if key not in (ERRAND_LABEL, HOST_LABEL)}
    networks = {name: _standing(container, entry) for name, entry in container.networks.items()}
    mounts = [
        {key: mount.get(key) for key in ("Type", "Name", "Driver", "Source", "Destination", "RW")}
        for mount in told.get("Mounts") or ()
    ]
    kept = {
        "Id": "",
        "Name": container.name,
        "State": {"Status": "exited"},
        "Config": {**config, "Labels": labels},
        "HostConfig": container.settings,
        "NetworkSettings": {"Networks": networks},
        "Mounts": sorted(mounts, key=lambda mount: str(mount["Destination"])),
    }
    return json.dumps(kept, sort_keys=True)


def _standing(container: Container, entry: dict[str, Any]) -> dict[str, Any]:
    """How it stands on a network, without what is new with each start."""
    aliases = [alias for alias in entry.get("Aliases") or () if not container.id.startswith(alias)]
    return {"IPAMConfig": entry.get("IPAMConfig"), "IPAddress": entry.get("IPAddress"), "Aliases": aliases}


def defined(definition: str) -> Container | None:
    """A container that is gone, as far as its definition tells of it."""
    return container_of(json.loads(definition)) if definition else None


def container_of(told: dict[str, Any]) -> Container:
    """Out of an answer to ``GET /containers/{id}/json``."""
    state = told["State"]
    power = _power(state)
    return Container(
        id=told["Id"],
        name=told["Name"].removeprefix("/"),
        power=power,
        boot_mark=f"{told['Id'][:12]} {state.get('StartedAt', '')}",
        why=_why_off(state) if power is MachinePower.OFF else SeenWhy.UNKNOWN,
        told=told,
    )


def _power(state: dict[str, Any]) -> MachinePower:
    """A container whose restart the engine has put off is not running."""
    if state.get("Paused"):
        return MachinePower.PAUSED
    return MachinePower.RUNNING if state.get("Status") == "running" else MachinePower.OFF


def _why_off(state: dict[str, Any]) -> SeenWhy:
    """An exit code says little: who was ended by a signal may have been stopped by a person or killed by the system."""
    code = state.get("ExitCode", 0)
    if state.get("OOMKilled"):
        return SeenWhy.CRASH
    if state.get("Status") == "created" or code == _ENDED:
        return SeenWhy.ASKED
    if code == _KILLED:
        return SeenWhy.UNKNOWN
    return SeenWhy.GUEST if code == 0 else SeenWhy.CRASH


def name_aside(ref: str, which: str, errand: str) -> str:
    """The name of a container that is to take a machine's place (``new``) or had it (``old``)."""
    return f"{ref}.forewarn-{which}-{re.sub('[^0-9a-z]', '', errand.lower())[:8]}"


def is_aside(name: str) -> bool:
    return _ASIDE.search(name) is not None


def is_anonymous(volume: str) -> bool:
    """Whether the engine made up the volume's name: such a volume belongs to one container."""
    return _ANONYMOUS.match(volume) is not None

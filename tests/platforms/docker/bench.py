"""The bench of the contract suite on a real dockerd or podman."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs

from forewarn.core.machines.values import MachinePower
from forewarn.engines.docker.containers import HOST_LABEL
from forewarn.engines.docker.engine import DockerEngine
from forewarn.engines.docker.making import Blueprint
from forewarn.plane.hands.engine import Engine
from tests.contract.engines.bench import Copy
from tests.platforms.docker.daemons import CALL_SECONDS, IMAGE, LIFE, Daemon
from tests.platforms.docker.relay import Relay, nothing

SMALL = Blueprint("small", IMAGE, ("/bin/sh", "-c", LIFE), network="none", volumes=("data:/data",))
_STATUS = {"running": MachinePower.RUNNING, "paused": MachinePower.PAUSED}


class ContainerBench:
    """Two hosts: one daemon for both, or one for each."""

    hosts: tuple[str, ...] = ("alpha", "beta")
    blueprint = SMALL.name
    lacks: frozenset[str] = frozenset({"slow migration"})

    def __init__(
        self, daemons: Sequence[Daemon], engine: Callable[..., Engine] = DockerEngine, room: Path | None = None
    ) -> None:
        self._daemons = {host: daemons[min(number, len(daemons) - 1)] for number, host in enumerate(self.hosts)}
        self.kind = daemons[0].kind
        if len(daemons) < len(self.hosts):
            self.lacks |= {"hosts apart"}
        self._room = tempfile.TemporaryDirectory(dir=room)
        made = {one.path: Relay(Path(self._room.name) / f"{number}", one.path) for number, one in enumerate(daemons)}
        self._relays = {host: made[one.path] for host, one in self._daemons.items()}
        self._boots = Path(self._room.name) / "boots" / "log"
        self._boots.parent.mkdir()
        self.blueprints = (structs.replace(SMALL, mounts=(f"{self._boots.parent}:/boots",)),)
        self.engine: Engine = engine("containers", self.paths(), self.blueprints, CALL_SECONDS)

    def close(self) -> None:
        self.engine.close()
        for relay in self._relays.values():
            if Path(relay.path).exists():
                relay.close()
        self.clear()
        self._room.cleanup()

    def clear(self) -> None:
        for daemon in self._each():
            daemon.clear()

    def _each(self) -> list[Daemon]:
        return list(dict.fromkeys(self._daemons.values()))

    def paths(self) -> dict[str, str]:
        return {host: relay.path for host, relay in self._relays.items()}

    def strike_when(self, instant: str, turn: int, strike: Callable[[Daemon], None]) -> None:
        """Let something happen once, when that change was asked of the daemon, or answered by it."""
        asked = 0

        def at(daemon: Daemon) -> None:
            nonlocal asked
            asked += 1
            if asked == turn:
                strike(daemon)

        for host, relay in self._relays.items():
            setattr(relay, f"on_{instant}", partial(at, self._daemons[host]))

    def settle(self) -> None:
        """Whatever is still under way in a relay or a daemon ends; nothing more is to happen."""
        for relay in self._relays.values():
            relay.on_asked = relay.on_answered = nothing

    def boots(self) -> int:
        """How often any container was started: each writes a line where no engine and no kill can lose it."""
        return len(self._boots.read_text().splitlines()) if self._boots.exists() else 0

    def make(self, name: str, host: str) -> Copy:
        settings = {"NetworkMode": "none", "Binds": [f"{self._boots.parent}:/boots"]}
        body = {"Labels": {HOST_LABEL: host}, "HostConfig": settings}
        return _copy(self._daemons[host].run(name, body), name, host)

    def make_stranger(self, host: str) -> Copy:
        return _copy(self._daemons[host].run("stranger"), "stranger", host)

    def truth(self, ref: str) -> tuple[Copy, ...]:
        """Also those under the names that an errand gives to a container which comes or goes."""
        found = []
        for host, daemon in self._daemons.items():
            for name in daemon.names():
                if name != ref and not name.startswith(f"{ref}.forewarn-"):
                    continue
                told = daemon.inspect(name)
                if told is not None and (_host(told) or self._first_host(daemon)) == host:
                    found.append(_copy(told, ref, host))
        return tuple(found)

    def left_of(self, ref: str) -> tuple[str, ...]:
        return tuple(name for each in self._each() for name in each.volumes() if name.startswith(f"{ref}-"))

    def _first_host(self, daemon: Daemon) -> str:
        return next(host for host, each in self._daemons.items() if each is daemon)

    def do(self, what: str, ref: str, host: str) -> None:
        daemon = self._daemons[host]
        match what:
            case "stop":
                daemon.do("POST", f"/containers/{ref}/stop", {"t": "5"})
            case "boot":
                daemon.do("POST", f"/containers/{ref}/start")
            case "remove":
                daemon.do("DELETE", f"/containers/{ref}", {"force": "1"})
            case "crash":
                daemon.signal(ref, signal.SIGUSR1)
            case _:
                daemon.signal(ref, signal.SIGUSR2)

    def mishap(self, what: str, sentence: str = "") -> None:
        if what == "silent host":
            self._relays[self.hosts[0]].close()
        else:
            for relay in dict.fromkeys(self._relays.values()):
                relay.mishaps.append((what, sentence))

    def wait(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.05))


def _host(told: dict[str, Any]) -> str:
    label: str = (told["Config"].get("Labels") or {}).get(HOST_LABEL, "")
    return label


def _copy(told: dict[str, Any], ref: str, host: str) -> Copy:
    state = told["State"]
    mark = f"{told['Id'][:12]} {state['StartedAt']}"
    return Copy(ref, host, _STATUS.get(state["Status"], MachinePower.OFF), mark)

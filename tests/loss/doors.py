"""Where VMs read and approve: a node's own metadata face, or whatever stands before one and lives on its news."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.e2e.program import FOREWARN, clean_environment
from tests.loss.machines import RUNNER, steady_port
from tests.loss.proxy import Wires
from tests.loss.supervised import Supervised, status_of


class Door(Protocol):
    """The judge knows a door by its name: what one has shown, it does not take back."""

    @property
    def name(self) -> str: ...

    @property
    def metadata_port(self) -> int: ...

    @property
    def knows_who_is_there(self) -> bool:
        """Whether its 404 says that there is no such VM, and not only that it is somebody else's."""

    def serves(self, vm: str) -> bool:
        """Whether it is worth asking about a VM."""


@dataclass(kw_only=True)
class RelayDoor(Supervised):
    """One ``forewarn relay``, each of its ways to a node over a wire of its own."""

    upstreams: Sequence[str]  # names of wires, in the order in which they are asked
    wires: Wires
    vms: frozenset[str] = frozenset()
    host: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    metadata_port: int = field(default_factory=steady_port)

    @property
    def knows_who_is_there(self) -> bool:
        return not self.host

    def serves(self, vm: str) -> bool:
        return not self.vms or vm in self.vms

    def _launch(self) -> subprocess.Popen[str]:
        ways = [f"http://127.0.0.1:{self.wires.ports[wire]}" for wire in self.upstreams]
        options = [part for way in ways for part in ("--upstream", way)]
        options += ["--vms", ",".join(sorted(self.vms))] if self.vms else ["--host", self.host]
        options += ["--metadata", f"127.0.0.1:{self.metadata_port}"]
        notes: Path = self.directory / f"{self.name}.begun"
        with self.log.open("a") as errors:
            return subprocess.Popen(
                [sys.executable, RUNNER, notes, self.name, FOREWARN, "relay", *options],
                env=clean_environment(**self.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def is_ready(self) -> bool:
        return status_of(self.metadata_port, "/") != 0

    def answers(self) -> bool:
        """Whether it knows what there is: about each of its VMs, that is one answer or the other."""
        vm = min(self.vms, default="nobody")
        target = f"/vm/{vm}/metadata/scheduledevents?api-version=2020-07-01"
        return status_of(self.metadata_port, target) in (200, 404)

    def heal(self) -> None:
        for wire in self.upstreams:
            self.wires.heal(wire)
        self.wake()
        if not self.wanted:
            self.start()

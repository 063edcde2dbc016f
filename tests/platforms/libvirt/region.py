"""A region over two hosts: a node at each, on one shared store, as docs/machines.md has it; or one node for both."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.program import ServerProgram
from tests.platforms.libvirt.daemons import METADATA, Daemon
from tests.platforms.libvirt.vms import Guest, virsh
from tests.platforms.serving import facts, forewarn, launch
from tests.postgres import Server
from tests.waiting import until

# Times are short, so that an evening passes in minutes; notices stay long: it is approvals that events start by
_SETTINGS = """
[machines]
grace = "10s"
listing_every = "2s"
silent_after = "10s"
fence_after = "12s"
call_timeout = "10s"
"""
ONE_NODE = "region"
TOKEN = "sesame"
_OPTIONS = (
    "--recovery-freeze", "3s", "--recovery-live-migration", "3s", "--recovery-user-restart", "3s",
    "--recovery-user-redeploy", "3s", "--recovery-crash", "3s", "--recovery-failure", "3s",
)  # fmt: skip


@dataclass
class MachineRegion:
    """What a person at the first host has before them."""

    daemons: dict[str, Daemon]
    folder: Path
    binding: Path  # where libvirt's Python binding is
    store: str  # none where one node has its own
    nodes: dict[str, ServerProgram] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    tables: str = ""  # more of the region file
    pool: Path = Path()  # of volumes, where a test has one
    apart: tuple[str, ...] = ()  # what a command begins with where the one node is, if that is at neither host

    def inside(self, node: str) -> tuple[str, ...]:
        return self.apart or self.daemons[node].inside

    def start_node(self, name: str) -> ServerProgram:
        """Also after it was killed."""
        if name in self.nodes:
            self.nodes[name].close()
        config = self.folder / "region.toml"
        config.write_text(_SETTINGS + self._tables())
        kept = {"FOREWARN_STORE": self.store} if self.store else {"FOREWARN_TOKEN": TOKEN}
        made = launch(
            self.inside(name),
            self.folder / f"node-{name}",
            f"{METADATA}:80",
            "--config",
            config,
            "--node-name",
            name,
            *_OPTIONS,
            *self.options,
            PYTHONPATH=str(self.binding),
            **kept,
        )
        self.nodes[name] = made
        return made

    def close(self) -> None:
        for node in self.nodes.values():
            node.kill()
            node.close()

    def _tables(self) -> str:
        text = '[[engine]]\nname = "metal"\nkind = "libvirt"\nshared_disks = true\n'
        for number, (name, daemon) in enumerate(self.daemons.items()):
            fence = json.dumps(["/bin/sh", "-c", f"test -e {self.folder}/{name}.dead"])
            text += f'[[host]]\nname = "{name}"\nengine = "metal"\nuri = "{daemon.host.uri}"\n'
            text += f'node = "{ONE_NODE if self.apart else name}"\n'
            text += f'migrate_uri = "{daemon.host.migrate_uri}"\npeer_uri = "{daemon.host.uri}"\n'
            text += f"fence = {fence}\ncapacity = 30\nadded = true\n"
            text += f"update_domain = {number}\nfault_domain = {number}\n"
        return text + self.tables

    def forewarn(self, *words: str) -> str:
        name = next(name for name, node in self.nodes.items() if node.process.poll() is None)
        return forewarn(self.nodes[name], self.inside(name), *words)

    def facts(self, *names: str) -> list[dict[str, Any]]:
        name = next(name for name, node in self.nodes.items() if node.process.poll() is None)
        return facts(self.nodes[name], self.inside(name), *names)

    def adopt(self, guest: Guest, host: str, *words: str) -> None:
        """By the node that works there: the host's daemon is reached by that one only."""
        node = ONE_NODE if self.apart else host
        line = ("machine", "adopt", f"{host}/{guest.name}", "--way", "address", *words)
        forewarn(self.nodes[node], self.inside(node), *line)

    def machines(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.forewarn("machine", "list", "--json"))["machines"]
        return found

    def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.forewarn("event", "list", "--json"))
        return found

    def machine(self, vm: str) -> dict[str, Any]:
        return next(each for each in self.machines() if each["vm"] == vm)

    def until_at(self, vm: str, host: str) -> None:
        until(lambda: self.machine(vm)["host"] == host, f"{vm} at {host}", self.logs)

    def until_ended(self, count: int, kind: str = "") -> None:
        """Wait until so many errands (of that kind) were seen to be done."""
        until(lambda: len(self.ended(kind)) >= count, f"{count} errands {kind}", self.logs)

    def ended(self, kind: str = "") -> list[str]:
        made = {fact["body"]["errand"]["id"]: fact["body"]["errand"]["kind"] for fact in self.facts("ErrandMade")}
        over = [fact["body"]["errand_id"] for fact in self.facts("ErrandEnded")]
        return [each for each in over if not kind or made[each] == kind]

    def running(self, name: str) -> list[str]:
        """The hosts whose daemons say that it runs, past forewarn; a host that is lost runs nothing."""
        alive = {host: each for host, each in self.daemons.items() if each.process and each.process.poll() is None}
        return [host for host, daemon in alive.items() if name in virsh(daemon, "list", "--name").split()]

    def logs(self) -> str:
        """Only for the message of a failure: all that one would look at first."""
        told = [f"{name}: {node.log.read_text()[-3000:]}" for name, node in self.nodes.items()]
        told += [self.forewarn("machine", "list", "--json"), self.forewarn("event", "list", "--json")]
        told += [json.dumps(each) for each in self.facts() if "Errand" in each["fact"]]
        told += [f"{name} runs at {self.running(name)}" for name in {each["vm"] for each in self.machines()}]
        return "\n".join(told)


def kill_process(region: MachineRegion, name: str) -> None:
    """QEMU's own."""
    for pid in processes_of(region, name):
        os.kill(pid, signal.SIGKILL)


def processes_of(region: MachineRegion, name: str) -> Iterator[int]:
    """Of QEMU, by the name that libvirt gives it."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_text()
        except OSError:
            continue
        if f"guest={name}," in line and str(region.folder) in line:
            yield int(process.name)


@contextmanager
def machine_region(
    daemons: dict[str, Daemon], folder: Path, binding: Path, *options: str, tables: str = "", pool: Path = Path()
) -> Iterator[MachineRegion]:
    with Server(fsync=False) as database, ExitStack() as stack:
        store = database.url(host=str(database.directory), database=database.database())
        made = MachineRegion(daemons, folder, binding, store, options=options, tables=tables, pool=pool)
        stack.callback(made.close)
        for name in daemons:
            made.start_node(name)
        for node in made.nodes.values():
            node.await_ready()
        yield made

"""Two hosts without a node of their own: a relay at each, with a token for its host; the region's node is elsewhere."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.e2e.test_relay import RelayProgram, relay
from tests.platforms.libvirt.daemons import METADATA, Daemon
from tests.platforms.libvirt.region import ONE_NODE, MachineRegion

_NODE = "203.0.113.1"  # RFC 5737, on a network of the region's that ends at the hosts: guests are not on it
_CONTROL = f"{_NODE}:16926"


@contextmanager
def relayed_region(
    daemons: dict[str, Daemon], folder: Path, binding: Path
) -> Iterator[tuple[MachineRegion, dict[str, RelayProgram]]]:
    """A region whose node has no metadata face at all: what a guest reads, it has from the relay of its host."""
    with ExitStack() as stack:
        inside = stack.enter_context(_elsewhere(daemons))
        options = ("--faces", "control", "--control", _CONTROL)
        region = MachineRegion(daemons, folder, binding, "", options=options, apart=inside)
        stack.callback(region.close)
        region.start_node(ONE_NODE).await_ready()
        relays = {host: stack.enter_context(_relay_at(daemon, region)) for host, daemon in daemons.items()}
        yield region, relays


@contextmanager
def _relay_at(daemon: Daemon, region: MachineRegion) -> Iterator[RelayProgram]:
    host = daemon.name
    token = region.forewarn("token", "create", f"relay-{host}", "--role", "relay", "--host", host).strip()
    words = ("--upstream", f"http://{_CONTROL}", "--host", host, "--metadata", f"{METADATA}:80")
    with relay(region.folder, *words, token=token, name=f"relay-{host}", wrapper=daemon.inside) as made:
        yield made


@contextmanager
def _elsewhere(daemons: dict[str, Daemon]) -> Iterator[tuple[str, ...]]:
    """A namespace for the node with a wire to each host: what a command begins with that is to run there."""
    name = f"fw{os.getpid()}node"
    with ExitStack() as stack:
        _ip(f"netns add {name}")
        stack.callback(_ip, f"netns del {name}")
        _ip(f"-n {name} link set lo up")
        _ip(f"-n {name} link add hosts type bridge")
        _ip(f"-n {name} address add {_NODE}/24 dev hosts")
        _ip(f"-n {name} link set hosts up")
        for number, (host, daemon) in enumerate(daemons.items(), 11):
            there = daemon.namespace
            _ip(f"-n {name} link add {host} type veth peer name node netns {there}")
            stack.callback(_ip, f"-n {there} link del node")
            _ip(f"-n {name} link set {host} master hosts up")
            _ip(f"-n {there} address add 203.0.113.{number}/24 dev node")
            _ip(f"-n {there} link set node up")
        yield ("ip", "netns", "exec", name)


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True)

"""What a region file may declare of real machines, explained: the end of the example, and every key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from datetime import timedelta
from typing import Any

from forewarn.settings.machine_entries import BlueprintEntry, EngineEntry, HostEntry, MachinesEntry
from forewarn.settings.machine_tables import WORDS
from forewarn.settings.times import show_duration

EXAMPLE = """
# Real machines. docs/machines.md tells what events do to them; none of this can be given by API, portal or flags.

#[[engine]]                       # containers behind a Docker-compatible socket (dockerd, podman)
#name = "containers"
#kind = "docker"
#node = "alpha"                   # the server that runs on the same machine, by its node_name; alone it is called so

#[[host]]                         # where containers run; takes part with 'forewarn host add rack-1'
#name = "rack-1"
#engine = "containers"
#socket = "/var/run/docker.sock"
#capacity = 50                    # VMs that fit there

#[[blueprint]]                    # what new containers are made from
#name = "worker"
#engine = "containers"
#image = "worker:1.4"
#command = ["worker", "--serve"]
#environment = { MODE = "quiet" }
#network = "metadata"
#volumes = ["state:/var/lib/worker"]       # the machine's own, and gone with it
#mounts = ["/etc/worker:/etc/worker:ro"]   # of the host
#memory = "512m"

#[[vm]]                           # a VM whose machine is made from it, once its host takes part
#name = "job"
#blueprint = "worker"
#host = "rack-1"

#[[engine]]                       # virtual machines of libvirt
#name = "hypervisors"
#kind = "libvirt"
#shared_disks = true              # all its hosts see the same disks

#[[host]]
#name = "hyper-1"
#engine = "hypervisors"
#node = "alpha"
#uri = "qemu:///system"           # as this server reaches the daemon
#peer_uri = "qemu+tls://hyper-1.example/system"   # as the other hosts and nodes reach it
#migrate_uri = "tcp://10.0.0.1"   # where memory is sent to
#fence = ["fence_ipmilan", "--ip", "10.9.0.1", "--action", "off"]   # ends with 0 only once the host is off
#fault_domain = 1
#update_domain = 1
#added = true                     # takes part from the first start on, without 'forewarn host add'

#[[blueprint]]
#name = "server"
#engine = "hypervisors"
#definition = "server.xml"        # a domain's XML with $name, $uuid, $mac and $disk in it, beside this file
#pool = "default"
#image = "/var/lib/libvirt/images/debian.qcow2"

#[[engine]]                       # any other platform, by a program that speaks docs/engine-protocol.md
#name = "others"
#kind = "remote"
#url = "https://engine.example:8443"
#token_file = "engine.token"      # beside this file
#ca = "engine-ca.pem"             # or program = ["/usr/local/bin/my-engine"], or socket = "/run/my-engine.sock"

#[machines]                       # how patient forewarn is; these are the usual values
#grace = "60s"
#migration_timeout = "10m"
#migration_downtime = "500ms"
#listing_every = "10s"
#call_timeout = "30s"
#silent_after = "30s"
#fence_after = "2m"               # or "never"
#crash_restarts = 3
#when_not_migratable = "refuse"   # or "reboot", "freeze"
#duration_from_engine = false
#parallel = 4
#locks = "/run/forewarn"
"""

_ENGINE_WORDS = {
    "name": "by which hosts and blueprints name it",
    "kind": "`docker` (any Docker-compatible engine), `libvirt`, or `remote` (any other platform: engine-protocol.md)",
    "socket": "docker, remote: the path of its Unix socket, where its hosts do not name their own",
    "uri": "libvirt: the daemon's URI, where its hosts do not name their own",
    "node": "the node that alone works at its hosts, by its `node_name`; needed where the socket or URI is local",
    "shared_disks": "libvirt: whether all its hosts see the same disks, where libvirt cannot tell",
    "url": "remote: its address, `https://…`",
    "token_file": "remote: the file with the token that it wants, read for each call; needed with `url`",
    "ca": "remote: the file with the certificates of the authority that signed its own; else the system's authorities",
    "program": "remote: the program to start, which speaks the protocol as lines",
}
_HOST_WORDS = {
    "name": "what `forewarn host add` and all lists call it",
    "engine": "the engine that runs its machines",
    "socket": "docker: the path of the engine's Unix socket there",
    "uri": "libvirt: the daemon there, as the server reaches it",
    "peer_uri": "libvirt: as other hosts and other nodes reach it; needed where hosts have different nodes",
    "migrate_uri": "libvirt: where the memory of a machine is sent to in a live migration, such as `tcp://10.0.0.1`",
    "node": "as for `[[engine]]`, for this host",
    "fence": "the program, with its arguments, that turns the host off and ends with 0 only once it is off; it is run "
    "without a shell when the host has been silent for `fence_after`",
    "fault_domain": "of all VMs there, from 0",
    "update_domain": "of all VMs there, from 0",
    "capacity": "VMs that fit there; 0: as many as the setting `vms_per_host` says",
    "added": "whether each start adds it if it takes no part; else `forewarn host add` does",
}
_BLUEPRINT_WORDS = {
    "name": "by which VMs name it",
    "engine": "the engine that it is for",
    "image": "docker: the image (needed); libvirt: the image below each machine's own volume, with `pool`",
    "command": "docker: instead of the image's own",
    "environment": "docker: variables",
    "network": "docker: the network that it is connected to",
    "volumes": "docker: `NAME:/PATH`, made for each machine and removed with it",
    "mounts": "docker: `/FROM:/TO` or `/FROM:/TO:ro`, of the host",
    "memory": "docker: at most so much, such as `512m` or `2g`",
    "definition": "libvirt: a file with a domain's XML (needed); its path begins at the region file",
    "pool": "libvirt: the storage pool of each machine's own volume, with `image`",
}
_MACHINES_WORDS = {
    "grace": "in which a machine may shut down by itself before it is cut off",
    "migration_timeout": "after which a live migration is aborted",
    "migration_downtime": "that a live migration may let the machine stand still",
    "listing_every": "between two listings of a host, without a hint that something has changed",
    "call_timeout": "of one call into an engine, and of a fence",
    "silent_after": "without an answer after which a host is called silent: nothing is placed there",
    "fence_after": "without an answer after which a host with a `fence` is turned off",
    "crash_restarts": "how often within ten minutes a machine that crashed is started again",
    "when_not_migratable": "what a live migration of a host means for a machine there that cannot be moved while it "
    "runs: `reboot` or `freeze` it instead, or `refuse` the maintenance",
    "duration_from_engine": "whether a live migration announces how long the machine stood the last time it was "
    "moved, as its engine measured it",
    "parallel": "errands at one host at a time",
    "locks": "the directory of the lock files by which servers on one machine keep off each other's engines; usually "
    "`/run/forewarn` for root, else `forewarn` in `$XDG_RUNTIME_DIR`",
}
_TABLES: tuple[tuple[str, type, Mapping[str, str]], ...] = (
    ("[[engine]]", EngineEntry, _ENGINE_WORDS),
    ("[[host]]", HostEntry, _HOST_WORDS),
    ("[[blueprint]]", BlueprintEntry, _BLUEPRINT_WORDS),
    ("[machines]", MachinesEntry, _MACHINES_WORDS),
)
MACHINE_WORDS = {title: words for title, _, words in _TABLES}


def machine_tables() -> Iterator[str]:
    """Every key, a table of Markdown for each table of the file."""
    for title, entry, words in _TABLES:
        yield from (f"### `{title}`", "", "| key | value | default | what it is |", "|---|---|---|---|")
        for each in fields(entry):
            yield f"| `{each.name}` | {WORDS[str(each.type)]} | {_default(each)} | {words[each.name]} |"
        yield ""


def _default(each: Field[Any]) -> str:
    if each.default is MISSING:
        return "(needed)" if each.default_factory is MISSING else ""
    if isinstance(each.default, timedelta):
        return f"`{show_duration(each.default)}`"
    return f"`{str(each.default).lower()}`" if isinstance(each.default, int) else ""

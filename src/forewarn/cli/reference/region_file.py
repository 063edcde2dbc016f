"""The region file explained: an annotated example, and every key as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields

from forewarn.cli.reference.machine_tables import EXAMPLE as _MACHINES
from forewarn.cli.reference.machine_tables import machine_tables
from forewarn.settings.binding_file import BindingEntry
from forewarn.settings.fleet_file import TYPE_WORDS, TYPES, FleetEntry
from forewarn.settings.notification_file import KEYS, OCCASIONS

EXAMPLE = (
    """\
# A region file. 'forewarn settings --check region.toml' checks it, 'forewarn serve --config region.toml' uses it.
# Every key is explained in docs/region-file.md, every setting in docs/settings.md; a line with # is only shown.

[settings]                        # each is also a flag and a variable, which win over the file
clock = "real"                    # x60 makes a minute of a second; virtual moves only when told
data = "forewarn-data"            # the directory that keeps the region
#profile = "azure"                # throttle, slow first read and late news, as the real service has them
#notice_user_restart = "5m"       # Azure gives 15m
#vms_per_host = 20

[[vm]]                            # one VM; those of this file that do not exist are created at each start
name = "db"
read = true                       # it reads its document once at creation, so that its events wait from then on
size = "Standard_E4s_v5"
os_type = "Linux"
tags = { team = "data" }
terminate_notice = "10m"          # a deletion is announced so long before, from 5m to 15m; not for Spot VMs

[[vm]]                            # web-0, web-1 and web-2, which see each other's events
name = "web"
count = 3
availability_set = "front"

[[vm]]                            # a Spot VM: 'forewarn vm evict batch' gives it 30 s
name = "batch"
spot = true
eviction_policy = "Delete"        # or Deallocate, which is usual
vnet = true                       # which is usual; false: outside any virtual network

[[vm]]                            # a role of a classic cloud service
name = "fe"
count = 2
cloud_service = "shop"
role = "FrontEnd"

#[[vm]]                           # a VM that is known by how it connects, so that it needs no /vm/NAME in its path
#name = "real"
#address = "10.0.0.4"             # by the source address of its connections
#local_address = "127.0.0.77"     # or by the address that it connects to
#netns = "real"                   # or by its network namespace on this machine, in which 169.254.169.254 answers
#interface = "eth0"               # the interface of that namespace that leads to the VM, if it is not inside
#unix = "real"                    # or by a Unix socket of its own, real.sock in the directory guest_sockets

#[[binding]]                      # the same for a VM that exists already, or for a whole scale set
#vm = "web-0"
#netns = "web-0"
#[[binding]]
#scale_set = "workers"
#netns = "{name}"                 # each instance its own

#[[notification]]                 # who is told of what should not stay so; docs/signals.md
#kind = "webhook"                 # or "apprise"
#url = "https://chat.example.org/hooks/1234"   # or url_file = "chat.address", beside this file
#on = ["campaign-still", "deadline-missed", "scope-silent", "node-lags"]   # which is all, and usual
"""
    + _MACHINES
)

VM_WORDS = {
    "name": "the VM's name; with `count`, what the names begin with",
    "count": "how many: `name` alone for 1, else `name-0`, `name-1` and so on",
    "availability_set": "the set that they are in; its VMs share a document",
    "cloud_service": "the classic cloud service that they are in, whose VMs share a document; needs `role`",
    "role": "the role in the cloud service: documents call the VMs `role_IN_0`, `role_IN_1` and so on",
    "spot": "whether they may be evicted, which is announced as Preempt",
    "eviction_policy": "what an eviction does to a Spot VM: `Deallocate` (usual) or `Delete`",
    "vnet": "whether they are inside a virtual network",
    "terminate_notice": "how long a deletion is announced ahead, as Terminate, from `5m` to `15m`; without it a "
    "deletion comes at once. Not for Spot VMs",
    "size": "shown by `/metadata/instance`",
    "os_type": "`Linux` or `Windows`, shown by `/metadata/instance`",
    "tags": "shown by `/metadata/instance`",
    "address": "the VM is known by the source address of its connections (one VM only, as the next four)",
    "local_address": "it is known by the address that it connects to",
    "netns": "it is known by its network namespace on this machine, in which 169.254.169.254 answers",
    "interface": "the interface of that namespace that leads to the VM, if it is not inside",
    "unix": "it is known by a Unix socket of its own, `NAME.sock` in the directory `guest_sockets` of the server",
    "read": "whether each reads its document once when it is created, so that its events wait from then on; a program "
    "that reads has to follow within 24 hours",
    "blueprint": "real machines are made from this `[[blueprint]]`",
    "host": "at this `[[host]]`, which takes part; else where there is room",
}
BINDING_WORDS = {
    "vm": "the VM that is bound; or",
    "scale_set": "the scale set whose instances are bound, present and future ones: one of the two",
    "address": "as for `[[vm]]`; of a scale set a range such as `10.0.0.0/24`, from which each instance takes one",
    "local_address": "as for `[[vm]]`, likewise",
    "netns": 'as for `[[vm]]`; of a scale set a pattern such as `"{name}"`',
    "interface": "as for `[[vm]]`",
    "unix": "as for `[[vm]]`; not of a scale set",
}


NOTIFICATION_WORDS = {
    "kind": "`webhook` (a POST of JSON), or `apprise` (mail, chat and more, by the extra `notify`)",
    "url": "where; a secret, which nothing shows",
    "url_file": "a file with that address instead, read at the start; its path begins at the region file",
    "on": f"of what: {', '.join(f'`{each}`' for each in OCCASIONS)}; left out, of all ([signals.md](signals.md))",
}


def region_file() -> str:
    """Every table and key of a region file."""
    return "\n".join(
        [
            "### `[settings]`",
            "",
            "Every setting of [settings.md](settings.md), by its key; numbers need no quotes.",
            "",
            "### `[[vm]]`",
            "",
            *_table(FleetEntry, VM_WORDS),
            "",
            "### `[[binding]]`",
            "",
            *_table(BindingEntry, BINDING_WORDS),
            "",
            "### `[[notification]]`",
            "",
            *_notification_table(),
            "",
            *machine_tables(),
            "### An example",
            "",
            "`forewarn settings --example` prints it.",
            "",
            "```toml",
            EXAMPLE.rstrip(),
            "```",
        ]
    )


def _notification_table() -> Iterator[str]:
    yield "| key | value | default | what it is |"
    yield "|---|---|---|---|"
    for key in KEYS:
        kind = "a list of texts" if key == "on" else "text"
        yield f"| `{key}` | {kind} | {'(needed)' if key == 'kind' else ''} | {NOTIFICATION_WORDS[key]} |"


def _table(entry: type[FleetEntry | BindingEntry], words: Mapping[str, str]) -> Iterator[str]:
    yield "| key | value | default | what it is |"
    yield "|---|---|---|---|"
    for field in fields(entry):
        kind = "a duration" if field.name == "terminate_notice" else TYPE_WORDS[TYPES.get(field.name, str)]
        usual = f"`{str(field.default).lower()}`" if isinstance(field.default, int) else ""
        needed = field.default is MISSING and field.default_factory is MISSING
        yield f"| `{field.name}` | {kind} | {'(needed)' if needed else usual} | {words[field.name]} |"

"""``forewarn vm``: the fleet and what can be done to it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from forewarn.cli import parsing
from forewarn.cli.api.client import NAMES_AT_ONCE, OperatorClient
from forewarn.cli.commands import bindings
from forewarn.cli.filters import VMS, add_filters, given
from forewarn.cli.outcomes import merge, show_events, show_outcome
from forewarn.cli.output import Column, Output, Progress
from forewarn.cli.parsing import Subparsers
from forewarn.cli.vm_card import show_vm
from forewarn.settings.errors import CommandFailed, Exit, usage
from forewarn.settings.fleet_file import EVICTION_POLICIES, FleetEntry, check, runs
from forewarn.settings.times import parse_instant

# operation -> (summary, description)
_OPERATIONS = {
    "restart": (
        "restart VMs, with notice",
        (
            "Ask for a restart. Where a VM of the scope reads its events this schedules a Reboot that waits for "
            "approval or for its NotBefore; elsewhere it happens at once, and the answer says so."
        ),
    ),
    "redeploy": (
        "move VMs to other hosts, with notice",
        (
            "Ask for a redeploy: the VM comes back on another host with an empty ephemeral disk. It is announced as "
            "a Redeploy in the same way as a restart."
        ),
    ),
    "reimage": (
        "give VMs a fresh system disk",
        (
            "Ask for a reimage: the VM comes back with a fresh system disk. A VM with an OS image notice whose scope "
            "reads its events gets a Reboot event first; elsewhere it happens at once."
        ),
    ),
    "stop": (
        "power VMs off",
        "Stop VMs at once; they keep their hosts. Nothing is announced: Azure documents no event for it.",
    ),
    "deallocate": (
        "stop VMs and give up their hosts",
        "Stop VMs at once. Nothing is announced: Azure documents no event for it.",
    ),
    "start": (
        "start VMs that are down",
        "Start VMs that were stopped, deallocated or evicted; one that has no host finds one again.",
    ),
    "delete": (
        "delete VMs",
        "Delete VMs. One that was created with a terminate notice gets a Terminate event first.",
    ),
    "evict": (
        "evict Spot VMs, with 30 s of notice",
        (
            "Take the capacity of Spot VMs back: a Preempt event, then the VM is deallocated or deleted by its "
            "eviction policy."
        ),
    ),
}

_ASK_ONE_BY_ONE = 100  # above, reading the whole list once is less work than a request for each name
_COLUMNS = (
    Column("NAME", flexible=True),
    Column("POWER"),
    Column("SCOPE", flexible=True, tail=True),
    Column("HOST"),
    Column("UD", right=True),
    Column("FD", right=True),
    Column("SPOT", spare=True),
    Column("BOOTS", right=True, spare=True),
)


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers, "vm", "virtual machines", "Create, look at, disturb and delete virtual machines."
    )
    _add_create(group)
    listing = parsing.add_client_command(
        group,
        "list",
        _list,
        "list VMs",
        "List the VMs of the region, by name. With options, those for which all of them hold.",
        "forewarn vm list --scope availability-set/front",
        "forewarn vm list --power stopped --ud 2",
        "forewarn vm list --names | forewarn vm delete -",
    )
    add_filters(listing, VMS)
    listing.add_argument("--names", action="store_true", help="print the names alone, one on a line")
    show = parsing.add_client_command(
        group,
        "show",
        _show,
        "show VMs and their events",
        "Show everything about VMs, and the events that name them.",
        "forewarn vm show web-0",
    )
    show.add_argument("names", nargs="+", metavar="NAME", help="name of a VM")
    read = parsing.add_client_command(
        group,
        "read",
        _read,
        "let a VM read its document",
        "Read a VM's document on its behalf and print it, as a GET from inside the VM would. The first read of a scope "
        "enables it: from then on its events wait for approval or for their NotBefore. After 24 hours without a read "
        "the scope is disabled again.",
        "forewarn vm read web-0",
        "forewarn vm read web-0 --api-version 2017-08-01",
    )
    read.add_argument("name", metavar="NAME", help="name of a VM")
    read.add_argument("--api-version", default="", metavar="DATE", help="form of the document (default: the newest)")
    _add_seen(group)
    for operation, (summary, description) in _OPERATIONS.items():
        _add_operation(group, operation, summary, description)
    bindings.add_to_vm(group)


def _add_seen(group: Subparsers) -> None:
    """What a VM sees, by looking; ``read`` is the one that counts as a read."""
    shown = (
        (
            "document",
            "show the document that a VM sees",
            (
                "Print the document that a GET of this VM would get now. Unlike 'vm read' this is no read: nothing is "
                "noted and nothing is enabled. Where nobody has read for the VM's scope, it is what the first read "
                "would get."
            ),
            "2017-08-01",
        ),
        (
            "instance",
            "show the instance metadata of a VM",
            "Print what /metadata/instance answers this VM.",
            "2021-02-01",
        ),
    )
    for what, summary, description, version in shown:
        parser = parsing.add_client_command(
            group,
            what,
            _see,
            summary,
            description,
            f"forewarn vm {what} web-0",
            f"forewarn vm {what} web-0 --raw --api-version {version}",
        )
        parser.add_argument("name", metavar="NAME", help="name of a VM")
        parser.add_argument("--api-version", default="", metavar="DATE", help="form of it (default: the newest)")
        parser.add_argument("--raw", action="store_true", help="print the bytes as they are, not laid out")
        parser.set_defaults(what=what)


def _add_operation(group: Subparsers, operation: str, summary: str, description: str) -> None:
    def handle(args: argparse.Namespace, out: Output) -> int:
        return _operate(args, out, operation)

    parser = parsing.add_client_command(
        group, operation, handle, summary, description, f"forewarn vm {operation} web-0 web-1"
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="name of a VM; - reads names from standard input")
    parsing.add_dry_run(parser)


def _add_create(group: Subparsers) -> None:
    parser = parsing.add_client_command(
        group,
        "create",
        _create,
        "create VMs",
        "Create one VM called NAME, or N of them called NAME-0 … NAME-(N-1). With --file, create the [[vm]] tables of "
        "a region file; VMs that exist already are left alone. With --read each new VM reads its document at once, as "
        "a program inside would: without a reader, what befalls a VM happens without a warning.",
        "forewarn vm create web --count 3 --availability-set front --read",
        "forewarn vm create shop --count 2 --cloud-service shop --role FrontEnd",
        "forewarn vm create --file region.toml",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="name, or what the names begin with; one or more")
    parser.add_argument("--file", type=Path, metavar="FILE", help="region file with [[vm]] tables")
    parser.add_argument("--count", type=parsing.count, default=1, metavar="N", help="how many (default: 1)")
    parser.add_argument("--availability-set", default="", metavar="SET", help="put them into this availability set")
    parser.add_argument("--cloud-service", default="", metavar="SERVICE", help="put them into this cloud service")
    parser.add_argument("--role", default="", metavar="ROLE", help="role within the cloud service")
    parser.add_argument("--spot", action="store_true", help="Spot VMs, which may be evicted")
    parser.add_argument("--eviction-policy", default="", choices=EVICTION_POLICIES, help="what eviction does to them")
    parser.add_argument("--blueprint", default="", metavar="NAME", help="real machines, made from this [[blueprint]]")
    parser.add_argument("--host", default="", metavar="HOST", help="at this host (default: where there is room)")
    parser.add_argument("--no-vnet", action="store_true", help="outside any virtual network")
    parser.add_argument("--terminate-notice", type=parsing.duration, metavar="DURATION", help="announce their deletion")
    parser.add_argument("--size", default="", help="VM size shown by /metadata/instance")
    parser.add_argument(
        "--os-type", "--os", type=str.capitalize, default="", choices=("Linux", "Windows"), help="system shown there"
    )
    parser.add_argument("--tag", type=parsing.tag, action="append", default=[], metavar="KEY=VALUE", help="a tag")
    bindings.add_options(parser, default="")
    parser.add_argument("--read", action="store_true", help="each reads its document at once, so that events wait")


def _create(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    if bool(args.names) == bool(args.file):
        raise usage("name the VMs to create, or give a region file with --file: one of the two.")
    if args.file:
        _refuse_other_options(args)
        return _create_from_file(client, out, args.file)
    entries = [_entry_of(args, name) for name in parsing.names_of(args.names)]
    if len(entries) > 1 and (args.address or args.local_address or args.netns or args.unix):
        raise usage("an address or a network namespace belongs to a single VM, not to several.")
    try:
        for entry in entries:
            check(entry)
    except ValueError as problem:
        raise usage(f"{problem}.") from None
    created = _create_entries(client, out, entries)
    _say_created(out, created, 0)
    return Exit.OK


def _refuse_other_options(args: argparse.Namespace) -> None:
    """Refuse an option beside --file: it would have no effect."""
    if _entry_of(args, "") != FleetEntry(name=""):
        raise usage("with --file, the VMs' options stand in the file; leave them off the command line.")


def _entry_of(args: argparse.Namespace, name: str) -> FleetEntry:
    return FleetEntry(
        name=name,
        count=args.count,
        availability_set=args.availability_set,
        cloud_service=args.cloud_service,
        role=args.role,
        spot=args.spot,
        eviction_policy=args.eviction_policy,
        vnet=not args.no_vnet,
        terminate_notice=args.terminate_notice,
        size=args.size,
        os_type=args.os_type,
        tags=dict(args.tag),
        address=args.address,
        local_address=args.local_address,
        netns=args.netns,
        interface=args.interface,
        unix=args.unix,
        blueprint=args.blueprint,
        host=args.host,
        read=args.read,
    )


def _create_from_file(client: OperatorClient, out: Output, path: Path) -> int:
    from forewarn.settings.region_file import read_region_file  # with all the settings; most commands read no file

    file = read_region_file(path)
    entries = file.fleet
    wanted = sum(entry.count for entry in entries)
    existing = _existing(client, entries, wanted)
    created = _create_entries(client, out, entries, lambda name: name.lower() not in existing)
    for binding in file.bindings:
        bindings.apply(client, binding)
    _say_created(out, created, wanted - len(created))
    return Exit.OK


def _existing(client: OperatorClient, entries: Iterable[FleetEntry], wanted: int) -> set[str]:
    """Which VMs are there already: a few are asked for one by one, many are found by listing the region once."""
    if wanted > _ASK_ONE_BY_ONE:
        return {vm["name"].lower() for vm in client.vms()}
    names = (entry.name_of(index) for entry in entries for index in range(entry.count))
    return {name.lower() for name in names if _exists(client, name)}


def _exists(client: OperatorClient, name: str) -> bool:
    try:
        client.vm(name)
    except CommandFailed as problem:
        if problem.status is Exit.NOT_FOUND:
            return False
        raise
    return True


def _create_entries(
    client: OperatorClient,
    out: Output,
    entries: Iterable[FleetEntry],
    wanted: Callable[[str], bool] = lambda name: True,
) -> list[str]:
    """Create in requests of bounded size; when one is refused, say how far it came."""
    entries = list(entries)
    created: list[str] = []
    with out.progress("creating VMs", sum(entry.count for entry in entries)) as progress:
        for entry in entries:
            try:
                _create_entry(client, entry, wanted, created, progress)
            except CommandFailed as problem:
                if not created:
                    raise
                raise CommandFailed(
                    f"{problem.message} ({len(created)} VMs were created before)", problem.status
                ) from None
    return created


def _create_entry(
    client: OperatorClient, entry: FleetEntry, wanted: Callable[[str], bool], created: list[str], progress: Progress
) -> None:
    for run in runs(entry, NAMES_AT_ONCE, wanted):
        numbers = {} if entry.count == 1 else {"count": run.count, "first": run.first, "numbered": True}
        created += client.create_vms({**entry.body(), **numbers})
        progress.advance(run.count)


def _say_created(out: Output, created: list[str], left_alone: int) -> None:
    if out.as_json:
        out.json({"created": created, "left_alone": left_alone})
        return
    shown = ", ".join(created[:5]) + (f", … {created[-1]}" if len(created) > 5 else "")
    said = f"Created {len(created)} {'VM' if len(created) == 1 else 'VMs'}{': ' if created else ''}{shown}."
    out.prose(said + (f" {left_alone} existed already and were left alone." if left_alone else ""))


def _list(args: argparse.Namespace, out: Output) -> int:
    vms = parsing.client_of(args).vms(given(args, VMS))
    if args.names:
        for vm in vms:
            out.line(vm["name"])
    elif out.as_json:
        out.json(list(vms))
    else:
        keys = ("name", "power", "scope", "host", "update_domain", "fault_domain", "spot", "boots")
        # Keys from a tuple of the shape's own
        rows = ([vm[key] for key in keys] for vm in vms)  # type: ignore[literal-required]
        out.table(_COLUMNS, rows, "There are no VMs; make some with 'forewarn vm create NAME --count 3'.")
    return Exit.OK


def _read(args: argparse.Namespace, out: Output) -> int:
    found = parsing.client_of(args).read(args.name, args.api_version)
    if found["enabled"]:
        out.note(f"First read of {found['scope']}: from here on its events wait.")
    out.json(found if out.as_json else found["document"])
    return Exit.OK


def _see(args: argparse.Namespace, out: Output) -> int:
    content, about = parsing.client_of(args).seen(args.name, args.what, args.api_version)
    if about.get("x-forewarn-enabled") == "false":
        out.note(f"Nobody reads for {about['x-forewarn-scope']}: this is what its first read would get.")
    if args.raw:
        out.raw(content)
    else:
        out.json(json.loads(content))
    return Exit.OK


def _show(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    found = [client.vm(name) for name in parsing.names_of(args.names)]
    if out.as_json:
        out.json(found[0] if len(found) == 1 else found)
        return Exit.OK
    now = parse_instant(client.clock()["now"])
    for position, vm in enumerate(found):
        if position:
            out.line()
        show_vm(out, vm)
        if vm["events"]:
            out.line()
            show_events(out, vm["events"], now)
    return Exit.OK


def _operate(args: argparse.Namespace, out: Output, operation: str) -> int:
    client = parsing.client_of(args)
    names = parsing.names_of(args.names)
    outcomes = []
    with out.progress(operation, len(names)) as progress:
        for start in range(0, len(names), NAMES_AT_ONCE):
            chunk = names[start : start + NAMES_AT_ONCE]
            outcomes.append(client.operate(operation, chunk))
            if len(names) > NAMES_AT_ONCE:
                progress.advance(len(chunk))
    show_outcome(out, merge(outcomes))
    return Exit.OK

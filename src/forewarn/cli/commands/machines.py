"""``forewarn machine``: real machines that an engine runs; which there are, and which of them the region has."""

from __future__ import annotations

import argparse

from forewarn.cli import parsing
from forewarn.cli.api.machine_calls import MachineCalls
from forewarn.cli.api.machine_shapes import Check
from forewarn.cli.outcomes import say_if_dry
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit, usage
from forewarn.settings.fleet_file import EVICTION_POLICIES
from forewarn.settings.times import show_moment

WAYS = ("address", "nic", "unix", "network", "namespace")
_COLUMNS = (
    Column("VM"),
    Column("MACHINE"),
    Column("ENGINE"),
    Column("POWER"),
    Column("SEEN"),
    Column("BEING DONE", flexible=True),
    Column("ALARM", flexible=True),
)
_UNADOPTED = (Column("MACHINE"), Column("ENGINE"), Column("POWER"))
_HOSTS = (Column("HOST"), Column("ENGINE"), Column("KIND"), Column("NODE"), Column("HEALTH"), Column("FENCE"))
_FINDINGS = (Column("ABOUT"), Column("OK"), Column("WHAT WAS FOUND", flexible=True))
_EFFECTS = (Column("EVENT"), Column("WHAT IT WOULD DO", flexible=True))


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers,
        "machine",
        "real machines: adopt, check, release",
        "Real machines, as engines run them. Engines and hosts are declared in the server's own region file "
        "(docs/machines.md); here they are called by their names.",
    )
    listing = parsing.add_client_command(
        group,
        "list",
        _list,
        "list machines",
        "List the machines of VMs that are real, and the hosts that the server's region file declares. With "
        "--unadopted, what the engines run that the region does not know; they are asked now.",
        "forewarn machine list",
        "forewarn machine list --unadopted",
    )
    listing.add_argument("--unadopted", action="store_true", help="those that the region does not know")
    _add_adopt(group)
    check = parsing.add_client_command(
        group,
        "check",
        _check,
        "check a machine",
        "Ask the engine whether the machine of a VM is reached, whether only it can speak as it, and tell what each "
        "type of event would do to it. Status 1 where its identity is not safe.",
        "forewarn machine check web-0",
    )
    check.add_argument("vm", metavar="VM", help="name of a VM")
    check.add_argument("--way", choices=WAYS, default="", help="by which way (default: as it is bound)")
    release = parsing.add_client_command(
        group,
        "release",
        _release,
        "forget a machine",
        "Forget a VM whose machine goes on as it is. What adoption wrote at the machine is taken away.",
        "forewarn machine release web-0",
    )
    release.add_argument("vm", metavar="VM", help="name of a VM")
    parsing.add_dry_run(release)


def _add_adopt(group: Subparsers) -> None:
    adopt = parsing.add_client_command(
        group,
        "adopt",
        _adopt,
        "make a VM of a machine",
        "Make a VM of a machine that an engine runs already. Nothing happens to the machine; what is written at it is "
        "told, with --dry-run before it is done, and release undoes it. Refused where another machine of the engine "
        "has its address.",
        "forewarn machine adopt rack-1/web-0 --dry-run",
        "forewarn machine adopt rack-1/web-0 --as web --availability-set front --way network",
    )
    adopt.add_argument("machine", metavar="HOST/REF", help="the host, and what its engine calls the machine")
    adopt.add_argument("--as", dest="vm", metavar="VM", default="", help="the VM's name (default: the engine's)")
    adopt.add_argument("--availability-set", metavar="NAME", default="", help="the set that it is in")
    adopt.add_argument("--spot", action="store_true", help="it may be evicted")
    adopt.add_argument("--eviction-policy", default="", choices=EVICTION_POLICIES, help="what eviction does to it")
    adopt.add_argument("--terminate-notice", type=parsing.duration, metavar="DURATION", help="announce its deletion")
    adopt.add_argument("--resource-group", metavar="NAME", default="", help="where the Resource Manager shows it")
    adopt.add_argument("--way", choices=WAYS, default="", help="how its requests come to the region (docs/machines.md)")
    parsing.add_dry_run(adopt)


def _calls(args: argparse.Namespace) -> MachineCalls:
    return MachineCalls(parsing.client_of(args))


def _list(args: argparse.Namespace, out: Output) -> int:
    if args.unadopted:
        return _list_unadopted(args, out)
    found = _calls(args).machines()
    if out.as_json:
        out.json(found)
        return Exit.OK
    rows = (
        (
            each["vm"],
            f"{each['host']}/{each['ref']}",
            each["engine"],
            each["power"],
            show_moment(each["seen_at"]),
            ", ".join(errand["kind"] for errand in each["errands"]),
            each["alarm"],
        )
        for each in found["machines"]
    )
    out.table(_COLUMNS, rows, "No VM is a real machine; 'forewarn machine list --unadopted' shows what could be.")
    if found["hosts"]:
        out.line()
        out.table(
            _HOSTS,
            (
                (each["name"], each["engine"], each["kind"], each["node"], each["health"], each["has_fence"])
                for each in found["hosts"]
            ),
        )
    return Exit.OK


def _list_unadopted(args: argparse.Namespace, out: Output) -> int:
    found = _calls(args).unadopted()
    if out.as_json:
        out.json(found)
        return Exit.OK
    rows = ((f"{each['host']}/{each['ref']}", each["engine"], each["power"]) for each in found["machines"])
    out.table(_UNADOPTED, rows, "The engines that answered run nothing that the region does not know.")
    for host in found["unreached"]:
        out.note(f"left out: {host['host']}: {host['why']}")
    return Exit.OK


def _adopt(args: argparse.Namespace, out: Output) -> int:
    host, slash, ref = args.machine.partition("/")
    if not host or not slash or not ref:
        raise usage(f"{args.machine!r} is not HOST/REF, as 'forewarn machine list --unadopted' shows machines.")
    notice = args.terminate_notice
    body = {
        "host": host,
        "ref": ref,
        "vm": args.vm,
        "availability_set": args.availability_set,
        "way": args.way,
        "spot": args.spot,
        "eviction_policy": args.eviction_policy,
        "terminate_notice_seconds": None if notice is None else notice.total_seconds(),
        "resource_group": args.resource_group,
    }
    found = _calls(args).adopt({key: value for key, value in body.items() if value})
    if out.as_json:
        out.json(found)
        return Exit.OK
    say_if_dry(out, found["dry_run"])
    out.prose(f"VM {found['vm']} is machine {found['host']}/{found['ref']}.")
    for change in found["changes"]:
        out.prose(change)
    if not found["bound"]:
        out.prose(
            "It is not bound: nothing shows safely who calls. Mend what is not ok below, then bind it: forewarn vm "
            "bind --help."
        )
    _show_check(out, found)
    return Exit.OK


def _check(args: argparse.Namespace, out: Output) -> int:
    found = _calls(args).check(args.vm, args.way)
    if out.as_json:
        out.json(found)
    else:
        safe = "safe" if found["identity_safe"] else "NOT safe"
        bound = "bound" if found["bound"] else "not bound"
        out.prose(f"VM {found['vm']} is machine {found['host']}/{found['ref']}, by way {found['way']}, {bound}.")
        out.prose(f"Its identity is {safe}.")
        _show_check(out, found)
    return Exit.OK if found["identity_safe"] else Exit.FAILED


def _show_check(out: Output, found: Check) -> None:
    out.line()
    out.table(_FINDINGS, ((each["topic"], each["ok"], each["sentence"]) for each in found["findings"]))
    out.line()
    out.table(_EFFECTS, ((each["type"], each["sentence"]) for each in found["effects"]))


def _release(args: argparse.Namespace, out: Output) -> int:
    found = _calls(args).release(args.vm)
    if out.as_json:
        out.json(found)
        return Exit.OK
    say_if_dry(out, found["dry_run"])
    out.prose(f"Released {found['host']}/{found['ref']}, which was VM {found['vm']}. {found['message']}")
    return Exit.OK

"""``forewarn vmss``: scale sets, their models, and their instances."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from forewarn.cli import parsing
from forewarn.cli.api.shapes import ScaleSetStory, Vm
from forewarn.cli.commands import bindings
from forewarn.cli.outcomes import merge, show_events, show_outcome
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Parser, Subparsers
from forewarn.cli.scale_set_options import add_creation_options, add_model_options, add_set_options, body_of
from forewarn.cli.vm_card import show_model, show_seconds
from forewarn.settings.errors import Exit, usage
from forewarn.settings.times import parse_instant, show_moment

_EVERY = "*"  # as the Azure CLI writes it; naming none means the same

# operation -> (its name in the API, summary, description)
_OPERATIONS = {
    "update-instances": (
        "upgrade",
        "give instances the latest model",
        (
            "Bring instances to the latest model, at once. Until then an instance keeps the model it has: a changed "
            "terminate notice counts for it only from here on."
        ),
    ),
    "restart": (
        "restart",
        "restart instances, with notice",
        (
            "Ask for a restart of instances. Where an instance of the same placement group reads its events this "
            "schedules a Reboot for each; elsewhere it happens at once, and the answer says so."
        ),
    ),
    "redeploy": (
        "redeploy",
        "move instances to other hosts, with notice",
        (
            "Ask for a redeploy of instances: each comes back on another host with an empty ephemeral disk. It is "
            "announced as a Redeploy in the same way as a restart."
        ),
    ),
    "reimage": (
        "reimage",
        "give instances a fresh system disk",
        (
            "Ask for a reimage of instances. One whose model has an OS image notice gets a Reboot event first where "
            "somebody reads; the others are reimaged at once."
        ),
    ),
    "deallocate": (
        "deallocate",
        "stop instances and give up their hosts",
        "Stop instances at once. Nothing is announced: Azure documents no event for it.",
    ),
    "stop": (
        "stop",
        "power instances off",
        "Stop instances at once; they keep their hosts. Nothing is announced.",
    ),
    "start": (
        "start",
        "start instances that are down",
        "Start instances that were stopped, deallocated or evicted.",
    ),
}

_SETS = (
    Column("NAME", flexible=True),
    Column("MODE"),
    Column("CAPACITY", right=True),
    Column("INSTANCES", right=True),
    Column("MODEL", right=True),
    Column("LATEST", right=True),
    Column("UPGRADE"),
    Column("TERMINATE NOTICE", spare=True),
    Column("SPOT", spare=True),
    Column("RESOURCE GROUP", flexible=True, spare=True),
)
_INSTANCES = (
    Column("ID"),
    Column("NAME", flexible=True),
    Column("POWER"),
    Column("HOST"),
    Column("UD", right=True),
    Column("FD", right=True),
    Column("MODEL"),
    Column("TERMINATE NOTICE", spare=True),
    Column("PROTECTED", spare=True),
)


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers,
        "vmss",
        "scale sets",
        "Scale sets: VMs made from one model. Change the model, scale, and delete instances with a warning.",
    )
    _add_create(group)
    _add_looks(group)
    _add_scale(group)
    _add_update(group)
    _add_deletes(group)
    for operation, (verb, summary, description) in _OPERATIONS.items():
        _add_operation(group, operation, verb, summary, description)
    _add_protect(group)
    bindings.add_to_vmss(group)


def _add_create(group: Subparsers) -> None:
    parser = parsing.add_client_command(
        group,
        "create",
        _create,
        "create a scale set",
        "Create a scale set and its instances: NAME_0, NAME_1, … where orchestration is Uniform. Instances are made "
        "from the set's model; --terminate-notice is part of it.",
        "forewarn vmss create web --capacity 3 --terminate-notice 10m",
        "forewarn vmss create cheap --spot --eviction-policy Delete",
    )
    parser.add_argument("name", metavar="NAME", help="name of the scale set")
    add_creation_options(parser)
    bindings.add_pattern_options(parser)
    add_model_options(parser)
    add_set_options(parser)
    parsing.add_dry_run(parser)


def _create(args: argparse.Namespace, out: Output) -> int:
    binding = bindings.said(args)
    body = {"name": args.name, **body_of(args), **({"binding": binding} if binding else {})}
    show_outcome(out, parsing.client_of(args).create_scale_set(body))
    return Exit.OK


def _add_looks(group: Subparsers) -> None:
    listing = parsing.add_client_command(
        group,
        "list",
        _list,
        "list scale sets",
        "List scale sets: how many instances each wants and has, and how many of these have the latest model.",
        "forewarn vmss list",
    )
    listing.add_argument("--names", action="store_true", help="print the names alone, one on a line")
    show = parsing.add_client_command(
        group,
        "show",
        _show,
        "show a scale set and its instances",
        "Show a scale set, its model, its instances with the model that each has, and their events.",
        "forewarn vmss show web",
    )
    show.add_argument("name", metavar="NAME", help="name of the scale set")


def _list(args: argparse.Namespace, out: Output) -> int:
    scale_sets = parsing.client_of(args).scale_sets()
    if args.names:
        for each in scale_sets:
            out.line(each["name"])
    elif out.as_json:
        out.json(list(scale_sets))
    else:
        rows = (
            (
                each["name"],
                each["orchestration"],
                each["capacity"],
                each["instances_total"],
                each["model"],
                each["latest_model_total"],
                each["upgrade"],
                show_seconds(each["terminate_notice_seconds"]) or "none",
                each["spot"],
                each["resource_group"],
            )
            for each in scale_sets
        )
        out.table(_SETS, rows, "There are no scale sets; make one with 'forewarn vmss create NAME'.")
    return Exit.OK


def _show(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    found = client.scale_set(args.name)
    if out.as_json:
        out.json(found)
        return Exit.OK
    _show_fields(out, found)
    if found["instances"]:
        out.line()
        out.table(_INSTANCES, map(_instance_row, found["instances"]))
    if found["events"]:
        out.line()
        show_events(out, found["events"], parse_instant(client.clock()["now"]))
    return Exit.OK


def _show_fields(out: Output, found: ScaleSetStory) -> None:
    latest = f"version {found['model']}; {found['latest_model_total']} of {found['instances_total']} instances have it"
    out.fields(
        [
            ("name", found["name"]),
            ("deleting", "with its last instance" if found["deleting"] else None),
            ("capacity", found["capacity"]),
            ("orchestration", found["orchestration"]),
            ("placement groups", found["scopes"]),
            ("single group", found["single_placement_group"]),
            ("upgrade", found["upgrade"]),
            ("scale-in", found["scale_in"]),
            *((key.replace("_", " "), value) for key, value in found["policy"].items()),
            *((key.replace("_", " "), value) for key, value in found["binding"].items()),
            ("model", latest),
            ("terminate notice", show_seconds(found["terminate_notice_seconds"]) or "none"),
            ("os image notice", show_seconds(found["os_image_notice_seconds"]) or "none"),
            ("spot", found["eviction_policy"] if found["spot"] else None),
            ("size", found["size"]),
            ("system", found["os_type"]),
            ("tags", found["tags"]),
            ("virtual network", found["vnet"]),
            ("resource group", found["resource_group"]),
            ("created", show_moment(found["created_at"])),
            ("model changed", show_moment(found["changed_at"])),
        ]
    )


def _instance_row(vm: Vm) -> tuple[object, ...]:
    return (
        vm["instance_id"],
        vm["name"],
        vm["power"],
        vm["host"],
        vm["update_domain"],
        vm["fault_domain"],
        show_model(vm),
        show_seconds(vm["terminate_notice_seconds"]) or "none",
        vm["protected"],
    )


def _add_scale(group: Subparsers) -> None:
    parser = parsing.add_client_command(
        group,
        "scale",
        _scale,
        "want more or fewer instances",
        "Set how many instances a scale set shall have. New ones get the latest model; who goes is chosen by the "
        "scale-in rule and warned by a Terminate event where its own model has a notice and somebody reads.",
        "forewarn vmss scale web 5",
    )
    parser.add_argument("name", metavar="NAME", help="name of the scale set")
    parser.add_argument("capacity", type=parsing.cursor, metavar="N", help="how many instances")
    parsing.add_dry_run(parser)


def _scale(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    show_outcome(out, client.operate_scale_set(args.name, "scale", {"capacity": args.capacity}))
    return Exit.OK


def _add_update(group: Subparsers) -> None:
    parser = parsing.add_client_command(
        group,
        "update",
        _update,
        "change a scale set or its model",
        "Change a scale set; what is not named stays as it is. A change of the model makes a new version, which an "
        "instance has once 'forewarn vmss update-instances' gave it, or by itself where upgrade is not Manual.",
        "forewarn vmss update web --terminate-notice 5m",
        "forewarn vmss update web --terminate-notice none --auto-approve-reboot",
    )
    parser.add_argument("name", metavar="NAME", help="name of the scale set")
    parser.add_argument(
        "--capacity", type=parsing.cursor, default=argparse.SUPPRESS, metavar="N", help="how many instances"
    )
    add_model_options(parser)
    add_set_options(parser)
    parsing.add_dry_run(parser)


def _update(args: argparse.Namespace, out: Output) -> int:
    body = body_of(args)
    if not body:
        raise usage("say what to change, such as --terminate-notice 10m; 'forewarn vmss update --help' lists it all.")
    show_outcome(out, parsing.client_of(args).change_scale_set(args.name, body))
    return Exit.OK


def _add_deletes(group: Subparsers) -> None:
    delete = parsing.add_client_command(
        group,
        "delete",
        _delete,
        "delete a scale set",
        "Delete a scale set and its instances. Those with a terminate notice get a Terminate event first where "
        "somebody reads; the set goes with the last of them.",
        "forewarn vmss delete web",
    )
    delete.add_argument("name", metavar="NAME", help="name of the scale set")
    parsing.add_dry_run(delete)
    chosen = parsing.add_client_command(
        group,
        "delete-instances",
        _delete_instances,
        "delete chosen instances",
        "Delete instances; the capacity falls with them. An instance with a terminate notice gets a Terminate event "
        "first where somebody reads. Approved deletions wait for the set's other pending ones.",
        "forewarn vmss delete-instances web 0 1",
    )
    chosen.add_argument("name", metavar="NAME", help="name of the scale set")
    _add_instances(chosen, "+", "id or name of an instance; - reads them from standard input")
    parsing.add_dry_run(chosen)


def _add_instances(parser: Parser, how_many: str, text: str) -> None:
    parser.add_argument("instances", nargs=how_many, metavar="INSTANCE", help=text)


def _delete(args: argparse.Namespace, out: Output) -> int:
    show_outcome(out, parsing.client_of(args).delete_scale_set(args.name))
    return Exit.OK


def _delete_instances(args: argparse.Namespace, out: Output) -> int:
    body = {"instances": parsing.names_of(args.instances)}
    show_outcome(out, parsing.client_of(args).operate_scale_set(args.name, "delete-instances", body))
    return Exit.OK


def _add_operation(group: Subparsers, operation: str, verb: str, summary: str, description: str) -> None:
    parser = parsing.add_client_command(
        group,
        operation,
        _operating(verb),
        summary,
        f"{description} All instances where none is named.",
        f"forewarn vmss {operation} web",
        f"forewarn vmss {operation} web 0 1",
    )
    parser.add_argument("name", metavar="NAME", help="name of the scale set")
    _add_instances(parser, "*", "id or name of an instance; - reads them from standard input (default: all)")
    parsing.add_dry_run(parser)


def _operating(verb: str) -> Callable[[argparse.Namespace, Output], int]:
    def handle(args: argparse.Namespace, out: Output) -> int:
        every = args.instances in ([], [_EVERY])
        body = {"instances": [] if every else parsing.names_of(args.instances)}
        show_outcome(out, parsing.client_of(args).operate_scale_set(args.name, verb, body))
        return Exit.OK

    return handle


def _add_protect(group: Subparsers) -> None:
    parser = parsing.add_client_command(
        group,
        "protect",
        _protect,
        "keep instances from scale-in",
        "Protect instances from scale-in: when fewer are wanted, others go. They can still be deleted by name.",
        "forewarn vmss protect web 0",
        "forewarn vmss protect web 0 --off",
    )
    parser.add_argument("name", metavar="NAME", help="name of the scale set")
    _add_instances(parser, "+", "id or name of an instance; - reads them from standard input")
    parser.add_argument("--off", action="store_true", help="take the protection back")
    parsing.add_dry_run(parser)


def _protect(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    bodies = [{"instance": name, "protected": not args.off} for name in parsing.names_of(args.instances)]
    show_outcome(out, merge([client.operate_scale_set(args.name, "protect", body) for body in bodies]))
    return Exit.OK

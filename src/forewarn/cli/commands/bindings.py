"""``forewarn vm bind`` and ``forewarn vmss bind``: how the metadata face knows a VM by its connection."""

from __future__ import annotations

import argparse

from forewarn.cli import parsing
from forewarn.cli.api.client import OperatorClient
from forewarn.cli.api.machine_shapes import Binding
from forewarn.cli.outcomes import show_outcome
from forewarn.cli.output import Output
from forewarn.cli.parsing import Parser, Subparsers
from forewarn.settings.binding_file import BindingEntry
from forewarn.settings.errors import Exit, usage

OPTIONS = ("address", "local_address", "netns", "interface", "unix")


def add_options(parser: Parser, *, default: str | None = None) -> None:
    """Of one VM."""
    parser.add_argument("--address", default=default, help="source address the VM calls from")
    parser.add_argument("--local-address", default=default, metavar="ADDRESS", help="loopback address the VM calls")
    parser.add_argument("--netns", default=default, help="network namespace the VM lives in")
    parser.add_argument(
        "--interface", default=default, help="interface of the namespace that leads to the VM, if it is not inside"
    )
    parser.add_argument("--unix", default=default, metavar="NAME", help="Unix socket of its own, NAME.sock")


def add_pattern_options(parser: Parser) -> None:
    """Of all instances of a scale set."""
    parser.add_argument("--address", metavar="RANGE", help="source addresses, as 10.0.0.0/24; an instance gets one")
    parser.add_argument("--local-address", metavar="RANGE", help="loopback addresses likewise, as 127.5.0.0/24")
    parser.add_argument("--netns", metavar="PATTERN", help="network namespaces, as {name} or vm-{id}")
    parser.add_argument("--interface", metavar="PATTERN", help="interfaces of them that lead to the instances")


def said(args: argparse.Namespace) -> dict[str, str]:
    """What was said about a binding, as the API wants it."""
    return {name: value for name in OPTIONS if (value := getattr(args, name, None))}


def add_to_vm(group: Subparsers) -> None:
    bind = parsing.add_client_command(
        group,
        "bind",
        _bind,
        "say how a VM is known by its connection",
        "Bind a VM that exists, in place of the binding it has: by the network namespace it lives in, by the interface "
        "of a namespace that leads to it, by its source address, by the loopback address it calls, or by a Unix socket "
        "of its own. What another VM has is refused.",
        "forewarn vm bind web_0 --netns web_0",
        "forewarn vm bind web-0 --netns hypervisor --interface tap0",
        "forewarn vm bind web-0 --address 10.0.0.4",
        "forewarn vm bind web-0 --unix web-0",
    )
    bind.add_argument("name", metavar="NAME", help="name of a VM")
    add_options(bind)
    unbind = parsing.add_client_command(
        group,
        "unbind",
        _unbind,
        "take a VM's binding back",
        "Take back all that the metadata face knows VMs by. On loopback, a name in the path still counts.",
        "forewarn vm unbind web-0",
    )
    unbind.add_argument("names", nargs="+", metavar="NAME", help="name of a VM; - reads names from standard input")


def _bind(args: argparse.Namespace, out: Output) -> int:
    vm = parsing.client_of(args).bind_vm(args.name, _something(args))
    if out.as_json:
        out.json(vm)
    else:
        out.prose(f"{vm['name']} is bound to {_told(vm['binding'])}.")
    return Exit.OK


def _unbind(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    vms = [client.unbind_vm(name) for name in parsing.names_of(args.names)]
    if out.as_json:
        out.json(vms[0] if len(vms) == 1 else vms)
        return Exit.OK
    for vm in vms:
        out.prose(f"{vm['name']} is not bound to anything.")
    return Exit.OK


def add_to_vmss(group: Subparsers) -> None:
    bind = parsing.add_client_command(
        group,
        "bind",
        _bind_set,
        "say how instances are known by their connections",
        "Bind all instances of a scale set, those that come later too, in place of the binding they have. In patterns "
        "{name} and {id} stand for an instance's name and number; of a range of addresses each instance gets the one "
        "with its number, or the next that is free.",
        "forewarn vmss bind web --netns '{name}'",
        "forewarn vmss bind web --address 10.0.0.0/24",
        "forewarn vmss bind web --netns hypervisor --interface 'tap{id}'",
    )
    bind.add_argument("name", metavar="NAME", help="name of the scale set")
    add_pattern_options(bind)
    unbind = parsing.add_client_command(
        group,
        "unbind",
        _unbind_set,
        "take the instances' bindings back",
        "Take back the binding of a scale set and of all its instances.",
        "forewarn vmss unbind web",
    )
    unbind.add_argument("name", metavar="NAME", help="name of the scale set")


def _bind_set(args: argparse.Namespace, out: Output) -> int:
    return _change(args, out, _something(args))


def _unbind_set(args: argparse.Namespace, out: Output) -> int:
    return _change(args, out, {})


def _change(args: argparse.Namespace, out: Output, binding: dict[str, str]) -> int:
    client = parsing.client_of(args)
    outcome = client.change_scale_set(args.name, {"binding": binding})
    if out.as_json:
        show_outcome(out, outcome)
        return Exit.OK
    for vm in client.scale_set(args.name)["instances"]:
        out.prose(f"{vm['name']} is bound to {_told(vm['binding']) or 'nothing'}.")
    return Exit.OK


def apply(client: OperatorClient, entry: BindingEntry) -> None:
    """What a region file says, told to a server that runs."""
    if entry.scale_set:
        client.change_scale_set(entry.scale_set, {"binding": entry.body()})
    elif entry.body():
        client.bind_vm(entry.vm, entry.body())
    else:
        client.unbind_vm(entry.vm)


def _something(args: argparse.Namespace) -> dict[str, str]:
    found = said(args)
    if not found:
        raise usage("say what to bind to: --netns (with --interface), --address, --local-address or --unix.")
    return found


def _told(binding: Binding) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in binding.items() if value)

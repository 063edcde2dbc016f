"""``forewarn node``: the servers of the region; ``forewarn token``: who may work with them, and as what;
``forewarn relay``: the small server that stands beside the VMs of one host.
"""

from __future__ import annotations

import argparse
from typing import Any

from forewarn import __version__
from forewarn.cli import parsing
from forewarn.cli.api.client import Server
from forewarn.cli.api.shapes import Node
from forewarn.cli.output import Column, Output, filled
from forewarn.cli.parsing import Parser, Subparsers
from forewarn.settings.errors import Exit, usage
from forewarn.settings.extras import import_part
from forewarn.settings.kinds import ADDRESS

_COLUMNS = (
    Column("NAME", flexible=True),
    Column("VERSION"),
    Column("LEADS"),
    Column("LAG", right=True),
    Column("SEEN"),
    Column("STATE"),
    Column("FACES", flexible=True),
    Column("URLS", flexible=True),
)
ROLES = ("read", "operate", "admin", "relay")
_TOKEN_COLUMNS = (Column("NAME"), Column("ROLE"), Column("FOR", flexible=True), Column("MADE"), Column("ID"))


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers, "node", "nodes: the servers of the region", "The servers of the region, and whether they agree."
    )
    parsing.add_client_command(
        group,
        "list",
        _list,
        "list nodes",
        "List the nodes that have been seen lately: which of them leads, how many records each had yet to read (its "
        "lag), and what they do. Warns of nodes that have fallen silent, and where they differ in version or rules. "
        "The star is the node that answered; it tells of its readers and of the relays that follow it.",
        "forewarn node list",
    )
    _add_tokens(subparsers)
    _add_relay(subparsers)


def _list(args: argparse.Namespace, out: Output) -> int:
    found = parsing.client_of(args).nodes()
    if out.as_json:
        out.json(found)
        return Exit.OK
    out.table(_COLUMNS, map(_row, found["nodes"]), "No node has been seen lately.")
    for sentence in found["beside"]["told"]:
        out.line(filled(sentence, out.width))
    for warning in found["warnings"]:
        out.line(out.paint(filled(f"Warning: {warning}", out.width), "yellow"))
    return Exit.OK


def _row(node: Node) -> tuple[object, ...]:
    return (
        f"{node['name']} *" if node["this"] else node["name"],
        node["version"],
        "leads" if node["leads"] else "",
        node["lag"],
        f"{node['seen_seconds_ago']:.0f}s ago",
        "silent" if node["silent"] else "draining" if node["draining"] else "serving",
        ", ".join(node["faces"]),
        ", ".join(node["urls"]),
    )


def _add_tokens(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers,
        "token",
        "tokens of people and programs",
        "Tokens with a name and a role, beside the server's own (FOREWARN_TOKEN), which may do everything. The journal "
        "keeps a digest of each; activity shows its name.",
    )
    create = parsing.add_client_command(
        group,
        "create",
        _create_token,
        "make a token",
        "Make a token and print it, this once: nobody can look it up later. Only an admin may, and only where the "
        "server has a token of its own.",
        "forewarn token create anna --role operate",
        "FOREWARN_TOKEN=$(forewarn token create grafana --role read) forewarn vm list",
        "forewarn token create relay-3 --role relay --host host-3",
    )
    create.add_argument("name", metavar="NAME", help="of the person or program; activity shows it")
    create.add_argument(
        "--role",
        choices=ROLES,
        default="read",
        help="read looks, operate changes, admin makes tokens too, relay speaks for some VMs (read)",
    )
    _add_relayed(create, "of a relay: the VMs that it may speak for", "of a relay: for the VMs on this host")
    parsing.add_client_command(
        group,
        "list",
        _list_tokens,
        "list tokens",
        "List the tokens that hold, without their secrets.",
        "forewarn token list",
    )
    revoke = parsing.add_client_command(
        group,
        "revoke",
        _revoke_token,
        "end tokens",
        "End tokens, at once and on every node, with the sessions that began with them in the portal.",
        "forewarn token revoke anna",
    )
    revoke.add_argument("names", nargs="+", metavar="NAME", help="name or id of a token")


def _create_token(args: argparse.Namespace, out: Output) -> int:
    made = parsing.client_of(args).create_token(args.name, args.role, _split(args.vms), args.host or "")
    if out.as_json:
        out.json(made)
    else:
        out.line(made["token"])
    return Exit.OK


def _list_tokens(args: argparse.Namespace, out: Output) -> int:
    tokens = parsing.client_of(args).tokens()
    if out.as_json:
        out.json(tokens)
        return Exit.OK
    rows = ((token["name"], token["role"], _relayed(token), token["made_at"], token["id"]) for token in tokens)
    out.table(_TOKEN_COLUMNS, rows, "There are no tokens but the server's own.")
    return Exit.OK


def _relayed(token: dict[str, Any]) -> str:
    return ", ".join(filter(None, (token["host"], *token["vms"])))


def _split(names: str | None) -> list[str]:
    return [name.strip() for name in (names or "").split(",") if name.strip()]


def _add_relayed(parser: Parser, vms: str, host: str) -> None:
    parser.add_argument("--vms", metavar="NAME,...", help=vms)
    parser.add_argument("--host", metavar="HOST", help=host)


def _add_relay(subparsers: Subparsers) -> None:
    relay = parsing.add_command(
        subparsers,
        "relay",
        _relay,
        "serve the VMs of one host, on news from a server",
        "Serve the metadata face beside some VMs until Ctrl-C, without a database: a server of the region tells what "
        "they may read, and takes their first reads and approvals. The token (FOREWARN_TOKEN) says which VMs these "
        "are; where the server asks for none, --vms or --host does.",
        "FOREWARN_TOKEN=fwt-... forewarn relay --upstream https://region.example:16926 --metadata 10.0.0.3:16925",
        "forewarn relay --upstream http://127.0.0.1:16926 --vms web-0,web-1 --metadata 127.0.0.1:16935",
    )
    relay.add_argument(
        "--upstream",
        action="append",
        required=True,
        metavar="URL",
        help="the control address of a server; given several times, the next is asked where one does not answer",
    )
    _add_relayed(relay, "the VMs that it serves", "it serves the VMs on this host")
    relay.add_argument("--metadata", default="127.0.0.1:16925", metavar="HOST:PORT", help="where VMs read and approve")
    relay.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info", help="what goes to the log (info)"
    )
    parsing.add_ready(relay)


def _relay(args: argparse.Namespace, out: Output) -> int:
    life = import_part("forewarn.server.relaying.life", "forewarn relay")
    servers = [Server.find(url) for url in args.upstream]
    try:
        place = ADDRESS.read(args.metadata)
    except ValueError as problem:
        raise usage(f"--metadata: {problem}.") from None
    order = life.RelayOrder(
        tuple(life.Upstream(server.url, server.token) for server in servers),
        tuple(_split(args.vms)),
        args.host or "",
        place,
    )

    def greet(relay: Any) -> None:
        """The ready line, flushed into a pipe too: the program that started the relay may be waiting for it."""
        if args.ready == "json":
            told = {"metadata": relay.url, "vms": relay.vms, "upstream": relay.upstream}
            out.json_line({"ready": True, "version": __version__, **told})
            return
        vms = f"{relay.vms} {'VM' if relay.vms == 1 else 'VMs'}"
        line = f"forewarn {__version__} relay ready: metadata {relay.url}, {vms}, upstream {relay.upstream}"
        print(line, flush=True)

    return int(life.run(order, greet, args.log_level))


def _revoke_token(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    revoked = [client.revoke_token(name) for name in parsing.names_of(args.names)]
    if out.as_json:
        out.json({"revoked": revoked})
    else:
        out.prose(f"Revoked: {', '.join(revoked)}.")
    return Exit.OK

"""``forewarn fleet`` and ``forewarn search``: a region of any size at a glance, and anything in it by name."""

from __future__ import annotations

import argparse
import time

from forewarn.cli import parsing
from forewarn.cli.api.client import OperatorClient
from forewarn.cli.api.shapes import Fleet
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit

_DOMAINS = (
    Column("UD", right=True),
    Column("FD", right=True),
    Column("VMS", right=True),
    Column("NOT RUNNING", right=True),
    Column("PENDING", right=True),
)
_FOUND = (Column("KIND"), Column("NAME", flexible=True), Column("WHAT", flexible=True))
_PATIENCE_SECONDS = 60.0  # ours: what a person waits before asking again is the better advice
_LOOK_AGAIN_SECONDS = 0.25  # four looks a second: soon enough for a person, no load for the server


def add_to(subparsers: Subparsers) -> None:
    fleet = parsing.add_client_command(
        subparsers,
        "fleet",
        _fleet,
        "the region in numbers",
        "Count the region: VMs by what they are doing, by update and fault domain; hosts by health; events by type and "
        "phase. A region of a million VMs is counted once, in seconds; from then on it answers at once.",
        "forewarn fleet",
        "forewarn fleet --domains",
    )
    fleet.add_argument("--domains", action="store_true", help="the VMs of each update and fault domain too")
    search = parsing.add_client_command(
        subparsers,
        "search",
        _search,
        "find anything by name or id",
        "Find VMs, scale sets, availability sets, cloud services, hosts, events and campaigns by a part of their name "
        "or id. What is called exactly so comes first, then what begins so.",
        "forewarn search web",
        "forewarn search 4CAEA225",
    )
    search.add_argument("text", metavar="TEXT", help="a part of a name or of an id")
    search.add_argument("--limit", type=parsing.count, default=20, metavar="N", help="at most so many (default: 20)")


def _fleet(args: argparse.Namespace, out: Output) -> int:
    fleet = _counted(parsing.client_of(args), out)
    if out.as_json:
        out.json(fleet)
        return Exit.OK
    _show_counts(out, fleet)
    if args.domains and fleet["domains"]:
        out.line()
        keys = ("update_domain", "fault_domain", "vms", "not_running", "pending")
        # Keys from a tuple of the shape's own
        out.table(_DOMAINS, ([cell[key] for key in keys] for cell in fleet["domains"]))  # type: ignore[literal-required]
    return Exit.OK


def _counted(client: OperatorClient, out: Output) -> Fleet:
    """The counts. They are made at the first request, so this asks again until they are ready."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while not (fleet := client.fleet())["ready"] and time.monotonic() < until:
        time.sleep(_LOOK_AGAIN_SECONDS)
    if not fleet["ready"]:
        out.note(f"The counts are not made yet ({fleet['share']:.0%}); ask again in a while.")
    return fleet


def _show_counts(out: Output, fleet: Fleet) -> None:
    out.fields(
        [
            ("VMs", f"{fleet['vms_total']} ({_parts(fleet['power'])})" if fleet["vms_total"] else 0),
            ("Spot", fleet["spot"]),
            ("pending", f"{fleet['pending']} told of an event that has yet to start" if fleet["pending"] else 0),
            ("hosts", f"{fleet['hosts_total']} ({_parts(fleet['health'])})" if fleet["hosts_total"] else 0),
            ("with work", fleet["hosts_with_work"]),
            ("scale sets", fleet["scale_sets_total"]),
            ("scopes", fleet["scopes_total"]),
            ("events", fleet["events_total"]),
            *((f"  {each['type']} {each['phase']}", each["events"]) for each in fleet["events"]),
        ]
    )


def _parts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counts.items() if number)


def _search(args: argparse.Namespace, out: Output) -> int:
    answer = parsing.client_of(args).search(args.text, args.limit)
    if out.as_json:
        out.json(answer)
        return Exit.OK
    rows = ((each["kind"], each["name"], each["about"]) for each in answer["found"])
    out.table(_FOUND, rows, f"Nothing has {args.text!r} in its name or id.")
    if answer["more"]:
        out.note("There is more; give a longer part, or --limit.")
    if not answer["ready"]:
        out.note(f"Names are put in order for the first time ({answer['share']:.0%}): only exact ones are found yet.")
    return Exit.OK

"""The options of ``forewarn vmss create`` and ``update``, and what they become in a request."""

from __future__ import annotations

import argparse
from datetime import timedelta
from typing import Any

from forewarn.cli import parsing
from forewarn.cli.parsing import Parser
from forewarn.settings.fleet_file import EVICTION_POLICIES

ORCHESTRATIONS = ("Uniform", "Flexible")
UPGRADES = ("Manual", "Automatic", "Rolling")
SCALE_INS = ("Default", "NewestVM", "OldestVM")


def add_creation_options(parser: Parser) -> None:
    """What only a new set can be given, and how large it begins."""
    parser.add_argument(
        "--capacity",
        type=parsing.cursor,
        default=argparse.SUPPRESS,
        metavar="N",
        help="how many instances (default: 2)",
    )
    parser.add_argument(
        "--orchestration", choices=ORCHESTRATIONS, default=argparse.SUPPRESS, help="how instances are named"
    )
    parser.add_argument(
        "--blueprint",
        default=argparse.SUPPRESS,
        metavar="NAME",
        help="instances are real machines, made from this [[blueprint]] of the server's region file",
    )
    parser.add_argument(
        "--single-placement-group",
        action="store_true",
        default=argparse.SUPPRESS,
        help="one scope for all instances, 100 at most; otherwise each 100 have their own",
    )
    parser.add_argument(
        "--fault-domains",
        type=parsing.cursor,
        default=argparse.SUPPRESS,
        metavar="N",
        help="how many each placement group has: 1 to 5, Flexible 1 to 3 (default: the region's)",
    )
    parser.add_argument(
        "--resource-group",
        default=argparse.SUPPRESS,
        metavar="GROUP",
        help="where the Resource Manager shows it (default: forewarn)",
    )


def _notice(text: str) -> timedelta | None:
    return None if text == "none" else parsing.duration(text)


_notice.__name__ = "notice"


def add_model_options(parser: Parser) -> None:
    """What stays unnamed is not sent: a new set gets the default, a set that exists keeps what it has."""
    unsaid = argparse.SUPPRESS
    parser.add_argument(
        "--terminate-notice",
        type=_notice,
        default=unsaid,
        metavar="DURATION",
        help="announce deletion so long before: 5m to 15m, or none",
    )
    parser.add_argument(
        "--os-image-notice", type=_notice, default=unsaid, metavar="DURATION", help="announce a reimage: 15m, or none"
    )
    switch = argparse.BooleanOptionalAction
    parser.add_argument("--spot", action=switch, default=unsaid, help="Spot instances, which may be evicted")
    parser.add_argument(
        "--eviction-policy", choices=EVICTION_POLICIES, default=unsaid, help="what eviction does to them"
    )
    parser.add_argument("--vnet", action=switch, default=unsaid, help="inside a virtual network")
    parser.add_argument("--size", default=unsaid, help="VM size shown by /metadata/instance")
    parser.add_argument("--os-type", choices=("Linux", "Windows"), default=unsaid, help="system shown there")
    parser.add_argument(
        "--tag", type=parsing.tag, action="append", default=unsaid, metavar="KEY=VALUE", help="a tag; repeat for more"
    )


def add_set_options(parser: Parser) -> None:
    unsaid = argparse.SUPPRESS
    parser.add_argument("--upgrade", choices=UPGRADES, default=unsaid, help="when instances take over a new model")
    parser.add_argument("--scale-in", choices=SCALE_INS, default=unsaid, help="which instances go first")
    for option, text in (
        ("--auto-approve-reboot", "user restarts start at once"),
        ("--auto-approve-redeploy", "user redeploys start at once"),
        ("--all-instances-down", "an event whose VMs are all stopped is approved at once"),
    ):
        parser.add_argument(option, action=argparse.BooleanOptionalAction, default=unsaid, help=text)


_PLAIN = (
    "capacity",
    "orchestration",
    "single_placement_group",
    "fault_domains",
    "resource_group",
    "upgrade",
    "scale_in",
    "spot",
    "eviction_policy",
    "vnet",
    "size",
    "os_type",
    "blueprint",
)
_NOTICES = ("terminate_notice", "os_image_notice")
_POLICY = ("auto_approve_reboot", "auto_approve_redeploy", "all_instances_down")


def body_of(args: argparse.Namespace) -> dict[str, Any]:
    """What was said, as the API wants it."""
    said = vars(args)
    body = {name: said[name] for name in _PLAIN if name in said}
    for name in _NOTICES:
        if name in said:
            body[f"{name}_seconds"] = None if said[name] is None else said[name].total_seconds()
    if "tag" in said:
        body["tags"] = dict(said["tag"])
    policy = {name: said[name] for name in _POLICY if name in said}
    return {**body, "policy": policy} if policy else body

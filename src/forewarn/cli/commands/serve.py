"""``forewarn serve`` and ``forewarn settings``: what a server is told, and telling what it would be told.

The server itself is put together and run by ``forewarn.server``, which is imported only when it is wanted: it needs the
packages of the server extra, and the rest of the command line does not.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from forewarn.cli import parsing
from forewarn.cli.api.client import DEFAULT_URL
from forewarn.cli.api.shapes import SettingShown
from forewarn.cli.demo import typed
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Parser, Subparsers
from forewarn.cli.reference.region_file import EXAMPLE
from forewarn.settings.binding_file import BindingEntry
from forewarn.settings.errors import Exit, usage
from forewarn.settings.extras import import_part
from forewarn.settings.fleet_file import FleetEntry
from forewarn.settings.kinds import SWITCH
from forewarn.settings.machine_entries import Declared
from forewarn.settings.machine_tables import check_together
from forewarn.settings.notification_file import NotificationEntry
from forewarn.settings.region_file import check_region_file, read_region_file
from forewarn.settings.resolve import Settings, Shown, resolve
from forewarn.settings.table import SETTINGS, Setting

_COLUMNS = (
    Column("SETTING"),
    Column("VALUE", flexible=True),
    Column("FROM", flexible=True),
    Column("WHAT IT IS", flexible=True),
)
_INSTEAD = {
    "--running": "asks the server",
    "--example": "prints a file",
    "--schema": "prints a file",
    "--check": "reads one file",
}
_GROUPS = (
    ("notice_", "notices", "minimum warning of each cause"),
    ("recovery_", "recoveries", "how long an event stays in documents after its impact"),
    ("duration_", "announced interruptions", "DurationInSeconds of each cause"),
)


@dataclass(frozen=True)
class ServeOrder:
    """Everything that a server is told: its settings, and what its region file says of VMs and real machines."""

    settings: Settings
    fleet: tuple[FleetEntry, ...] = ()
    bindings: tuple[BindingEntry, ...] = ()
    declared: Declared = field(default_factory=Declared)
    notifications: tuple[NotificationEntry, ...] = ()


def add_to(subparsers: Subparsers) -> None:
    serve = parsing.add_command(
        subparsers,
        "serve",
        _serve,
        "run a region",
        "Run a region until Ctrl-C: the metadata service for VMs and the operator API for this command. Every option "
        "is also an environment variable (FOREWARN_CLOCK) and a key under [settings] of the region file; flags win "
        "over the environment, the environment over the file. VMs of the file's [[vm]] tables are created where they "
        "do not exist.",
        "forewarn serve --clock x60 --data /tmp/region",
        "forewarn serve --ephemeral --clock virtual",
        "forewarn serve --config region.toml",
        "FOREWARN_STORE=postgresql://forewarn@db.example/forewarn forewarn serve --faces metadata",
    )
    add_setting_flags(serve)
    serve.add_argument("--quiet", action="store_true", help="on a terminal too: the ready line and the log, no more")
    parsing.add_ready(serve)
    demo = parsing.add_command(
        subparsers,
        "demo",
        _demo,
        "see every kind of event happen",
        "Run a region of a dozen VMs on a fast clock and tell one whole story for each type of event. On a terminal it "
        "then stays up with two events open, so that you can click in its portal: Enter, a signal or ten minutes end "
        "it. Nothing is left behind.",
        "forewarn demo --speed 60",
        "forewarn demo --no-wait",
    )
    demo.add_argument("--no-wait", action="store_true", help="end after the stories, on a terminal too")
    demo.add_argument("--speed", type=parsing.speed, default=120.0, metavar="N", help="how fast (default: x120)")
    _add_settings(subparsers)


def _add_settings(subparsers: Subparsers) -> None:
    shown = parsing.add_command(
        subparsers,
        "settings",
        _show_settings,
        "show every setting and where it comes from",
        "Show what 'forewarn serve' with the same options would use, and where each value comes from; with --running, "
        "what a running server uses. Secrets are not shown. With --example, print a region file that explains itself; "
        "with --check ('forewarn settings check FILE' is the same), tell everything that is wrong with one, line by "
        "line; with --schema, print the JSON Schema of region files for editors.",
        "forewarn settings --config region.toml",
        "forewarn settings --example > region.toml",
        "forewarn settings check region.toml",
        "forewarn settings --schema > region.schema.json",
        "forewarn settings --profile azure --json",
    )
    shown.add_argument("verb", nargs="?", choices=("check",), metavar="check", help="check the region file FILE")
    shown.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="the file to check (default: FOREWARN_CONFIG)"
    )
    shown.add_argument("--json", action="store_true", help="print JSON for programs instead of text for people")
    shown.add_argument("--example", action="store_true", help="print an annotated region file instead")
    shown.add_argument("--check", type=Path, metavar="FILE", help="check a region file instead; status 2 if wrong")
    shown.add_argument("--schema", action="store_true", help="print the JSON Schema of region files instead")
    shown.add_argument("--running", action="store_true", help="ask the running server instead")
    shown.add_argument("--url", help="the running server's control address (default: FOREWARN_URL)")
    add_setting_flags(shown)


def add_setting_flags(parser: Parser) -> None:
    """One flag for each setting, grouped so that the everyday ones come first."""
    parser.usage = f"{parser.prog} [--config FILE] [OPTION VALUE]..."
    parser.add_argument("--config", type=Path, metavar="FILE", help="region file (TOML); also FOREWARN_CONFIG")
    groups = {prefix: parser.add_argument_group(title, text) for prefix, title, text in _GROUPS}
    for setting in SETTINGS.values():
        target = next((group for prefix, group in groups.items() if setting.name.startswith(prefix)), parser)
        # argparse reads % in help; what a setting says must survive that
        default = f" (default: {setting.default})" if setting.default else ""
        text = (setting.help + default).replace("%", "%%")
        bare: dict[str, Any] = {"nargs": "?", "const": "on"} if setting.kind is SWITCH else {}
        target.add_argument(setting.flag, dest=setting.name, metavar=_metavar(setting), help=text, **bare)


def _metavar(setting: Setting) -> str:
    choices = setting.kind.choices
    return f"{{{','.join(choices)}}}" if choices else setting.kind.metavar


def read_order(args: argparse.Namespace) -> ServeOrder:
    """What the flags, the environment and the region file say together."""
    flags = {name: getattr(args, name) for name in SETTINGS}
    named = args.config or os.environ.get("FOREWARN_CONFIG")
    if not named:
        return ServeOrder(resolve(flags, os.environ))
    file = read_region_file(Path(named))
    settings = resolve(flags, os.environ, file.settings, file.path)
    check_together(file.declared, settings.clock, ephemeral=settings.ephemeral)
    return ServeOrder(settings, file.fleet, file.bindings, file.declared, file.notifications)


def _show_settings(args: argparse.Namespace, out: Output) -> int:
    if args.verb:
        args.check = _file_to_check(args)
    chosen = [f"--{name}" for name in ("running", "example", "schema", "check") if getattr(args, name)]
    given = [SETTINGS[name].flag for name in SETTINGS if getattr(args, name) is not None]
    beside = [*chosen[1:], *(["--config"] if args.config else []), *given]
    if chosen and beside:
        raise usage(f"{chosen[0]} {_INSTEAD[chosen[0]]}; leave off {', '.join(beside)}.")
    if args.running:
        return _say_running(out, parsing.client_of(args).settings())
    if args.example:
        out.line(EXAMPLE.rstrip())
        return Exit.OK
    if args.schema:
        from forewarn.cli.reference.schemas import region_schema

        out.json(region_schema())
        return Exit.OK
    if args.check:
        return _check(args.check, out)
    order = read_order(args)
    if out.as_json:
        out.json([asdict(shown) for shown in order.settings.shown])
    else:
        out.table(_COLUMNS, ((each.name, each.value, _source(each), each.help) for each in order.settings.shown))
    return Exit.OK


def _file_to_check(args: argparse.Namespace) -> Path:
    named = args.file or args.check or os.environ.get("FOREWARN_CONFIG")
    if not named:
        raise usage("which file? Write 'forewarn settings check region.toml'.")
    return Path(named)


def _check(path: Path, out: Output) -> int:
    file, complaints = check_region_file(path)
    if out.as_json:
        noted = [complaint.as_json() for complaint in complaints]
        out.json({"file": str(path), "good": not complaints, "complaints": noted})
    for complaint in () if out.as_json else complaints:
        out.line(str(complaint))
    if not complaints and not out.as_json:
        vms = sum(entry.count for entry in file.fleet)
        counts = [(len(file.settings), "setting"), (vms, "VM"), (len(file.bindings), "binding")]
        if file.notifications:
            counts.append((len(file.notifications), "notification"))
        if file.declared.engines:
            counts += [(len(file.declared.engines), "engine"), (len(file.declared.hosts), "host")]
        told = ", ".join(f"{number} {what}{'' if number == 1 else 's'}" for number, what in counts)
        out.line(f"{path} is good: {told}")
    return Exit.USAGE if complaints else Exit.OK


def _say_running(out: Output, settings: list[SettingShown]) -> int:
    if out.as_json:
        out.json(settings)
    else:
        out.table(_COLUMNS, ((each["name"], each["value"], each["source"], each["help"]) for each in settings))
    return Exit.OK


def _source(shown: Shown) -> str:
    return f"{shown.source} {shown.where}".strip()


def _serve(args: argparse.Namespace, out: Output) -> int:
    order = read_order(args)
    serving = import_part("forewarn.server.life", "forewarn serve")

    if not out.terminal or args.quiet or args.ready == "json":
        greet: Callable[[Any], None] = partial(_greet, args, order, serving, out)
        onlooker = None
    else:
        telling = import_part("forewarn.cli.looking_on", "forewarn serve").LiveTelling(out)
        onlooker = import_part("forewarn.web.seen", "forewarn serve").LookingOn(telling.seen)

        def greet(server: Any) -> None:
            _greet(args, order, serving, out, server)
            for line in _what_to_type(order.settings, server):
                out.line(line)
            server.ending.loop.call_soon_threadsafe(telling.follow, server.plane)

    told = order.notifications
    return int(serving.run(order.settings, order.fleet, order.bindings, greet, order.declared, onlooker, told))


def _greet(args: argparse.Namespace, order: ServeOrder, serving: Any, out: Output, server: Any) -> None:
    """The ready line, flushed into a pipe too: the program that started the server may be waiting for it."""
    if order.settings.desk:
        out.note(f"forewarn: {serving.desk.WARNING}")
    if args.ready == "json":
        out.json_line(serving.ready_fields(order.settings, server))
        return
    print(serving.ready_line(order.settings, server), flush=True)
    if server.token:
        print(f"The token of the control faces, made for this start: FOREWARN_TOKEN={server.token}", flush=True)


def _what_to_type(settings: Settings, server: Any) -> Iterator[str]:
    """Under the ready line on a terminal: the first commands of somebody who has not read a page."""
    if "control" not in server.urls:
        return
    yield "Now type, in another terminal:"
    if server.urls["control"] != DEFAULT_URL or server.token:
        token = {"FOREWARN_TOKEN": server.token} if server.token else {}
        yield f"  {typed.setting(FOREWARN_URL=server.urls['control'], **token)}"
    names = [vm.name for vm in islice(server.plane.region.vms.values(), 1)]
    if not names:
        yield "  forewarn vm create web-0 --read"
    vm = names[0] if names else "web-0"
    yield f"  forewarn vm restart {vm}"
    if "metadata" in server.urls:
        yield f"  {typed.reading(server.urls['metadata'] + '/vm/' + vm)}"
    if settings.clock.kind != "real":
        yield "  forewarn clock next"
    yield "What is asked and what happens is told below (not with --quiet). Ctrl-C ends it."


def _demo(args: argparse.Namespace, out: Output) -> int:
    if args.speed == 0:
        raise usage("the demo needs a clock that moves; give it a --speed above 0.")
    import_part("forewarn.server.life", "forewarn demo")
    demo = import_part("forewarn.cli.demo.run", "forewarn demo")
    return int(demo.run(args))

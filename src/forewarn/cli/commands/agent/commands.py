"""``forewarn agent``: the agent inside a VM, from its file to its service. It talks to no region, and needs no package.

What it needs of the guest is imported by the command that needs it, so that the other commands start as fast as before.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from forewarn.cli import parsing
from forewarn.cli.commands.agent.config import CONFIG_PATH, PATIENCE_SECONDS, check_config, load_config
from forewarn.cli.commands.agent.drill import add_drill
from forewarn.cli.commands.agent.explain import explain_document
from forewarn.cli.commands.agent.install import install as install_agent
from forewarn.cli.commands.agent.install import uninstall as uninstall_agent
from forewarn.cli.output import Output
from forewarn.cli.parsing import Parser, Subparsers
from forewarn.settings.errors import Exit, usage

if TYPE_CHECKING:
    from forewarn.guest.agent.values import AgentConfig

_AZURE_LOG = "--azure-event-log"


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers,
        "agent",
        "the agent inside a VM: prepare, approve, come back",
        "The agent that runs inside a VM: it prepares for events, approves them, and restores what it changed. Works "
        "against Azure as well as against a region of forewarn.",
    )
    _add_run(group)
    _add_check(group)
    _add_explain(group)
    drill = add_drill(group)
    _add_config(drill)
    parsing.add_json(drill)
    _add_status(group)
    _add_install(group)


def _add_run(group: Subparsers) -> None:
    run = parsing.add_command(
        group,
        "run",
        _run,
        "run the agent",
        "Run the agent until it is ended. Without a file, the built-in rules decide and there are no steps. With "
        "--once it looks a single time: it does the steps that this asks for, and waits for others (the metadata "
        "service, the other VMs of a shared event, a step that failed) no longer than --patience; an approval that "
        "the service has taken is all that a look can do. The exit status is 0 when all is done that the look asked "
        "for, 1 when some of it failed, and 3 when there was no document to look at.",
        "forewarn agent run --config agent.toml",
        "forewarn agent run --once --dry-run",
    )
    _add_config(run)
    run.add_argument("--once", action="store_true", help="look once, do what that asks for, and end: for cron")
    run.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    run.add_argument("--service", action="store_true", help="on Windows, for its service manager only")
    run.add_argument(_AZURE_LOG, action="store_true", help="with --service: as 'agent install' explains it")
    _add_patience(run, "with --once, how long to wait for others altogether (default: 30s)")


def _add_check(group: Subparsers) -> None:
    check = parsing.add_command(
        group,
        "check",
        _check,
        "find what is wrong with an agent.toml",
        "Read the file as the agent would and tell everything that is wrong with it, with lines and suggestions. The "
        "exit status is 0 when it can be obeyed, warnings or not, and 2 when it cannot. It also warns of what the "
        "steps need and this machine does not have now, and lists the events that skip the steps.",
        "forewarn agent check --config agent.toml",
        "forewarn agent check --schema > agent.schema.json",
    )
    _add_config(check)
    check.add_argument("--schema", action="store_true", help="print the JSON Schema of agent.toml for editors instead")
    parsing.add_json(check)


def _add_explain(group: Subparsers) -> None:
    explain = parsing.add_command(
        group,
        "explain",
        explain_document,
        "say what would be done about a document, and why",
        "For each event of a document: whether it is this VM's, which rule decides, the steps in order with the time "
        "they have, who approves, and what is restored afterwards. Nothing is done. Without a document, the metadata "
        "service is asked for the present one.",
        "forewarn agent explain",
        "forewarn agent explain document.json --name web-0 --now 2026-01-01T12:00:00Z",
    )
    explain.add_argument("document", nargs="?", metavar="DOCUMENT", help="a file; - is standard input")
    explain.add_argument("--name", metavar="VM", help="this VM's name in documents")
    explain.add_argument("--now", type=parsing.instant, metavar="INSTANT", help="as if it were this instant")
    _add_patience(explain, "how long to wait for the metadata service (default: 5s)")
    _add_config(explain)
    parsing.add_json(explain)


def _add_status(group: Subparsers) -> None:
    status = parsing.add_command(
        group,
        "status",
        _status,
        "how the agent of this VM is doing",
        "Show what the agent remembers and, where its file gives it a status_listen, how it feels. The exit status is "
        "0 when it is healthy, 1 when it is not, and 3 when it cannot be asked.",
        "forewarn agent status",
    )
    _add_patience(status, "how long to wait for the agent (default: 5s)")
    _add_config(status)
    parsing.add_json(status)


def _add_install(group: Subparsers) -> None:
    install = parsing.add_command(
        group,
        "install",
        install_agent,
        "install the agent as a service",
        "Write a hardened systemd unit and, where there is none, an agent.toml that explains itself. On Windows, as an "
        "administrator, a service that begins with Windows and is begun again when it fails.",
        "forewarn agent install --dry-run",
        "sudo forewarn agent install --enable",
    )
    _add_config(install)
    install.add_argument("--enable", action="store_true", help="also start it, now and at every boot")
    install.add_argument(
        _AZURE_LOG,
        action="store_true",
        help="on Windows: Event Log entries as source AzureScheduledEvents, id 1234, like Microsoft's sample",
    )
    install.add_argument("--program", metavar="PATH", help="the forewarn that the unit starts (default: this one)")
    uninstall = parsing.add_command(
        group,
        "uninstall",
        uninstall_agent,
        "remove just what install wrote",
        "Stop the service and remove its unit, and the agent.toml unless somebody has changed it. What the agent "
        "remembers is kept.",
        "sudo forewarn agent uninstall",
    )
    for parser in (install, uninstall):
        parser.add_argument("--root", type=Path, default=Path("/"), metavar="DIR", help="a file system other than /")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
        parsing.add_json(parser)


def _add_patience(parser: Parser, words: str) -> None:
    parser.add_argument("--patience", type=_patience, metavar="DURATION", help=words)


def _patience(text: str) -> float:
    seconds = parsing.duration(text).total_seconds()
    if seconds <= 0:
        raise argparse.ArgumentTypeError("patience must be longer than nothing")
    return seconds


def _add_config(parser: Parser) -> None:
    parser.add_argument("--config", metavar="FILE", help=f"the agent's file (default: {CONFIG_PATH})")


def _run(args: argparse.Namespace, out: Output) -> int:
    """The same as in ``forewarn.__main__``, which bypasses the parser."""
    from forewarn.guest.agent.run import AgentOrder, start

    if args.patience is not None and not args.once:
        raise usage("--patience belongs to --once: an agent that stays waits for the service for ever.")
    return start(AgentOrder(args.config, args.once, args.dry_run, args.patience, args.service, args.azure_event_log))


def _check(args: argparse.Namespace, out: Output) -> int:
    from forewarn.guest.agent.telling import plain_words
    from forewarn.guest.agent.tools.missing import missing

    if args.schema:
        from forewarn.cli.reference.schemas import agent_schema

        out.json(agent_schema())
        return Exit.OK
    path = args.config or CONFIG_PATH
    checked = check_config(path)
    good = checked.config is not None
    complaints = [*checked.complaints, *(missing(checked.config) if checked.config else ())]
    if out.as_json:
        skipped = plain_words.skipped(checked.config) if checked.config else []
        told = [each.as_json() for each in complaints]
        out.json({"file": path, "good": good, "complaints": told, "skip_steps": skipped})
    else:
        for complaint in complaints:
            out.line(str(complaint))
        if checked.config is not None:
            for line in _summary(path, checked.config):
                out.line(line)
    return Exit.OK if good else Exit.USAGE


def _summary(path: str, config: AgentConfig) -> Iterator[str]:
    from forewarn.guest.agent.deciding.windows import window_words
    from forewarn.guest.agent.telling import plain_words

    counts = ((len(config.rules), "rule"), (len(config.steps), "step"), (len(config.notifications), "notification"))
    told = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts)
    yield f"{path} is good: {told}"
    if doubt := plain_words.warning(config):
        yield f"beware: {doubt}"
    for window in config.windows:
        yield f"approved only within the window {window_words(window)}"
    skipped = plain_words.skipped(config)
    if skipped:
        yield "events that skip the steps:" if config.steps else "events:"
        yield from (f"  {each}" for each in skipped)


def _status(args: argparse.Namespace, out: Output) -> int:
    from forewarn.guest.agent.tools.status_report import report
    from forewarn.guest.system import this_machine

    config = load_config(args.config, out)
    if config.status_listen:
        out.note(f"asking the agent at {config.status_listen}")
    found = report(config, args.patience or PATIENCE_SECONDS, this_machine().clock.now())
    if out.as_json:
        out.json(found.as_json())
    else:
        for line in found.lines():
            out.line(line)
    if found.healthy is None:
        return Exit.UNREACHABLE
    return Exit.OK if found.healthy else Exit.FAILED

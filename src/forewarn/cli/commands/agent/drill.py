"""``forewarn agent drill``: which event, for which VM; the drill itself is the guest's."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from forewarn.cli import parsing
from forewarn.cli.commands.agent.config import PATIENCE_SECONDS, load_config
from forewarn.cli.output import Output
from forewarn.cli.parsing import Parser, Subparsers
from forewarn.settings.errors import CommandFailed, Exit, usage
from forewarn.terms import EventSource, EventType

if TYPE_CHECKING:
    from forewarn.guest.agent.drill import Report, Tried
    from forewarn.guest.agent.values import AgentConfig


def add_drill(group: Subparsers) -> Parser:
    drill = parsing.add_command(
        group,
        "drill",
        _drill,
        "do the steps and undo them, with no event",
        "Let the agent meet an event that nobody has announced: its rule is looked up, its steps are done in order and "
        "then undone in reverse, also where one of them fails (three times in a row) or Ctrl-C is pressed. Nothing is "
        "approved, nobody is notified, and the metadata service is asked for this VM's name at most. It needs the "
        "agent's state directory for itself, so stop the agent first; what a drill that was killed has changed, the "
        "next agent undoes. The exit status is 0 when every step was done and undone.",
        "sudo systemctl stop forewarn-agent; sudo forewarn agent drill; sudo systemctl start forewarn-agent",
        "forewarn agent drill --config agent.toml --type Preempt --name web-0",
    )
    types, sources = [each.value for each in EventType], [each.value for each in EventSource]
    drill.add_argument("--type", choices=types, default="Reboot", help="of the event (default: Reboot)")
    drill.add_argument("--source", choices=sources, default="Platform", help="of the event (default: Platform)")
    drill.add_argument(
        "--in",
        dest="notice",
        type=parsing.duration,
        metavar="DURATION",
        help="how far ahead its NotBefore is (default: as on Azure, such as 15m for a Reboot)",
    )
    drill.add_argument("--name", metavar="VM", help="this VM's name (default: the file's, or what the service says)")
    return drill


def _drill(args: argparse.Namespace, out: Output) -> int:
    from forewarn.guest.agent.deciding.built_in import NOTICES_SECONDS
    from forewarn.guest.agent.drill import Drill, NotNow, drill_event
    from forewarn.guest.agent.keeping.journal import Busy
    from forewarn.guest.agent.telling.logs import configure
    from forewarn.guest.system import this_machine

    config, system = load_config(args.config, out), this_machine()
    notice = NOTICES_SECONDS[EventType(args.type)] if args.notice is None else args.notice.total_seconds()
    if notice <= 0:
        raise usage("--in must be longer than nothing: steps are done before NotBefore.")
    name = args.name or config.name or _asked(config)
    event = drill_event(name, args.type, args.source, system.clock.now(), notice)
    configure(config.log_format)
    try:
        drill = Drill(system, config, event)
    except Busy as problem:
        raise CommandFailed(f"{problem}; stop the agent for the time of the drill. Nothing was done.") from None
    except NotNow as problem:
        raise CommandFailed(f"{problem}. Nothing was done.") from None
    except OSError as problem:
        raise CommandFailed(f"{config.state_directory} cannot be used: {problem.strerror}; try it with sudo.") from None
    system.on_stop(drill.stop)
    report = drill.run()
    if out.as_json:
        out.json(_json(name, report))
    else:
        for line in _lines(name, report, config.path):
            out.line(line)
    return Exit.OK if report.good else Exit.FAILED


def _asked(config: AgentConfig) -> str:
    """The name that the metadata service gives this VM."""
    from forewarn.guest.client import Client
    from forewarn.guest.faults import GuestError
    from forewarn.guest.instance import own_name
    from forewarn.guest.sans_io import hasty

    try:
        with Client(config.endpoint or None, **hasty(PATIENCE_SECONDS)) as client:
            return own_name("", client.instance())
    except (GuestError, ValueError) as problem:
        raise CommandFailed(
            f"the metadata service does not say which VM this is ({problem}); say it with --name. Nothing was done.",
            Exit.UNREACHABLE,
        ) from None


def _lines(name: str, report: Report, path: str) -> Iterator[str]:
    from forewarn.guest.agent.deciding.policy import asks
    from forewarn.guest.agent.tools.explain import rule_words

    event, rule = report.event, report.decision.rule
    yield f"drill of a {event.type} by {event.source} for {name}; nothing is approved"
    if rule is not None:
        yield f"  rule      {rule_words(rule, path)} {asks(rule)}"
    yield f"  verdict   {report.decision.verdict.value}"
    for undo, title in ((False, "done"), (True, "undone")):
        for number, each in enumerate(each for each in report.tried if each.undo is undo):
            yield f"  {'' if number else title:<10}{_tried(each)}"
    yield f"  result    {_result(report)}"


def _tried(each: Tried) -> str:
    said = f": {each.end.detail}" if each.end.detail else ""
    return f"{each.step}, {each.end.outcome.value} after {each.seconds:.1f} s{said}"


def _result(report: Report) -> str:
    if not report.tried and report.prepared:
        return "this rule prepares nothing"
    told = "everything was prepared" if report.prepared else f"not prepared: {report.why}"
    back = f"still in effect: {', '.join(report.left)}" if report.left else "all that was done is undone"
    return f"{told}; {back}"


def _json(name: str, report: Report) -> dict[str, object]:
    from forewarn.guest.agent.keeping.lines import event_fields

    rule = report.decision.rule
    return {
        "vm": name,
        "event": event_fields(report.event),
        "verdict": report.decision.verdict.value,
        "rule": None if rule is None else {"name": rule.name, "line": rule.line or None},
        "tried": [
            {
                "step": each.step,
                "undo": each.undo,
                "outcome": each.end.outcome.value,
                "detail": each.end.detail,
                "seconds": round(each.seconds, 3),
            }
            for each in report.tried
        ],
        "prepared": report.prepared,
        "why_not": report.why,
        "still_in_effect": list(report.left),
    }

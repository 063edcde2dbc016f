"""``forewarn agent explain``: whose document, which VM, what time; the explaining itself is the guest's."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from forewarn.cli.commands.agent.config import PATIENCE_SECONDS, load_config
from forewarn.cli.output import Output
from forewarn.settings.errors import CommandFailed, Exit, usage

if TYPE_CHECKING:
    from forewarn.guest.agent.values import AgentConfig
    from forewarn.terms import Document


def explain_document(args: argparse.Namespace, out: Output) -> int:
    from forewarn.guest.agent.tools.explain import explain
    from forewarn.guest.agent.tools.explain_text import explanation_json, explanation_lines
    from forewarn.wire.times import format_iso8601

    config = load_config(args.config, out)
    if args.document is None:
        document, name, now = _present(args, config, out)
    else:
        document, now = _document(args.document), args.now or _now()
        name = args.name or config.name or _only_name(document, out)
    explanations = explain(config, document, name, now)
    if out.as_json:
        out.json({"vm": name, "now": format_iso8601(now), "events": [explanation_json(each) for each in explanations]})
        return Exit.OK
    for explanation in explanations:
        for line in explanation_lines(explanation, config.path, now):
            out.line(line)
    if not explanations:
        out.line("The document has no events: there is nothing to do.")
    return Exit.OK


def _now() -> datetime:
    from forewarn.guest.system import this_machine

    return this_machine().clock.now()


def _document(source: str) -> Document:
    """From a file or from standard input; one that says nothing is no document to explain."""
    from forewarn.wire.document import decode_document
    from forewarn.wire.json_bytes import WireError

    try:
        body = sys.stdin.read().encode() if source == "-" else Path(source).read_bytes()
    except OSError as problem:
        raise usage(f"cannot read {source}: {problem.strerror or problem}.") from None
    try:
        found = decode_document(body)
    except WireError as problem:
        raise usage(f"{source} is not a document: {problem}") from None
    if found is None:
        raise usage(f"{source} is empty, which is how a metadata service says nothing at all.")
    return found


def _only_name(document: Document, out: Output) -> str:
    """The name of the only VM that a document names: on a developer's machine no other name is known."""
    names = {name for event in document.events for name in event.resources}
    if len(names) > 1:
        raise usage(f"say which VM this is with --name; the document names {', '.join(sorted(names))}.")
    if names:
        out.note(f"as {next(iter(names))}, the only VM that the document names; --name takes another")
    return next(iter(names), "")


def _present(args: argparse.Namespace, config: AgentConfig, out: Output) -> tuple[Document, str, datetime]:
    """What the metadata service shows now, who it says we are, and what time it has."""
    from forewarn.guest.client import Client
    from forewarn.guest.faults import Fault
    from forewarn.guest.look import look_once
    from forewarn.guest.sans_io import hasty

    def heard(fault: Fault, retry_seconds: float) -> None:
        if retry_seconds == 0:
            out.note(f"{fault.reason}.")

    patience = args.patience or PATIENCE_SECONDS
    try:
        client = Client(config.endpoint or None, on_fault=heard, **hasty(patience))
    except ValueError as problem:
        raise usage(f"{problem}") from None
    out.note(f"asking {client.asks}")
    found = look_once(client, args.name or config.name, patience)
    if isinstance(found, str):
        hint = "on Azure a VM's first answer may take two minutes, for which there is --patience 2m30s"
        raise CommandFailed(f"no document within {patience:g} s: {found}; {hint}.", Exit.UNREACHABLE)
    return found.document, found.name, args.now or found.at

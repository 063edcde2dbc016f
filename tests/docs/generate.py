"""The parts of docs/ that are made from the code. ``make docs`` writes them; a test checks that they are current."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from forewarn.cli.reference import agent_file, commands, region_file, schemas
from forewarn.core.causes import CAUSES
from forewarn.core.lifecycle import TRANSITIONS
from forewarn.core.phases import ENDED
from forewarn.engines.remote import openapi
from forewarn.web.metadata.http import connection_states
from forewarn.web.metadata.http.connection_states import LONGEST, ConnectionState, Trigger
from forewarn.web.metadata.settings import Limits
from tests.docs.api_page import operator_api

DOCS = Path(__file__).parents[2] / "docs"
PROTOCOL = DOCS / "engine-protocol.json"
SCHEMAS = {DOCS / "region.schema.json": schemas.region_schema, DOCS / "agent.schema.json": schemas.agent_schema}
_BLOCK = re.compile(r"(<!-- generated: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def lifecycle() -> str:
    """The diagram of phases, from the table of transitions."""
    lines = ["```mermaid", "stateDiagram-v2"]
    for (before, fact), after in TRANSITIONS.items():
        lines.append(f"    {before.value if before else '[*]'} --> {after.value}: {fact.__name__}")
    lines += [f"    {phase.value} --> [*]" for phase in sorted(ENDED)]
    lines += ["```", "", "| from | fact | to |", "|---|---|---|"]
    for (before, fact), after in TRANSITIONS.items():
        lines.append(f"| {before.value if before else '—'} | `{fact.__name__}` | {after.value} |")
    return "\n".join(lines)


def connections() -> str:
    """The diagram of a connection's states, what follows in each, and how long a client may keep it there."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {ConnectionState.RESTING}"]
    for state, triggers in connection_states.TRANSITIONS.items():
        moves = [(trigger, to) for trigger, to in triggers.items() if to is not state and trigger is not Trigger.LOST]
        lines += [f"    {state} --> {to}: {trigger}" for trigger, to in moves]
    lines += [f"    {ConnectionState.LINGERING} --> [*]", f"    {ConnectionState.CLOSING} --> [*]", "```", ""]
    lines += ["| state | when | then |", "|---|---|---|"]
    for state, triggers in connection_states.TRANSITIONS.items():
        lines += [f"| {state} | {trigger} | {to} |" for trigger, to in triggers.items()]
    lines += ["", "| state | lasts at most | limit |", "|---|---|---|"]
    lines += [f"| {state} | {getattr(Limits(), limit):g} s | `{limit}` |" for state, limit in LONGEST.items()]
    return "\n".join(lines)


def causes() -> str:
    """The table of causes."""
    lines = [
        "| cause | type | source | notice | effect | duration | recovery | description |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cause, row in CAUSES.items():
        notice = "the VM's own" if row.notice is None else _duration(row.notice)
        lines.append(
            f"| `{cause.value}` | {row.type.value} | {row.source.value} | {notice} | {row.effect.value} "
            f"| {row.duration_seconds} | {_duration(row.recovery)} | {row.description or '(empty)'} |"
        )
    return "\n".join(lines)


def _duration(value: timedelta) -> str:
    seconds = int(value.total_seconds())
    for unit, size in (("days", 86400), ("min", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s" if seconds else "none"


BLOCKS: dict[str, Callable[[], str]] = {
    "lifecycle": lifecycle,
    "connections": connections,
    "causes": causes,
    "settings": commands.settings_markdown,
    "cli": commands.cli_markdown,
    "region_file": region_file.region_file,
    "agent_file": agent_file.agent_file,
    "agent_telling": agent_file.agent_telling,
    "operator_api": operator_api,
}


def protocol() -> str:
    """The engines' protocol as OpenAPI."""
    return as_json(openapi.document())


def as_json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def renewed(text: str) -> str:
    """``text`` with every generated block made anew."""
    return _BLOCK.sub(lambda match: f"{match[1]}{BLOCKS[match['name']]()}\n{match[3]}", text)


def main() -> None:
    """Write the generated blocks of every page that has one."""
    for page in sorted(DOCS.glob("*.md")):
        page.write_text(renewed(page.read_text()))
    PROTOCOL.write_text(protocol())
    for path, schema in SCHEMAS.items():
        path.write_text(as_json(schema()))


if __name__ == "__main__":
    main()

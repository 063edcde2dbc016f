"""``agent.toml`` and all that an agent tells, as Markdown: made from what reads the file and what does the telling."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from forewarn.guest.agent.config.defaults import COMMENTED_TOML
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Receipts
from forewarn.guest.agent.steps import KINDS
from forewarn.guest.agent.steps.keys import COMMON, StepKeys
from forewarn.guest.agent.steps.kind import Task, event_environment
from forewarn.guest.agent.telling.channels import Message
from forewarn.guest.agent.telling.metrics import SERIES, Series
from forewarn.guest.agent.telling.occasions import Occasion
from forewarn.guest.agent.telling.pages import MEASURES
from forewarn.guest.agent.values import Step
from forewarn.guest.system import this_machine
from forewarn.terms import ScheduledEvent

_DEFAULT = re.compile(r"""#(?P<key>\w+) = (?P<value>"[^"]*"|'[^']*')""")  # a path of Windows is in single quotes
_ROW = re.compile(r"#   (?P<key>\w+) {2,}(?P<text>.+)")
# Any day will do: an example in the documentation, the same in every build
_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_EVENT = ScheduledEvent(
    event_id="602D9444-D2CD-49C7-8624-8643E7171297",
    status="Scheduled",
    type="Reboot",
    resources=("web-0",),
    not_before=_NOON + timedelta(minutes=15),
    description="Host server is undergoing maintenance.",
    source="Platform",
    duration_seconds=-1,
)

COMMON_WORDS = {
    "name": "what rules, logs and `status` call it; each name once",
    "kind": f"one of {', '.join(f'`{kind}`' for kind in KINDS)}",
    "system": "`linux` or `windows`: the other one leaves it out; left out, it is for both",
    "timeout": "how long it, or its reverse, may take, from 0.1s to 1d; left out, a step has all the time there is and "
    "a reverse 5m",
    "retries": "default `true`: a failed step is tried again, after 1 s, 2 s, 4 s … 30 s, while there is time. "
    "`false`: a failure is final, and with it the event is not approved",
    "repeatable": "default `false`; `true` says that doing it twice is like doing it once, so that a step whose end "
    "nobody saw (the agent was killed) may be begun again. All kinds but `command`, "
    "`powershell`, and `http` with POST or PATCH, are so by nature",
}
NOTIFICATION_WORDS = {
    "kind": "`webhook`: a POST of the JSON below. `apprise`: title and text by the package of that name",
    "url": "where to; it is never repeated in logs, since it may hold a secret",
    "on": "which occasions; left out, all",
}
OCCASION_WORDS = {
    Occasion.SCHEDULED: "an event that names this VM has appeared in the document",
    Occasion.PREPARING: "its first step begins",
    Occasion.PREPARED: "every step is done",
    Occasion.FAILED: "it cannot be prepared for any more: a step with `retries = false` has failed, or the time was "
    "over or the event started before every step was done; or the service has refused the approval. A step that failed "
    "and is tried again is not told, only logged and counted. This agent does not approve the event",
    Occasion.APPROVED: "the approval was heard: the document shows what it led to",
    Occasion.STARTED: "the impact may come at any moment",
    Occasion.COMPLETED: "it has left the document; `text` says whether that it completed is known or likely",
    Occasion.CANCELED: "it has left the document without starting, or does not name this VM any more",
}


def agent_file() -> str:
    """Every table and key of an ``agent.toml``."""
    agent, rule, window, barrier = (_section(name) for name in ("agent", "rule", "window", "barrier"))
    parts = [
        *_titled("`[agent]`", _table(("key", "default", "what it is"), _defaults(agent))),
        *_titled("`[[rule]]`", _table(("key", "what it is"), _rows(rule))),
        *_titled("`[[step]]`", _table(("key", "what it is"), ((key, COMMON_WORDS[key]) for key in COMMON))),
    ]
    for name, kind in KINDS.items():
        rows = [(key, f"{each.about}{_need(kind.keys, key)}") for key, each in kind.keys.all.items()]
        parts += _titled(f'`kind = "{name}"`', _table(("key", "what it is"), rows), level=4)
    parts += _titled("`[[window]]`", _table(("key", "what it is"), _rows(window)))
    parts += _titled("`[barrier]`", _table(("key", "what it is"), _rows(barrier)))
    parts += _titled("`[[notification]]`", _table(("key", "what it is"), NOTIFICATION_WORDS.items()))
    return "\n".join(parts).strip()


def key_words(table: str) -> dict[str, str]:
    """What the keys of a table are, as the commented file tells it."""
    lines = _section(table)
    return {key: words for key, _, words in _defaults(lines)} if table == "agent" else dict(_rows(lines))


def agent_telling() -> str:
    """What steps, people and monitoring are told."""
    system = this_machine()
    budget, receipts = Budget(system, 885.5), Receipts(Path(), "run-1")
    task = Task(system, Step("drain", "command"), _EVENT, "web-0", budget, receipts)
    variables = (
        (name, "as on standard input" if name.endswith("JSON") else f"`{value}`")
        for name, value in event_environment(task).items()
    )
    message = Message(Occasion.SCHEDULED, "web-0", "Reboot is announced", _NOON, _EVENT)
    body = json.dumps(json.loads(message.as_json()), indent=2)
    measured = (("forewarn_agent_" + name, "gauge", "", text) for name, text in MEASURES)
    parts = [
        *_titled("The environment of a step", _table(("variable", "for instance"), variables)),
        *_titled("Occasions", _table(("occasion", "means"), OCCASION_WORDS.items())),
        *_titled("The body of a webhook", ["```json", body, "```"]),
        *_titled("Metrics", _table(("metric", "kind", "labels", "what it is"), (*map(_metric, SERIES), *measured))),
    ]
    return "\n".join(parts).strip()


def _need(keys: StepKeys, key: str) -> str:
    if keys.all[key].required:
        return " (needed)"
    return f" (one of {' and '.join(f'`{each}`' for each in keys.either)} is needed)" if key in keys.either else ""


def _section(name: str) -> list[str]:
    """The lines of the generated file that explain a table: those before its last example, behind the table before."""
    text = COMMENTED_TOML
    begins, ends = {
        "agent": ("[agent]", "# The policy."),
        "rule": ("# The policy.", "# Behind the rules"),
        "window": ("# When events", "#[[window]]"),
        "barrier": ("# An approval", "#[barrier]"),
    }[name]
    return text[text.index(begins) : text.index(ends)].splitlines()


def _defaults(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    said: list[str] = []
    for line in lines:
        found = _DEFAULT.fullmatch(line)
        if found:
            yield found["key"], f"`{found['value']}`", " ".join(said)
            said = []
        elif line.startswith("# "):
            said.append(line.removeprefix("# "))


def _rows(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if found := _ROW.fullmatch(line):
            yield found["key"], found["text"].replace("|", "\\|")


def _metric(series: Series) -> tuple[str, str, str, str]:
    labels = "; ".join(f"`{label}`: {', '.join(words)}" for label, words in series.labels.items())
    return series.name, series.kind, labels, series.help


def _titled(title: str, lines: Iterable[str], level: int = 3) -> list[str]:
    return [f"{'#' * level} {title}", "", *lines, ""]


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for first, *rest in rows:
        yield f"| {' | '.join([f'`{first}`', *rest])} |"

"""``agent.toml`` to values: everything that is wrong is told at once, each with its line and a suggestion.

[agent]           how the agent itself works
[[rule]]          the policy, first match wins; behind these stand the built-in rules
[[step]]          what is done before an event, in this order, and undone after it in reverse
[[window]]        when events may be approved before their NotBefore
[barrier]         how VMs of one event wait for each other
[[notification]]  who is told
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from forewarn.guest.agent.config.barrier import check_listeners, read_barrier
from forewarn.guest.agent.config.complaints import BadConfig, Complaint, Complaints
from forewarn.guest.agent.config.notifications import read_notification
from forewarn.guest.agent.config.rules import check_margin, check_reach, check_steps, read_rule, read_step, refuse_twins
from forewarn.guest.agent.config.section import Section
from forewarn.guest.agent.config.toml_lines import LineNumbers
from forewarn.guest.agent.config.windows import read_window
from forewarn.guest.agent.steps.keys import is_absolute
from forewarn.guest.agent.toml_words import meant, toml_word
from forewarn.guest.agent.values import SYSTEM, AgentConfig, Rule, Step
from forewarn.guest.endpoint import parse_endpoint

_SINGLE = ("agent", "barrier")
_LISTED = ("rule", "step", "window", "notification")
_TABLES = ("agent", "rule", "step", "window", "barrier", "notification")
AGENT_KEYS = (
    "endpoint",
    "name",
    "poll",
    "margin",
    "state_directory",
    "status_listen",
    "unhealthy_after",
    "log_format",
)
LOG_FORMATS = ("text", "json")
_FIRST_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_DEFAULT = AgentConfig()


@dataclass(frozen=True, slots=True)
class Checked:
    """What a file says, unless something is wrong with it; warnings come with a config."""

    config: AgentConfig | None
    complaints: tuple[Complaint, ...] = ()


def read_config(path: Path) -> AgentConfig:
    """The file's config, or ``BadConfig`` with all that is wrong."""
    checked = check_file(path)
    if checked.config is None:
        raise BadConfig(checked.complaints)
    return checked.config


def check_file(path: Path) -> Checked:
    """Read a file and find everything that is wrong with it."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        hint = "'forewarn agent install' writes one" if isinstance(problem, FileNotFoundError) else ""
        return Checked(None, (Complaint(str(path), 0, f"cannot be read: {problem.strerror or problem}", hint),))
    try:
        return check_text(data.decode(), str(path))
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        return Checked(None, (Complaint(str(path), line, "this is not UTF-8", "save the file as UTF-8"),))


def check_text(text: str, path: str = "agent.toml", system: str = SYSTEM) -> Checked:
    """The same for text; ``path`` is only named in complaints. What is for another ``system`` is not in the config."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        return Checked(None, (_not_toml(text, path, problem),))
    book = Complaints(path, LineNumbers(text))
    config = _read(book, tables, path, system)
    complaints = book.noted()
    return Checked(config if all(each.warning for each in complaints) else None, complaints)


def _not_toml(text: str, path: str, problem: tomllib.TOMLDecodeError) -> Complaint:
    message = str(problem)
    found = _FIRST_LINE.search(message)
    line = int(found[1]) if found else text.count("\n") + 1
    said = _FIRST_LINE.sub("", message).strip()
    hint = "each key stands once in its table" if "overwrite" in said else 'text stands in quotes: key = "value"'
    return Complaint(path, line, f"this is not TOML: {said[:1].lower()}{said[1:]}", hint)


def _read(book: Complaints, tables: dict[str, object], path: str, system: str) -> AgentConfig:
    for key, value in tables.items():
        _check_table(book, key, value)
    rule_sections = _listed(book, tables, "rule")
    step_sections = _listed(book, tables, "step")
    barrier_section = _single(book, tables, "barrier")
    all_steps = [read_step(section) for section in step_sections]
    all_rules = [read_rule(section, number) for number, section in enumerate(rule_sections)]
    step_sections, steps = _here(step_sections, all_steps, system)
    here = {step.name for step in steps}
    elsewhere = {step.name: step.system for step in all_steps if step.name not in here}
    rule_sections, rules = _here(rule_sections, all_rules, system)
    barrier = read_barrier(barrier_section)
    agent_section = _single(book, tables, "agent")
    notifications = tuple(read_notification(section) for section in _listed(book, tables, "notification"))
    window_sections = _listed(book, tables, "window")
    windows = tuple(read_window(section, number) for number, section in enumerate(window_sections))
    refuse_twins(window_sections, [window.name for window in windows])
    rest = AgentConfig(
        path=path, rules=rules, steps=steps, windows=windows, barrier=barrier, notifications=notifications
    )
    config = _read_agent(agent_section, rest)
    check_reach(rule_sections, rules)
    check_steps(rule_sections, step_sections, config, elsewhere)
    check_margin(agent_section, config)
    check_listeners(barrier_section, config)
    return replace(config, rules=tuple(_without(rule, elsewhere) for rule in rules)) if elsewhere else config


_Piece = TypeVar("_Piece", Rule, Step)


def _here(sections: list[Section], pieces: list[_Piece], system: str) -> tuple[list[Section], tuple[_Piece, ...]]:
    """Those that are for this system, with where they stand."""
    kept = [pair for pair in zip(sections, pieces, strict=True) if pair[1].system in ("", system)]
    return [section for section, _ in kept], tuple(piece for _, piece in kept)


def _without(rule: Rule, elsewhere: Container[str]) -> Rule:
    if rule.steps is None:
        return rule
    return replace(rule, steps=tuple(name for name in rule.steps if name not in elsewhere))


def _check_table(book: Complaints, key: str, value: object) -> None:
    if key in AGENT_KEYS and not isinstance(value, dict):
        book.complain((key,), f"{key!r} stands outside any table", "it belongs under [agent]")
    elif key not in _TABLES:
        book.complain((key,), f"there is no table [{key}]", meant(key, _TABLES))
    elif key in _SINGLE and not isinstance(value, dict):
        book.complain((key,), f"{key} must be one table, not {toml_word(value)}", f"write [{key}]")
    elif key in _LISTED and not _is_list_of_tables(value):
        book.complain((key,), f"{key} must be a list of tables, not {toml_word(value)}", f"write [[{key}]]")


def _is_list_of_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _single(book: Complaints, tables: dict[str, object], key: str) -> Section:
    values = tables.get(key)
    return Section(book, (key,), f"[{key}]", values if isinstance(values, dict) else {})


def _listed(book: Complaints, tables: dict[str, object], key: str) -> list[Section]:
    values = tables.get(key)
    found = []
    for number, each in enumerate(values if isinstance(values, list) else ()):
        if isinstance(each, dict):
            name = each.get("name")
            title = f"{key} {name!r}" if isinstance(name, str) and name.strip() else f"{key} {number + 1}"
            found.append(Section(book, (key, number), title, each))
    return found


def _read_agent(section: Section, rest: AgentConfig) -> AgentConfig:
    config = replace(
        rest,
        endpoint=_endpoint(section),
        name=section.text("name").strip(),
        state_directory=_state_directory(section),
        poll_seconds=section.seconds("poll", _DEFAULT.poll_seconds, "0.2s", "60s"),
        margin_seconds=section.seconds("margin", _DEFAULT.margin_seconds, "0", "1h"),
        status_listen=section.listen("status_listen"),
        unhealthy_after_seconds=section.seconds("unhealthy_after", _DEFAULT.unhealthy_after_seconds, "2s", "1d"),
        log_format=section.choice("log_format", LOG_FORMATS, _DEFAULT.log_format),
    )
    if config.unhealthy_after_seconds < 3 * config.poll_seconds:
        section.warn("unhealthy_after", "is less than three polls", "one slow answer would make the agent unhealthy")
    section.refuse_rest()
    return config


def _state_directory(section: Section) -> str:
    path = section.text("state_directory", _DEFAULT.state_directory, example='"/var/lib/forewarn-agent"')
    if not is_absolute(path):
        section.complain("state_directory", f"is {path!r}", "it must be an absolute path")
    return path


def _endpoint(section: Section) -> str:
    text = section.text("endpoint").strip()
    try:
        if text:
            parse_endpoint(text)
    except ValueError:
        section.complain("endpoint", "is no address of a metadata service", 'write "http://169.254.169.254"')
    return text

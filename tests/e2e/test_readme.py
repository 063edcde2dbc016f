"""What the README and the pages behind it tell a reader to type runs, in their order, and prints what they show."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.docs.generate import DOCS
from tests.e2e.program import PATIENCE_SECONDS, ServerProgram

ROOT = DOCS.parent
README = ROOT / "README.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_TARGET = re.compile(r"(?:^|`|\$ )make ([a-z]+)", re.MULTILINE)


@dataclass
class Example:
    """One command of a page and the output that stands below it, if any does."""

    command: str
    output: list[str] = field(default_factory=list)


def examples(page: Path) -> list[Example]:
    """The ``forewarn`` and ``curl`` commands of a page, in order; what else a shell is told is not ours to run."""
    found: list[Example] = []
    for block in _BLOCK.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append(Example(line.removeprefix("$ ")))
            elif line.strip():
                found[-1].output.append(line)
    return [example for example in found if example.command.startswith(("forewarn ", "curl "))]


def _make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProgram]:
    with ServerProgram.start(tmp_path / "data", "--clock", "virtual") as started:
        yield started


def _shell(server: ServerProgram, command: str) -> str:
    """The command as a reader's shell runs it, pointed at this test's region."""
    path = f"{server.program.parent}:{server.environment()['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", command.replace("http://127.0.0.1:16925", server.metadata)],
        env=server.environment() | {"PATH": path, "no_proxy": "*"},
        cwd=server.data,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout


def _serve(directory: Path, command: str) -> None:
    """A server that a page starts becomes ready, in a directory and on ports of its own."""
    _, _, *options = shlex.split(command, comments=True)
    with ServerProgram.start(directory, *options) as started:
        assert started.stop() == 0


def test_the_commands_of_the_readme_run_in_their_order(server: ServerProgram, tmp_path: Path) -> None:
    commands = examples(README)
    event_id = ""
    for number, example in enumerate(commands):
        if example.command.startswith("forewarn serve"):
            _serve(tmp_path / f"region-{number}", example.command)
            continue
        if "<id>" in example.command and not event_id:
            event_id = json.loads(_shell(server, "forewarn event list --json"))[0]["id"]
        told = _shell(server, example.command.replace("<id>", event_id))
        if example.output:
            assert told.splitlines() == example.output, example.command

    assert len(commands) >= 10, "the README has lost its examples"


def test_the_readme_teaches_an_approval_that_is_seen(server: ServerProgram) -> None:
    """The five minutes of the README end with the event started by whom it says."""
    five_minutes = README.read_text().partition("## Five minutes")[2].partition("## ")[0]
    assert "event approve <id>" in five_minutes
    for example in examples(README)[:3]:
        _shell(server, example.command)
    (event,) = json.loads(_shell(server, "forewarn event list --json"))
    _shell(server, f"forewarn event approve {event['id']}")
    story = json.loads(_shell(server, f"forewarn event show {event['id']} --json"))

    assert (story["type"], story["phase"], story["resources"]) == ("Reboot", "started", ["web-0"])


@pytest.mark.parametrize(
    "page", [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name
)
def test_the_make_targets_that_a_page_names_exist(page: Path) -> None:
    assert set(_TARGET.findall(page.read_text())) <= _make_targets()


def test_the_readme_names_the_verbs_that_matter_first() -> None:
    first_screen = "\n".join(README.read_text().splitlines()[:20])

    assert {"demo", "test"} <= set(_TARGET.findall(first_screen))

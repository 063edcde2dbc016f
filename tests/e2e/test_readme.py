"""What the README and the pages behind it tell a reader to type works, in its order, and answers what they show."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.docs.generate import DOCS
from tests.e2e.az import find_az
from tests.e2e.program import EVENTS, FOREWARN, PATIENCE_SECONDS, ask, clean_environment

ROOT = DOCS.parent
README = ROOT / "README.md"
TYPES = {"Reboot", "Freeze", "Redeploy", "Preempt", "Terminate"}
SIM_SECONDS = 600.0
_BLOCK = re.compile(r"^```(?P<kind>console|text|toml)\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE)
_TARGET = re.compile(r"(?:^|`|\$ )make ([a-z]+)", re.MULTILINE)
_METADATA, _CONTROL = "http://127.0.0.1:16925", "http://127.0.0.1:16926"
_FREE = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0", "--resource-manager", "127.0.0.1:0")
_URLS = re.compile(r"(metadata|control) (http://[^\s,]+)")
# What differs from one run to the next.
_VARYING = (
    (re.compile(r"\b[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}\b"), "<guid>"),
    (re.compile(r"\b[0-9A-F]{8}\b"), "<short id>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<instant>"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"), "<instant>"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "<address>"),
)


@dataclass
class Example:
    """One command of a page, its comment, and the output that stands below it, if any does."""

    command: str
    comment: str
    output: list[str] = field(default_factory=list)


def examples(page: Path) -> list[Example]:
    """All that a page tells to type, in order. A ``text`` block is what the command before it prints."""
    found: list[Example] = []
    for block in _BLOCK.finditer(page.read_text()):
        if block["kind"] == "text":
            found[-1].output += block["text"].splitlines()
            continue
        if block["kind"] == "toml":  # a file, whose name stands in its first line
            if named := re.match(r"# (\S+\.toml)\n", block["text"]):
                found.append(Example(f"cat >{named[1]} <<'END'\n{block['text']}END", ""))
            continue
        for line in block["text"].replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                command, _, comment = line.removeprefix("$ ").partition(" # ")
                found.append(Example(command.strip(), comment.strip()))
            elif line.strip():
                found[-1].output.append(line)
    return found


def steady(line: str) -> str:
    for pattern, word in _VARYING:
        line = pattern.sub(word, line)
    return line


def shows(told: list[str], wanted: list[str]) -> bool:
    """Whether output is what a page shows; a line of an ellipsis there stands for any number of lines."""
    pattern = "".join(".*" if line == "…" else re.escape(f"{steady(line)}\n") for line in wanted)
    return re.fullmatch(pattern, "".join(f"{steady(line)}\n" for line in told), re.DOTALL) is not None


@dataclass
class Reader:
    """Somebody with two terminals: the server runs in one, everything else is typed in the other."""

    directory: Path
    process: subprocess.Popen[str] | None = None
    metadata: str = ""
    control: str = ""
    exported: list[str] = field(default_factory=list)

    def type(self, example: Example) -> list[str]:
        """Do as the page says; what it printed."""
        command = example.command.replace("<id>", self.newest_event() if "<id>" in example.command else "")
        if command.startswith("make "):
            command = self._made(command)
        if command.startswith(("forewarn try", "forewarn serve")):
            return self.serve(command)
        if command.startswith(("export ", "eval ")):
            self.exported.append(command)
        return self.shell(command).splitlines()

    def shell(self, command: str) -> str:
        home = self.directory / "home"
        home.mkdir(exist_ok=True)
        path = f"{FOREWARN.parent}:{find_az().parent}:{clean_environment()['PATH']}"
        script = "\n".join([*self.exported, command]).replace(_METADATA, self.metadata)
        script = script.replace("/tmp/forewarn-agent", str(self.directory / "agent"))
        done = subprocess.run(
            ["bash", "-ec", script],
            env=clean_environment(FOREWARN_URL=self.control, PATH=path, HOME=str(home), no_proxy="*"),
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SIM_SECONDS if "forewarn sim" in command else PATIENCE_SECONDS,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def serve(self, command: str) -> list[str]:
        """Ctrl-C in the first terminal, and there the next server as printed, on ports of its own."""
        self.end()
        _, verb, *options = shlex.split(command)
        self.process = subprocess.Popen(
            [FOREWARN, verb, *options, *(_FREE if verb == "serve" else ())],
            env=clean_environment(),
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = self._told(" ready: " if verb == "serve" else "Ctrl-C ends")
        if verb == "serve":
            urls = dict(_URLS.findall(lines[-1]))
            self.metadata, self.control = urls["metadata"], urls["control"]
            return []
        (exported,) = (line for line in lines if line.startswith("$ export FOREWARN_URL="))
        self.control = exported.partition("=")[2]
        self.metadata = json.loads(self.shell("forewarn ping --json"))["metadata"]
        return [line for line in lines if line != exported]

    def _told(self, last: str) -> list[str]:
        assert self.process is not None
        assert self.process.stdout is not None
        lines: list[str] = []
        while not lines or last not in lines[-1]:
            line = self.process.stdout.readline()
            assert line, f"the server ended after {lines}"
            lines.append(line.rstrip("\n"))
        return lines

    def end(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            _, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
            assert self.process.returncode == 0

    def _made(self, command: str) -> str:
        """What a make target runs, once it has set itself up."""
        plan = subprocess.run(
            ["make", "--dry-run", "--no-print-directory", *command.split()[1:]],
            cwd=ROOT,
            env=clean_environment(MAKEFLAGS="", MAKELEVEL="0"),  # which a make that runs the tests hands on
            check=True,
            capture_output=True,
            text=True,
        )
        return plan.stdout.splitlines()[-1].removeprefix(".venv/bin/").strip()

    def events(self) -> dict[str, dict[str, Any]]:
        return {event["id"]: event for event in json.loads(self.shell("forewarn event list --json"))}

    def newest_event(self) -> str:
        return next(reversed(self.events()))


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """While the usual port is taken, so that a trial takes another one."""
    with socket.socket() as taken:
        with suppress(OSError):
            taken.bind(("127.0.0.1", 16925))
            taken.listen()
        someone = Reader(tmp_path)
        try:
            yield someone
        finally:
            if someone.process is not None:
                someone.process.kill()
                someone.process.communicate(timeout=PATIENCE_SECONDS)


def _provoked(comment: str) -> str:
    """The type of event that a comment promises."""
    first = re.match(r"\w+", comment)
    return first[0] if first and first[0] in TYPES else ""


def _approved(reader: Reader, new: list[dict[str, Any]]) -> None:
    (event,) = reader.events().values()
    assert (event["phase"], event["approved_by"]) == ("started", "web-0")


def _seen_by_the_others(reader: Reader, new: list[dict[str, Any]]) -> None:
    for vm in ("web-1", "web-2"):
        shown = ask(reader.metadata, f"/vm/{vm}{EVENTS}").document["Events"]
        assert [event["EventId"] for event in shown] == [event["id"] for event in new]


def _born_started(reader: Reader, new: list[dict[str, Any]]) -> None:
    assert [event["phase"] for event in new] == ["started"]


def _ahead(seconds: int) -> Callable[[Reader, list[dict[str, Any]]], None]:
    def check(reader: Reader, new: list[dict[str, Any]]) -> None:
        instants = json.loads(reader.shell("forewarn clock show --json"))["now"], new[0]["not_before"]
        minutes, more = (int(at[14:16]) * 60 + int(at[17:19]) for at in instants)
        assert (more - minutes) % 3600 == seconds

    return check


def _three_errors(reader: Reader, new: list[dict[str, Any]]) -> None:
    assert [ask(reader.metadata, f"/vm/web-0{EVENTS}").status for _ in range(4)] == [500, 500, 500, 200]


def _drained_and_approved(reader: Reader, new: list[dict[str, Any]]) -> None:
    (reboot,) = (each for each in reader.events().values() if each["type"] == "Reboot" and each["vms"] == ["web-2"])
    assert reboot["approved_by"] == "web-2"
    assert "drain" in (reader.directory / "agent" / "journal").read_text()


# What comments promise besides the type of an event.
PROMISES: dict[str, Callable[[Reader, list[dict[str, Any]]], None]] = {
    "curl -s -H Metadata:true -d": _approved,
    "forewarn vm restart web-0": _seen_by_the_others,
    "forewarn host fail": _born_started,
    "forewarn vm create cheap": _ahead(30),
    "forewarn vm create worker": _ahead(600),
    "forewarn fault add error": _three_errors,
    "forewarn agent run --once": _drained_and_approved,
}


@pytest.mark.timeout(900)
def test_the_readme_typed_from_top_to_bottom_shows_what_it_says(reader: Reader) -> None:
    kept, provoked, known = set(PROMISES), set(), {}
    for example in examples(README):
        if example.command.startswith(". "):
            assert example.command == ". .venv/bin/activate"
            continue
        told = reader.type(example)
        assert not example.output or shows(told, example.output), f"{example.command}\n" + "\n".join(told)
        now = reader.events()
        new = [event for event_id, event in now.items() if event_id not in known]
        known = now
        wanted = _provoked(example.comment)
        if wanted:
            assert [event["type"] for event in new] == [wanted], f"{example.command}: {told}"
            provoked.add(wanted)
        for begin, holds in PROMISES.items():
            if example.command.startswith(begin):
                holds(reader, new)
                kept.discard(begin)

    assert provoked == TYPES
    assert not kept, "the README has lost what this test looks after"
    reader.end()


def test_the_first_screen_shows_an_event_and_an_approval() -> None:
    """Of a terminal with 60 lines."""
    screen = "\n".join(README.read_text().splitlines()[:60])

    assert '"EventStatus": "Scheduled"' in screen
    assert "StartRequests" in screen
    assert {"try"} <= set(_TARGET.findall(screen))


def test_the_environment_of_make_serve_can_run_every_command() -> None:
    """``make serve`` installs what is locked in requirements/server.txt, and nothing else."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = {re.split(r"[\[<>=]", each)[0] for name in ("server", "postgresql", "sim") for each in extras[name]}
    locked, tools = (
        dict(re.findall(r"^([\w.-]+)(?:\[\w+\])?==(\S+)", (ROOT / "requirements" / f"{name}.txt").read_text(), re.M))
        for name in ("server", "dev")
    )

    assert wanted <= set(locked)
    assert locked.items() <= tools.items()


@pytest.mark.parametrize(
    "page", [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name
)
def test_the_make_targets_that_a_page_names_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(_TARGET.findall(page.read_text())) <= targets

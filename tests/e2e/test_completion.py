"""Completion in real shells: commands, options, names and ids on Tab, from an install without the server's packages."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.program import FOREWARN, PATIENCE_SECONDS, ServerProgram, clean_environment
from tests.terminals import at_terminal

# What a shell's own completion gives for a line: for bash its function is called as readline does it.
_BASH = """
eval "$(forewarn completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _forewarn
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProgram, str]]:
    with ServerProgram.start(tmp_path_factory.mktemp("names"), "--clock", "virtual") as server:
        server.forewarn("vm", "create", "web", "--count", "2", "--availability-set", "front", "--read")
        server.forewarn("vm", "create", "db")
        server.forewarn("vm", "restart", "web-0")
        yield server, server.json("event", "list")[0]["id"]


def environment(url: str) -> dict[str, str]:
    return clean_environment(FOREWARN_URL=url, PATH=f"{FOREWARN.parent}{os.pathsep}{os.environ['PATH']}")


def bash(url: str, *words: str) -> list[str]:
    done = subprocess.run(
        ["bash", "--norc", "-c", _BASH, "bash", "forewarn", *words],
        env=environment(url),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_names_and_ids_complete_from_the_server(region: tuple[ServerProgram, str]) -> None:
    server, event_id = region
    begun = event_id[: next(at for at, sign in enumerate(event_id, 1) if sign.isalpha())]  # digits have no small form
    asked = {
        ("vm", "restart", "w"): ["web-0", "web-1"],
        ("vm", "restart", "web-0", "d"): ["db"],
        ("event", "show", begun): [event_id],
        ("event", "approve", begun.lower()): [event_id.lower()],
        ("host", "maintain", "--kind", "live"): ["live-migration"],
        ("host", "maintain", "host-0"): ["host-0"],
        ("scope", "show", "availability"): ["availability-set/front"],
        ("event", "list", "--vm", "d"): ["db"],
        ("vm", "create", "w"): [],
        ("vm", "rest"): ["restart"],
        ("vm", "restart", "--dry"): ["--dry-run"],
        ("version", "--"): ["--help", "--json"],
        ("fault", "add", "err"): ["error"],
    }
    assert {words: bash(server.control, *words) for words in asked} == asked


def test_without_a_server_commands_complete_and_names_are_silence() -> None:
    nowhere = "http://127.0.0.1:1"
    assert bash(nowhere, "cam") == ["campaign"]
    assert bash(nowhere, "vm", "restart", "w") == []


def test_fish_completes_the_same(region: tuple[ServerProgram, str]) -> None:
    server, event_id = region
    for line, found in (("forewarn vm restart w", ["web-0", "web-1"]), ("forewarn event show ", [event_id])):
        program = f"forewarn completion fish | source; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", program],
            env=environment(server.control),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.stdout.split() == found, done.stderr


def test_zsh_completes_a_name_at_a_terminal(region: tuple[ServerProgram, str]) -> None:
    server, _ = region
    with at_terminal(["zsh", "-f", "-i"], environment(server.control) | {"TERM": "dumb", "PS1": "> "}) as terminal:
        terminal.types('autoload -U compinit && compinit -D -u && eval "$(forewarn completion zsh)" && echo rea""dy\n')
        terminal.sees("ready")
        terminal.types("echo forewarn; forewarn vm show d\t")
        terminal.sees("vm show db")

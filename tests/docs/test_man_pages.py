"""The man pages: every command, option and example of the parser, in a form that man and mandoc take without a word."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import pytest

from forewarn.cli.main import build_parser
from forewarn.cli.parsing import Parser
from forewarn.cli.reference.commands import children
from forewarn.cli.reference.man_pages import main, pages

DATE = "2026-01-01"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("man") / "man1"
    assert main(found, DATE) == len(children(build_parser())) + 1
    return found


def test_neither_mandoc_nor_man_has_anything_to_say(directory: Path) -> None:
    files = sorted(map(str, directory.iterdir()))
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for file in files:
        command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", file]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
        assert done.stderr == "", file


def test_a_request_that_troff_does_not_know_would_be_seen(tmp_path: Path) -> None:
    file = tmp_path / "bad.1"
    file.write_text(f'.TH BAD 1 "{DATE}"\n.SH NAME\nbad \\- page\n.NONSENSE here\n')
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", file], capture_output=True, text=True, check=False)
    assert "NONSENSE" in done.stdout + done.stderr


def _shown(file: Path) -> str:
    """The page as a reader sees it, without the bold of terminals."""
    done = subprocess.run(["mandoc", "-Tutf8", "-Owidth=200", file], capture_output=True, text=True, check=True)
    bare = ""
    for letter in done.stdout:
        bare = bare[:-1] if letter == "\b" else bare + letter
    return " ".join(bare.split())


@pytest.mark.parametrize("name", [name for name, _, _ in children(build_parser())])
def test_every_option_and_every_example_of_a_command_is_on_its_page(name: str, directory: Path) -> None:
    shown = _shown(directory / f"forewarn-{name}.1")
    (parser,) = (parser for each, _, parser in children(build_parser()) if each == name)
    for one in (parser, *(child for _, _, child in children(parser))):
        assert one.prog in shown
        for action in one._actions:
            if action.help is argparse.SUPPRESS:
                continue
            assert all(option in shown for option in action.option_strings), action
        for line in _examples(one):
            assert line in shown, line


def _examples(parser: Parser) -> list[str]:
    _, _, lines = (parser.epilog or "").partition(":\n")
    return [" ".join(line.split()) for line in lines.splitlines() if line.strip()]


def test_what_troff_would_take_for_its_own_is_text() -> None:
    for _, text in pages(DATE):
        for line in text.splitlines():
            assert not line.startswith("'"), line
            assert line.isascii(), line

"""The JSON Schemas of region.toml and agent.toml: they take what the readers take, and refuse what no editor should."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema_rs
import pytest

from forewarn.cli.reference.region_file import EXAMPLE
from forewarn.cli.reference.schemas import Schema, agent_schema, region_schema
from forewarn.guest.agent.config.defaults import COMMENTED_TOML
from forewarn.guest.agent.config.reading import check_text
from forewarn.settings.region_file import check_region_file
from forewarn.settings.table import SETTINGS

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Run

ROOT = Path(__file__).parents[3]
REGION = jsonschema_rs.validator_for(region_schema())
AGENT = jsonschema_rs.validator_for(agent_schema())


def switched_on(text: str) -> str:
    """With every line that is only shown."""
    return "\n".join(line[1:] if re.match(r"#[^ ]", line) else line for line in text.splitlines())


def test_the_examples_are_right_as_they_are_and_with_everything_switched_on() -> None:
    for text in (EXAMPLE, switched_on(EXAMPLE)):
        assert list(REGION.iter_errors(tomllib.loads(text))) == []
    for text in (COMMENTED_TOML, switched_on(COMMENTED_TOML)):
        assert list(AGENT.iter_errors(tomllib.loads(text))) == []


def blocks() -> list[tuple[str, str]]:
    """Every TOML block of the pages that is a whole file or a part of one, and the files of the tests."""
    found = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        found += [
            (page.name, text) for text in re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        ]
    found += [(path.name, path.read_text()) for path in sorted(ROOT.glob("tests/platforms/**/agent.toml"))]
    return found


@pytest.mark.parametrize(("where", "text"), blocks(), ids=[f"{where}-{n}" for n, (where, _) in enumerate(blocks())])
def test_every_file_of_the_pages_is_right_by_one_of_the_schemas(where: str, text: str) -> None:
    tables = tomllib.loads(text)
    assert REGION.is_valid(tables) or AGENT.is_valid(tables), where


def test_a_default_of_every_setting_may_be_written_into_the_file() -> None:
    written = {name: setting.default for name, setting in SETTINGS.items() if setting.default}
    assert list(REGION.iter_errors({"settings": written})) == []
    for name, setting in SETTINGS.items():
        for word in setting.kind.choices:
            assert REGION.is_valid({"settings": {name: word}}), (name, word)


@pytest.mark.parametrize(
    "text",
    [
        "[setings]",
        '[settings]\nclok = "real"',
        '[settings]\nprofile = "azur"',
        "[settings]\nclock = [1]",
        '[settings]\nportal = "maybe"',
        "[[vm]]\ncount = 3",
        '[[vm]]\nname = "web"\ncount = "3"',
        '[[vm]]\nname = "web"\ncount = 0',
        '[[vm]]\nname = "web"\nspot = "yes"',
        '[[vm]]\nname = "web"\neviction_policy = "Destroy"\nspot = true',
        '[[vm]]\nname = "web"\ntags = { team = 3 }',
        '[[vm]]\nname = "web"\nterminate_notice = 10',
        '[[vm]]\nname = "web"\nsise = "Standard_D2"',
        '[vm]\nname = "web"',
        '[[binding]]\nvm = "web-0"\nnetsn = "web-0"',
        '[[notification]]\nkind = "webhook"',
        '[[notification]]\nkind = "mail"\nurl = "https://a.example"',
        '[[notification]]\nkind = "webhook"\nurl = "https://a.example"\non = ["deadline-mised"]',
        '[[engine]]\nname = "e"\nkind = "vmware"',
        '[[host]]\nname = "rack-1"',
        "[machines]\ngrace = 60",
        '[machines]\nparallel = "4"',
    ],
)
def test_what_is_wrong_with_a_region_file_by_itself_is_refused_by_reader_and_schema(text: str, tmp_path: Path) -> None:
    file = tmp_path / "region.toml"
    file.write_text(text)
    assert check_region_file(file)[1], "the reader takes it"
    assert not REGION.is_valid(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "[agnet]",
        "[agent]\npoll = 1",
        '[agent]\nlog_format = "xml"',
        '[agent]\nendpiont = "http://127.0.0.1"',
        '[[rule]]\nname = "a"',
        '[[rule]]\nverdict = "approve"',
        '[[rule]]\nverdict = "notify"\ntypes = ["Rebot"]',
        '[[rule]]\nverdict = "notify"\ntypes = []',
        '[[rule]]\nverdict = "notify"\ntypes = "Reboot"',
        '[[rule]]\nverdict = "notify"\nany_time = "yes"',
        '[[step]]\nname = "a"',
        '[[step]]\nkind = "command"\nrun = "x"',
        '[[step]]\nname = "a"\nkind = "comand"\nrun = "x"',
        '[[step]]\nname = "a"\nkind = "command"',
        '[[step]]\nname = "a"\nkind = "command"\nrun = "x"\nsocket = "/x"',
        '[[step]]\nname = "a"\nkind = "command"\nrun = [1]',
        '[[step]]\nname = "a"\nkind = "haproxy"\nsocket = "/s"\nserver = "b"',
        '[[step]]\nname = "a"\nkind = "command"\nrun = "x"\nretries = "no"',
        '[[step]]\nname = "a"\nkind = "command"\nrun = "x"\nsystem = "bsd"',
        '[[window]]\nfrom = "22:00"',
        '[[window]]\nfrom = "10pm"\nto = "04:00"',
        '[[window]]\nfrom = "22:00"\nto = "04:00"\ndays = ["saturday"]',
        '[barrier]\nsharing = "sometimes"',
        '[[notification]]\nkind = "mail"\nurl = "x"',
        '[[notification]]\nkind = "webhook"\nurl = "https://a.example"\non = ["aproved"]',
    ],
)
def test_what_is_wrong_with_an_agents_file_by_itself_is_refused_by_reader_and_schema(text: str) -> None:
    assert check_text(text).config is None, "the reader takes it"
    assert not AGENT.is_valid(tomllib.loads(text))


def test_every_key_of_both_files_is_explained() -> None:
    def described(schema: Schema) -> None:
        for key, each in schema.get("properties", {}).items():
            inner = each.get("items", each)
            if "properties" not in inner and "oneOf" not in inner:
                assert each.get("description") or "const" in each, key
            described(inner)
            for one in inner.get("oneOf", ()):
                described(one)

    described(region_schema())
    described(agent_schema())


def test_the_commands_print_them(run: Run) -> None:
    assert json.loads(run("settings", "--schema").out) == region_schema()
    assert json.loads(run("agent", "check", "--schema").out) == agent_schema()


def test_a_region_file_is_checked_by_a_word_as_by_an_option(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "region.toml"
    file.write_text('[settings]\nclok = "real"\n')
    by_word, by_option = run("settings", "check", str(file)), run("settings", "--check", str(file))
    assert (by_word.status, by_option.status) == (2, 2)
    assert "did you mean" in by_word.out
    assert by_word.out == by_option.out
    assert "which file?" in run("settings", "check").err
    assert "did you mean 'check'" in run("settings", "chekc", str(file)).err

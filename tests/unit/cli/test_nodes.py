"""``forewarn node`` and ``forewarn store``, and what a server that shares a store says before it starts."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from forewarn import __version__
from tests.postgres import Server

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run

STORE = "postgresql://me:hush@127.0.0.1:1/forewarn"


def test_a_region_of_one_node_lists_it(run: Run, region: Region) -> None:
    region.plane.membership.introduce("alpha", ("metadata", "control"), ("http://127.0.0.1:1",))

    table, found = run("node", "list"), run("node", "list", "--json").json

    words = table.lines[1].split()
    assert words[:8] == ["alpha", "*", __version__, "leads", "0", "0s", "ago", "serving"]
    assert len(table.lines) == 2
    assert [node["name"] for node in found["nodes"]] == ["alpha"]


def test_readers_beside_the_node_are_told_of_below_the_list(run: Run, region: Region) -> None:
    region.app.state.desk = replace(region.app.state.desk, readers=lambda: (4, 0))

    table, found = run("node", "list"), run("node", "list", "--json").json

    assert table.lines[2:] == ["4 readers answer VMs beside this node."]
    assert found["beside"]["readers"] == 4


def test_a_store_must_be_named(run: Run) -> None:
    result = run("store", "prepare")

    assert (result.status, result.out) == (2, "")
    assert result.err == "forewarn: which database? Set FOREWARN_STORE, or give --store.\n"


def test_a_store_that_is_not_right_is_not_repeated(run: Run) -> None:
    result = run("store", "prepare", "--store", "mysql://me:hush@db.example/f")

    assert result.status == 2
    assert "a store is a PostgreSQL address" in result.err
    assert "hush" not in result.err


def test_a_store_that_does_not_answer_is_one_sentence_without_its_password(run: Run) -> None:
    result = run("store", "prepare", "--store", STORE)

    assert (result.status, result.out) == (1, "")
    assert len(result.err.splitlines()) == 1
    assert "127.0.0.1" in result.err
    assert "hush" not in result.err


@pytest.mark.slow
def test_preparing_a_store_twice_changes_nothing(run: Run, postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREWARN_STORE", postgres.region())

    first, again = run("store", "prepare"), run("store", "prepare", "--json")

    assert first.status == 0, first.err
    assert first.out.startswith("The schema region_")
    assert again.json["store"] == f"postgresql://postgres@127.0.0.1:{postgres.port}/postgres"


@pytest.mark.parametrize("words", [["serve", "--store", STORE], ["store", "prepare", "--store", STORE]])
def test_without_the_postgresql_extra_a_sentence_says_what_to_install(words: list[str]) -> None:
    code = f"""import sys
sys.modules["psycopg"] = None
from forewarn.cli.main import main
sys.exit(main({words!r}))"""

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.endswith(
        "a package of the postgresql extra; install it in a clone of forewarn: pip install '.[postgresql]'\n"
    )
    assert len(done.stderr.splitlines()) == 1


def test_the_settings_command_never_shows_the_password(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREWARN_STORE", STORE)

    for result in (
        run("settings"),
        run("settings", "--json"),
        run("serve", "--help"),
        run("store", "prepare", "--help"),
    ):
        assert result.status == 0
        assert "hush" not in result.out + result.err

"""What docs/architecture.md and CONTRIBUTING.md name exists: rooms, modules, functions, files; no room is left out."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.docs.generate import DOCS
from tests.docs.named_tests import rows

ROOT = DOCS.parent
SOURCE = ROOT / "src" / "forewarn"
ARCHITECTURE = (DOCS / "architecture.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
WALKS = ARCHITECTURE.partition("### Walk 1")[2].partition("\n## ")[0]
_QUOTED = re.compile(r"`([^`\n]+)`")
_LAYER = re.compile(r"`[^`]+`(?= →)|(?<=→ )`[^`]+`")
_DOTTED = re.compile(r"[A-Za-z_]+(\.[A-Za-z_]+)+")
_PATH = re.compile(r"[\w./<>-]+\.(py|md|toml)|[\w/<>-]+/")
_OTHERS = (
    "immutables.Map",
    "transport.write",
    "system.sockets",
    "system.programs.start",
)  # an object's, not a module's


def _rooms() -> dict[str, Path]:
    found = [path for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    return {path.stem: path for path in found if not path.stem.startswith("__")}


def _imports(path: Path) -> set[str]:
    """The rooms that a module, or all modules of a package, import."""
    files = [path] if path.is_file() else path.rglob("*.py")
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    named = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    named += [
        f"forewarn.{each.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if node.module == "forewarn"
    ]
    return {name.split(".")[1] for name in named if name.startswith("forewarn.")} & set(_rooms()) - {path.stem}


@cache
def _names() -> frozenset[str]:
    """Every module, class and function, as the dotted name below ``forewarn``."""
    return frozenset(name for file in SOURCE.rglob("*.py") for name in _names_in(file))


def _names_in(file: Path) -> Iterator[str]:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    module = "forewarn." + ".".join(part for part in parts if part != "__init__")
    yield module
    yield from _defined(ast.parse(file.read_text()), module)


def _defined(node: ast.AST, prefix: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{prefix}.{child.name}"
            yield from _defined(child, f"{prefix}.{child.name}")
        elif isinstance(child, ast.AnnAssign | ast.Assign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            yield from (f"{prefix}.{each.id}" for each in targets if isinstance(each, ast.Name))


def _is_there(name: str) -> bool:
    return any(known == name or known.endswith(f".{name}") for known in _names())


def test_the_table_of_rooms_has_each_of_them_and_what_it_imports() -> None:
    told = {
        _QUOTED.findall(cells[0])[0].strip("/"): {each.split(".")[0] for each in _QUOTED.findall(cells[2])}
        for cells in rows(ARCHITECTURE, "## The rooms")
        if len(cells) == 3
    }

    assert told == {name: _imports(path) for name, path in _rooms().items()}


# Folders of siblings, whose names say all: the page has a row for the folder.
_SIBLINGS = ("cli/commands", "guest/agent/steps", "web/operator/routes", "web/portal/deeds", "web/portal/pages")


def test_the_page_names_the_modules_of_every_room() -> None:
    prose = re.sub(r"^```.*?^```", "", ARCHITECTURE, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"\w+", " ".join(_QUOTED.findall(prose))))
    files = [path for path in SOURCE.rglob("*.py") if not path.stem.startswith("__")]
    unnamed = [
        name
        for path in files
        if path.stem not in named and not (name := str(path.relative_to(SOURCE))).startswith(_SIBLINGS)
    ]

    assert unnamed == [], "give each a place in a table of docs/architecture.md"


def _contracts() -> Iterator[tuple[dict[str, Any], str]]:
    """Each contract, and what the page's table says of it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    told = ARCHITECTURE.partition("| contract | says |")[2].partition("\n\n")[0].strip().splitlines()[1:]
    rows = [row.strip("| ").partition(" | ") for row in told]
    assert len(rows) == len(contracts)
    for title, _, says in rows:
        (contract,) = [each for each in contracts if title in each["name"]]
        yield contract, says


def test_the_table_of_contracts_has_their_layers() -> None:
    """From the top down. The first contract, of the rooms, has its layers in a block below the rooms."""
    compared = 0
    for contract, says in _contracts():
        if contract["type"] == "layers" and "containers" in contract:
            told = [set(layer.strip("`").split(", ")) for layer in _LAYER.findall(says)]
            assert told == [set(re.split(r" [|:] ", layer)) for layer in contract["layers"]], contract["name"]
            compared += 1
    assert compared > 5


def test_the_block_below_the_rooms_has_the_order_of_the_rooms() -> None:
    (contract,) = [contract for contract, _ in _contracts() if contract.get("layers", [""])[0] == "forewarn.cli"]
    block = ARCHITECTURE.partition("rooms on one line do not see each other:\n\n```\n")[2].partition("\n```")[0]

    assert block.splitlines() == [layer.replace("forewarn.", "") for layer in contract["layers"]]


def test_rows_of_contracts_that_keep_siblings_apart_name_them_all() -> None:
    apart = [(contract, says) for contract, says in _contracts() if contract["type"] == "independence"]

    assert apart
    for contract, says in apart:
        assert sorted(_QUOTED.findall(says)) == [name.rpartition(".")[2] for name in contract["modules"]]


def test_every_hop_and_every_dotted_name_is_there() -> None:
    named = [name for name in _QUOTED.findall(ARCHITECTURE) if _DOTTED.fullmatch(name) and not _PATH.fullmatch(name)]

    assert named
    assert [name for name in named if name not in _OTHERS and not _is_there(name)] == []


@pytest.mark.parametrize(
    ("room", "title"), [("core", "The core"), ("plane", "The plane"), ("stores", "The stores"), ("web", "The faces")]
)
def test_the_page_says_of_each_module_of_a_room_what_it_holds(room: str, title: str) -> None:
    """Of the faces, the modules beside them, which several use."""
    section = ARCHITECTURE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    named = {part for name in _QUOTED.findall(section) for part in re.split(r"[/.]", name)}
    files = (SOURCE / room).glob("*.py") if room == "web" else (SOURCE / room).rglob("*.py")

    assert [file.stem for file in files if file.stem not in {*named, "__init__"}] == []


def test_the_hops_that_walks_name_without_their_module_are_there() -> None:
    bare = [name for name in _QUOTED.findall(WALKS) if re.fullmatch(r"_[a-z_]+", name)]

    assert bare
    assert [name for name in bare if not _is_there(name)] == []


def test_the_first_walk_begins_where_linux_accepts() -> None:
    """``short_way`` is on by default, so all connections over TCP begin in the lane."""
    first = WALKS.partition("### Walk 2")[0]

    assert {"http.lane.LaneEntrance._accept", "http.lane.Lane.try_answer"} <= set(_QUOTED.findall(first))


def test_the_walks_name_all_that_stands_before_a_control_face() -> None:
    opening = ast.parse((SOURCE / "server" / "opening.py").read_text())
    (behind,) = [node for node in ast.walk(opening) if getattr(node, "name", "") == "_behind"]
    called = [
        node.func.id for node in ast.walk(behind) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    second, fourth = WALKS.partition("### Walk 2")[2], WALKS.partition("### Walk 4")[2]

    assert len(called) >= 3
    for walk in (second.partition("### Walk 3")[0], fourth):
        assert [name for name in called if f".{name}`" not in walk] == []


def test_every_file_that_contributing_names_is_there() -> None:
    table = CONTRIBUTING.partition("| I want to…")[2]
    named = {name for name in _QUOTED.findall(table) if _PATH.fullmatch(name) and "<" not in name}
    missing = {name for name in named if not _found(name)}

    assert named
    assert not missing


def _found(name: str) -> bool:
    if name.startswith(("tests/", "docs/", "bench/", "examples/", "release/")) or "/" not in name:
        return (ROOT / name).exists() or any(SOURCE.rglob(name))
    return (SOURCE / name).exists() or (SOURCE / "web" / "resource_manager" / name).exists()

"""The glossary and the code say the same: a class name stands for one thing, and a word that is explained is used."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from tests.docs.tidy import ROOT, Module, modules

_PAGE = (ROOT / "docs" / "glossary.md").read_text()
_WORDS, _, _NAMES = _PAGE.partition("## Class names")
_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_STANDS_IN = re.compile(r"sim/(fabric/.*|programs)\.py")


def _rows(text: str) -> list[list[str]]:
    """The cells of a table, without its head and the line below that."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return lines[2:]


def _domain_words() -> list[str]:
    return [word.removeprefix("to ") for row in _rows(_WORDS) for word in row[0].split(", ")]


def _parts(name: str) -> tuple[str, ...]:
    """``ScaleSet`` and ``scale_set`` are the same two words."""
    return tuple(part.lower() for part in _PART.findall(name))


def _names(module: Module) -> Iterator[str]:
    yield from module.path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(module.tree):
        for field in ("name", "attr", "id", "arg"):
            if isinstance(found := getattr(node, field, None), str):
                yield found


@cache
def _spoken() -> frozenset[tuple[str, ...]]:
    """Every run of words in a name of the code: of modules, classes, functions, attributes, arguments, variables."""
    names = {_parts(name) for module in modules() for name in _names(module)}
    return frozenset(
        name[start:end] for name in names for start in range(len(name)) for end in range(start + 1, len(name) + 1)
    )


@cache
def _homes() -> dict[str, list[str]]:
    """Public class names and the modules that define them."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        for name in module.classes():
            if not name.startswith("_") and not module.name.startswith("cli/api/"):
                found[name].append(module.dotted.removeprefix("forewarn."))
    return found


def _stands_in(home: str) -> bool:
    return _STANDS_IN.fullmatch(home.replace(".", "/") + ".py") is not None


def test_a_class_name_stands_for_one_thing_or_the_glossary_says_why_two_stand() -> None:
    excused = {row[0].strip("`"): sorted(re.findall(r"`([\w.]+)`", row[1])) for row in _rows(_NAMES)}
    shared = {}
    for name, homes in _homes().items():
        counted = sorted(home for home in homes if len(homes) == 1 or not _stands_in(home))
        if len(counted) > 1:
            shared[name] = counted
    assert shared == excused, "rename the newer class, in words of docs/glossary.md; or say there why two stand"


@pytest.mark.parametrize("word", _domain_words())
def test_a_word_of_the_glossary_is_a_word_of_the_code(word: str) -> None:
    assert _parts(word.replace(" ", "_")) in _spoken(), "the code has another word for it: settle which one it is"


def test_the_glossary_explains_a_word_once() -> None:
    words = _domain_words()
    assert len(words) > 60
    assert sorted(set(words)) == sorted(words)


def test_the_glossarys_words_stand_in_order() -> None:
    first = [row[0].removeprefix("to ") for row in _rows(_WORDS)]
    assert first == sorted(first)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?!forewarn)[a-z_]+(?:\.[a-z_0-9]+)*\.[A-Z]\w+)`", _PAGE))))
def test_a_class_that_the_glossary_names_is_where_it_says(name: str) -> None:
    home, _, cls = name.rpartition(".")
    assert home in _homes().get(cls, [])

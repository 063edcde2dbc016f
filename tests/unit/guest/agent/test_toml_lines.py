"""Where the things of a TOML file stand."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.agent.config.toml_lines import LineNumbers, Place

FILE = '''\
# a comment with [brackets] = "and more"
top = 1

[agent]  # [[not this]]
"poll" = "1s"
margin = """
[rule]
x = 1 \\""" still
"""
site.name = 'a # b'

[[rule]]
types = [
  "Reboot",  # one
  # between
  ["deep", 'it''s' ],
]
inline = { a = 1, b.c = [2,
  3] }

[[rule]]
name = "second"
  [rule.more]
  here = 1979-05-27T07:32:00Z
[[rule.sub]]
[[rule.sub]]
x = +1_000
'''.replace("'it''s'", "'its'")


def test_every_thing_of_a_file_has_its_line() -> None:
    lines = LineNumbers(FILE)

    assert lines.of("top") == 2
    assert lines.of("agent") == 4
    assert lines.of("agent", "poll") == 5
    assert lines.of("agent", "margin") == 6
    assert lines.of("agent", "site", "name") == 10
    assert lines.of("rule", 0) == 12
    assert lines.of("rule", 0, "types", 0) == 14
    assert lines.of("rule", 0, "types", 1, 1) == 16
    assert lines.of("rule", 0, "inline", "b", "c", 1) == 19
    assert lines.of("rule", 1, "name") == 22
    assert lines.of("rule", 1, "more", "here") == 24
    assert lines.of("rule", 1, "sub", 1, "x") == 27


def test_what_does_not_stand_there_has_the_line_of_what_is_around_it() -> None:
    lines = LineNumbers("\n[agent]\npoll = 1\n")

    assert lines.of("agent", "missing") == 2
    assert lines.of("agent", "poll", 3, "deep") == 3
    assert lines.of("nowhere", 0) == 1
    assert LineNumbers("").of("rule", 0, "types") == 1


def test_windows_line_ends_count_once() -> None:
    assert LineNumbers("a = 1\r\n[b]\r\nc = 2\r\n").of("b", "c") == 3


KEYS = st.sampled_from(["a", "b-1", "c_2", '"d e"', "'f.g'"])
SCALARS = st.sampled_from(
    ['"x"', "'[y'", "1", "-2.5", "true", '"#"', '"""\n"quoted" ]\n"""', "'''\n}\n'''", '"\\""', '""', "''", '""""""']
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[ # note ]\n" + ",\n".join(items) + "\n]"),
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]"),
        st.dictionaries(KEYS, inner.filter(lambda text: "\n" not in text), max_size=2).map(
            lambda pairs: "{" + ", ".join(f"{key} = {value}" for key, value in pairs.items()) + "}"
        ),
    ),
    max_leaves=5,
)
LISTED = "[[w]]"


def only_once(table: tuple[str, dict[str, str]]) -> object:
    """A table may stand once, a list of tables has as many as it likes."""
    return id(table) if table[0] == LISTED else table[0]


TABLES = st.lists(
    st.tuples(st.sampled_from(["[t]", "[u.v]", LISTED, LISTED]), st.dictionaries(KEYS, VALUES, max_size=4)),
    max_size=5,
    unique_by=only_once,
)


def places(value: object, place: Place = ()) -> Iterator[Place]:
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*place, key))


@given(TABLES)
def test_whatever_a_file_says_is_found_on_the_line_that_begins_it(tables: list[tuple[str, dict[str, str]]]) -> None:
    text, expected = "", {}
    for number, (header, pairs) in enumerate(tables):
        text += f"# {number}\n{header}\n"
        for key, value in pairs.items():
            expected[number, key] = text.count("\n") + 1
            text += f"{key} = {value} # end\n"
    found = LineNumbers(text).found
    parsed = tomllib.loads(text)

    assert {place for place in places(parsed) if place} - {("u",)} <= set(found)
    assert sorted(expected.values()) == sorted(set(expected.values()))
    assert set(expected.values()) <= set(found.values())


@given(st.text(alphabet="[]{}=\"'#\n,. ab1\\", max_size=40))
def test_the_walk_ends_whatever_the_text(text: str) -> None:
    LineNumbers(text)

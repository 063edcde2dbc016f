"""Templates as people write them become JSON, however they are decorated."""

from __future__ import annotations

import json

import pytest

from forewarn.web.resource_manager.templates.jsonc import to_json

RULER = "/" * 80
BANNER = "/* x */ " * 80


@pytest.mark.parametrize("decoration", [RULER + "\n", BANNER, "// no end\n", "/* } ] */"])
def test_comments_and_trailing_commas_are_passed_over(decoration: str) -> None:
    text = f'{{"a": 1, {decoration} b: [1, {decoration}], {decoration} }}'
    assert json.loads(to_json(text)) == {"a": 1, "b": [1]}


def test_comment_marks_inside_a_string_stay() -> None:
    assert json.loads(to_json('{"a": "// not, a comment: /* */,}"}')) == {"a": "// not, a comment: /* */,}"}


def test_a_long_word_is_read_once() -> None:
    assert to_json("x" * 20_000) == "x" * 20_000

from __future__ import annotations

import pytest

from forewarn.wire.errors import BAD_FORMAT, LEAF_NEEDS_TEXT, NOT_FOUND, ErrorReply
from forewarn.wire.tree import Node, as_json, as_text, insert, read_tree, sort_keys, walk

TREE: Node = {"compute": {"name": "größe-0", "zone": ""}, "network": {"interface": [{"mac": "00"}, {"mac": "01"}]}}
JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("", TREE),
        ("compute", {"name": "größe-0", "zone": ""}),
        ("COMPUTE/Name", "größe-0"),
        ("compute/", {"name": "größe-0", "zone": ""}),
        ("compute/zone", ""),
        ("network/interface/1/mac", "01"),
        ("network//interface/0", {"mac": "00"}),
        ("unknown", None),
        ("unknown/name", None),
        ("compute/name/0", None),
        ("network/interface/2", None),
        ("network/interface/-1", None),
        ("network/interface/01", None),
        ("network/interface/\u0660", None),
        ("network/interface/" + "9" * 5000, None),
        ("network/0", None),
    ],
)
def test_a_path_walks_to_a_node_or_nowhere(path: str, found: Node | None) -> None:
    assert walk(TREE, path.split("/")) == found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("", "compute/\nnetwork/"),
        ("compute", "name\nzone"),
        ("compute/name", "größe-0"),
        ("compute/zone", ""),
        ("network", "interface/"),
        ("network/interface", "0/\n1/"),
    ],
)
def test_text_is_a_bare_value_or_a_list_of_children(path: str, text: str) -> None:
    node = walk(TREE, path.split("/"))
    assert node is not None

    assert as_text(node) == text


@pytest.mark.parametrize(
    ("path", "format_", "answer"),
    [
        ("network/interface/0", None, ErrorReply(200, JSON, b'{"mac":"00"}')),
        ("network/interface", "json", ErrorReply(200, JSON, b'[{"mac":"00"},{"mac":"01"}]')),
        ("network/interface", "TEXT", ErrorReply(200, TEXT, b"0/\n1/")),
        ("compute/name", "text", ErrorReply(200, TEXT, "größe-0".encode())),
        ("compute/name", None, LEAF_NEEDS_TEXT),
        ("compute/zone", "json", LEAF_NEEDS_TEXT),
        ("compute/colour", "text", NOT_FOUND),
        ("compute/colour", None, NOT_FOUND),
        ("compute", "xml", BAD_FORMAT),
    ],
)
def test_a_question_has_one_answer(path: str, format_: str | None, answer: ErrorReply) -> None:
    assert read_tree(TREE, path.split("/"), format_) == answer


def test_branches_grow_where_a_value_is_put() -> None:
    tree: dict[str, Node] = {}
    insert(tree, ["b", "y", "z"], "1")
    insert(tree, ["b", "x"], "2")
    insert(tree, ["a"], [])

    assert tree == {"b": {"y": {"z": "1"}, "x": "2"}, "a": []}
    assert as_json(sort_keys(tree)) == b'{"a":[],"b":{"x":"2","y":{"z":"1"}}}'

"""Trees of strings that a URL path walks into, and their two forms: compact JSON and plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from forewarn.wire.errors import BAD_FORMAT, JSON, LEAF_NEEDS_TEXT, NOT_FOUND, TEXT, ErrorReply
from forewarn.wire.json_bytes import write_json

Node: TypeAlias = "str | list[Node] | dict[str, Node]"


def insert(tree: dict[str, Node], path: Sequence[str], value: Node) -> None:
    """Put ``value`` at ``path``, making the branches that are not there yet."""
    for step in path[:-1]:
        branch = tree.setdefault(step, {})
        assert isinstance(branch, dict), "a value has no children"
        tree = branch
    tree[path[-1]] = value


def sort_keys(node: Node) -> Node:
    """The same tree with the keys of every object in alphabetical order; lists keep theirs."""
    if isinstance(node, dict):
        return {key: sort_keys(node[key]) for key in sorted(node)}
    return [sort_keys(item) for item in node] if isinstance(node, list) else node


def walk(tree: Node, segments: Iterable[str]) -> Node | None:
    """The node at the end of a path, or None. Keys match without case, lists by index, empty segments are skipped."""
    node: Node | None = tree
    for segment in segments:
        if segment and node is not None:
            node = _child(node, segment)
    return node


def as_text(node: Node) -> str:
    """The bare value of a leaf; of anything else its children, one a line, those with children marked by a slash."""
    if isinstance(node, str):
        return node
    return "\n".join(name if isinstance(child, str) else f"{name}/" for name, child in _children(node).items())


def as_json(node: Node) -> bytes:
    """Compact JSON."""
    return write_json(node)


def read_tree(tree: Node, segments: Iterable[str], format_: str | None) -> ErrorReply:
    """The answer to a GET: ``format_`` is the query parameter, json where it is not given."""
    wanted = (format_ or "json").lower()
    if wanted not in ("json", "text"):
        return BAD_FORMAT
    node = walk(tree, segments)
    if node is None:
        return NOT_FOUND
    if wanted == "text":
        return ErrorReply(200, TEXT, as_text(node).encode("utf-8", "replace"))
    return LEAF_NEEDS_TEXT if isinstance(node, str) else ErrorReply(200, JSON, as_json(node))


def _children(node: Node) -> dict[str, Node]:
    """A list's children are named by their indexes; a leaf has none."""
    if isinstance(node, list):
        return {str(index): item for index, item in enumerate(node)}
    return node if isinstance(node, dict) else {}


def _child(node: Node, segment: str) -> Node | None:
    children, folded = _children(node), segment.lower()
    found = children.get(segment)
    return found if found is not None else next((node for key, node in children.items() if key.lower() == folded), None)

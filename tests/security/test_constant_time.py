"""Secrets are compared in constant time: no comparison in the source is of a secret by ``==``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import forewarn

SOURCE = Path(forewarn.__file__).parent
SECRETS = ("token", "secret", "seal", "signature", "password", "bearer", "digest")
# Not secrets, though they are called so: checksums of what is not kept from anybody, and the names of tokens.
HARMLESS = {
    ("core/deciding/tokens.py", "fold(token.name) == fold(command.name)"),
    ("guest/agent/tools/install.py", "digest_of(text) == digest"),
    ("stores/snapshots/frames.py", "_link(chain, packed) != digest"),
}


def _named(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            yield child.id
        elif isinstance(child, ast.Attribute):
            yield child.attr


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def comparisons() -> Iterator[tuple[str, str]]:
    """Every comparison by equality or containment of something that is named like a secret."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            if not all(isinstance(way, ast.Eq | ast.NotEq) for way in node.ops) or any(map(_is_constant, sides)):
                continue
            if any(part in name.lower() for side in sides for name in _named(side) for part in SECRETS):
                yield str(path.relative_to(SOURCE)), ast.unparse(node)


def test_no_secret_is_compared_letter_by_letter() -> None:
    assert set(comparisons()) - HARMLESS == set()


def test_every_excused_comparison_still_exists() -> None:
    assert set(comparisons()) >= HARMLESS


def test_secrets_are_compared_where_they_come_in() -> None:
    """The four doors: the operator's tokens, the client secret, the signature of a token, the seal of the barrier."""
    found = {str(path.relative_to(SOURCE)): path.read_text().count("compare_digest(") for path in SOURCE.rglob("*.py")}
    assert {name: count for name, count in found.items() if count} == {
        "guest/agent/barrier/words.py": 1,
        "web/access.py": 2,
        "web/portal/session.py": 1,
        "web/resource_manager/login/access.py": 2,
    }

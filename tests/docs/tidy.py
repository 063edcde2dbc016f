"""The tree as the tidiness tests measure it: modules, their lines, functions, classes and imports."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "forewarn"
_MADE_OF_NUMBERS = {"timedelta", "datetime", "Backoff", "frozenset", "bytes"}


@dataclass(frozen=True)
class Module:
    """One file of the product."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """Below ``forewarn``, as a path: ``plane/plane.py``."""
        return str(self.path.relative_to(SOURCE))

    @property
    def dotted(self) -> str:
        parts = self.path.relative_to(SOURCE.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    def functions(self) -> Iterator[tuple[str, int]]:
        """Each function with its number of lines."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield node.name, node.end_lineno - node.lineno + 1

    def classes(self) -> Iterator[str]:
        yield from (node.name for node in self.tree.body if isinstance(node, ast.ClassDef))

    def texts(self) -> Iterator[str]:
        """All texts of the code but docstrings; of an f-string, each part between its values."""
        said = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                yield node.value

    def bare_numbers(self) -> Iterator[tuple[int, str]]:
        """Constants and defaults made of numbers alone that no comment or text stands beside, with their lines."""
        lines = self.text.splitlines()
        classes = (node.body for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))
        for body in (self.tree.body, *classes):
            for node, after in zip_longest(body, body[1:]):
                if not isinstance(node, ast.Assign | ast.AnnAssign) or not _is_number(node.value) or _is_text(after):
                    continue
                assert node.end_lineno is not None
                beside = (lines[node.lineno - 2].lstrip(), *lines[node.lineno - 1 : node.end_lineno])
                if not (beside[0].startswith("#") or any("#" in line for line in beside[1:])):
                    yield node.lineno, beside[1].strip()

    def imports(self) -> Iterator[str]:
        """Dotted names, also of what may be a module or a name within one."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)


def _is_number(value: ast.expr | None) -> bool:
    """Whether it is a number other than 0, 1 and -1, or a span, a pause, a tuple or a sum of such."""
    numbers = [leaf.value for leaf in ast.walk(value) if isinstance(leaf, ast.Constant)] if value else []
    return _is_plain(value) and any(number not in (0, 1, -1) for number in numbers)


def _is_plain(value: ast.expr | None) -> bool:
    match value:
        case ast.Constant(number):
            return isinstance(number, int | float) and not isinstance(number, bool)
        case ast.UnaryOp(operand=operand):
            return _is_plain(operand)
        case ast.BinOp(left=left, right=right):
            return _is_plain(left) or _is_plain(right)
        case ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.List(elts=parts):
            return bool(parts) and all(map(_is_plain, parts))
        case ast.Call(func=ast.Name(name), args=args, keywords=named):
            return name in _MADE_OF_NUMBERS and any(map(_is_plain, [*args, *(each.value for each in named)]))
    return False


def _is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@cache
def modules() -> tuple[Module, ...]:
    found = (path for path in sorted(SOURCE.rglob("*.py")) if "__pycache__" not in path.parts)
    return tuple(Module(path, text := path.read_text(), ast.parse(text)) for path in found)


@cache
def importers() -> dict[str, set[str]]:
    """Which modules import each one, by dotted names."""
    known = {module.dotted for module in modules()}
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        for name in known.intersection(module.imports()) - {module.dotted}:
            found[name].add(module.dotted)
    return found

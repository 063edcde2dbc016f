"""The tree as the tidiness tests measure it: modules, their lines, functions, classes and imports."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "forewarn"


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

    def imports(self) -> Iterator[str]:
        """Dotted names, also of what may be a module or a name within one."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)


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

"""The expression language of templates: ``[concat('a', parameters('b').c[0])]`` as a tree, and its value. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

_TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+)|(?P<word>[A-Za-z_]\w*)|(?P<mark>[()\[\],.]))")
_DEEPEST = 50  # ours: nested calls; Python's stack ends at some hundreds
_LONGEST_NUMBER = 20  # characters of the least 64-bit integer with its sign; longer ones are outside of them
LONGEST = 1_000_000  # ours: characters or elements that one value may have


class TemplateError(Exception):
    """The template cannot be understood. The message is a sentence."""


@dataclass(frozen=True)
class Literal:
    value: str | int


@dataclass(frozen=True)
class Apply:
    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Pick:
    """A member of an object or an element of an array."""

    of: Node
    key: Node


Node: TypeAlias = Literal | Apply | Pick
Functions: TypeAlias = Callable[[str, Sequence[Any]], Any]  # by folded name


def is_expression(text: str) -> bool:
    return text.startswith("[") and text.endswith("]") and not text.startswith("[[")


def evaluate(text: str, functions: Functions) -> Any:
    """The value of a string of a template, which most often is the string itself."""
    if text.startswith("[["):
        return text[1:]
    return value_of(parse(text[1:-1]), functions) if is_expression(text) else text


def value_of(node: Node, functions: Functions) -> Any:
    """A chain of picks is walked, not descended: it may be as long as the template."""
    keys: list[Node] = []
    while isinstance(node, Pick):
        keys.append(node.key)
        node = node.of
    value = node.value if isinstance(node, Literal) else _applied(node, functions)
    while keys:
        value = _pick(value, value_of(keys.pop(), functions))
    return value


def _applied(node: Apply, functions: Functions) -> Any:
    if node.function == "if" and len(node.arguments) == 3:
        condition, then, otherwise = node.arguments
        return value_of(then if value_of(condition, functions) else otherwise, functions)
    found = functions(node.function, [value_of(argument, functions) for argument in node.arguments])
    if isinstance(found, str | list | dict) and len(found) > LONGEST:
        raise TemplateError(f"The value of '{node.function}' is too large.")
    if isinstance(found, int) and not -(2**63) <= found < 2**63:
        raise TemplateError(f"The value of '{node.function}' is outside of the numbers that there are.")
    return found


def _pick(value: Any, key: Any) -> Any:
    if isinstance(value, dict) and isinstance(key, str):
        for name, found in value.items():
            if name.lower() == key.lower():
                return found
        known = ", ".join(list(value)[:10])
        raise TemplateError(f"There is no property '{key}'; available properties are '{known}'.")
    if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
        return value[key]
    raise TemplateError(f"'{key}' cannot be taken out of a value that does not have it.")


def parse(text: str) -> Node:
    """The tree of what stands between the brackets."""
    reader = _Reader(text)
    node = reader.expression(0)
    reader.end()
    return node


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._kind = self._piece = ""
        self._next()

    def _next(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            if self._text[self._at :].strip():
                raise self._bad()
            self._kind, self._piece = "end", ""
            return
        self._at = match.end()
        self._kind = match.lastgroup or ""
        self._piece = match[self._kind]

    def _bad(self) -> TemplateError:
        return TemplateError(f"The expression '{self._text[:200]}' cannot be understood at position {self._at}.")

    def _take(self, mark: str) -> None:
        if self._piece != mark or self._kind != "mark":
            raise self._bad()
        self._next()

    def end(self) -> None:
        if self._kind != "end":
            raise self._bad()

    def expression(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise TemplateError(f"The expression '{self._text[:200]}' is nested too deeply.")
        node = self._first(depth)
        while self._kind == "mark" and self._piece in ".[":
            if self._piece == ".":
                self._next()
                node = Pick(node, Literal(self._word()))
            else:
                self._next()
                node = Pick(node, self.expression(depth + 1))
                self._take("]")
        return node

    def _word(self) -> str:
        if self._kind != "word":
            raise self._bad()
        word = self._piece
        self._next()
        return word

    def _first(self, depth: int) -> Node:
        kind, token = self._kind, self._piece
        if kind == "text":
            self._next()
            return Literal(token[1:-1].replace("''", "'"))
        if kind == "number":
            self._next()
            if len(token) > _LONGEST_NUMBER:
                raise self._bad()
            return Literal(int(token))
        return Apply(self._word().lower(), self._arguments(depth))

    def _arguments(self, depth: int) -> tuple[Node, ...]:
        self._take("(")
        found: list[Node] = []
        while not (self._kind == "mark" and self._piece == ")"):
            if found:
                self._take(",")
            found.append(self.expression(depth + 1))
        self._next()
        return tuple(found)

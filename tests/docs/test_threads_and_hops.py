"""Two promises that are read from the code: no closure crosses a thread, and no hop of a walk only forwards."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.docs.test_architecture import WALKS
from tests.docs.tidy import SOURCE, Module, modules

_Function = ast.FunctionDef | ast.AsyncFunctionDef
# What hands work to another thread, and which of its arguments is the work; `target` is that of a Thread.
_HANDED = {
    "to_thread": frozenset({0}),
    "run_in_executor": frozenset({1}),
    "call_soon_threadsafe": frozenset({0}),
    "Thread": frozenset({-1}),
}
Handed = dict[str, frozenset[int]]
_QUOTED = re.compile(r"`([^`\n]+)`")


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _work_of(call: ast.Call, handed: Handed) -> list[ast.expr]:
    """What a call hands to another thread."""
    places = handed.get(_called(call), frozenset())
    named = [each.value for each in call.keywords if places and each.arg in ("target", "work")]
    return named + [call.args[place] for place in places if 0 <= place < len(call.args)]


def _functions(tree: ast.AST, outer: tuple[_Function, ...] = ()) -> Iterator[tuple[_Function, tuple[_Function, ...]]]:
    """Each function with those that it stands in, outermost first."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, _Function):
            yield child, outer
            yield from _functions(child, (*outer, child))
        else:
            yield from _functions(child, outer)


def _own_calls(function: _Function) -> Iterator[ast.Call]:
    """Those that stand in a function itself, not in one within it."""
    ahead: list[ast.AST] = list(function.body)
    while ahead:
        node = ahead.pop()
        if isinstance(node, _Function):
            continue
        if isinstance(node, ast.Call):
            yield node
        ahead += ast.iter_child_nodes(node)


def _parameters(function: _Function) -> list[str]:
    named = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    return named[1:] if named[:1] in (["self"], ["cls"]) else named


def _with_those_that_pass_on(found: list[Module]) -> Handed:
    """The same, and functions that hand a parameter of theirs to another thread: what they are called with crosses."""
    known, before = dict(_HANDED), -1
    functions = [function for module in found for function, _ in _functions(module.tree)]
    while before != (before := sum(map(len, known.values()))):
        for function in functions:
            named = _parameters(function)
            for work in (each for call in _own_calls(function) for each in _work_of(call, known)):
                if isinstance(work, ast.Name) and work.id in named:
                    known[function.name] = known.get(function.name, frozenset()) | {named.index(work.id)}
    return known


def _closures_handed(found: list[Module], handed: Handed) -> list[str]:
    """Lambdas, and functions within functions, that are handed to another thread."""
    crossing = []
    for module in found:
        for function, outer in _functions(module.tree):
            inner = {each.name for above in (function, *outer) for each, _ in _functions(above)}
            for work in (each for call in _own_calls(function) for each in _work_of(call, handed)):
                if isinstance(work, ast.Lambda) or (isinstance(work, ast.Name) and work.id in inner):
                    crossing.append(f"{module.name}:{work.lineno} {function.name}")
    return crossing


def test_no_closure_crosses_a_thread() -> None:
    """What another thread works with is handed over as arguments: a closure would share whatever its function has.

    In the plane also where a function of its own passes the work on; in faces, stores and server where it is handed to
    a thread directly. The guest's threads run a closure each, over what is theirs, and are not looked at.
    """
    plane = [module for module in modules() if module.name.startswith("plane/")]
    others = [module for module in modules() if module.name.startswith(("web/", "stores/", "server/"))]
    passing_on = _with_those_that_pass_on(plane)
    advice = "make it a method or a function of the module, and hand over what it needs"
    assert passing_on.keys() > {*_HANDED, "_to_its_end"}, "the plane has functions that pass work on"
    assert _closures_handed(plane, passing_on) == [], advice
    assert _closures_handed(others, _HANDED) == [], advice


_CLOSURES = """
import asyncio
from functools import partial

class Work:
    async def lambda_(self, loop, value):
        await asyncio.to_thread(lambda: value + 1)

    async def inner(self, loop, value):
        def work():
            return value + 1
        await loop.run_in_executor(None, work)

    async def handed(self, loop, value):
        await self.pass_on(lambda: value)

    async def method(self, loop, value):
        await asyncio.to_thread(self.add, value)
        await self.pass_on(partial(self.add, value))
        sorted([], key=lambda each: each)

    async def pass_on(self, work):
        await asyncio.to_thread(work)

    def add(self, value):
        return value + 1
"""


def test_closures_are_found_also_where_a_function_passes_them_on() -> None:
    found = [Module(SOURCE / "plane" / "made_up.py", _CLOSURES, ast.parse(_CLOSURES))]
    names = [each.rpartition(" ")[2] for each in _closures_handed(found, _with_those_that_pass_on(found))]
    assert names == ["lambda_", "inner", "handed"]


def _only_forwards(function: _Function) -> bool:
    """Whether it only calls another one with just what it was called with. A look into a table is more."""
    body = [each for each in function.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    value = body[0].value
    value = value.value if isinstance(value, ast.Await) else value
    if not isinstance(value, ast.Call) or value.keywords or _called(value) == "get":
        return False
    given = [each.id if isinstance(each, ast.Name) else "" for each in value.args]
    return bool(given) and given == _parameters(function) and not function.args.kwonlyargs


def _by_dotted_name() -> Iterator[tuple[str, _Function]]:
    """Every function of the product, with the class it stands in."""
    for module in modules():
        for node in ast.walk(module.tree):
            owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for child in ast.iter_child_nodes(node):
                if isinstance(child, _Function):
                    yield f"{module.dotted}.{owner}{child.name}", child


def test_no_hop_of_a_walk_only_forwards() -> None:
    quoted = {name for name in _QUOTED.findall(WALKS) if re.fullmatch(r"[\w.]+", name)}
    named = tuple(f".{name}" for name in quoted if "." in name or name.startswith("_"))
    hops = {dotted: function for dotted, function in _by_dotted_name() if dotted.endswith(named)}
    assert len(hops) > 100, "the walks name more than a hundred functions"
    assert [dotted for dotted, function in hops.items() if _only_forwards(function)] == []


@pytest.mark.parametrize(
    ("text", "only_forwards"),
    [
        ("def hop(self, what, when):\n    return self._next.hop(what, when)", True),
        ("async def hop(self, what):\n    '''Words.'''\n    await self._next(what)", True),
        ("def hop(self, what, when):\n    return self._next.hop(what)", False),
        ("def hop(self, what):\n    return self._next.hop(self._region, what)", False),
        ("def hop(self, what):\n    self.check(what)\n    return self._next.hop(what)", False),
        ("def hop(what):\n    return _TABLE.get(what)", False),
    ],
)
def test_a_hop_that_only_forwards_is_told_from_one_that_does_something(text: str, only_forwards: bool) -> None:
    (function,) = ast.parse(text).body
    assert isinstance(function, _Function)
    assert _only_forwards(function) is only_forwards

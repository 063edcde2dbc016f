"""Templates that say little and mean much: each is refused or made, and none keeps a server from its other work.

The judge of "for ever" is the time that any test has (``timeout`` in pyproject.toml): what is tried here took minutes
to years before it was bounded.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from forewarn.web.resource_manager.reading import MOST_BODY_BYTES
from forewarn.web.resource_manager.templates.expressions import TemplateError
from forewarn.web.resource_manager.templates.jsonc import to_json
from forewarn.web.resource_manager.templates.planning import make_plan
from forewarn.web.resource_manager.templates.plans import DeploymentPlan, Surroundings
from tests.unit.web.resource_manager.bench import DEPLOYMENTS, open_bench


@pytest.fixture
def anyio_backend() -> str:
    """The plane lives on asyncio."""
    return "asyncio"


AROUND = Surroundings("s", "t", {"name": "g"}, "d")


def _plan(value: str, variables: dict[str, Any] | None = None, **more: Any) -> DeploymentPlan:
    outputs = {"o": {"type": "string", "value": value}}
    return make_plan({"resources": [], "variables": variables or {}, "outputs": outputs, **more}, {}, AROUND)


@pytest.mark.parametrize(
    "piece", ["/* ", '\\"', ", /* ", '"', "/**", "/*/", ",//\n", "a ", "a:", ",", "\\", "{a:", "*/", ", /* */"]
)
def test_the_largest_body_is_made_json_in_one_walk(piece: str) -> None:
    text = piece * (MOST_BODY_BYTES // len(piece))
    assert len(to_json(text)) <= 2 * len(text) + 2


@pytest.mark.parametrize("text", ["{} /* and", '{"a": "b', "{} /*/"])
def test_an_unclosed_comment_or_string_stays_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        json.loads(to_json(text))


def _doubling(depth: int, name: str) -> dict[str, str]:
    twice = {
        f"{name}{n}": f"[createArray(variables('{name}{n - 1}'), variables('{name}{n - 1}'))]" for n in range(1, depth)
    }
    return {f"{name}0": "[createArray(1)]", **twice}


@pytest.mark.parametrize(
    "value",
    [
        "[string(variables('v39'))]",
        "[equals(variables('v39'), variables('w39'))]",
        "[contains(variables('v39'), variables('w39'))]",
        "[union(variables('v39'), variables('w39'))]",
        "[length(variables('v39'))]",
        "[variables('v39')]",
    ],
)
def test_values_that_share_their_parts_are_counted_as_what_they_stand_for(value: str) -> None:
    plan = _plan(value, {**_doubling(40, "v"), **_doubling(40, "w")})
    with pytest.raises(TemplateError, match="too large"):
        plan.outputs()


def test_many_long_texts_are_too_many() -> None:
    long = {"t0": "0123456789" * 10} | {
        f"t{n}": f"[concat(variables('t{n - 1}'), variables('t{n - 1}'))]" for n in range(1, 13)
    }
    many = {f"m{n}": f"[concat(variables('t12'), '{n}')]" for n in range(1000)}
    outputs = {f"o{n}": {"type": "int", "value": f"[length(variables('m{n}'))]"} for n in range(1000)}
    with pytest.raises(TemplateError, match="too large"):
        _plan("x", {**long, **many}, outputs=outputs).outputs()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("[string('a')" + ".a" * 100_000 + "]", "cannot be taken"),
        ("[" + "not(" * 1000 + "true()" + ")" * 1000 + "]", "too deeply"),
        ("[" + "9" * 100_000 + "]", "cannot be understood"),
        ("[split('" + "a" * 10_000 + "', createArray(" + ",".join(["'b'"] * 5_000) + "))]", "too large"),
        ("[format('" + "a" * 10_000 + "'" + ", 1" * 5_000 + ")]", "too large"),
        ("[json('" + "[" * 100_000 + "')]", "'json' cannot take"),
    ],
)
def test_long_chains_deep_nests_and_large_numbers_are_refused_in_a_sentence(value: str, said: str) -> None:
    with pytest.raises(TemplateError, match=said):
        _plan(value).outputs()


def test_what_is_nested_by_steps_is_too_deep_to_be_told() -> None:
    nested = {"v0": "[createArray(1)]"} | {f"v{n}": f"[createArray(variables('v{n - 1}'))]" for n in range(1, 600)}
    outputs = {f"o{n}": {"type": "int", "value": f"[length(variables('v{n}'))]"} for n in range(0, 600, 50)}
    outputs["last"] = {"type": "array", "value": "[variables('v599')]"}
    with pytest.raises(TemplateError, match="too large"):
        _plan("x", nested, outputs=outputs).outputs()


def test_a_union_of_many_keeps_the_first_of_each_in_order() -> None:
    assert _plan("[union(createArray(2, 1, 2), createArray('1', 1, 3))]").outputs()["o"]["value"] == [2, 1, "1", 3]
    many = "[length(union(" + ", ".join(f"range({n}000, 5000)" for n in range(20)) + "))]"
    assert _plan(many).outputs()["o"]["value"] == 24_000


def test_many_resources_that_depend_on_many_are_ordered_or_refused() -> None:
    copied = {"type": "A.B/c", "apiVersion": "2024-01-01", "copy": {"name": "loop", "count": 790}}
    first = {**copied, "name": "[concat('n', copyIndex())]"}
    last = {"type": "A.B/c", "apiVersion": "2024-01-01", "name": "z", "dependsOn": ["loop"] * 800}
    plan = _plan("x", resources=[last, first])
    assert [plan.resources[0].name, plan.resources[-1].name] == ["n0", "z"]
    with pytest.raises(TemplateError, match="at most 800 names"):
        _plan("x", resources=[first, {**last, "dependsOn": ["loop"] * 801}])


def test_copies_are_counted_before_any_is_looked_at() -> None:
    """Six thousand loops of eight hundred, and in each a name that cannot be evaluated: nobody has tried to."""
    loop = {"type": "A.B/c", "apiVersion": "2024-01-01", "name": "[nothing()]", "copy": {"name": "l", "count": 800}}
    with pytest.raises(TemplateError, match="at most 8000 resources"):
        _plan("x", resources=[loop] * 6000)
    inner = {**loop, "copy": {"name": "i", "count": 100}}
    with pytest.raises(TemplateError, match="at most 8000 resources"):
        _plan("x", resources=[{**loop, "copy": {"name": "o", "count": 100}, "resources": [inner]}])
    with pytest.raises(TemplateError, match="'nothing' is not known"):
        _plan("x", resources=[loop])


def test_conditions_may_leave_out_what_is_too_much() -> None:
    left_out = {"type": "A.B/c", "apiVersion": "2024-01-01", "name": "[concat('n', copyIndex())]"}
    few = {**left_out, "condition": "[less(copyIndex(), 3)]", "copy": {"name": "l", "count": 800}}
    plan = _plan("x", resources=[{**few, "name": f"[concat('{letter}', copyIndex())]"} for letter in "abcdefgh"])
    assert len(plan.resources) == 24


LONG = "length(union(" + ", ".join(f"range({n}, 5000)" for n in range(3)) + "))"  # some milliseconds of work


@pytest.mark.anyio
async def test_a_template_that_takes_long_does_not_hold_up_other_requests(anyio_backend: str) -> None:
    """Counted are the turns that others have on the same loop while one expression is evaluated after the other."""
    names = [
        {"type": "A.B/c", "apiVersion": "2024-01-01", "location": "x", "name": f"[concat('n{n}-', string({LONG}))]"}
        for n in range(15)
    ]
    turns: list[int] = []

    async def others() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    async with open_bench() as bench:
        await bench.group()
        body = {"properties": {"mode": "Incremental", "template": {"resources": names}}}
        beside = asyncio.get_running_loop().create_task(others())
        await asyncio.sleep(0)
        before = len(turns)
        await bench.ask("POST", f"{DEPLOYMENTS}/d/validate", body)
        during = len(turns) - before
        beside.cancel()
    assert during > 200, f"the loop turned {during} times"

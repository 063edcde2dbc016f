"""The template engine: expressions, parameters, variables, order."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.web.resource_manager.templates.expressions import TemplateError, evaluate
from forewarn.web.resource_manager.templates.jsonc import to_json
from forewarn.web.resource_manager.templates.planning import make_plan
from forewarn.web.resource_manager.templates.plans import DeploymentPlan, NeedsReference, Surroundings, camel_case

GROUP = {"name": "rg1", "location": "westus", "id": "/subscriptions/s/resourceGroups/rg1"}
AROUND = Surroundings("s", "t", GROUP, "d")
NETWORK = "/subscriptions/s/resourceGroups/rg1/providers/Microsoft.Network"


def plan_of(template: dict[str, Any], parameters: Any = None) -> DeploymentPlan:
    return make_plan(template, parameters, AROUND)


def value_of(expression: str, **template: Any) -> Any:
    """The value of one expression in a template."""
    plan = plan_of({"resources": [], **template})
    return plan.resolve(expression)


def resource(name: str, *needs: str, **more: Any) -> dict[str, Any]:
    made = {"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2022-01-01", "name": name, **more}
    return {**made, "dependsOn": list(needs)} if needs else made


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("plain", "plain"),
        ("[[not one]", "[not one]"),
        ("[not one", "[not one"),
        ("['it''s']", "it's"),
        ("[ concat( 'a' , 'b', 1 ) ]", "ab1"),
        ("[concat(createArray(1), createArray(2))]", [1, 2]),
        ("[CONCAT('a', toUpper('b'))]", "aB"),
        ("[resourceGroup().location]", "westus"),
        ("[resourceGroup()['location']]", "westus"),
        ("[subscription().subscriptionId]", "s"),
        ("[deployment().name]", "d"),
        ("[createArray('a', 'b')[1]]", "b"),
        ("[createArray(createObject('x', 5))[0].x]", 5),
        ("[add(2, -3)]", -1),
        ("[if(equals('a', 'a'), 'yes', reference('nothing'))]", "yes"),
        ("[and(true(), not(false()))]", True),
        ("[format('{0}-{1}', 'a', 2)]", "a-2"),
        ("[string(createObject('a', 1))]", '{"a":1}'),
        ("[length(split('a,b;c', createArray(',', ';')))]", 3),
        ("[join(range(1, 3), '-')]", "1-2-3"),
        ("[substring('abcdef', 2, 3)]", "cde"),
        ("[last(take('abc', 2))]", "b"),
        ("[contains(createObject('Key', 1), 'key')]", True),
        ("[union(createObject('a', 1), createObject('b', 2))]", {"a": 1, "b": 2}),
        ("[json('{\"a\": [1]}').a[0]]", 1),
        ("[base64('a')]", "YQ=="),
        ("[coalesce(null(), 'x')]", "x"),
        ("[empty('')]", True),
        ("[int('7')]", 7),
        ("[bool('True')]", True),
        ("[replace('aXb', 'X', '-')]", "a-b"),
        ("[max(1, 5)]", 5),
        ("[resourceId('Microsoft.Network/virtualNetworks', 'n')]", f"{NETWORK}/virtualNetworks/n"),
        (
            "[resourceId('Microsoft.Network/virtualNetworks/subnets', 'n', 's')]",
            f"{NETWORK}/virtualNetworks/n/subnets/s",
        ),
        ("[resourceId('g', 'A.B/c', 'd')]", "/subscriptions/s/resourceGroups/g/providers/A.B/c/d"),
        ("[resourceId('z', 'g', 'A.B/c', 'd')]", "/subscriptions/z/resourceGroups/g/providers/A.B/c/d"),
        ("[subscriptionResourceId('A.B/c', 'd')]", "/subscriptions/s/providers/A.B/c/d"),
        ("[providers('Microsoft.Compute', 'virtualMachineScaleSets').apiVersions[0]]", "2026-04-01"),
    ],
)
def test_expressions_have_values(expression: str, value: Any) -> None:
    assert value_of(expression) == value


def test_the_same_seed_makes_the_same_string() -> None:
    one, two = value_of("[uniqueString('a')]"), value_of("[uniqueString('b')]")

    assert len(one) == 13
    assert one == value_of("[uniqueString('a')]") != two
    assert value_of("[guid('a')]") == value_of("[guid('a')]")


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("[concat('a']", "cannot be understood"),
        ("[concat('a' 'b')]", "cannot be understood"),
        ("[]", "cannot be understood"),
        ("[1 2]", "cannot be understood"),
        ("['a']x]", "cannot be understood"),
        ("[frobnicate()]", "'frobnicate' is not known"),
        ("[parameters('none')]", "parameter 'none' is not found"),
        ("[variables('none')]", "variable 'none' is not found"),
        ("[resourceGroup().nothing]", "no property 'nothing'"),
        ("[createArray(1)[5]]", "cannot be taken"),
        ("[length()]", "'length' cannot take"),
        ("[div(1, 0)]", "'div' cannot take"),
        ("[json('{')]", "'json' cannot take"),
        ("[copyIndex()]", "outside of a copy loop"),
        ("[resourceId('x')]", "no resource type"),
        ("[resourceId('A.B/c', 'd', 'e')]", "incorrect segment lengths"),
        ("[providers('A.B', 'c')]", "not known here"),
        ("[" + "not(" * 60 + "true()" + ")" * 60 + "]", "nested too deeply"),
        ("[range(0, 1000000000)]", "'range' cannot take"),
        ("[mul(4000000000, 4000000000)]", "outside of the numbers"),
    ],
)
def test_what_has_no_value_says_why(expression: str, said: str) -> None:
    with pytest.raises(TemplateError, match=said):
        value_of(expression)


def test_a_value_cannot_grow_without_end() -> None:
    doubling = {f"v{n}": f"[concat(variables('v{n - 1}'), variables('v{n - 1}'))]" for n in range(1, 60)}
    with pytest.raises(TemplateError, match="too large"):
        value_of("[variables('v59')]", variables={"v0": "xx", **doubling})
    sharing = {f"v{n}": f"[createArray(variables('v{n - 1}'), variables('v{n - 1}'))]" for n in range(1, 60)}
    outputs = {"x": {"type": "array", "value": "[variables('v59')]"}}
    with pytest.raises(TemplateError, match="too large"):
        plan_of({"resources": [], "variables": {"v0": "xx", **sharing}, "outputs": outputs}).outputs()


def test_variables_refer_to_each_other_but_not_to_themselves() -> None:
    variables = {"a": "[concat(variables('B'), '!')]", "b": ["x"], "c": "[variables('d')]", "d": "[variables('c')]"}

    assert value_of("[variables('A')]", variables={**variables, "b": "x"}) == "x!"
    with pytest.raises(TemplateError, match="depends on itself"):
        value_of("[variables('c')]", variables=variables)


def test_parameters_are_given_or_have_defaults() -> None:
    parameters = {
        "given": {"type": "int"},
        "default": {"type": "string", "defaultValue": "[concat('a', parameters('given'))]"},
        "secret": {"type": "secureString"},
    }
    plan = plan_of({"parameters": parameters, "resources": []}, {"Given": {"value": 3}, "secret": {"value": "x"}})

    assert plan.resolve("[concat(parameters('GIVEN'), parameters('default'))]") == "3a3"
    assert plan.secret == {"secret"}


@pytest.mark.parametrize(
    ("declared", "given", "said"),
    [
        ({"type": "int"}, None, "'p' is not provided"),
        ({"type": "int"}, {"p": {"value": "x"}}, "not of type 'int'"),
        ({"type": "int"}, {"p": {"value": True}}, "not of type 'int'"),
        ({"type": "int"}, {"p": 1}, "has no 'value'"),
        ({"type": "int"}, {"p": {"reference": {}}}, "has no 'value'"),
        ({"type": "int"}, {"q": {"value": 1}}, "'q' is given but not declared"),
        ({"type": "int", "allowedValues": [1]}, {"p": {"value": 2}}, "allowed values"),
        ({"type": "number"}, {"p": {"value": 2}}, "no type"),
        ("int", {"p": {"value": 2}}, "must be a JSON object"),
        ({"type": "int"}, [], "must be a JSON object"),
    ],
)
def test_bad_parameters_are_refused(declared: Any, given: Any, said: str) -> None:
    with pytest.raises(TemplateError, match=said):
        plan_of({"parameters": {"p": declared}, "resources": []}, given)


def test_resources_are_made_after_what_they_need() -> None:
    resources = [
        resource("c", "[resourceId('Microsoft.Network/virtualNetworks', 'b')]"),
        resource("b", "Microsoft.Network/virtualNetworks/a"),
        resource("d", "loop"),
        resource("[concat('e', copyIndex(1))]", copy={"name": "loop", "count": 2}),
        resource("a"),
    ]
    plan = plan_of({"resources": resources})

    assert [each.name for each in plan.resources] == ["e1", "e2", "d", "a", "b", "c"]


def test_a_nested_resource_is_part_of_the_one_it_stands_in() -> None:
    inner = {"type": "subnets", "apiVersion": "2022-01-01", "name": "s", "properties": {"x": "[concat('a', 'b')]"}}
    plan = plan_of({"resources": [resource("n", resources=[inner], location="[resourceGroup().location]")]})

    network, subnet = plan.resources
    assert subnet.id == f"{NETWORK}/virtualNetworks/n/subnets/s"
    assert plan.body_of(network) == {"location": "westus"}
    assert plan.body_of(subnet) == {"properties": {"x": "ab"}}


def test_templates_may_have_conditions_and_symbolic_names() -> None:
    resources = {
        "here": resource("a"),
        "there": resource("b", existing=True),
        "not": resource("c", condition="[equals(1, 2)]"),
        "last": resource("d", "here", "there", "not"),
    }
    plan = plan_of({"languageVersion": "2.0", "resources": resources})

    assert [each.name for each in plan.resources] == ["a", "d"]


def test_a_reference_is_asked_for_and_then_known() -> None:
    outputs = {
        "VMSS": {"type": "object", "value": "[reference('n')]"},
        "whole": {"type": "string", "value": "[reference('n', '2020-01-01', 'Full').location]"},
    }
    plan = plan_of({"resources": [resource("n")], "outputs": outputs})
    with pytest.raises(NeedsReference) as needed:
        plan.outputs()

    plan.references[needed.value.resource_id.lower()] = {"location": "westus", "properties": {"x": 1}}

    assert needed.value.api_version == "2022-01-01"
    assert plan.outputs() == {
        "vmss": {"type": "Object", "value": {"x": 1}},
        "whole": {"type": "String", "value": "westus"},
    }


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ([], "must be a JSON object"),
        ({"resources": "x"}, "must be a JSON array"),
        ({"resources": ["x"]}, "must be a JSON object"),
        ({"resources": [], "outputs": []}, "must be a JSON object"),
        ({"resources": [{"name": "x"}]}, "no 'type'"),
        ({"resources": [{"type": "A.B/c", "name": "x"}]}, "no 'apiVersion'"),
        ({"resources": [{"type": "A.B/c", "name": "x", "apiVersion": "new"}]}, "not a date"),
        ({"resources": [{"type": "A.B/c", "name": "x/y", "apiVersion": "2020-01-01"}]}, "incorrect segment lengths"),
        ({"resources": [resource("a"), resource("A")]}, "multiple times"),
        ({"resources": [resource("a", "b")]}, "'b' is not defined"),
        ({"resources": [resource("a", "b"), resource("b", "a")]}, "circular"),
        ({"resources": [resource("a", dependsOn="b")]}, "must be a JSON array"),
        ({"resources": [resource("a", copy={"count": 5000})]}, "copy loop"),
        ({"resources": [resource("[concat('a', copyIndex())]", copy={"count": 500}) for _ in range(2)]}, "at most 800"),
    ],
)
def test_bad_templates_are_refused(template: Any, said: str) -> None:
    with pytest.raises(TemplateError, match=said):
        plan_of(template)


def test_loops_in_properties_are_refused_and_not_passed_on() -> None:
    plan = plan_of({"resources": [resource("a", properties={"copy": [{"name": "x", "count": 1}]})]})

    with pytest.raises(TemplateError, match="not supported"):
        plan.body_of(plan.resources[0])


@pytest.mark.parametrize(("name", "shown"), [("VMSS", "vmss"), ("MyOut", "myOut"), ("VMName", "vmName"), ("a", "a")])
def test_outputs_are_spelled_as_the_service_spells_them(name: str, shown: str) -> None:
    assert camel_case(name) == shown


@given(st.text(alphabet="()[],.'abcif123- \"", max_size=40))
def test_any_text_has_a_value_or_an_error(text: str) -> None:
    with contextlib.suppress(TemplateError):
        evaluate(f"[{text}]", lambda name, arguments: name)


@pytest.mark.parametrize(
    ("loose", "strict"),
    [
        ('{template: {"a": 1}}', '{"template": {"a": 1}}'),
        ('{"a": 1, // no: comment\n "b": /* x */ 2}', '{"a": 1, \n "b":  2}'),
        ('{"a": "// not a comment, key: x"}', '{"a": "// not a comment, key: x"}'),
        ('{"a": [1, 2,], /* x */ }', '{"a": [1, 2]  }'),
        ('{"a": "two\nlines"}', '{"a": "two\\nlines"}'),
        ('{"a": true}', '{"a": true}'),
    ],
)
def test_templates_may_be_written_freely(loose: str, strict: str) -> None:
    assert to_json(loose) == strict

"""From a template and its parameters to a plan: which resources, and in which order. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from forewarn.web.arm_ids import group_id
from forewarn.web.resource_manager.templates.expressions import TemplateError
from forewarn.web.resource_manager.templates.plans import DeploymentPlan, Planned, Surroundings, as_object, id_in

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "securestring": (str,),
    "int": (int,),
    "bool": (bool,),
    "array": (list,),
    "object": (dict,),
    "secureobject": (dict,),
}
_MOST_RESOURCES = 800  # of a template, as Azure documents it
_MOST_COPIES = 10 * _MOST_RESOURCES  # ours: with those that a condition leaves out
_API_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-[a-z0-9.]{1,20})?", re.IGNORECASE)


def make_plan(template: Any, given: Any, around: Surroundings) -> DeploymentPlan:
    """Understand a template, or raise ``TemplateError``. Nothing is looked up and nothing is made."""
    definitions = dict(as_object(template, "template"))
    for member in ("variables", "outputs", "parameters"):
        definitions[member] = as_object(definitions.get(member), member)
    plan = DeploymentPlan(around, {}, frozenset(), definitions)
    try:
        _understand(plan, given)
    except TemplateError as problem:
        raise TemplateError(plan.without_secrets(str(problem))) from None
    return plan


def _understand(plan: DeploymentPlan, given: Any) -> None:
    _read_parameters(plan, as_object(given, "parameters"))
    _check_copies(plan, plan.definitions.get("resources", []), 0, 1)
    for planned in _planned(plan, plan.definitions.get("resources", []), None):
        plan.resources.append(planned)
        if len(plan.resources) > _MOST_RESOURCES:
            raise TemplateError(f"A template has at most {_MOST_RESOURCES} resources.")
    _check_unique(plan.resources)
    plan.resources = _in_order(plan)


# Parameters


def _read_parameters(plan: DeploymentPlan, given: dict[str, Any]) -> None:
    declared = plan.definitions["parameters"]
    names = {name.lower(): name for name in declared}
    values = {}
    for name, holder in given.items():
        if name.lower() not in names:
            raise TemplateError(f"The parameter '{name}' is given but not declared by the template.")
        if not isinstance(holder, dict) or "value" not in holder:
            raise TemplateError(f"The parameter '{name}' has no 'value'; references to vaults are not supported here.")
        values[name.lower()] = holder["value"]
    for name, written in declared.items():
        declaration = as_object(written, name)
        kind = str(declaration.get("type", "")).lower()
        value, tells = _parameter(plan, name, declaration, kind, values)
        plan.parameters[name.lower()] = value
        if tells or kind.startswith("secure"):
            plan.secret |= {name.lower()}


def _parameter(
    plan: DeploymentPlan, name: str, declaration: dict[str, Any], kind: str, values: dict[str, Any]
) -> tuple[Any, bool]:
    """Its value, and whether that was made of a secret one."""
    tells = False
    if kind not in _TYPES:
        raise TemplateError(f"The template parameter '{name}' has no type that is known here.")
    if name.lower() in values:
        value = values[name.lower()]
    elif "defaultValue" in declaration:
        value, tells = plan.resolve_and_tell(declaration["defaultValue"])
    else:
        raise TemplateError(f"The value for the template parameter '{name}' is not provided.")
    wrong = isinstance(value, bool) and kind != "bool"
    if wrong or not isinstance(value, _TYPES[kind]):
        raise TemplateError(f"The value for the template parameter '{name}' is not of type '{kind}'.")
    allowed = declaration.get("allowedValues")
    if isinstance(allowed, list) and value not in allowed:
        raise TemplateError(f"The value for the template parameter '{name}' is not one of its allowed values.")
    return value, tells


# Resources


def _check_copies(plan: DeploymentPlan, resources: Any, counted: int, times: int) -> int:
    """How many resources there would be if no condition left any out: known before any of them is looked at."""
    for _, definition in _named(resources):
        own = times * len(_indexes(plan, definition))
        counted += own
        if counted > _MOST_COPIES:
            raise TemplateError(f"The copy loops of a template stand for at most {_MOST_COPIES} resources.")
        if own:
            counted = _check_copies(plan, definition.get("resources", []), counted, own)
    return counted


def _named(resources: Any) -> list[tuple[str, dict[str, Any]]]:
    """Definitions with their symbolic names: a dictionary has some, a list has none."""
    named = list(resources.items()) if isinstance(resources, dict) else [("", each) for each in _array(resources)]
    found = [(symbol, as_object(each, "resources")) for symbol, each in named]
    return [(symbol, definition) for symbol, definition in found if not definition.get("existing")]


def _planned(plan: DeploymentPlan, resources: Any, parent: Planned | None) -> Iterator[Planned]:
    """All resources, nested ones after the one they stand in; each is looked at when it is taken."""
    for symbol, definition in _named(resources):
        for index in _indexes(plan, definition):
            if plan.resolve(definition.get("condition", True), index):
                made = _plan_one(plan, symbol, definition, index, parent)
                yield made
                yield from _planned(plan, definition.get("resources", []), made)


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TemplateError("'resources' must be a JSON array.")
    return value


def _indexes(plan: DeploymentPlan, definition: dict[str, Any]) -> Sequence[int | None]:
    copy = definition.get("copy")
    if copy is None:
        return (None,)
    count = plan.resolve(as_object(copy, "copy").get("count"))
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MOST_RESOURCES:
        raise TemplateError(f"The count of a copy loop must be a number from 0 to {_MOST_RESOURCES}.")
    return range(count)


def _plan_one(
    plan: DeploymentPlan, symbol: str, definition: dict[str, Any], index: int | None, parent: Planned | None
) -> Planned:
    kind, name, version = (_string(plan, definition, member, index) for member in ("type", "name", "apiVersion"))
    if parent is not None and not kind.lower().startswith("microsoft."):
        kind, name = f"{parent.kind}/{kind}", f"{parent.name}/{name}"
    if not _API_VERSION.fullmatch(version):
        raise TemplateError(f"The apiVersion '{version}' of the resource '{name}' is not a date such as 2024-11-01.")
    copy = as_object(definition.get("copy"), "copy").get("name", "")
    resource_id = _id_of(plan, kind, name.split("/"), str(definition.get("resourceGroup") or ""))
    aliases = {resource_id, f"{kind}/{name}", resource_id.rpartition("/providers/")[2], name, symbol, str(copy)}
    return Planned(
        resource_id, kind, name, version, definition, frozenset(each.lower() for each in aliases if each), index
    )


def _string(plan: DeploymentPlan, definition: dict[str, Any], member: str, index: int | None) -> str:
    found = plan.resolve(definition.get(member), index)
    if not isinstance(found, str) or not found:
        raise TemplateError(f"A resource of the template has no '{member}'.")
    return found


def _id_of(plan: DeploymentPlan, kind: str, names: Sequence[str], group: str = "") -> str:
    scope = group_id(plan.around.subscription, group or str(plan.around.group["name"]))
    return id_in(scope, kind, names)


def _check_unique(resources: Sequence[Planned]) -> None:
    seen: set[str] = set()
    for each in resources:
        if each.id.lower() in seen:
            raise TemplateError(f"The resource '{each.id}' is defined multiple times in the template.")
        seen.add(each.id.lower())


def _in_order(plan: DeploymentPlan) -> list[Planned]:
    """Dependencies first, otherwise as written."""
    known = _Known(plan)
    waiting = {each.id: _needed(plan, each, known) for each in plan.resources}
    ordered: list[Planned] = []
    rest = list(plan.resources)
    while rest:
        ready = next((each for each in rest if not waiting[each.id]), None)
        if ready is None:
            raise TemplateError(f"The resource '{rest[0].id}' is part of a circular dependency.")
        rest.remove(ready)
        ordered.append(ready)
        for each in rest:
            waiting[each.id].discard(ready.id)
    return ordered


class _Known:
    """The names by which resources of a template may refer to each other. Made once, as many may depend on many."""

    def __init__(self, plan: DeploymentPlan) -> None:
        self.by_alias: dict[str, set[str]] = {}
        for each in plan.resources:
            for alias in each.aliases:
                self.by_alias.setdefault(alias, set()).add(each.id)
        definitions = plan.definitions.get("resources", [])
        every = definitions.values() if isinstance(definitions, dict) else definitions
        self.may_be_left_out = any(
            isinstance(each, dict) and ("condition" in each or "existing" in each) for each in every
        )


def _needed(plan: DeploymentPlan, planned: Planned, known: _Known) -> set[str]:
    names = plan.resolve(planned.definition.get("dependsOn") or [], planned.index)
    if not isinstance(names, list) or len(names) > _MOST_RESOURCES:
        raise TemplateError(
            f"'dependsOn' of the resource '{planned.name}' must be a JSON array of at most {_MOST_RESOURCES} names."
        )
    found: set[str] = set()
    for name in names:
        meant = known.by_alias.get(str(name).lower(), set())
        # dependencies on what the template left out are dropped
        if not meant and not known.may_be_left_out:
            raise TemplateError(f"The resource '{str(name)[:200]}' is not defined in the template.")
        found |= meant - {planned.id}
    return found

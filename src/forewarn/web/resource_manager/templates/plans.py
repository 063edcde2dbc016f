"""A template that has been understood: what its expressions stand for, where it is deployed. Pure.

Functions that look at deployed resources cannot be answered here. They raise ``NeedsReference``; the code that carries
out the plan fetches the resource and asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forewarn.web.arm_ids import group_id, resource_id, subscription_id
from forewarn.web.resource_manager.groups.subscriptions import api_versions
from forewarn.web.resource_manager.secrets import is_secret
from forewarn.web.resource_manager.templates.expressions import TemplateError, evaluate
from forewarn.web.resource_manager.templates.functions import FUNCTIONS

_MOST_VALUES = 100_000  # ours: in one body or output
_MOST_CHARACTERS = 1_000_000  # in the same: as many as a body may have that is sent to us
_MOST_LEVELS = 64  # of JSON, as .NET's readers take by default
_MOST_WORK = 1_500_000  # ours: values that all expressions together may make; long texts and deep nests count for more
_WORTH_A_VALUE = 16  # ours: characters that count as one value
_SHORTEST_SECRET = 4  # ours: characters; what is shorter stands in sentences of its own accord
_A_LEVEL = 8  # ours: values that take as long to look at
_NOT_THE_PROVIDERS = frozenset(
    {"apiversion", "comments", "condition", "copy", "dependson", "name", "resources", "type"}
)


class NeedsReference(Exception):  # noqa: N818 - a question, not an error
    """The value depends on a deployed resource."""

    def __init__(self, resource_id: str, api_version: str) -> None:
        super().__init__(resource_id)
        self.resource_id = resource_id
        self.api_version = api_version


@dataclass(frozen=True)
class Surroundings:
    """Where a template is deployed."""

    subscription: str
    tenant: str
    group: Mapping[str, Any]  # the resource group's document
    deployment: str


@dataclass(frozen=True)
class Planned:
    """One resource to be made."""

    id: str
    kind: str
    name: str
    api_version: str
    definition: Mapping[str, Any]
    aliases: frozenset[str]  # by which others may say that they depend on it, folded
    index: int | None = None  # in a copy loop


@dataclass
class DeploymentPlan:
    """A template that has been understood."""

    around: Surroundings
    parameters: dict[str, Any]
    secret: frozenset[str]  # names of parameters that are not to be told back
    definitions: Mapping[str, Any]
    resources: list[Planned] = field(default_factory=list)
    references: dict[str, Any] = field(default_factory=dict)  # whole documents by folded id
    _variables: dict[str, Any] = field(default_factory=dict)
    _resolving: set[str] = field(default_factory=set)
    _work: int = 0
    _tells: bool = False  # whether what is being evaluated has looked at a secret parameter
    _telling: set[str] = field(default_factory=set)  # variables that do
    _made_of_secrets: set[str] = field(default_factory=set)

    def body_of(self, planned: Planned) -> dict[str, Any]:
        """What to put. May raise ``NeedsReference``."""
        given = {key: value for key, value in planned.definition.items() if key.lower() not in _NOT_THE_PROVIDERS}
        found: dict[str, Any] = self.resolve(given, planned.index)
        _check_size(found)
        return found

    def outputs(self) -> dict[str, Any]:
        """What the template wants to be told afterwards. May raise ``NeedsReference``."""
        found = {}
        for name, written in self.definitions["outputs"].items():
            output = as_object(written, name)
            if self.resolve(output.get("condition", True)):
                value, tells = self.resolve_and_tell(output.get("value"))
                _check_size(value)
                kind = str(output.get("type", "string"))
                shown = {} if tells or kind.lower().startswith("secure") else {"value": value}
                found[camel_case(name)] = {"type": kind[:1].upper() + kind[1:], **shown}
        return found

    def without_secrets(self, sentence: str) -> str:
        """What is said about the template, without any text that a secret parameter holds or that was made of one."""
        for text in sorted(self._secret_texts(), key=len, reverse=True):
            sentence = sentence.replace(text, "***")
        return sentence

    def _secret_texts(self) -> set[str]:
        values = [self.parameters[name] for name in self.secret if name in self.parameters]
        return {text for text in _texts(values) | self._made_of_secrets if len(text) >= _SHORTEST_SECRET}

    def resolve(self, value: Any, index: int | None = None) -> Any:
        """A value with every expression in it evaluated."""
        if isinstance(value, str):
            return self._evaluated(value, index)
        if isinstance(value, list):
            return [self.resolve(each, index) for each in value]
        if isinstance(value, dict):
            if isinstance(value.get("copy"), list):
                raise TemplateError("Loops inside of properties are not supported here; write their elements out.")
            return {key: self._member(key, each, index) for key, each in value.items()}
        return value

    def _evaluated(self, text: str, index: int | None) -> Any:
        """An expression's value, with its own record of whether it looked at a secret parameter."""
        before, self._tells = self._tells, False
        try:
            return evaluate(text, lambda name, arguments: self._call(name, arguments, index))
        finally:
            self._tells |= before

    def resolve_and_tell(self, value: Any) -> tuple[Any, bool]:
        """A value with every expression in it evaluated, and whether any of them looked at a secret."""
        before, self._tells = self._tells, False
        try:
            return self.resolve(value), self._tells
        finally:
            self._tells |= before

    def _member(self, name: str, value: Any, index: int | None) -> Any:
        try:
            return self.resolve(value, index)
        except TemplateError:
            if is_secret(name):
                raise TemplateError(f"The value of '{name}' cannot be evaluated.") from None
            raise

    def _call(self, name: str, arguments: Sequence[Any], index: int | None) -> Any:
        looking = {**_LOOKING, "copyindex": lambda plan, *rest: _copy_index(index, rest)}
        try:
            if name in looking:
                return self._counted(looking[name](self, *arguments))
            if name in FUNCTIONS:
                return self._counted(FUNCTIONS[name](*arguments))
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as problem:
            raise TemplateError(f"The function '{name}' cannot take what it was given: {problem}.") from None
        raise TemplateError(f"The template function '{name}' is not known here.")

    def _counted(self, value: Any) -> Any:
        """Count the work of a value against ``_MOST_WORK``.

        Values may share parts, so a few lines can stand for gigabytes. A value made of a secret is secret, too: an
        error may quote it.
        """
        for level in _levels(value):
            if self._tells:
                self._made_of_secrets.update(text for text in level if isinstance(text, str))
            self._work += _A_LEVEL + len(level) + _characters(level) // _WORTH_A_VALUE
            if self._work > _MOST_WORK:
                raise TemplateError("What the template's expressions make is too large.")
        return value

    def parameter(self, name: str) -> Any:
        self._tells |= name.lower() in self.secret
        try:
            return self.parameters[name.lower()]
        except KeyError:
            raise TemplateError(f"The template parameter '{name}' is not found.") from None

    def variable(self, name: str) -> Any:
        """Evaluated when it is first wanted."""
        key = name.lower()
        if key not in self._variables:
            raw = {each.lower(): value for each, value in self.definitions["variables"].items()}
            if key not in raw:
                raise TemplateError(f"The template variable '{name}' is not found.")
            if key in self._resolving:
                raise TemplateError(f"The template variable '{name}' depends on itself.")
            self._resolving.add(key)
            try:
                self._variables[key], tells = self.resolve_and_tell(raw[key])
            finally:
                self._resolving.discard(key)
            if tells:
                self._telling.add(key)
        self._tells |= key in self._telling
        return self._variables[key]


def as_object(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TemplateError(f"'{what}' must be a JSON object.")
    return value


def id_in(scope: str, kind: str, names: Sequence[str]) -> str:
    """The id of a resource in a subscription or group, if the template gives a name to each part of its kind."""
    if not names or kind.count("/") != len(names):
        raise TemplateError(
            f"The template resource '{'/'.join(names)}' of type '{kind}' has incorrect segment lengths: a nested "
            "resource has as many parts in its name as in its type."
        )
    return resource_id(scope, kind, *names)


def _check_size(value: Any) -> None:
    """Refuse what would be too large as JSON: parts that values share in memory are repeated there."""
    values = characters = 0
    for depth, level in enumerate(_levels(value)):
        values += len(level)
        characters += _characters(level)
        if values > _MOST_VALUES or characters > _MOST_CHARACTERS or depth >= _MOST_LEVELS:
            raise TemplateError("What the template stands for is too large.")


def _levels(value: Any) -> Iterator[list[Any]]:
    """The value, its children, theirs, and so on."""
    level = [value]
    while level:
        yield level
        level = [
            child
            for each in level
            if isinstance(each, dict | list)
            for child in (each.values() if isinstance(each, dict) else each)
        ]


def _texts(values: list[Any]) -> set[str]:
    return {text for level in _levels(values) for text in level if isinstance(text, str)}


def _characters(level: list[Any]) -> int:
    return sum(len(each) for each in level if isinstance(each, str))


# Functions that look around


def _resource_id(plan: DeploymentPlan, *parts: str) -> str:
    """([subscription], [group], type, names…)."""
    at = next((place for place, part in enumerate(parts) if "/" in part), None)
    if at is None or at > 2:
        raise TemplateError("The function 'resourceId' was given no resource type.")
    subscription = parts[0] if at == 2 else plan.around.subscription
    group = parts[at - 1] if at else str(plan.around.group["name"])
    return id_in(group_id(subscription, group), parts[at], parts[at + 1 :])


def _subscription_resource_id(plan: DeploymentPlan, *parts: str) -> str:
    at = 0 if "/" in parts[0] else 1
    subscription = parts[0] if at else plan.around.subscription
    return id_in(subscription_id(subscription), parts[at], parts[at + 1 :])


def _reference(plan: DeploymentPlan, what: str, api_version: str = "", full: str = "") -> Any:
    meant = next((each for each in plan.resources if what.lower() in each.aliases), None)
    resource_id = meant.id if meant else what
    if not resource_id.startswith("/"):
        raise TemplateError(f"The resource '{what[:200]}' is not defined in the template.")
    if resource_id.lower() not in plan.references:
        raise NeedsReference(resource_id, api_version or (meant.api_version if meant else ""))
    document = plan.references[resource_id.lower()]
    return document if full.lower() == "full" else document.get("properties", {})


def _providers(plan: DeploymentPlan, namespace: str, kind: str = "") -> Any:
    versions = list(api_versions(namespace, kind))
    if not versions:
        raise TemplateError(f"The resource type '{namespace}/{kind}' is not known here.")
    return {"resourceType": kind, "locations": [], "apiVersions": versions}


def _copy_index(index: int | None, rest: Sequence[Any]) -> int:
    if index is None:
        raise TemplateError("The function 'copyIndex' stands outside of a copy loop.")
    return index + next((each for each in rest if isinstance(each, int)), 0)


def _subscription(plan: DeploymentPlan) -> dict[str, str]:
    subscription = plan.around.subscription
    return {
        "id": subscription_id(subscription),
        "subscriptionId": subscription,
        "tenantId": plan.around.tenant,
        "displayName": "Forewarn",
    }


_LOOKING: dict[str, Callable[..., Any]] = {
    "parameters": lambda plan, name: plan.parameter(name),
    "variables": lambda plan, name: plan.variable(name),
    "resourceid": _resource_id,
    "subscriptionresourceid": _subscription_resource_id,
    "reference": _reference,
    "providers": _providers,
    "subscription": _subscription,
    "tenant": lambda plan: {"tenantId": plan.around.tenant},
    "resourcegroup": lambda plan: dict(plan.around.group),
    "deployment": lambda plan: {"name": plan.around.deployment},
}


def camel_case(name: str) -> str:
    """How the service spells an output: ``VMSS`` is vmss, ``MyOutput`` is myOutput."""
    if not name[:1].isupper():
        return name
    letters = list(name)
    for place, letter in enumerate(letters):
        if place == 1 and not letter.isupper():
            break
        after = letters[place + 1] if place + 1 < len(letters) else ""
        if place and after and not after.isupper():
            break
        letters[place] = letter.lower()
    return "".join(letters)

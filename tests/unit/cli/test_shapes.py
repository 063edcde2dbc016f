"""What the command reads of the operator API is what the API's own OpenAPI document promises, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from forewarn.cli.api import machine_shapes, shapes, time_shapes
from tests.unit.cli.conftest import Region

# The shapes whose name in the OpenAPI document is not their own name with "Answer" behind it.
_NAMED: dict[str, str] = {
    "Pong": "PingAnswer",
    "Moment": "TimelineEntry",
    "EventStory": "EventStory",
    "VmStory": "VmStory",
    "ScaleSetStory": "ScaleSetStory",
    "SettingShown": "SettingAnswer",
    "Verdict": "VerifyAnswer",
    "Turned": "ClockTurned",
    "Happened": "Happened",
    "ForecastFact": "ForecastFact",
    "CampaignHosts": "CampaignHosts",
    "DomainCount": "DomainCount",
    "EventCount": "EventCount",
    "FoundThing": "FoundThing",
    "HostChanged": "HostChanged",
}
_JSON = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null", dict: "object"}
_EVERY = vars(shapes) | vars(machine_shapes) | vars(time_shapes)
SHAPES = {name: shape for name, shape in _EVERY.items() if is_typeddict(shape)}


@pytest.fixture
def components(region: Region) -> dict[str, Any]:
    found: dict[str, Any] = region.app.openapi()["components"]["schemas"]
    return found


def _name_of(shape: str) -> str:
    return _NAMED.get(shape, f"{shape}Answer")


def differences(shape: Any, components: dict[str, Any]) -> list[str]:
    """Each field that the shape lacks, has on its own, or takes for another kind of value."""
    promised = components[_name_of(shape.__name__)]["properties"]
    read = get_type_hints(shape)
    lacking = [f"{shape.__name__} lacks '{name}'" for name in promised if name not in read]
    alone = [f"{shape.__name__} has '{name}', which the API does not send" for name in read if name not in promised]
    other = [
        f"{shape.__name__}.{name} is taken for {sorted(_kinds(hint))}, the API sends {sorted(_sent(promised[name]))}"
        for name, hint in read.items()
        if name in promised and _kinds(hint) != _sent(promised[name])
    ]
    return lacking + alone + other


def _kinds(hint: Any) -> set[str]:
    """A type as words: ``list[Vm] | None`` is null and "array of VmAnswer"."""
    if get_origin(hint) in (UnionType, Union):
        return {kind for each in get_args(hint) for kind in _kinds(each)}
    if get_origin(hint) is list:
        return {f"array of {kind}" for kind in _kinds(get_args(hint)[0])}
    if is_typeddict(hint):
        return {_name_of(hint.__name__)}
    return {_JSON[get_origin(hint) or hint]}


def _sent(schema: dict[str, Any]) -> set[str]:
    """The same words for a schema of the OpenAPI document."""
    return set(_sent_kinds(schema))


def _sent_kinds(schema: dict[str, Any]) -> Iterator[str]:
    for each in schema.get("anyOf", schema.get("allOf", ())):
        yield from _sent_kinds(each)
    if "$ref" in schema:
        yield schema["$ref"].rpartition("/")[2]
    elif schema.get("type") == "array":
        yield from (f"array of {kind}" for kind in _sent_kinds(schema["items"]))
    elif "type" in schema:
        yield schema["type"]


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_a_shape_has_the_fields_that_the_api_sends_and_no_others(name: str, components: dict[str, Any]) -> None:
    assert differences(SHAPES[name], components) == []


def test_a_field_that_is_missing_misspelled_or_of_another_kind_is_told(components: dict[str, Any]) -> None:
    promised = components["HostAnswer"]["properties"]
    changed = {**promised, "vms": {"type": "integer"}, "rack": {"type": "string"}}
    del changed["health"]

    found = differences(shapes.Host, {"HostAnswer": {"properties": changed}})

    assert found == [
        "Host lacks 'rack'",
        "Host has 'health', which the API does not send",
        "Host.vms is taken for ['array of string'], the API sends ['integer']",
    ]

"""The OpenAPI document: valid, and with a word for everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, get_args

import pytest
from fastapi.openapi.models import OpenAPI

from forewarn.core.causes import HOST_MAINTENANCE
from forewarn.core.specs import EvictionPolicy, Orchestration, ScaleInRule, UpgradeMode
from forewarn.web.faults import FaultKind
from forewarn.web.operator.schema import requests as bodies
from forewarn.web.operator.schema.scale_set_requests import ScaleSetChangeBody

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench, OpenBench

pytestmark = pytest.mark.anyio


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


async def test_the_document_is_valid_and_all_its_references_resolve(bench: Bench) -> None:
    document = await bench.get("/openapi.json")
    OpenAPI.model_validate(document)
    found = set(references(document))
    assert found
    for reference in found:
        assert reference.removeprefix("#/components/schemas/") in document["components"]["schemas"]


async def test_every_route_has_a_summary_a_description_and_its_own_name(bench: Bench) -> None:
    found = dict(operations(await bench.get("/openapi.json")))
    assert len({operation["operationId"] for operation in found.values()}) == len(found)
    assert len({operation["summary"] for operation in found.values()}) == len(found)
    for name, operation in found.items():
        assert operation["summary"], name
        assert operation["description"].endswith("."), name
        assert "default" in operation["responses"], name
        assert "422" not in operation["responses"], name


async def test_every_field_and_parameter_has_a_description_and_an_example(bench: Bench) -> None:
    document = await bench.get("/openapi.json")
    for name, schema in document["components"]["schemas"].items():
        for field, told in schema.get("properties", {}).items():
            refers = "$ref" in told or "$ref" in told.get("items", {})
            assert "description" in told or "$ref" in told, f"{name}.{field}"
            assert "examples" in told or refers, f"{name}.{field}"
    for name, operation in operations(document):
        for parameter in operation.get("parameters", []):
            if parameter["in"] != "path":
                assert parameter["description"], f"{name} {parameter['name']}"


async def test_every_request_body_refuses_unknown_fields(bench: Bench) -> None:
    schemas = (await bench.get("/openapi.json"))["components"]["schemas"]
    found = [name for name in schemas if name.endswith("Body")]
    assert len(found) > 10
    for name in found:
        assert schemas[name]["additionalProperties"] is False, name


async def test_the_token_is_told_of_where_one_is_needed(open_bench: OpenBench, anyio_backend: str) -> None:
    async with open_bench(token="sesame") as bench:
        bench.client.headers["Authorization"] = "Bearer sesame"
        document = await bench.get("/openapi.json")
    assert all(operation["security"] for _, operation in operations(document))


async def test_no_page_loads_scripts_of_others(bench: Bench) -> None:
    for path in ("/docs", "/redoc"):
        await bench.refused(404, "GET", path)


def test_the_words_of_the_api_are_those_of_the_core() -> None:
    assert get_args(bodies.Maintenance) == tuple(cause.value for cause in HOST_MAINTENANCE)
    assert get_args(bodies.FaultKind) == tuple(kind.value for kind in FaultKind)
    fields = ScaleSetChangeBody.model_fields
    for name, words in (
        ("orchestration", Orchestration),
        ("upgrade", UpgradeMode),
        ("scale_in", ScaleInRule),
        ("eviction_policy", EvictionPolicy),
    ):
        assert get_args(fields[name].annotation) == tuple(word.value for word in words)

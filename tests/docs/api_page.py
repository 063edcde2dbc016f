"""docs/api.md: every route, field and refusal of the operator API, from the OpenAPI document that a server gives."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from forewarn.plane.clock import TurnableClock
from forewarn.server.assembly import Parts, running
from forewarn.stores.memory import MemoryJournal

_SHAPES = "#/components/schemas/"
Node: TypeAlias = Mapping[str, Any]


def operator_api() -> str:
    """Routes by their noun, then the shapes that they take and give."""
    document = openapi()
    routes: dict[str, list[tuple[str, str, Node]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            routes.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    lines = ["| noun | routes |", "|---|---|"]
    for noun, found in routes.items():
        linked = "<br>".join(f"[`{method} {path}`](#{_anchor(f'{method} {path}')})" for method, path, _ in found)
        lines.append(f"| [{noun}](#{_anchor(noun)}) | {linked} |")
    for noun, found in routes.items():
        lines += ["", f"## {noun}"]
        for method, path, operation in found:
            lines += ["", *_route(method, path, operation)]
    lines += ["", "## Shapes", "", "What is not marked as needed may be left out of a request."]
    for name, shape in sorted(document["components"]["schemas"].items()):
        lines += ["", *_shape(name, shape)]
    return "\n".join(lines)


def openapi() -> dict[str, Any]:
    """The document of a server with nothing in it."""

    async def ask() -> dict[str, Any]:
        clock = TurnableClock(datetime(2026, 1, 1, tzinfo=UTC))
        async with running(Parts(journal=MemoryJournal(), clock_from=lambda _: clock)) as server:
            return server.operator_app(metadata_url="http://127.0.0.1:16925", hosts=()).openapi()

    return asyncio.run(ask())


def _route(method: str, path: str, operation: Node) -> Iterator[str]:
    yield f"### `{method} {path}`"
    yield ""
    yield _prose(f"{operation['summary']}. {operation.get('description', '')}")
    parameters = operation.get("parameters", ())
    if parameters:
        yield from ("", "| parameter | where | value | what it is |", "|---|---|---|---|")
    for each in parameters:
        needed = " (needed)" if each.get("required") and each["in"] != "path" else ""
        told = f"{_kind(each['schema'])}{needed} | {_cell(each.get('description', ''))}"
        yield f"| `{each['name']}` | {each['in']} | {told} |"
    sentences = []
    if "requestBody" in operation:
        sentences.append(f"Takes {_content(operation['requestBody'])}.")
    sentences += [
        f"Answers {status} with {_content(answer)}." if "content" in answer else f"Answers {status}."
        for status, answer in operation["responses"].items()
        if status != "default"
    ]
    yield from ("", " ".join(sentences))


def _content(part: Node) -> str:
    return " or ".join(
        _kind(each["schema"]) if each.get("schema") else f"`{kind}`" for kind, each in part["content"].items()
    )


def _shape(name: str, shape: Node) -> Iterator[str]:
    yield f"### `{name}`"
    if shape.get("description"):
        yield from ("", _prose(shape["description"]))
    if "enum" in shape:
        yield from ("", f"One of {', '.join(f'`{each}`' for each in shape['enum'])}.")
    if shape.get("properties"):
        yield from ("", "| field | value | what it is |", "|---|---|---|")
    for field, each in shape.get("properties", {}).items():
        needed = " (needed)" if field in shape.get("required", ()) else ""
        yield f"| `{field}` | {_kind(each)}{needed} | {_cell(each.get('description', ''))}{_default(each)} |"


def _default(field: Node) -> str:
    default = field.get("default")
    return "" if default in (None, "", [], {}, False) or isinstance(default, dict) else f" Default: `{default}`."


def _kind(schema: Node) -> str:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_SHAPES)
        return f"[`{name}`](#{_anchor(name)})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_kind(each) for each in schema[several]))
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"a list of {_kind(schema.get('items', {}))}"
    extra = schema.get("additionalProperties")
    if schema.get("type") == "object" and isinstance(extra, Mapping):
        return f"a table of {_kind(extra)}"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    if schema.get("format") == "date-time":
        return "instant"
    return words.get(str(schema.get("type")), {"null": "null", "object": "object"}.get(str(schema.get("type")), "JSON"))


def _anchor(title: str) -> str:
    """As GitHub makes it of a heading."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def _prose(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|")

"""Documentation that is made from the code is current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.api_page import openapi
from tests.docs.generate import BLOCKS, DOCS, PROTOCOL, SCHEMAS, as_json, protocol, renewed


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_generated_parts_are_current(page: Path) -> None:
    assert page.read_text() == renewed(page.read_text()), "run `make docs`"


def test_the_document_of_the_engines_protocol_is_current() -> None:
    assert PROTOCOL.read_text() == protocol(), "run `make docs`"


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_the_schemas_of_files_are_current(path: Path) -> None:
    assert path.read_text() == as_json(SCHEMAS[path]()), "run `make docs`"


def test_every_route_and_every_field_of_the_operator_api_is_on_its_page() -> None:
    page = (DOCS / "api.md").read_text()
    document = openapi()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            (part,) = re.findall(
                rf"^### `{method.upper()} {re.escape(path)}`\n(.*?)(?=^##)", page, re.DOTALL | re.MULTILINE
            )
            for each in operation.get("parameters", ()):
                assert f"| `{each['name']}` |" in part, (method, path)
    for name, shape in document["components"]["schemas"].items():
        (part,) = re.findall(rf"^### `{name}`\n(.*?)(?=^##|<!--)", page, re.DOTALL | re.MULTILINE)
        assert set(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)) == set(shape.get("properties", {})), name
    links = set(re.findall(r"\]\(#([^)]+)\)", page))
    titles = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    assert links <= {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_generator_is_used() -> None:
    used = set(re.findall(r"<!-- generated: (\w+) -->", "".join(page.read_text() for page in DOCS.glob("*.md"))))

    assert used == set(BLOCKS)

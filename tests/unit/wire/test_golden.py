"""Documents as exact bytes, for every api-version; see tests/golden/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forewarn.terms import Document, ScheduledEvent
from forewarn.wire.document import decode_document, encode_document
from forewarn.wire.times import parse_instant
from forewarn.wire.versions import API_VERSIONS, find

GOLDEN = Path(__file__).parents[2] / "golden"


def _described() -> dict[str, dict[str, Any]]:
    """Path below the golden folder, without its ending -> description."""
    described: dict[str, dict[str, dict[str, Any]]] = json.loads((GOLDEN / "documents.json").read_text())
    shared = {
        f"{version.date}/{name}": description
        for version in API_VERSIONS
        for name, description in described["every_version"].items()
    }
    return shared | described["captured"]


DESCRIBED = _described()


def _document(description: dict[str, Any]) -> Document:
    events = (ScheduledEvent(**event | _values(event)) for event in description["events"])
    return Document(description["incarnation"], tuple(events))


def _values(event: dict[str, Any]) -> dict[str, Any]:
    return {"resources": tuple(event["resources"]), "not_before": parse_instant(event["not_before"])}


@pytest.mark.parametrize("path", DESCRIBED)
def test_a_described_document_is_exactly_these_bytes(path: str) -> None:
    description = DESCRIBED[path]
    version = find(path.split("/")[0])
    assert version is not None

    encoded = encode_document(_document(description), version, role_instances=description.get("role_instances", False))

    assert encoded == (GOLDEN / f"{path}.json").read_bytes()


@pytest.mark.parametrize("path", DESCRIBED)
def test_golden_bytes_read_and_written_again_are_the_same(path: str) -> None:
    golden = (GOLDEN / f"{path}.json").read_bytes()
    version = find(path.split("/")[0])
    document = decode_document(golden)
    assert version is not None
    assert document is not None

    underscores_are_in_the_names = True
    assert encode_document(document, version, role_instances=underscores_are_in_the_names) == golden


def test_every_golden_file_is_described() -> None:
    files = {f"{version.date}/{file.stem}" for version in API_VERSIONS for file in (GOLDEN / version.date).iterdir()}

    assert files == set(DESCRIBED)

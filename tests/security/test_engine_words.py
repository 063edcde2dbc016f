"""No face takes a command line, a URI or a template: those of engines stand in the server's own files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from forewarn.cli.main import build_parser
from forewarn.settings.machine_entries import BlueprintEntry, EngineEntry, HostEntry
from forewarn.settings.table import SETTINGS
from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.pages import PAGES
from tests.unit.web.operator.conftest import open_bench
from tests.unit.web.resource_manager.bench import RG
from tests.unit.web.resource_manager.bench import open_bench as open_arm

pytestmark = pytest.mark.anyio

# Names of things, numbers and choices; what is left of the entries reaches an engine as an address, a program, a file
_HARMLESS = {"name", "kind", "engine", "node", "fault_domain", "update_domain", "capacity", "added", "shared_disks"}
ONLY_IN_FILES = {each.name for entry in (EngineEntry, HostEntry, BlueprintEntry) for each in fields(entry)} - _HARMLESS


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_words_are_those_that_reach_an_engine() -> None:
    assert {
        "socket",
        "uri",
        "peer_uri",
        "fence",
        "program",
        "command",
        "image",
        "definition",
        "mounts",
    } <= ONLY_IN_FILES


def _asked(document: Any) -> Iterator[tuple[str, str]]:
    """Every field and parameter that a request of the operator API may carry, with where it stands."""
    bodies = set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                yield f"{method} {path}", parameter["name"]
            schema = str(operation.get("requestBody", ""))
            bodies |= {name for name in document["components"]["schemas"] if f"schemas/{name}'" in schema}
    for body in bodies:
        for name in document["components"]["schemas"][body].get("properties", {}):
            yield body, name


async def test_no_request_of_the_operator_api_has_a_field_for_one() -> None:
    async with open_bench() as bench:
        asked = list(_asked(bench.app.openapi()))

    assert len(asked) > 100  # else it was looked for in the wrong place
    assert [(where, name) for where, name in asked if name in ONLY_IN_FILES] == []


@pytest.mark.parametrize("word", sorted(ONLY_IN_FILES))
async def test_one_that_is_sent_all_the_same_is_refused_and_changes_nothing(word: str) -> None:
    evil = "qemu+ext:///system?command=/bin/sh"
    async with open_bench() as bench:
        for path, body in (
            ("/v1/vms", {"name": "a"}),
            ("/v1/scale-sets", {"name": "a"}),
            ("/v1/hosts/add", {"name": "a"}),
            ("/v1/machines/adopt", {"host": "a", "ref": "b"}),
        ):
            told = await bench.refused(400, "POST", path, {**body, word: evil})
            assert f"There is no field '{word}' here." in told


def _options(parser: argparse.ArgumentParser, *names: str) -> Iterator[tuple[str, str]]:
    """Every option and argument of a command that asks a server, and of the server's own."""
    if "--url" in parser._option_string_actions or names[-1:] == ("serve",):
        for action in parser._actions:
            yield " ".join(names), action.dest
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, each in action.choices.items():
                yield from _options(each, *names, name)


def test_no_command_has_an_option_for_one() -> None:
    """But for ``--url``: where this command finds the server that it asks."""
    asked = list(_options(build_parser()))

    assert len(asked) > 300  # else it was looked for in the wrong place
    assert [(where, name) for where, name in asked if name in ONLY_IN_FILES - {"url"}] == []
    assert ONLY_IN_FILES & set(SETTINGS) == set()


def test_no_form_of_the_portal_has_a_field_for_one() -> None:
    asked = [(key, each.key or each.name) for key, deed in DEEDS.items() for each in deed.fields]

    assert len(asked) > 40  # else it was looked for in the wrong place
    assert [(where, name) for where, name in asked if name in ONLY_IN_FILES] == []
    assert any(page.name == "machines" and page.post is None for page in PAGES)


@pytest.mark.parametrize("place", ["top", "properties", "tags"])
async def test_the_resource_manager_makes_no_real_machine_whatever_a_body_says(place: str) -> None:
    """A member that it does not know is refused or kept only to be told back; a tag is a tag."""
    evil = {"engine": "boxes", "blueprint": "worker", "uri": "qemu+ext:///system?command=/bin/sh", "host": "rack-1"}
    async with open_arm() as bench:
        await bench.group("rg1")
        body: dict[str, Any] = {"location": "eastus", "properties": {}, "tags": {}}
        body[place] = evil
        body |= evil if place == "top" else {}
        body.pop("top", None)
        path = f"{RG}/providers/Microsoft.Compute/virtualMachines/web"
        answer = await bench.client.put(path, json=body, params={"api-version": "2024-07-01"})
        region = bench.desk.plane.region

    assert answer.status_code in (200, 201, 400), answer.text
    assert (len(region.machines), len(region.errands), len(region.real_hosts)) == (0, 0, 0)
    assert all(not vm.spec.engine and not vm.spec.blueprint for vm in region.vms.values())
    assert len(region.vms) == (0 if answer.status_code == 400 else 1)

"""The Azure SDKs, unmodified, against the installed program: Python's and JavaScript's.

Each story is a program of its own, in the client's own environment (``make test`` makes both); it prints what it found.
The clock runs faster, so that a recovery of half a minute is soon over; notices are still long enough to be approved.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import ROOT, ServerProgram, clean_environment

BUILD = ROOT / ".build"
STORIES = ROOT / "tests" / "e2e"
PATIENCE_SECONDS = 300.0
NOT_SPOT = "Operation 'simulateEviction' is allowed only for Spot Virtual Machines"
NO_ENTITY = "The entity was not found in this Azure location."

pytestmark = [pytest.mark.slow, pytest.mark.timeout(PATIENCE_SECONDS)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProgram]:
    with ServerProgram.start(tmp_path / "data", "--clock", "x20", "--resource-manager", "127.0.0.1:0") as started:
        yield started


def told(server: ServerProgram, *command: str | Path, **more: str) -> dict[str, Any]:
    """What a story found, told with nothing in its environment but what ``forewarn az-env`` says."""
    assert Path(command[0]).exists(), f"{command[0]} is missing: make test makes it"
    directory = server.data.with_name("az")
    variables = json.loads(server.forewarn("az-env", "--json", "--dir", str(directory)))
    environment = clean_environment(**variables, STORY_METADATA=server.metadata, **more)
    done = subprocess.run(
        [*command], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{server.log.read_text()}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def not_found(kind: str, name: str, group: str) -> str:
    return (
        f"The Resource '{kind}/{name}' under resource group '{group}' was not found. "
        "For more details please go to https://aka.ms/ARMResourceNotFoundFix"
    )


def test_the_python_sdk_goes_through_its_story(server: ServerProgram) -> None:
    found = told(server, BUILD / "sdk" / "bin" / "python", STORIES / "sdk" / "story.py")

    too_long = found.pop("too long")
    no_vm = [404, "ResourceNotFound", not_found("Microsoft.Compute/virtualMachines", "none", "sdk")]
    assert found == {
        "vm": ["Succeeded", "Standard_DS1_v2", True],
        "restarted": "one",
        "tags": {"team": "web"},
        "power": "PowerState/deallocated",
        "expanded": "PowerState/stopped",
        "not spot": ["ResourceExistsError", 409, "OperationNotAllowed", NOT_SPOT],
        "created": ["Succeeded", 3, "PT10M", True],
        "updated": ["PT5M", '"2"'],
        "latest": [False, False, False],
        "latest after": [True, True, True],
        "waits": True,
        "terminated": "web_1",
        "left": ["0", "2"],
        "redeployed": "web_2",
        "instance view": ["PowerState/running", 2, True],
        "summary": [["ProvisioningState/succeeded", 2]],
        "spot": "Spot",
        "many": 250,
        "listed": 250,
        "sets left": [],
        "no vm": ["ResourceNotFoundError", *no_vm],
        "no action": ["ResourceNotFoundError", *no_vm],
        "no group": [
            "ResourceNotFoundError",
            404,
            "ResourceGroupNotFound",
            "Resource group 'none' could not be found.",
        ],
        "no instance": ["ResourceNotFoundError", 404, "NotFound", NO_ENTITY],
        "followed": True,
        "silent": [],
    }
    assert too_long[:3] == ["HttpResponseError", 400, "InvalidParameter"]
    assert "between PT5M and PT15M" in too_long[3]
    assert [vm["name"] for vm in server.json("vm", "list")] == ["small_0"]


def test_the_javascript_sdk_goes_through_its_story(server: ServerProgram) -> None:
    found = told(server, "/usr/bin/env", "node", STORIES / "js" / "story.mjs", STORY_MODULES=str(BUILD / "js"))

    too_long = found.pop("tooLong")
    assert found == {
        "vm": ["Succeeded", "Standard_DS1_v2"],
        "restarted": "uno",
        "power": "PowerState/deallocated",
        "notSpot": [409, "OperationNotAllowed", NOT_SPOT],
        "created": ["Succeeded", 3, "PT10M", True],
        "updated": "PT5M",
        "latest": [True, True, True],
        "waits": True,
        "terminated": "red_1",
        "left": ["0", "2"],
        "noInstance": [404, "NotFound", NO_ENTITY],
        "listed": 150,
        "noVm": [404, "ResourceNotFound", not_found("Microsoft.Compute/virtualMachines", "none", "js")],
        "followed": True,
        "silent": [],
    }
    assert too_long[:2] == [400, "InvalidParameter"]


def test_every_allowed_number_of_domains_of_a_set_is_accepted_and_its_vms_are_spread_over_them(
    server: ServerProgram,
) -> None:
    found = told(server, BUILD / "sdk" / "bin" / "python", STORIES / "sdk" / "domains.py")

    for update, fault in product(range(1, 21), range(1, 4)):
        shown = found.pop(f"{update} {fault}")
        turns = [[number % update, number % fault] for number in range(max(update, fault) + 1)]
        assert shown == {"counts": [update, fault], "domains": turns}
    for mode, most in (("Uniform", 5), ("Flexible", 3)):
        for count in range(1, most + 1):
            shown = found.pop(f"{mode} {count}")
            assert shown["counts"] == [count]
            faults = sorted(fault for _, fault in shown["domains"])
            assert faults == sorted(number % count for number in range(6))
    assert not found

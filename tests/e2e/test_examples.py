"""What stands in ``examples/`` works: the worker's own tests, the clients against a region, the CI file as YAML."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import yaml

import forewarn
from forewarn.testing import Region, VmHandle, open_region

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
WORKER = EXAMPLES / "worker"
CLIENTS = EXAMPLES / "clients"


def _run(command: Sequence[str | Path], environment: Mapping[str, str], status: int = 0) -> str:
    done = subprocess.run(
        command, cwd=WORKER, env={**os.environ, **environment}, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == status, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture
def vm() -> Iterator[tuple[Region, VmHandle]]:
    with open_region() as region:
        yield region, region.vm("web-0")


def _pytest(directory: Path) -> str:
    """Run the tests in a directory as their owner would, with our plugin and no other."""
    environment = {
        "PYTHONPATH": str(Path(forewarn.__file__).parents[1]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "forewarn.testing.plugin",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    options = [
        "-q",
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir",
        str(directory),
        str(directory),
    ]
    return _run([sys.executable, "-m", "pytest", *options], environment)


def test_the_tests_of_the_worker_pass_as_its_owner_runs_them() -> None:
    assert "5 passed" in _pytest(WORKER)


def test_the_worker_does_what_it_is_told_and_ends(vm: tuple[Region, VmHandle]) -> None:
    source = str(Path(forewarn.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-B", WORKER / "worker.py"],
        env={**os.environ, **vm[1].environment, "PYTHONPATH": source},
        input="resize cat.png\nresize dog.png\n",
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == ("done: resize cat.png\ndone: resize dog.png\n", "")


def test_the_ci_example_is_a_workflow_that_runs_pytest_without_containers() -> None:
    workflow = yaml.safe_load((WORKER / "ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]

    assert "container" not in job
    assert "services" not in job
    assert commands == ['python -m pip install "./forewarn[server]" pytest', "python -m pytest"]


def _lists_and_approves(client: Sequence[str | Path], region: Region, vm: VmHandle) -> None:
    """One line for the event, an approval that starts it, and a no that is told."""
    url = {"SCHEDULED_EVENTS_URL": vm.url, "http_proxy": "http://127.0.0.1:9"}
    assert _run(client, url) == ""
    event = region.restart(vm)
    (line,) = _run(client, url).splitlines()
    assert line.split("\t")[:4] == [event.id, "Reboot", "Scheduled", "web-0"]
    assert line.split("\t")[4] == f"{event.not_before:%a, %d %b %Y %H:%M:%S} GMT"

    assert "400" in _run([*client, "approve", "no-such-event"], url, status=1)
    assert event.phase == "scheduled"
    _run([*client, "approve", event.id], url)
    region.assert_approved_before_deadline(event)
    (line,) = _run([*client, "list"], url).splitlines()
    assert line.split("\t")[2:] == ["Started", "web-0", "now"]
    _run([*client, "dance"], url, status=2)


def test_the_python_client_lists_and_approves(vm: tuple[Region, VmHandle]) -> None:
    _lists_and_approves([sys.executable, "-I", CLIENTS / "scheduled_events.py"], *vm)


def test_the_c_sharp_client_compiles_lists_and_approves(vm: tuple[Region, VmHandle], tmp_path: Path) -> None:
    program = tmp_path / "ScheduledEvents.exe"
    libraries = ["-r:System.Net.Http", "-r:System.Runtime.Serialization"]
    assert _run(["mcs", "-warnaserror", *libraries, f"-out:{program}", CLIENTS / "ScheduledEvents.cs"], {}) == ""

    _lists_and_approves(["mono", program], *vm)


def test_the_powershell_client_says_that_it_is_not_tested() -> None:
    assert "NOT TESTED HERE" in (CLIENTS / "ScheduledEvents.ps1").read_text()


def test_the_tests_in_the_guide_pass(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "testing.md").read_text(), re.DOTALL | re.MULTILINE)
    for number, block in enumerate(blocks):
        (tmp_path / f"test_{number}.py").write_text(block)

    assert "5 passed" in _pytest(tmp_path)

"""A region on Windows, what is tried out with one, and one agent.toml that is explained on both systems."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from requirements.windows import ROOT

from forewarn.testing import open_region
from tests.platforms.windows.wine import PYTHON, Windows, windows_path
from tests.waiting import until

BOTH = """
[[rule]]
verdict = "prepare-then-approve"

[[step]]
name = "stop the unit"
kind = "systemd"
system = "linux"
units = ["worker.service"]

[[step]]
name = "stop the service"
kind = "service"
system = "windows"
services = ["worker"]
"""
DOCUMENT = """{"DocumentIncarnation": 1, "Events": [
{"EventId": "A-1", "EventStatus": "Scheduled", "EventType": "Reboot",
"ResourceType": "VirtualMachine", "Resources": ["web-0"], "NotBefore": "Thu, 01 Jan 2026 12:15:00 GMT",
"Description": "", "EventSource": "Platform", "DurationInSeconds": -1}]}"""


# A command that hears Ctrl-Break when a file is there: wine has no console here that could send it
STOPPABLE = r"""
import signal, sys, threading, time
from pathlib import Path
from forewarn.__main__ import main
def wait(gate=Path(sys.argv.pop(1))):
    while not gate.exists(): time.sleep(0.1)
    signal.raise_signal(signal.SIGBREAK)
threading.Thread(target=wait, daemon=True).start()
sys.argv[0] = "forewarn"
sys.exit(main())
"""
READ = r"""
import os, urllib.request
url = os.environ["FOREWARN_ENDPOINT"] + "/metadata/scheduledevents?api-version=2020-07-01"
print(urllib.request.urlopen(urllib.request.Request(url, headers={"Metadata": "true"})).read().decode())
"""
KIT = r"""
def test_it(region):
    vm = region.vm("web-0")
    event = region.restart(vm)
    vm.approve()
    assert event.approved_by == "web-0"
"""


@contextmanager
def stoppable(windows: Windows, gate: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    process = windows.start("-c", STOPPABLE, f"C:\\{gate}", *words, out=subprocess.PIPE)
    try:
        yield process
        windows.on_drive(gate).touch()
        process.communicate(timeout=180)
    finally:
        process.kill()
        process.communicate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@pytest.mark.timeout(600)
def test_a_server_has_its_ports_alone_ends_on_ctrl_break_and_finds_its_region_again(windows: Windows) -> None:
    metadata, control, manager = (f"127.0.0.1:{free_port()}" for _ in range(3))
    faces = ("--metadata", metadata, "--control", control, "--resource-manager", manager)
    serve = ("serve", "--data", "C:\\region", *faces, "--ready", "json")
    url = ("--url", f"http://{control}")
    with stoppable(windows, "first", *serve) as server:
        assert server.stdout is not None
        ready = next(line for line in server.stdout if line.startswith(b"{"))
        assert json.loads(ready)["ready"]
        windows.forewarn("vm", "create", "db", "--os", "windows", *url).good()
        told = windows.forewarn("az-env", *url).good()
        assert f"$env:AZURE_RESOURCE_MANAGER_URL = 'https://{manager}'" in told
        assert "$env:AZURE_CONFIG_DIR = 'C:\\users\\" in told
        assert "AppData\\Local\\forewarn\\az-127.0.0.1-" in told
        others = ("--data", "C:\\other", "--metadata", "127.0.0.1:0", "--control", control, "--resource-manager", "off")
        second = windows.forewarn("serve", *others)
        assert second.status != 0
        assert f"cannot listen on {control}" in second.out
        assert "a forewarn has it" in second.out
    assert server.returncode == 0
    with stoppable(windows, "second", *serve) as server:
        assert server.stdout is not None
        next(line for line in server.stdout if line.startswith(b"{"))
        shown = json.loads(windows.forewarn("vm", "show", "db", "--json", *url).good())
        assert shown["os_type"] == "Windows"
        windows.forewarn("journal", "verify", *url).good()
    assert server.returncode == 0


@pytest.mark.timeout(300)
def test_an_agent_that_no_manager_runs_ends_on_ctrl_break(windows: Windows) -> None:
    with open_region() as region:
        config = windows.on_drive("alone.toml")
        rule = '[[rule]]\nverdict = "approve-now"\n'
        place = f"endpoint = '{region.vm('web-0').url}'\nstate_directory = 'C:\\alone'\n"
        config.write_text(f"[agent]\n{place}{rule}")
        with stoppable(windows, "enough", "agent", "run", "--config", "C:\\alone.toml") as agent:
            until((windows.on_drive("alone") / "journal").exists, "the agent has begun")
            event = region.freeze("web-0")
            until(lambda: event.approved_by == "web-0", "it was approved")
    assert agent.returncode == 0


@pytest.mark.timeout(300)
def test_a_region_around_a_command_and_the_test_kit(windows: Windows, tmp_path: Path) -> None:
    """Also around a script, which Windows does not start as it starts a program."""
    (tmp_path / "read.py").write_text(READ)
    (tmp_path / "reading.cmd").write_text(f'@"{windows_path(PYTHON)}" "%~dp0read.py"\r\n@exit /b %errorlevel%\r\n')
    done = windows.forewarn("run", "--type", "Preempt", "--", "reading", env={"WINEPATH": windows_path(tmp_path)})
    assert done.status == 0, done.out
    assert '"EventType":"Preempt"' in done.out
    failed = windows.forewarn("run", "--", windows_path(PYTHON), "-c", "raise SystemExit(7)")
    assert failed.status == 7
    assert "the command ended with status 7" in failed.out
    (tmp_path / "test_kit.py").write_text(KIT)
    here = windows_path(tmp_path)  # else pytest looks through /tmp, where others come and go
    words = ("-p", "forewarn.testing.plugin", "--rootdir", here, f"{here}\\test_kit.py")
    windows.python("-m", "pytest", "-q", *words).good()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("command", "says"), [("try", "clock next"), ("mock", "$env:FOREWARN_ENDPOINT = 'http://")])
def test_a_throw_away_region_is_told_about_and_ends_on_ctrl_break(windows: Windows, command: str, says: str) -> None:
    with stoppable(windows, f"end-{command}", command) as region:
        assert region.stdout is not None
        said = ""
        while says not in said:
            line = region.stdout.readline().decode()
            assert line, said
            said += line
        assert 'Invoke-RestMethod -Headers @{Metadata="true"} "http://' in said
    assert region.returncode == 0


@pytest.mark.timeout(300)
def test_a_region_with_all_its_faces_tells_the_stories_of_the_demo(windows: Windows) -> None:
    """Metadata, operator API, Resource Manager with TLS and SQLite, ended by its parent's end."""
    said = windows.forewarn("demo", "--no-wait", seconds=240).good()
    assert "5 of 5 stories went as they should." in said


def test_one_agent_toml_is_explained_on_linux_and_on_windows(windows: Windows, tmp_path: Path) -> None:
    config, document = tmp_path / "agent.toml", tmp_path / "document.json"
    config.write_text(BOTH)
    document.write_text(DOCUMENT)
    rest = ["--name", "web-0", "--now", "2026-01-01T12:00:00Z"]
    here = subprocess.run(
        [sys.executable, "-m", "forewarn", "agent", "explain", str(document), "--config", str(config), *rest],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    there = windows.forewarn("agent", "explain", windows_path(document), "--config", windows_path(config), *rest).good()
    assert "stop worker.service" in here
    assert "stop the service" not in here
    assert "stop worker, and what depends on it" in there
    assert "stop the unit" not in there

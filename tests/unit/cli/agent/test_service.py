"""``forewarn agent status``, ``install`` and ``run``: from an agent.toml to a service, as typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forewarn.guest.agent import run as starting
from forewarn.guest.agent.config.defaults import COMMENTED_TOML
from forewarn.guest.agent.deciding.state import Begun, Seen
from forewarn.guest.agent.keeping.journal import AgentJournal
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.telling.pages import AgentHealth, StatusServer
from forewarn.guest.agent.values import Step, Verdict
from forewarn.guest.system import this_machine
from tests.unit.cli.agent.conftest import EVENT, GOOD, NOON
from tests.unit.guest.azure import OK, RawServer

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Run

MACHINE = this_machine()


def test_status_reads_the_memory_and_asks_the_agent(run: Run, config: Path, tmp_path: Path) -> None:
    health, metrics = AgentHealth(MACHINE.threads, lambda: 5.0, 60.0), Metrics(MACHINE.threads)
    health.good_read()
    journal = AgentJournal(MACHINE.files, tmp_path / "state")
    journal.write(Seen(EVENT, NOON, Verdict.PREPARE_THEN_APPROVE, ("drain",)))
    step = Step("drain", "command", {"run": ["/bin/true"], "undo": ["/bin/false"]})
    journal.write(Begun(1, step, "boot", EVENT))
    with StatusServer(MACHINE, "127.0.0.1:0", health, metrics) as server:
        config.write_text(
            GOOD.replace(
                "[agent]",
                f'[agent]\nstate_directory = "{tmp_path.as_posix()}/state"\nstatus_listen = "{server.address}"',
            )
        )
        result = run("agent", "status", "--config", str(config))
        health.leave_service("A1", "draining")
        told = run("agent", "status", "--config", str(config), "--json").json
    gone = run("agent", "status", "--config", str(config))
    journal.close()

    assert result.status == 0
    assert result.lines == [
        "healthy   yes",
        "ready     yes",
        "events    A1 Reboot Scheduled, NotBefore 2026-01-01T12:15:00Z: prepare-then-approve, approval none",
        "changed   drain: doing; to be undone: run /bin/false",
    ]
    assert (told["healthy"], told["ready"], told["why_not_ready"]) == (True, False, "draining")
    assert told["events"][0]["event"]["id"] == "A1"
    assert told["changed"] == [
        {
            "step": "drain",
            "kind": "command",
            "mark": "doing",
            "event_id": "A1",
            "undo": "run /bin/false",
            "tries": 0,
            "why": "",
            "next_try": None,
            "time_left_seconds": 0.0,
        }
    ]
    assert gone.status == 3
    assert gone.lines[0].startswith("healthy   not known: nobody answers at 127.0.0.1:")


def test_status_of_an_unhealthy_agent_is_1_and_of_another_program_3(run: Run, config: Path, tmp_path: Path) -> None:
    ticks = iter([0.0, 0.0, 61.0, 61.0, 61.0])
    health = AgentHealth(MACHINE.threads, lambda: next(ticks, 61.0), 60.0)
    health.good_read()

    def told(address: str) -> str:
        config.write_text(f'[agent]\nstate_directory = "{tmp_path.as_posix()}/state"\nstatus_listen = "{address}"\n')
        result = run("agent", "status", "--config", str(config))
        return f"{result.status} {result.lines[0]}"

    with StatusServer(MACHINE, "127.0.0.1:0", health, Metrics(MACHINE.threads)) as server:
        assert told(server.address).startswith("1 healthy   no: the last good read is ")
    stranger = RawServer(lambda request: OK % (2, b"{}"))
    assert (
        told(f"127.0.0.1:{stranger.port}")
        == f"3 healthy   not known: what answers at 127.0.0.1:{stranger.port} is not an agent"
    )
    stranger.close()


def test_install_and_uninstall_show_and_then_do_it(run: Run, tmp_path: Path) -> None:
    root = ("--root", str(tmp_path / "root"))
    shown = run("agent", "install", *root, "--config", "/etc/forewarn/agent.toml", "--dry-run")
    assert shown.status == 0
    assert f"would write {tmp_path}/root/etc/forewarn/agent.toml" in shown.lines
    assert "    [Service]" in shown.lines
    assert not (tmp_path / "root").exists()

    done = run("agent", "install", *root, "--config", "/etc/forewarn/agent.toml", "--program", "/opt/forewarn")
    assert done.status == 0
    assert "systemctl enable --now" in done.err
    assert (tmp_path / "root/etc/forewarn/agent.toml").read_text() == COMMENTED_TOML
    unit = tmp_path / "root/etc/systemd/system/forewarn-agent.service"
    assert "ExecStart=/opt/forewarn agent run" in unit.read_text()

    told = run("agent", "uninstall", *root, "--dry-run", "--json").json
    assert [each["verb"] for each in told] == ["remove", "remove", "remove"]
    assert unit.exists()
    assert run("agent", "uninstall", *root).status == 0
    assert not unit.exists()
    assert "nothing to remove" in run("agent", "uninstall", *root).err


def test_install_refuses_what_it_cannot_do(run: Run, tmp_path: Path) -> None:
    root = ("--root", str(tmp_path))
    assert run("agent", "install", *root, "--config", "agent.toml").status == 2
    assert run("agent", "install", *root, "--enable").status == 2
    unit = tmp_path / "etc/systemd/system/forewarn-agent.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Unit]\n")
    result = run("agent", "install", *root, "--config", "/etc/forewarn/agent.toml")

    assert result.status == 1
    assert "was not written by 'forewarn agent install'" in result.err
    assert not (tmp_path / "etc/forewarn").exists()


def test_an_agent_starts_without_the_command_line(config: Path, metadata: RawServer, tmp_path: Path) -> None:
    config.write_text(f'[agent]\nendpoint = "{metadata.url}"\nstate_directory = "{tmp_path.as_posix()}/state"\n')
    code = f"""import sys
sys.argv = ["forewarn", "agent", "run", "--once", "--dry-run", "--config", {str(config)!r}]
from forewarn.__main__ import main
status = main()
heavy = {{"argparse", "asyncio", "difflib", "email", "http", "ssl", "forewarn.cli"}} & set(sys.modules)
sys.exit(f"{{status}} {{heavy}}" if status or heavy else 0)"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=100)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ([], starting.AgentOrder()),
        (["--once", "--config", "a", "--dry-run"], starting.AgentOrder("a", once=True, dry_run=True)),
        (["--help"], None),
        (["--config"], None),
        (["--config", "--once"], None),
        (["--onc"], None),
        (["more"], None),
    ],
)
def test_plain_words_of_agent_run_are_read_without_argparse_and_others_with_it(
    words: list[str], order: starting.AgentOrder | None
) -> None:
    assert starting.read_words(words) == order


def test_python_m_forewarn_refuses_an_agents_command_line_as_the_program_does(run: Run) -> None:
    command = [sys.executable, "-m", "forewarn", "agent", "run", "--onc"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)

    assert (done.returncode, done.stderr) == (2, run("agent", "run", "--onc").err)


def rehearse(config: Path, program: str = "forewarn") -> subprocess.CompletedProcess[str]:
    """One look by an agent of its own, which says what it would do."""
    command = [sys.executable, "-m", program, "agent", "run", "--once", "--dry-run", "--config", str(config)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)


def test_run_hands_the_file_to_the_agent(config: Path, metadata: RawServer, tmp_path: Path) -> None:
    config.write_text(
        GOOD.replace(
            "[agent]", f'[agent]\nendpoint = "{metadata.url}"\nstate_directory = "{tmp_path.as_posix()}/state"'
        )
    )
    done = rehearse(config, "forewarn.cli.main")

    assert done.returncode == 0, done.stderr
    assert "this VM is web-0" in done.stderr
    assert not any(b"POST" in request for request in metadata.requests)


def test_a_json_log_is_json_on_every_line(config: Path, metadata: RawServer, tmp_path: Path) -> None:
    config.write_text(
        f'[agent]\nendpoint = "{metadata.url}"\nstate_directory = "{tmp_path.as_posix()}/state"\nlog_format = "json"\n'
    )
    done = rehearse(config)

    assert done.returncode == 0
    assert {"info"} <= {json.loads(line)["level"] for line in done.stderr.splitlines()}

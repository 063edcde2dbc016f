"""``forewarn agent``: from an agent.toml to a service, as typed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forewarn.cli.commands import agent_config
from forewarn.guest.agent import run as starting
from forewarn.guest.agent.config.defaults import COMMENTED_TOML, CONFIG_PATH
from forewarn.guest.agent.deciding.state import Begun, Seen
from forewarn.guest.agent.keeping.journal import AgentJournal
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.telling.pages import AgentHealth, StatusServer
from forewarn.guest.agent.values import Step, Verdict
from forewarn.guest.system import this_machine
from forewarn.terms import Document, ScheduledEvent
from forewarn.wire.document import encode_document
from forewarn.wire.times import format_rfc1123
from forewarn.wire.versions import NEWEST
from tests.unit.guest.azure import OK, RawServer

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Run

MACHINE = this_machine()

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = ScheduledEvent("A1", "Scheduled", "Reboot", ("web-0",), NOON + timedelta(minutes=15), "", "Platform", -1)
GOOD = """\
[agent]
margin = "15s"

[[rule]]
name = "freezes"
types = ["Freeze"]
verdict = "ignore"

[[step]]
name = "drain"
kind = "command"
run = ["/bin/true"]
undo = ["/bin/false"]
"""


@pytest.fixture(autouse=True)
def no_usual_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever agent lives on the machine of whoever runs the tests is not asked."""
    for module in (agent_config, starting):
        monkeypatch.setattr(module, "CONFIG_PATH", str(tmp_path / "none" / "agent.toml"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "agent.toml"
    path.write_text(GOOD)
    return path


def document(*events: ScheduledEvent) -> str:
    return encode_document(Document(7, events), NEWEST).decode()


def test_the_path_that_the_command_line_takes_for_the_agents_file_is_the_agents_own_default() -> None:
    code = "import forewarn.cli.commands.agent_config as c; print(c.CONFIG_PATH)"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()

    assert told == CONFIG_PATH


def test_no_other_command_loads_the_agents_modules() -> None:
    code = "import sys, forewarn.cli.main as m; m.build_parser(); sys.exit('forewarn.guest' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_good_file_is_called_good(run: Run, config: Path) -> None:
    result = run("agent", "check", "--config", str(config))

    assert (result.status, result.err) == (0, "")
    assert result.lines == [
        f"{config} is good: 1 rule, 1 step, 0 notifications",
        "events that skip the steps:",
        "  type Freeze: ignored (rule 'freezes', line 4)",
        "  source User: approved at once (rule 'user operations', built in)",
    ]
    assert run("agent", "check", "--config", str(config), "--json").json == {
        "file": str(config),
        "good": True,
        "complaints": [],
        "skip_steps": [line.strip() for line in result.lines[2:]],
    }


def test_a_file_without_steps_is_told_what_becomes_of_its_events(run: Run, config: Path) -> None:
    config.write_text(COMMENTED_TOML)
    result = run("agent", "check", "--config", str(config))
    assert result.status == 0
    assert 'beware: there are no steps: people are told of events (verdict = "notify")' in result.lines[1]
    assert 'verdict = "approve-now"' in result.lines[1]

    config.write_text('[[rule]]\nname = "idle"\nverdict = "approve-now"\n')
    result = run("agent", "check", "--config", str(config))
    assert result.lines[1:] == ["events:", "  every event: approved at once (rule 'idle', line 1)"]


def test_programs_that_steps_need_and_the_machine_lacks_are_told(run: Run, config: Path, tmp_path: Path) -> None:
    (tmp_path / "not-executable").touch(mode=0o644)
    config.write_text(f"""\
[[step]]
name = "gone"
kind = "command"
run = ["{tmp_path}/gone"]
undo = ["no-such-program-at-all"]

[[step]]
name = "mode"
kind = "command"
run = ["{tmp_path}/not-executable"]
directory = "{tmp_path}/nowhere"

[[step]]
name = "line"
kind = "wait"
command = "no-such-program-at-all --idle"

[[step]]
name = "fine"
kind = "command"
shell = true
run = ["cd / && for i in 1 2; do true; done"]
undo = ["/bin/true"]

[[step]]
name = "proxy"
kind = "haproxy"
socket = "{tmp_path}/admin.sock"
backend = "web"
server = "web-0"

[[step]]
name = "file"
kind = "ready-file"
path = "{tmp_path}/run/app/ready"

[[step]]
name = "cluster"
kind = "kubernetes"
kubectl = "{tmp_path}/kubectl"
""")
    result = run("agent", "check", "--config", str(config))

    assert result.status == 0
    warned = [line.removeprefix(f"{config}:") for line in result.lines if "warning" in line]
    assert warned == [
        f"1: warning: step 'gone': the command {tmp_path}/gone is not found",
        "1: warning: step 'gone': the command no-such-program-at-all is not found",
        f"7: warning: step 'mode': the directory {tmp_path}/nowhere is not there",
        f"7: warning: step 'mode': the command {tmp_path}/not-executable is not executable",
        "13: warning: step 'line': the command no-such-program-at-all is not found",
        f"25: warning: step 'proxy': the socket {tmp_path}/admin.sock cannot be reached: no such file or directory",
        f"32: warning: step 'file': the directory {tmp_path}/run/app is not there",
        f"37: warning: step 'cluster': the command {tmp_path}/kubectl is not found",
    ]


def test_a_bad_file_is_told_everything_and_has_status_2(run: Run, config: Path) -> None:
    config.write_text(GOOD.replace("margin", "margn").replace("Freeze", "Freze"))
    result = run("agent", "check", "--config", str(config))

    assert result.status == 2
    assert [line.partition(": ")[0] for line in result.lines] == [f"{config}:2", f"{config}:6"]
    told = run("agent", "check", "--config", str(config), "--json").json
    assert (told["good"], [each["line"] for each in told["complaints"]]) == (False, [2, 6])


def test_every_command_that_obeys_a_file_refuses_a_bad_one(run: Run, config: Path) -> None:
    config.write_text("[agent]\npol = 1\n")
    for words in (["run"], ["run", "--dry-run"], ["explain", "-"], ["status"]):
        result = run("agent", *words, "--config", str(config), stdin=document(EVENT))
        assert (result.status, result.out) == (2, ""), words
        assert f"{config}:2: [agent] has no key 'pol'; did you mean 'poll'?" in result.err
        assert f"forewarn: {config} cannot be obeyed." in result.err


def test_a_file_that_is_not_there_is_told_how_to_get_one(run: Run, tmp_path: Path) -> None:
    result = run("agent", "check")
    assert result.status == 2
    assert "'forewarn agent install' writes one" in result.out
    assert run("agent", "check", "--config", str(tmp_path / "no.toml")).status == 2


def test_explain_tells_what_would_be_done(run: Run, config: Path, tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    path.write_text(document(EVENT))
    words = ("agent", "explain", str(path), "--config", str(config), "--now", "2026-01-01T12:00:00Z")
    result = run(*words)

    assert result.status == 0
    assert "as web-0, the only VM" in result.err
    assert "  time        14 min 45 s, until 2026-01-01T12:14:45Z" in result.lines
    assert "  steps       1. drain: run /bin/true, at most 14 min 45 s" in result.lines
    assert run(*words, "--name", "web-1").lines[1] == "  mine        no: it does not name web-1"
    told = run(*words, "--json").json
    assert (told["vm"], told["now"], told["events"][0]["budget_seconds"]) == ("web-0", "2026-01-01T12:00:00Z", 885.0)


def test_explain_reads_standard_input_and_needs_no_file(run: Run) -> None:
    result = run("agent", "explain", "-", "--now", "2026-01-01T12:00:00Z", stdin=document(EVENT))

    assert "  rule        'no steps' (built in) fits every event" in result.lines
    assert any(line.startswith("  approval    not by this agent") for line in result.lines)


def test_explain_has_nothing_to_say_of_an_empty_document(run: Run) -> None:
    assert "nothing to do" in run("agent", "explain", "-", stdin=document()).out


@pytest.mark.parametrize(
    ("stdin", "words"),
    [("", "is empty"), ("{", "not JSON"), ("[]", "must be a JSON object"), ('{"Events":[{}]}', "has no EventId")],
)
def test_what_is_no_document_is_refused(run: Run, stdin: str, words: str) -> None:
    result = run("agent", "explain", "-", "--name", "web-0", stdin=stdin)

    assert (result.status, result.out) == (2, "")
    assert words in result.err


def test_explain_asks_who_we_are_where_the_document_names_several(run: Run, tmp_path: Path) -> None:
    other = ScheduledEvent("A2", "Scheduled", "Freeze", ("db-0",), None)
    result = run("agent", "explain", "-", stdin=document(EVENT, other))

    assert result.status == 2
    assert "--name; the document names db-0, web-0" in result.err
    assert run("agent", "explain", str(tmp_path / "no.json")).status == 2


@pytest.fixture
def metadata() -> Iterator[RawServer]:
    def behave(request: bytes) -> bytes:
        body = b'{"compute":{"name":"web-0"}}' if b"/instance" in request else document(EVENT).encode()
        date = f"Date: {format_rfc1123(NOON)}\r\n".encode()
        return OK.replace(b"\r\n\r\n", b"\r\n" + date + b"\r\n") % (len(body), body)

    server = RawServer(behave)
    yield server
    server.close()


def test_without_a_document_explain_asks_the_metadata_service_for_all_of_it(
    run: Run, config: Path, metadata: RawServer
) -> None:
    config.write_text(GOOD.replace("[agent]", f'[agent]\nendpoint = "{metadata.url}"'))
    told = run("agent", "explain", "--config", str(config), "--json").json

    assert (told["vm"], told["now"]) == ("web-0", "2026-01-01T12:00:00Z")
    assert told["events"][0]["mine"]
    assert told["events"][0]["budget_seconds"] == 885.0


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
                "[agent]", f'[agent]\nstate_directory = "{tmp_path}/state"\nstatus_listen = "{server.address}"'
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
        config.write_text(f'[agent]\nstate_directory = "{tmp_path}/state"\nstatus_listen = "{address}"\n')
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
    config.write_text(f'[agent]\nendpoint = "{metadata.url}"\nstate_directory = "{tmp_path}/state"\n')
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
        GOOD.replace("[agent]", f'[agent]\nendpoint = "{metadata.url}"\nstate_directory = "{tmp_path}/state"')
    )
    done = rehearse(config, "forewarn.cli.main")

    assert done.returncode == 0, done.stderr
    assert "this VM is web-0" in done.stderr
    assert not any(b"POST" in request for request in metadata.requests)


def test_a_json_log_is_json_on_every_line(config: Path, metadata: RawServer, tmp_path: Path) -> None:
    config.write_text(
        f'[agent]\nendpoint = "{metadata.url}"\nstate_directory = "{tmp_path}/state"\nlog_format = "json"\n'
    )
    done = rehearse(config)

    assert done.returncode == 0
    assert {"info"} <= {json.loads(line)["level"] for line in done.stderr.splitlines()}

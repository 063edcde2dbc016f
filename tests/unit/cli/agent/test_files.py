"""``forewarn agent check`` and ``explain``: what is said of an agent.toml and of events, as typed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forewarn.guest.agent.config.defaults import COMMENTED_TOML, CONFIG_PATH
from forewarn.terms import ScheduledEvent
from tests.unit.cli.agent.conftest import EVENT, GOOD, document
from tests.unit.guest.azure import RawServer

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Run


def test_the_path_that_the_command_line_takes_for_the_agents_file_is_the_agents_own_default() -> None:
    code = "import forewarn.cli.commands.agent.config as c; print(c.CONFIG_PATH)"
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


def test_iis_that_is_not_installed_is_told(
    run: Run, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "Windows"
    monkeypatch.setenv("SYSTEMROOT", str(root))
    config.write_text('[[step]]\nname = "web"\nkind = "iis"\npools = ["shop"]\n')
    warned = [line for line in run("agent", "check", "--config", str(config)).lines if "warning" in line]
    appcmd = f"{root}\\System32\\inetsrv\\appcmd.exe"
    assert warned == [f"{config}:1: warning: step 'web': the command {appcmd} is not found"]


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


def test_without_a_document_explain_asks_the_metadata_service_for_all_of_it(
    run: Run, config: Path, metadata: RawServer
) -> None:
    config.write_text(GOOD.replace("[agent]", f'[agent]\nendpoint = "{metadata.url}"'))
    told = run("agent", "explain", "--config", str(config), "--json").json

    assert (told["vm"], told["now"]) == ("web-0", "2026-01-01T12:00:00Z")
    assert told["events"][0]["mine"]
    assert told["events"][0]["budget_seconds"] == 885.0

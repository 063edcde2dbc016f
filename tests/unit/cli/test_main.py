"""The command as a whole: exit statuses, sentences, and what it needs to be installed."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forewarn import __version__
from forewarn.cli import outcomes
from forewarn.cli.commands.hosts import MAINTENANCE
from forewarn.cli.main import build_parser
from forewarn.core.causes import CAUSES, HOST_MAINTENANCE
from forewarn.settings.extras import import_part

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run

SERVER_PACKAGES = (
    "fastapi",
    "httptools",
    "immutables",
    "jinja2",
    "msgspec",
    "pydantic",
    "shtab",
    "starlette",
    "uvicorn",
    "uvloop",
)


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    children = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in children:
        for child in action.choices.values():
            yield from leaves(child)
    if not children:
        yield parser


PUBLIC = """
try mock run serve relay settings ping version completion demo activity forecast az-env fleet search portal backup
restore -
vm create|list|show|read|document|instance|bind|unbind|restart|redeploy|reimage|stop|deallocate|start|delete|evict
vmss create|list|show|scale|update|delete|delete-instances|update-instances|protect
vmss restart|redeploy|reimage|deallocate|stop|start|bind|unbind
host list|show|maintain|fail|add|remove|drain|resume|confirm-lost
machine list|adopt|check|release
campaign start|list|show|pause|resume|cancel
event list|show|watch|approve|cancel|export-test
clock show|advance|next|to|speed
fault add|list|clear
token create|list|revoke
journal tail|verify|export|import
scope list|show|policy
node list
store prepare
agent run|check|explain|drill|status|install|uninstall
sim replay
engine check
"""


def test_the_commands_are_the_public_interface() -> None:
    first, *families = PUBLIC.strip().splitlines()
    wanted = {f"forewarn {name}" for name in first.split()}
    for family, names in (line.split() for line in families):
        wanted |= {f"forewarn {family} {name}".removesuffix(" -") for name in names.split("|")}

    assert {parser.prog for parser in leaves(build_parser())} == wanted


def test_a_parser_made_for_one_command_is_the_whole_ones() -> None:
    (whole,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for name, parser in whole.choices.items():
        (part,) = (action for action in build_parser(name)._actions if isinstance(action, argparse._SubParsersAction))
        assert name in part.choices
        assert len(part.choices) < 5, "a part, so that running a command does not declare the others"
        told, wanted = ([each.format_help() for each in (one, *leaves(one))] for one in (part.choices[name], parser))
        assert told == wanted


def test_every_command_teaches_with_a_description_and_an_example() -> None:
    for parser in leaves(build_parser()):
        assert parser.description, parser.prog
        assert "example" in (parser.epilog or ""), parser.prog
        assert parser.prog.partition(" ")[2] in (parser.epilog or ""), parser.prog


def test_every_command_that_reads_can_speak_json() -> None:
    silent = {
        "forewarn serve",
        "forewarn relay",
        "forewarn demo",
        "forewarn try",
        "forewarn mock",
        "forewarn run",
        "forewarn completion",
        "forewarn agent run",
    }
    for parser in leaves(build_parser()):
        assert ("--json" in parser.format_help()) == (parser.prog not in silent), parser.prog


def test_help_lists_the_exit_statuses(run: Run) -> None:
    result = run("--help")

    assert result.status == 0
    for status in ("0 ", "1 ", "2 ", "3 ", "4 ", "130", "141"):
        assert f"\n  {status}" in result.out


def test_both_ways_to_ask_for_the_version_tell_the_same(run: Run) -> None:
    assert run("version").out == run("--version").out == f"forewarn {__version__}\n"
    assert run("version", "--json").json == {"name": "forewarn", "version": __version__}


@pytest.mark.parametrize("words", [["tea"], ["vm", "lst"], ["vm", "list", "--nope"], ["event", "show"]])
def test_a_command_line_that_is_not_right_is_one_sentence_and_status_2(run: Run, words: list[str]) -> None:
    result = run(*words)

    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("forewarn: ")
    assert len(result.err.splitlines()) == 1
    assert "--help" in result.err


def test_options_are_never_guessed_from_their_beginnings(run: Run) -> None:
    assert run("vm", "create", "a", "--coun", "2").status == 2


def test_no_server_is_status_3_and_says_how_to_start_one(run: Run, nowhere: str) -> None:
    for words in (("ping",), ("ping", "--wait", "0"), ("vm", "list"), ("clock", "advance", "1m"), ("fault", "clear")):
        result = run(*words)
        assert (result.status, result.out) == (3, "")
        assert nowhere in result.err
        assert "forewarn serve" in result.err


def test_ping_tells_who_answers(run: Run, region: Region) -> None:
    assert f"forewarn {__version__} at " in run("ping", "--wait").out
    pong = run("ping", "--wait", "5", "--json").json
    assert (pong["name"], pong["vms"]) == ("forewarn", 0)
    assert run("ping", "--wait", "soon").status == 2


def test_an_address_that_is_none_is_a_usage_error(run: Run) -> None:
    for url in ("localhost:16926", "ftp://localhost", "http://", "http://localhost:port"):
        assert run("ping", "--url", url).status == 2, url


def test_the_option_wins_over_the_variable(run: Run, region: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    url = os.environ["FOREWARN_URL"]
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:1")

    assert run("ping", "--url", f"{url}/").status == 0


def test_a_token_is_taken_from_the_environment_and_its_absence_explained(
    run: Run, open_region: Callable[..., Region], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_region(token="sesame")

    refused = run("vm", "create", "db")
    monkeypatch.setenv("FOREWARN_TOKEN", "sesame")

    assert refused.status == 1
    assert "FOREWARN_TOKEN" in refused.err
    assert run("vm", "list", "--json").json == []


def test_the_settings_of_a_running_server_can_be_asked_for(run: Run, region: Region) -> None:
    assert run("settings", "--running").lines[1].split()[:3] == ["clock", "virtual", "flag"]
    assert run("settings", "--running", "--json").json[0]["name"] == "clock"
    assert run("settings", "--running", "--clock", "real").status == 2


class _Stranger(BaseHTTPRequestHandler):
    """Some other program that happens to listen there."""

    def do_GET(self) -> None:
        self.send_response(404 if "vms" in self.path else 503 if "hosts" in self.path else 200)
        self.end_headers()
        self.wfile.write(b"{}" if "ping" in self.path else b"<html>hello</html>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def test_another_program_at_that_address_is_told_from_forewarn(run: Run) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Stranger) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        results = [
            run(*words, "--url", url) for words in (("ping",), ("clock", "show"), ("vm", "list"), ("host", "list"))
        ]
        server.shutdown()

    assert [result.status for result in results] == [3, 3, 3, 3]
    assert all("not a forewarn server" in result.err for result in results)
    assert "perhaps a load balancer that has no node to ask" in results[-1].err


def test_client_commands_need_nothing_but_python() -> None:
    code = f"""import sys, forewarn.cli.main
forewarn.cli.main.build_parser()
sys.exit(bool(set({SERVER_PACKAGES!r}) & set(sys.modules)))"""

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("words", [["serve"], ["demo"], ["completion", "tcsh"]])
def test_without_the_server_extra_a_sentence_says_what_to_install(words: list[str]) -> None:
    code = f"""import sys
for name in {SERVER_PACKAGES!r}:
    sys.modules[name] = None
from forewarn.cli.main import main
sys.exit(main({words!r}))"""

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"forewarn: 'forewarn {words[0]}' needs ")
    assert "in a clone of forewarn: pip install '.[server]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_the_package_of_the_portal_a_sentence_says_what_to_install_and_nothing_is_made(tmp_path: Path) -> None:
    data = tmp_path / "region"
    code = f"""import sys
sys.modules["jinja2"] = None
from forewarn.cli.main import main
sys.exit(main(["serve", "--data", {str(data)!r}]))"""

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("forewarn: 'forewarn serve --portal on' needs jinja2, a package of the server extra")
    assert len(done.stderr.splitlines()) == 1
    assert not data.exists()


def test_an_import_error_of_our_own_is_not_mistaken_for_a_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_part("forewarn.cli.no_such_module", "forewarn serve")


def test_completion_knows_the_commands(run: Run) -> None:
    result = run("completion", "tcsh")

    assert result.status == 0
    assert "redeploy" in result.out


def test_a_reader_that_goes_away_is_not_an_error_to_shout_about(region: Region) -> None:
    command = [sys.executable, "-m", "forewarn.cli.main", "settings"]
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(command, check=False, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)

    assert (done.returncode, done.stderr) == (141, b"")


def test_ctrl_c_ends_a_watch_quietly_with_130(run: Run, region: Region) -> None:
    run("vm", "create", "db")
    region.read("db")
    run("vm", "restart", "db")
    command = [sys.executable, "-m", "forewarn.cli.main", "event", "watch", "--after", "0", "--json"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert "EventScheduled" in watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        _, errors = watching.communicate(timeout=30)

    assert (watching.returncode, errors) == (130, "")


def test_the_words_of_the_client_are_those_of_the_core() -> None:
    assert {cause.value: row.type.value for cause, row in CAUSES.items()} == outcomes.TYPE_OF_CAUSE
    assert tuple(cause.value for cause in HOST_MAINTENANCE) == MAINTENANCE

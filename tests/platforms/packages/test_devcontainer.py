"""``.devcontainer``, started as it is by the specification's own program (of npm, pinned) and podman, with no network.

In place of Python's own image, which is in a registry, a Debian stands under its name: Debian's Python, and the
packages that ``make ready`` would install. What it takes from PyPI is fetched before, and mounted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.e2e.program import ROOT
from tests.platforms.docker.daemons import Daemon, daemon, import_archive
from tests.platforms.packages.built import debian, run
from tests.waiting import until

_CLI = ROOT / ".build" / "release" / "node_modules" / ".bin" / "devcontainer"
_CONFIG = ROOT / ".devcontainer" / "devcontainer.json"
# Those of requirements/system.sh for "check", and what Python's own image has of them: a list that falls short
# fails here, because the container reaches no network to install the rest.
_PACKAGES = "python3,python3-venv,make,git,ca-certificates,systemd,mandoc,man-db,nginx-light,postgresql"
_INSIDE = "/workspaces/forewarn"
# runc may not raise its own limits where it does not run as the machine's first root
_LIMITS = '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n'
# What is answered at the two ports that an editor forwards
_ASK = """
import urllib.request, urllib.error, sys
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url).status)
    except urllib.error.HTTPError as refused:
        print(refused.code)
"""

pytestmark = pytest.mark.timeout(1800)
Cli = Callable[..., "CompletedProcess[str]"]


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """An engine that has the image which the configuration names, as far as it knows."""
    with daemon("podman", tmp_path_factory.mktemp("desk") / "podman", "overlay") as started:
        import_archive(started, debian("devcontainer-base", _PACKAGES), json.loads(_CONFIG.read_text())["image"])
        yield started


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that ``make ready`` installs, by hash."""
    place = tmp_path_factory.mktemp("wheels")
    wanted = ("--require-hashes", "-r", "requirements/build.txt", "-r", "requirements/dev.txt", "-d", place)
    run([sys.executable, "-m", "pip", "--quiet", "download", "--only-binary", ":all:", *wanted])
    return place


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _clone(tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def cli(podman: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """``devcontainer VERB``, in the engine's namespaces: it would ask containers.dev for news, and gets no answer."""
    room = tmp_path_factory.mktemp("devcontainer")
    (room / "containers.conf").write_text(_LIMITS)
    program, command = room / "podman", podman.direct()[len(podman.inside) :]
    program.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
    program.chmod(0o755)

    def do(verb: str, where: Path, *words: str, status: int = 0) -> CompletedProcess[str]:
        at = ("--docker-path", program, "--workspace-folder", where, "--user-data-folder", room / "kept")
        line: list[str | Path] = [*podman.inside, "node", _CLI, verb, *at, *words]
        return run(line, status=status, CONTAINERS_CONF=str(room / "containers.conf"))

    return do


@pytest.fixture(scope="module")
def up(cli: Cli, clone: Path, wheels: Path) -> dict[str, Any]:
    """Started, with its command at its end; what the program said of it."""
    return _told(cli("up", clone, *_mounted(wheels)))


def _clone(room: Path) -> Path:
    """What git knows of the working tree, as a repository of its own."""
    made = room / "forewarn"
    made.mkdir()
    known = run(["git", "ls-files", "-z"]).stdout.split("\0")
    run(["cp", "--parents", "-t", made, *(name for name in known if (ROOT / name).is_file())])
    run(["git", "init", "-q"], where=made)
    return made


def _mounted(wheels: Path) -> tuple[str, ...]:
    mount = ("--mount", f"type=bind,source={wheels},target=/wheels")
    return (*mount, "--remote-env", "PIP_NO_INDEX=1", "--remote-env", "PIP_FIND_LINKS=/wheels")


def _told(done: CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_configuration_is_read_as_it_is_meant(cli: Cli, clone: Path) -> None:
    told = _told(cli("read-configuration", clone, "--include-merged-configuration"))

    assert told["workspace"]["workspaceFolder"] == _INSIDE
    assert told["mergedConfiguration"]["postCreateCommands"] == ["make ready"]
    (editor,) = told["mergedConfiguration"]["customizations"]["vscode"]
    assert editor["settings"]["python.defaultInterpreterPath"] == f"{_INSIDE}/.venv/bin/python"


def test_it_starts_with_the_clone_in_it_and_all_that_make_check_needs(
    cli: Cli, clone: Path, up: dict[str, Any]
) -> None:
    assert (up["outcome"], up["remoteWorkspaceFolder"]) == ("success", _INSIDE)

    shown = cli("exec", clone, "bash", "-c", "pwd; python3 --version && make help && touch seen").stdout
    read = _told(cli("read-configuration", clone, "--include-merged-configuration"))
    (editor,) = read["mergedConfiguration"]["customizations"]["vscode"]
    python = editor["settings"]["python.defaultInterpreterPath"]
    module = cli("exec", clone, python, "-c", "import forewarn; print(forewarn.__file__)").stdout
    again = cli("exec", clone, "make", "ready").stdout
    tests = cli("exec", clone, ".venv/bin/pytest", "-q", "tests/unit/wire").stdout

    assert shown.startswith(f"{_INSIDE}\nPython 3.")
    assert "  make check " in shown
    assert (clone / "seen").exists(), "what is written in there is not in the clone"
    assert module == f"{_INSIDE}/src/forewarn/__init__.py\n"
    assert "installing" not in again, "its command had left something to do"
    assert " passed in " in tests


def test_a_server_in_it_answers_at_the_ports_that_an_editor_forwards(
    podman: Daemon, cli: Cli, clone: Path, up: dict[str, Any]
) -> None:
    metadata, operators = _told(cli("read-configuration", clone))["configuration"]["forwardPorts"]
    serve = (f"{_INSIDE}/.venv/bin/forewarn", "serve", "--data", "/tmp/region")
    run([*podman.client(), "exec", "--detach", up["containerId"], *serve])
    asked = (f"http://127.0.0.1:{metadata}/metadata/scheduledevents", f"http://127.0.0.1:{operators}/v1/ping")
    ask = [*podman.client(), "exec", up["containerId"], "python3", "-c", _ASK, *asked]

    def answered() -> list[str]:
        done = run(ask, status=None)
        return done.stdout.split() if done.returncode == 0 else []

    assert until(answered, "both ports answer") == ["400", "200"], (
        "the first asks for the header Metadata, the second for nothing on loopback"
    )


def test_one_that_was_stopped_is_started_again_and_installs_nothing_anew(
    podman: Daemon, cli: Cli, clone: Path, up: dict[str, Any], wheels: Path
) -> None:
    run([*podman.client(), "kill", "--signal", "KILL", up["containerId"]])
    run([*podman.client(), "wait", up["containerId"]])

    done = cli("up", clone, *_mounted(wheels))

    assert _told(done)["containerId"] == up["containerId"]
    assert "postCreateCommand" not in done.stderr
    assert cli("exec", clone, ".venv/bin/forewarn", "version").stdout.startswith("forewarn ")


def test_a_command_that_fails_is_no_start(cli: Cli, tmp_path: Path) -> None:
    where, nothing = _clone(tmp_path), tmp_path / "nothing"
    nothing.mkdir()

    told = _told(cli("up", where, *_mounted(nothing), status=1))

    assert told["outcome"] == "error"
    assert "make ready" in told["message"]
    assert not (where / ".venv" / "dev").exists()

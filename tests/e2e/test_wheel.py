"""What is shipped: the wheel, in an environment of its own. Alone it is the light side; with the extra, a server."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from urllib.request import urlopen

import pytest

from forewarn import __version__
from tests.e2e.program import ROOT, ServerProgram, clean_environment

_DISTRIBUTIONS = "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the working tree."""
    directory = tmp_path_factory.mktemp("dist")
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)])
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` of an environment that holds the wheel and nothing else."""
    return _environment(wheel, tmp_path_factory.mktemp("bare"))


def _environment(wheel: Path, directory: Path) -> Path:
    """Without pip, so that nothing but the wheel is there to be imported."""
    _run([sys.executable, "-m", "venv", "--without-pip", str(directory)])
    binaries = directory / "bin"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(binaries / "python")]
    _run([*pip, "install", "--no-deps", "--no-index", str(wheel)])
    return binaries


def _run(command: Sequence[str | Path], status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=100)
    assert done.returncode == status, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done


def _body(url: str) -> str:
    with urlopen(url, timeout=60) as answer:
        body: bytes = answer.read()
    return body.decode()


def test_a_bare_installation_is_one_distribution(bare: Path) -> None:
    assert _run([bare / "python", "-I", "-c", _DISTRIBUTIONS]).stdout.split() == ["forewarn"]


def test_help_and_version_need_no_package(bare: Path) -> None:
    assert "exit status:" in _run([bare / "forewarn", "--help"]).stdout
    assert _run([bare / "forewarn", "version"]).stdout == f"forewarn {__version__}\n"


@pytest.mark.parametrize("command", ["vm", "host", "campaign", "event", "clock", "scope", "fault", "journal"])
def test_the_help_of_every_family_needs_no_package(bare: Path, command: str) -> None:
    assert f"forewarn {command}" in _run([bare / "forewarn", command, "--help"]).stdout


def test_a_client_command_without_a_server_says_so_in_a_sentence(bare: Path) -> None:
    done = _run([bare / "forewarn", "vm", "list", "--url", "http://127.0.0.1:1"], status=3)

    assert done.stdout == ""
    assert done.stderr.startswith("forewarn: no server answers at http://127.0.0.1:1 ")
    assert done.stderr.count("\n") == 1


def test_settings_are_explained_without_a_package(bare: Path) -> None:
    assert "visibility_lag" in _run([bare / "forewarn", "settings", "--profile", "azure"]).stdout


def test_the_wire_and_the_vocabulary_import_alone(bare: Path) -> None:
    program = "import forewarn.wire.document, forewarn.terms; print(forewarn.terms.Document(1))"

    assert _run([bare / "python", "-I", "-W", "error", "-c", program]).stdout == "Document(incarnation=1, events=())\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_needs_no_package(bare: Path, shell: str) -> None:
    assert "completion --words" in _run([bare / "forewarn", "completion", shell]).stdout
    known = _run([bare / "forewarn", "completion", "--words", "forewarn", "vm", "re"]).stdout.split()
    assert known == ["read", "redeploy", "reimage", "restart"]


@pytest.mark.parametrize("arguments", [["serve"], ["try"], ["demo"], ["completion", "tcsh"]])
def test_what_needs_the_server_extra_says_so_in_a_sentence(bare: Path, arguments: list[str]) -> None:
    done = _run([bare / "forewarn", *arguments], status=3)

    assert done.stdout == ""
    assert done.stderr.startswith(f"forewarn: 'forewarn {arguments[0]}' needs ")
    assert done.stderr.endswith(
        "a package of the server extra; install it in a clone of forewarn: pip install '.[server]'\n"
    )
    assert done.stderr.count("\n") == 1


def test_the_wheel_with_the_packages_of_the_extra_serves(wheel: Path, tmp_path: Path) -> None:
    """They are lent by the environment of this test; the wheel's own code comes first, and is what runs."""
    binaries = _environment(wheel, tmp_path / "full")
    (packages,) = (tmp_path / "full").glob("lib/python*/site-packages")
    (packages / "lent.pth").write_text(f"{sysconfig.get_path('purelib')}\n")

    where = _run([binaries / "python", "-c", "import forewarn; print(forewarn.__file__)"]).stdout
    with ServerProgram.start(tmp_path / "data", program=binaries / "forewarn") as server:
        pong = server.forewarn("ping")
        page = _body(f"{server.control}/portal/")
        (style,) = re.findall(r'href="(/portal/static/\w+/portal\.css)"', page)
        assert "@" in _body(f"{server.control}{style}")

    assert where.startswith(str(packages))
    assert "<h1>Overview</h1>" in page
    assert f"forewarn {__version__}" in pong

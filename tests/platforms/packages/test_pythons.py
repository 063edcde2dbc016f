"""Every Python that the wheel names: its packages come as wheels, so that nobody needs a compiler.

What has an interpreter on this machine is run. 3.14, which Debian 12 does not have, is taken from Debian's next
release, in a directory that serves as a root of its own. A version that neither way brings is named as not run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.program import ROOT
from tests.platforms.packages.built import TOOLS, run

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
OF_DEBIAN = "3.14"
_KEPT = ROOT / ".build" / "python3.14.tar"
# What a program of a new user would do: ask, in a region that warns it
_ASK = (
    "import json, os, sys, urllib.request as web; "
    "url = os.environ['FOREWARN_ENDPOINT'] + '/metadata/scheduledevents?api-version=2020-07-01'; "
    "asked = web.Request(url, headers={'Metadata': 'true'}); "
    "seen = [event['EventType'] for event in json.load(web.urlopen(asked))['Events']]; "
    "print(sys.version_info[:2], seen); sys.exit(seen != ['Preempt'])"
)
_MAP = "from forewarn.core.maps import Map; print(Map.__module__)"


@pytest.mark.parametrize("platform", ["x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "x86_64-pc-windows-msvc"])
@pytest.mark.parametrize("version", VERSIONS)
def test_all_packages_of_a_server_come_as_wheels(version: str, platform: str, wheel: Path, tmp_path: Path) -> None:
    """As uv sees it for that version, which need not be installed for it."""
    wanted = tmp_path / "wanted.in"
    wanted.write_text(f"forewarn[server,postgresql,sim,notify,otlp,testcontainers] @ {wheel.as_uri()}\n")
    words = ["--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:"]
    chosen = ["--python-version", version, "--python-platform", platform]
    told = run([TOOLS / "uv", "pip", "compile", *words, *chosen, wanted]).stdout

    found = set(re.findall(r"^[a-z0-9-]+", told, re.MULTILINE))
    assert {"forewarn", "msgspec", "httptools", "psycopg-binary", "greenlet"} <= found
    assert ("uvloop" in found) is ("windows" not in platform)
    assert ("immutables" in found) is (version != "3.14")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_runs_where_no_compiler_is(version: str, wheel: Path, tmp_path: Path) -> None:
    inside: tuple[str | Path, ...] = ()
    place = tmp_path / "venv"
    python = _interpreter(version)
    if version == OF_DEBIAN and python is None:
        root = _debian(tmp_path / "root")
        shutil.copy(wheel, root / wheel.name)
        inside, python = ("chroot", root), "/usr/bin/python3.14"
        wheel, place = Path("/", wheel.name), Path("/venv")
    if python is None:
        pytest.skip(f"not run: no Python {version} on this machine; its wheels were resolved")
    run([*inside, python, "-m", "venv", place])
    run([*inside, place / "bin/pip", "install", "-q", "--only-binary", ":all:", f"{wheel}[server]"], CC="false")
    where = run([*inside, place / "bin/python", "-c", _MAP]).stdout.strip()
    words = ("run", "--type", "Preempt", "--", place / "bin/python", "-c", _ASK)
    told = run([*inside, place / "bin/forewarn", *words]).stdout

    assert str(tuple(map(int, version.split(".")))) in told
    assert where == ("forewarn.core.maps.plain" if version == "3.14" else "immutables._map")


def _interpreter(version: str) -> str | None:
    """One that starts: what pyenv puts on the path may be a name without an interpreter."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for each in (shutil.which(f"python{version}"), *sorted(kept.glob(f"{version}.*/bin/python"))):
        if each is not None and subprocess.run([each, "-c", ""], capture_output=True).returncode == 0:
            return str(each)
    return None


def _debian(root: Path) -> Path:
    """Debian's next release with this Python; fetched once, and then kept."""
    if not _KEPT.exists():
        made = _KEPT.with_suffix(f".{os.getpid()}.tar")
        packages = "--include=python3.14,python3.14-venv,ca-certificates"
        # A mirror may be some days behind; what comes is signed all the same, and is for this test alone.
        mirror = '--aptopt=Acquire::Check-Valid-Until "false"'
        run(["mmdebstrap", "--mode=root", "--variant=minbase", packages, mirror, "forky", made])
        made.rename(_KEPT)
    root.mkdir()
    run(["tar", "--extract", "--file", _KEPT, "--directory", root, "--exclude=./dev/*"])
    for file in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"):
        if Path(file).exists():
            shutil.copy(file, root / file[1:])
    return root

"""``pip install "forewarn[server]"`` finds a wheel for everything on Windows and macOS, whatever this machine is."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from requirements.windows import ROOT, WINDOWS, pinned_for

MACOS = {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"}
SYSTEMS = {"win_amd64": WINDOWS, "macosx_11_0_arm64": MACOS}
EXTRAS = ("server", "postgresql", "sim")  # what requirements/server.txt pins


@pytest.mark.parametrize("platform", SYSTEMS)
@pytest.mark.timeout(600)
def test_every_package_of_the_server_has_a_wheel_there(platform: str, tmp_path: Path) -> None:
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("".join(pinned_for("server.txt", SYSTEMS[platform]).values()))
    version = f"{sys.version_info.major}{sys.version_info.minor}"
    target = ["--platform", platform, "--implementation", "cp", "--python-version", version]
    target += ["--abi", f"cp{version}", "--abi", "abi3", "--abi", "none"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--dry-run", *target]
    found = subprocess.run(
        [*pip, "--only-binary", ":all:", "--no-deps", "--require-hashes", "--target", tmp_path, "-r", wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("platform", SYSTEMS)
def test_what_is_pinned_there_is_what_the_project_asks_for(platform: str) -> None:
    system = SYSTEMS[platform]
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pinned = {name: Requirement(text.partition(" \\")[0]) for name, text in pinned_for("server.txt", system).items()}
    for requirement in (Requirement(text) for extra in EXTRAS for text in asked[extra]):
        needed = requirement.marker is None or requirement.marker.evaluate(system)
        assert (requirement.name in pinned) == needed, requirement
        if needed:
            version = str(next(iter(pinned[requirement.name].specifier)).version)
            assert requirement.specifier.contains(version), f"{requirement} and {version}"
    assert ("uvloop" in pinned) == (platform != "win_amd64")

"""The agent's .deb and .rpm, and those of the server's unit, from a clone into ``dist/``. docs/packages.md

``make packages`` calls it. The agent is what is in the wheel; nfpm packs. Nothing is fetched or compiled.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from email.utils import parseaddr
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from forewarn import __version__
from forewarn.guest.agent.config.defaults import COMMENTED_TOML, CONFIG_PATH
from forewarn.guest.agent.tools.unit import UNIT_NAME, unit_text
from release.describe import Release

ROOT = Path(__file__).parent.parent
LINUX = ROOT / "release" / "linux"
TOOLS = ROOT / ".build" / "package" / "bin"
FORMATS = ("deb", "rpm")
Command = Sequence[str | Path]
MARK = "# Of the package forewarn-agent. To change a line: systemctl edit forewarn-agent.service"
_WITHOUT_GIT = 1580601600  # 2020-02-02, as hatchling dates what is in a wheel


def built_at() -> int:
    """The time of all files: that of the last commit, so that one commit makes the same bytes again."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if told:
        return int(told)
    command = ["git", "log", "-1", "--format=%ct"]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)  # noqa: S603 - our own words
    return int(asked.stdout) if asked.returncode == 0 and asked.stdout.strip() else _WITHOUT_GIT


def maintainer(release: Release) -> str:
    """Both formats want one; as long as no author is chosen, it says just that."""
    name, address = parseaddr(release.author)
    return f"{name} <{address}>" if "@" in address else f"{release.author or 'not chosen'} <unset@localhost>"


def stage_agent(room: Path, wheel: Path) -> None:
    """What agent.yaml names: the modules of the wheel, the program, its unit and its file."""
    shutil.copytree(LINUX / "agent", room)
    with ZipFile(wheel) as archive:
        modules = [name for name in archive.namelist() if name.startswith("forewarn/")]
        archive.extractall(room / "python", modules)
    for path in (room / "python").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (room / UNIT_NAME).write_text(unit_text(["/usr/bin/forewarn"], CONFIG_PATH, (), MARK))
    (room / "agent.toml").write_text(COMMENTED_TOML)


def stage_server_unit(room: Path) -> None:
    """What server-unit.yaml names; all of it is kept beside it."""
    shutil.copytree(LINUX / "server-unit", room)


def pack(room: Path, name: str, into: Path, at: int) -> None:
    """One staged package in both formats. All of its files are dated ``at``."""
    release = Release.read()
    variables = {
        "VERSION": __version__,
        "MAINTAINER": maintainer(release),
        "HOME_PAGE": release.home_page,
        "SOURCE_DATE_EPOCH": str(at),
    }
    shutil.copy(ROOT / "LICENSE", room)
    for path in room.rglob("*"):
        os.utime(path, (at, at))
    for kind in FORMATS:
        options: Command = ["--config", LINUX / f"{name}.yaml", "--packager", kind, "--target", into]
        _run([TOOLS / "nfpm", "package", *options], room, {**os.environ, **variables})


def build(into: Path) -> list[Path]:
    """Both in both formats; what an earlier build of the same version left there is replaced."""
    at = built_at()
    with TemporaryDirectory() as place:
        made, rooms, wheels = Path(place, "made"), Path(place, "rooms"), Path(place, "wheels")
        made.mkdir()
        _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels], ROOT, os.environ)
        (wheel,) = wheels.glob("*.whl")
        stage_agent(rooms / "agent", wheel)
        stage_server_unit(rooms / "server-unit")
        for name in ("agent", "server-unit"):
            pack(rooms / name, name, made, at)
        into.mkdir(parents=True, exist_ok=True)
        return sorted(Path(shutil.copy(each, into)) for each in made.iterdir())


def _run(command: Command, where: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True)  # noqa: S603 - our own words
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} failed with status {done.returncode}:\n{done.stdout}{done.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(description="The .deb and .rpm of agent and server's unit, from a clone.")
    parser.add_argument("into", nargs="?", type=Path, default=ROOT / "dist", help="where they go (default: dist)")
    for path in build(parser.parse_args().into):
        print(f"{path}  {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

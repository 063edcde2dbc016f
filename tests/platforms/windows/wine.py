"""One Windows of wine's, with its own drive, and programs of real CPython for Windows in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from requirements.windows import NOT_RUN, PLACE, ROOT

from forewarn.durable import FileLock

PYTHON = PLACE / "python" / "python.exe"
_BOOT_SECONDS = 180.0  # ours: a new drive is filled in some seconds
_QUIET = "-all"  # of wine's own remarks
_TEMPLATE = PLACE / "drive"  # a drive as wine makes it: copied, which is faster than making it


class CannotRun(Exception):  # noqa: N818 - it reads as what it is
    """Why there is no Windows here."""


def made() -> None:
    """The interpreter and a drive to copy are there, or ``CannotRun`` says why not. One process makes them."""
    PLACE.parent.mkdir(exist_ok=True)
    lock = FileLock(PLACE.with_suffix(".lock"), wait=True)
    try:
        _make()
    finally:
        lock.close()


def _make() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "requirements" / "windows.py"], capture_output=True, text=True, check=False
    )
    if done.returncode == NOT_RUN:
        raise CannotRun(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    if not _TEMPLATE.exists():
        making = _TEMPLATE.with_name("drive.unfinished")
        shutil.rmtree(making, ignore_errors=True)
        with Windows(making).running():
            pass
        making.rename(_TEMPLATE)


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it said."""

    status: int
    out: str

    def good(self) -> str:
        assert self.status == 0, self.out
        return self.out


class Windows:
    """A machine: a drive, a registry, services. Paths of this machine are below ``Z:``."""

    def __init__(self, drive: Path) -> None:
        self.drive = drive

    @contextmanager
    def running(self) -> Iterator[Windows]:
        """Its services run until the end; then nothing of it does."""
        if not self.drive.exists() and _TEMPLATE.exists():
            shutil.copytree(_TEMPLATE, self.drive, symlinks=True)
        try:
            self._call("wineserver", "-p")
            self._call("wineboot", "-u")
            yield self
        finally:
            self._call("wineserver", "-k")

    def _call(self, *words: str) -> None:
        subprocess.run(
            words,
            env=self.environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # services inherit it: a pipe would never end
            stderr=subprocess.DEVNULL,
            timeout=_BOOT_SECONDS,
            check=False,
        )

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {
            **kept,
            "WINEPREFIX": str(self.drive),
            "WINEDEBUG": _QUIET,
            "WINEDLLOVERRIDES": "mscoree,mshtml=",  # it would offer to download them
            "PYTHONPATH": windows_path(ROOT / "src"),
            "PYTHONPYCACHEPREFIX": windows_path(PLACE / "bytecode"),
            "PYTHONUTF8": "1",
            **more,
        }

    def start(self, *words: str, env: Mapping[str, str] | None = None, out: int | IO[bytes]) -> subprocess.Popen[bytes]:
        """A program of Python's. Its output must be a pipe: Python finds no other stream under wine."""
        return subprocess.Popen(
            ["wine", str(PYTHON), *words],
            env=self.environment(env or {}),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
        )

    def python(self, *words: str, env: Mapping[str, str] | None = None, seconds: float = 120) -> Ended:
        """Run one to its end."""
        process = self.start(*words, env=env, out=subprocess.PIPE)
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Ended(process.returncode, said.decode("utf-8", "replace").replace("\r\n", "\n"))

    def forewarn(self, *words: str, env: Mapping[str, str] | None = None, seconds: float = 120) -> Ended:
        return self.python("-m", "forewarn", *words, env=env, seconds=seconds)

    def on_drive(self, path: str) -> Path:
        """Where a file of the drive C: is, seen from here."""
        return self.drive / "drive_c" / path.replace("\\", "/")


def windows_path(path: Path | Sequence[str]) -> str:
    """How Windows names a path of this machine."""
    return "Z:" + str(path).replace("/", "\\")

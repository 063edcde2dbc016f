"""Installing the agent as a service, and taking just that away again: first as a plan that can be shown, then done.

The unit itself remembers what came with it, so that ``uninstall`` removes nothing that it did not bring, and no
``agent.toml`` in which somebody has written since.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from forewarn.durable import make_directory, write_whole
from forewarn.guest.agent.config.defaults import COMMENTED_TOML, CONFIG_PATH
from forewarn.guest.agent.tools.unit import MARK, UNIT_NAME, unit_text

UNIT_PATH = f"/etc/systemd/system/{UNIT_NAME}"
_WANTS_PATH = f"/etc/systemd/system/multi-user.target.wants/{UNIT_NAME}"
_STATE_PATH = "/var/lib/forewarn-agent"
_WROTE = "wrote "
_MADE = "made "


class CannotInstall(Exception):  # noqa: N818 - it reads as what it is
    """A file that install did not write stands in the way; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do, or to leave alone (``keep``)."""

    verb: str  # make, write, keep, remove, run
    subject: str  # a path, or a command
    why: str = ""
    text: str = ""
    mode: int = 0o644  # what systemd wants of unit files; secrets are written with a mode of their own

    def __str__(self) -> str:
        return f"{self.verb} {self.subject}{f' ({self.why})' if self.why else ''}"


def plan_install(
    root: Path, program: Sequence[str], config_path: str = CONFIG_PATH, *, enable: bool = False
) -> list[Action]:
    """What installing would do below ``root``. An ``agent.toml`` that is there is left as it is."""
    unit = _below(root, UNIT_PATH)
    old = _read(unit)
    if old is not None and not old.startswith(MARK):
        raise CannotInstall(f"{unit} is there and was not written by 'forewarn agent install'")
    config = _below(root, config_path)
    brought = list(_manifest(old or ""))
    actions = []
    if config.exists():
        actions.append(Action("keep", str(config), "it is there already"))
    else:
        brought = [line for line in brought if line.startswith(_MADE)]
        brought.insert(0, f"{_WROTE}{config_path} {digest_of(COMMENTED_TOML)}")
        if not config.parent.exists():
            brought.append(f"{_MADE}{Path(config_path).parent}")
            actions.append(Action("make", str(config.parent), mode=0o755))
        actions.append(Action("write", str(config), text=COMMENTED_TOML, mode=0o600))
    actions.append(Action("write", str(unit), text=unit_text(program, config_path, brought)))
    if enable:
        actions += [_run("systemctl daemon-reload"), _run(f"systemctl enable --now {UNIT_NAME}")]
    return actions


def plan_uninstall(root: Path, *, live: bool) -> list[Action]:
    """What uninstalling would do. ``live``: systemd runs here, and is told to stop the service first."""
    unit = _below(root, UNIT_PATH)
    text = _read(unit)
    if text is None:
        return []
    if not text.startswith(MARK):
        raise CannotInstall(f"{unit} was not written by 'forewarn agent install'")
    actions = [_run(f"systemctl disable --now {UNIT_NAME}")] if live else []
    wants = _below(root, _WANTS_PATH)
    if wants.is_symlink() and not live:
        actions.append(Action("remove", str(wants)))
    actions.append(Action("remove", str(unit)))
    actions += _removals(root, list(_manifest(text)))
    if _below(root, _STATE_PATH).exists():
        actions.append(Action("keep", str(_below(root, _STATE_PATH)), "what the agent remembers"))
    return [*actions, _run("systemctl daemon-reload")] if live else actions


def _removals(root: Path, manifest: list[str]) -> Iterator[Action]:
    emptied: list[Path] = []
    for line in manifest:
        if line.startswith(_WROTE):
            name, _, digest = line.removeprefix(_WROTE).rpartition(" ")
            path = _below(root, name)
            text = _read(path)
            if text is not None and digest_of(text) == digest:
                emptied.append(path)
                yield Action("remove", str(path))
            elif text is not None:
                yield Action("keep", str(path), "it was changed since it was written")
        elif line.startswith(_MADE):
            path = _below(root, line.removeprefix(_MADE))
            if path.is_dir() and set(path.iterdir()) <= set(emptied):
                yield Action("remove", str(path))


def carry_out(actions: Sequence[Action]) -> None:
    """Do it. Files appear whole or not at all."""
    for action in actions:
        path = Path(action.subject)
        if action.verb == "make":
            make_directory(path, action.mode)
        elif action.verb == "write":
            make_directory(path.parent, 0o755)
            write_whole(path, action.text.encode(), action.mode)
        elif action.verb == "remove":
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        elif action.verb == "run":
            _call(action.subject)


def _call(command: str) -> None:
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if done.returncode:
        raise CannotInstall(f"'{command}' failed: {' '.join(done.stderr.split()) or f'status {done.returncode}'}")


def _run(command: str) -> Action:
    return Action("run", command)


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None


def digest_of(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _manifest(unit: str) -> Iterator[str]:
    """The lines of a unit that say what came with it."""
    for line in unit.splitlines()[1:]:
        if not line.startswith("# "):
            return
        yield line.removeprefix("# ")

"""Installing the agent as a service of Windows, and taking just that away again: first as a plan, then done.

A note beside the ``agent.toml`` remembers what came with it, as the unit does on Linux.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forewarn.durable import make_directory
from forewarn.guest.agent.config.defaults import COMMENTED_TOML, CONFIG_PATH
from forewarn.guest.agent.tools.install import Action, CannotInstall, digest_of
from forewarn.guest.agent.tools.install import carry_out as carry_out_files
from forewarn.guest.agent.values import STATE_DIRECTORY

SERVICE = "forewarn-agent"
_DISPLAY = "forewarn agent"
_DESCRIPTION = "Prepares this machine for Azure Scheduled Events, approves them, and restores what it changed."
_MARK = "Written by 'forewarn agent install', which also made the service forewarn-agent."
_SOURCE = "event source "
_AZURE_SOURCE = "AzureScheduledEvents"  # as in system.windows.event_log, which is there on Windows alone
_AZURE_LINE = f"The service writes its entries as {_AZURE_SOURCE}."
_AZURE_BROUGHT = f"The event source {_AZURE_SOURCE} came with it."
_FOR_ITS_OWNER = 0o700  # ours: closed to others, and so is all that is made inside
_READABLE = 0o644  # ours: as its directory says


def note_path(config: Path) -> Path:
    return config.with_name("agent-service.txt")


@dataclass(frozen=True, slots=True)
class Found:
    """What of it is on this machine already."""

    service: bool
    azure_source: bool = False  # the event source of Microsoft's sample, by whomever
    strangers: tuple[tuple[str, str], ...] = ()  # of file and directory: path, and who owns it


def plan_install(
    program: Sequence[str], config: Path, found: Found, *, start: bool = False, azure: bool = False
) -> list[Action]:
    """What installing would do. An ``agent.toml`` that is there is left."""
    note = note_path(config)
    _refuse_strangers(found)
    if found.service and not _is_ours(note):
        raise CannotInstall(f"the service {SERVICE} is there and was not made by 'forewarn agent install'")
    brought = note.read_text().splitlines()[1:] if _is_ours(note) else []
    if found.service and azure and _AZURE_LINE not in brought:
        raise CannotInstall(
            f"the service {SERVICE} is there and writes entries of its own; 'forewarn agent uninstall' first, then "
            "install it with --azure-event-log"
        )
    actions = []
    if not config.parent.exists():
        actions.append(Action("make", str(config.parent), mode=_FOR_ITS_OWNER))
    elif config.parent == Path(CONFIG_PATH).parent:
        actions.append(Action("close", str(config.parent), "to all but SYSTEM, the administrators and its owner"))
    if config.exists():
        actions.append(Action("keep", str(config), "it is there already"))
    else:
        brought = [digest_of(COMMENTED_TOML), *(line for line in brought if line in (_AZURE_LINE, _AZURE_BROUGHT))]
        actions.append(Action("write", str(config), text=COMMENTED_TOML, mode=_READABLE))
    if azure and not found.service:
        brought += [_AZURE_LINE] if found.azure_source else [_AZURE_LINE, _AZURE_BROUGHT]
    actions.append(Action("write", str(note), text="\n".join([_MARK, *brought]) + "\n", mode=_READABLE))
    if not found.service:
        actions.append(Action("register", f"service {SERVICE}", text=command_line(program, config, azure=azure)))
        actions.append(Action("register", f"{_SOURCE}{SERVICE}"))
        if azure and not found.azure_source:
            actions.append(Action("register", f"{_SOURCE}{_AZURE_SOURCE}"))
    return [*actions, Action("start", f"service {SERVICE}")] if start else actions


def _refuse_strangers(found: Found) -> None:
    """Refuse files and directories of the agent that an account without rights over it owns.

    On Windows every account may make directories where programs keep their data (``ProgramData``), and the owner of
    the agent's could tell it, and so SYSTEM, what to do.
    """
    for path, owner in found.strangers:
        raise CannotInstall(
            f"{path} belongs to {owner}, who could tell the agent, and so SYSTEM, what to do; look at it, then remove "
            f'it or give it to the administrators: takeown /a /r /f "{path}"'
        )


def plan_uninstall(config: Path, *, there: bool) -> list[Action]:
    """What uninstalling would do: the agent's memory and a file in which somebody has written stay."""
    note = note_path(config)
    if not _is_ours(note):
        if there:
            raise CannotInstall(f"the service {SERVICE} was not made by 'forewarn agent install'")
        return []
    actions = []
    if there:
        actions += [Action(verb, f"service {SERVICE}") for verb in ("stop", "unregister")]
        actions.append(Action("unregister", f"{_SOURCE}{SERVICE}"))
        if _AZURE_BROUGHT in note.read_text().splitlines():
            actions.append(Action("unregister", f"{_SOURCE}{_AZURE_SOURCE}"))
    if config.exists():
        unchanged = digest_of(config.read_text(encoding="utf-8")) in note.read_text().splitlines()[1:]
        why = "" if unchanged else "it was changed since it was written"
        actions.append(Action("remove" if unchanged else "keep", str(config), why))
    actions.append(Action("remove", str(note)))
    if Path(STATE_DIRECTORY).exists():
        actions.append(Action("keep", STATE_DIRECTORY, "what the agent remembers"))
    return actions


def command_line(program: Sequence[str], config: Path, *, azure: bool = False) -> str:
    how = ["--azure-event-log"] if azure else []
    return subprocess.list2cmdline([*program, "agent", "run", "--service", *how, "--config", str(config)])


def look(config: Path) -> Found:
    """What is there now."""
    if sys.platform != "win32":
        return Found(service=False)
    from forewarn.guest.system.windows import access, event_log, services

    there = [path for path in (config.parent, config, note_path(config)) if path.exists()]
    owned = [(str(path), access.stranger_who_owns(path)) for path in there]
    return Found(
        services.exists(SERVICE),
        event_log.source_is_there(event_log.AZURE_SOURCE),
        tuple((path, owner) for path, owner in owned if owner),
    )


def carry_out(actions: Sequence[Action]) -> None:
    """Do it, in order."""
    for action in actions:
        if action.verb == "make":
            make_directory(Path(action.subject), action.mode)
        elif action.verb == "close":
            _close(Path(action.subject))
        elif action.subject.startswith(("service ", _SOURCE)):
            _manage(action)
        else:
            carry_out_files([action])


def _close(directory: Path) -> None:
    if sys.platform == "win32":
        from forewarn.guest.system.windows.access import close_to_others

        close_to_others(directory)


def _manage(action: Action) -> None:
    source = action.subject.removeprefix(_SOURCE)
    if sys.platform == "win32":
        from forewarn.guest.system.windows import event_log, services

        match action.verb, action.subject.partition(" ")[0]:
            case "register", "service":
                services.register(SERVICE, _DISPLAY, _DESCRIPTION, action.text)
            case "unregister", "service":
                services.remove(SERVICE)
            case "register", _:
                event_log.register_source(source)
            case "unregister", _:
                event_log.remove_source(source)
            case "start", _:
                services.start(SERVICE)
            case "stop", _:
                services.stop(SERVICE)


def _is_ours(note: Path) -> bool:
    try:
        return note.read_text().startswith(_MARK)
    except OSError:
        return False

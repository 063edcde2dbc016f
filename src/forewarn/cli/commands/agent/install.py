"""``forewarn agent install`` and ``uninstall``: the plan is the guest's; here it is shown and carried out."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from forewarn.cli.commands.agent.config import CONFIG_PATH
from forewarn.cli.output import Output
from forewarn.settings.errors import CommandFailed, Exit, usage

if TYPE_CHECKING:
    from forewarn.guest.agent.tools.install import Action

_TRY = "try it as an administrator" if sys.platform == "win32" else "try it with sudo"


def install(args: argparse.Namespace, out: Output) -> int:
    from forewarn.guest.agent.tools.install import plan_install
    from forewarn.guest.agent.tools.unit import UNIT_NAME

    config = args.config or CONFIG_PATH
    if sys.platform == "darwin" and args.root == Path("/"):  # another root may be an image's
        from forewarn.guest.agent.run import NOT_ON_MACOS

        raise usage(f"{NOT_ON_MACOS}.")
    if sys.platform == "win32":
        return _install_service(args, Path(config), out)
    if args.azure_event_log:
        raise usage("--azure-event-log is for Windows; here the agent logs to the journal of systemd.")
    if not config.startswith("/"):
        raise usage(f"a service needs the whole path of its file, not {config!r}.")
    if args.enable and not _is_live(args.root):
        raise usage("--enable needs a running systemd, and no --root.")
    program = [args.program] if args.program else _this_program()
    _carry_out(args, out, lambda: plan_install(args.root, program, config, enable=args.enable))
    if not out.as_json:
        _say_the_policy(args.root / config.lstrip("/"), out)
    if not (args.enable or args.dry_run or out.as_json):
        out.note(f"To start it, now and at every boot: systemctl daemon-reload && systemctl enable --now {UNIT_NAME}")
    return Exit.OK


def _install_service(args: argparse.Namespace, config: Path, out: Output) -> int:
    from forewarn.guest.agent.tools import install_windows as windows

    if not config.is_absolute():
        raise usage(f"a service needs the whole path of its file, not {str(config)!r}.")
    program = [args.program] if args.program else [sys.executable, "-I", "-m", "forewarn"]
    azure = args.azure_event_log
    _carry_out(
        args,
        out,
        lambda: windows.plan_install(program, config, windows.look(config), start=args.enable, azure=azure),
    )
    if not out.as_json:
        _say_the_policy(config, out)
    if not (args.enable or args.dry_run or out.as_json):
        out.note(f"To start it now: Start-Service {windows.SERVICE}; it starts with Windows from now on.")
    return Exit.OK


def _uninstall_service(args: argparse.Namespace, out: Output) -> int:
    from forewarn.guest.agent.tools import install_windows as windows

    config = Path(CONFIG_PATH)
    done = _carry_out(args, out, lambda: windows.plan_uninstall(config, there=windows.look(config).service))
    if not done and not out.as_json:
        out.note("It is not installed: there is nothing to remove.")
    return Exit.OK


def _say_the_policy(path: Path, out: Output) -> None:
    """What the agent will do about events; a file that is only planned says what an empty one does."""
    from forewarn.guest.agent.config.reading import check_file
    from forewarn.guest.agent.telling.plain_words import skipped, warning
    from forewarn.guest.agent.values import AgentConfig

    config = check_file(path).config if path.exists() else AgentConfig()
    if config is None:
        out.note(f"{path} cannot be obeyed; 'forewarn agent check' says why.")
        return
    told = warning(config)
    for line in [told] if told else [f"without steps: {each}" for each in skipped(config)]:
        out.note(line)


def uninstall(args: argparse.Namespace, out: Output) -> int:
    from forewarn.guest.agent.tools.install import plan_uninstall

    if sys.platform == "win32":
        return _uninstall_service(args, out)
    done = _carry_out(args, out, lambda: plan_uninstall(args.root, live=_is_live(args.root)))
    if not done and not out.as_json:
        out.note("It is not installed: there is nothing to remove.")
    return Exit.OK


def _carry_out(args: argparse.Namespace, out: Output, plan: Callable[[], list[Action]]) -> list[Action]:
    """Show the plan and, unless this is a rehearsal, do it."""
    from forewarn.guest.agent.tools.install import CannotInstall
    from forewarn.guest.agent.tools.install import carry_out as carry_out_here
    from forewarn.guest.agent.tools.install_windows import carry_out as carry_out_windows

    carry_out = carry_out_windows if sys.platform == "win32" else carry_out_here
    try:
        actions = plan()
        if not args.dry_run:
            carry_out(actions)
    except CannotInstall as problem:
        raise CommandFailed(f"{problem}.") from None
    except OSError as problem:
        hint = f"; {_TRY}" if isinstance(problem, PermissionError) else ""
        raise CommandFailed(f"cannot write {problem.filename}: {problem.strerror}{hint}.") from None
    if out.as_json:
        out.json([{"verb": each.verb, "subject": each.subject, "why": each.why} for each in actions])
    else:
        for action in actions:
            out.line(f"{'would ' if args.dry_run else ''}{action}")
            if args.dry_run and action.text:
                out.line("".join(f"    {line}\n" for line in action.text.splitlines()).rstrip("\n"))
    return actions


def _is_live(root: Path) -> bool:
    return root == Path("/") and Path("/run/systemd/system").is_dir()


def _this_program() -> list[str]:
    """The command that this is, as systemd can start it: by its whole path, wherever it was found."""
    name = Path(sys.argv[0])
    found = name.resolve() if name.name == "forewarn" and os.access(name, os.X_OK) else shutil.which("forewarn")
    return [str(found)] if found else [sys.executable, "-m", "forewarn"]

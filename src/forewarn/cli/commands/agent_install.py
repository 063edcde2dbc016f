"""``forewarn agent install`` and ``uninstall``: the plan is the guest's; here it is shown and carried out."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from forewarn.cli.commands.agent_config import CONFIG_PATH
from forewarn.cli.output import Output
from forewarn.settings.errors import CommandFailed, Exit, usage

if TYPE_CHECKING:
    from forewarn.guest.agent.tools.install import Action


def install(args: argparse.Namespace, out: Output) -> int:
    from forewarn.guest.agent.tools.install import plan_install
    from forewarn.guest.agent.tools.unit import UNIT_NAME

    config = args.config or CONFIG_PATH
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

    done = _carry_out(args, out, lambda: plan_uninstall(args.root, live=_is_live(args.root)))
    if not done and not out.as_json:
        out.note("It is not installed: there is nothing to remove.")
    return Exit.OK


def _carry_out(args: argparse.Namespace, out: Output, plan: Callable[[], list[Action]]) -> list[Action]:
    """Show the plan and, unless this is a rehearsal, do it."""
    from forewarn.guest.agent.tools.install import CannotInstall, carry_out

    try:
        actions = plan()
        if not args.dry_run:
            carry_out(actions)
    except CannotInstall as problem:
        raise CommandFailed(f"{problem}.") from None
    except OSError as problem:
        hint = "; try it with sudo" if isinstance(problem, PermissionError) else ""
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

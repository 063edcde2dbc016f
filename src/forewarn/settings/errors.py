"""How a command ends: the exit statuses that scripts may rely on, and the one exception that carries a sentence."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit statuses, documented by ``forewarn --help``."""

    OK = 0
    FAILED = 1
    USAGE = 2  # as argparse and most programs
    UNREACHABLE = 3  # ours, and the agent's, too
    NOT_FOUND = 4  # ours
    INTERRUPTED = 130  # as shells say it: 128 + SIGINT
    PIPE_CLOSED = 141  # as shells say it: 128 + SIGPIPE


EXIT_HELP = {
    Exit.OK: "done",
    Exit.FAILED: "refused or failed; nothing was changed unless the message says so",
    Exit.USAGE: "the command line, a setting or a file is not right",
    Exit.UNREACHABLE: "no server answers, or an extra that the command needs is not installed",
    Exit.NOT_FOUND: "the thing that was named does not exist",
    Exit.INTERRUPTED: "ended by Ctrl-C (a server that is ended so ends with 0)",
    Exit.PIPE_CLOSED: "the reader of the output went away",
}


class CommandFailed(Exception):  # noqa: N818 - it reads as the sentence it is
    """The command cannot go on. The message is one sentence for a person; no traceback is shown."""

    def __init__(self, message: str, status: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class CannotListen(CommandFailed):
    """An address that a server was told to listen on is taken, or not this machine's."""


def usage(message: str) -> CommandFailed:
    """A ``CommandFailed`` for words, settings or files that cannot be understood."""
    return CommandFailed(message, Exit.USAGE)

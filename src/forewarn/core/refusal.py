"""How the core says no."""

from __future__ import annotations

from enum import StrEnum


class Hint(StrEnum):
    """What kind of no it is, so that each face can choose its own status for it."""

    INVALID = "invalid"
    NOT_FOUND = "not found"
    CONFLICT = "conflict"


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not an error
    """The command was refused and nothing has changed. The message is a sentence that a person can act on."""

    def __init__(self, hint: Hint, message: str) -> None:
        super().__init__(message)
        self.hint = hint
        self.message = message

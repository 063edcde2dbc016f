"""How the core says no."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Hint(StrEnum):
    """The kind of a refusal, from which each face chooses its status."""

    INVALID = "invalid"
    NOT_FOUND = "not found"
    CONFLICT = "conflict"


class Missing(NamedTuple):
    """What was named and is not there, so that a face may look for something of a like name."""

    kind: str  # VM, host, event, campaign, scale set or scope
    name: str


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not an error
    """The command was refused and nothing has changed. The message is a sentence that a person can act on."""

    def __init__(self, hint: Hint, message: str, missing: Missing | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.message = message
        self.missing = missing


def nothing_named(kind: str, name: str) -> Refused:
    return Refused(Hint.NOT_FOUND, f"There is no {kind} named '{name}'.", Missing(kind, name))


def no_scope(key: str) -> Refused:
    sentence = f"There is no scope '{key}'. Scopes are written like availability-set/front."
    return Refused(Hint.NOT_FOUND, sentence, Missing("scope", key))


def no_campaign(campaign_id: str) -> Refused:
    return Refused(Hint.NOT_FOUND, f"There is no campaign {campaign_id}.", Missing("campaign", campaign_id))


def no_event(sentence: str, event_id: str) -> Refused:
    return Refused(Hint.NOT_FOUND, sentence, Missing("event", event_id))

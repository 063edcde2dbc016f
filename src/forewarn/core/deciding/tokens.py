"""Who may be given a token, and taking one back."""

from __future__ import annotations

import re

from forewarn.core.draft import Draft
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Region, fold
from forewarn.core.tokens.facts import TokenMade, TokenRevoked
from forewarn.core.tokens.values import AccessToken, MakeToken, RevokeToken, Role, TokenCommand

MOST_TOKENS = 1_000  # ours: one for each person and program; all of them are in memory
MOST_RELAYS = 20_000  # ours: one for each host of a region of a million VMs is a few thousand
MOST_VMS = 1_000  # ours: that one relay may speak for by their names; hosts have some twenty
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,39}")  # ours: an account or a mail address, as short as a session's


def decide_token(draft: Draft, command: TokenCommand) -> None:
    match command:
        case MakeToken():
            _make(draft, command)
        case RevokeToken(token=named):
            found = _named(draft.region, named)
            draft.record(TokenRevoked(draft.now, found.id, found.name))


def _make(draft: Draft, command: MakeToken) -> None:
    known = draft.region.tokens
    if not _NAME.fullmatch(command.name):
        sentence = "A token's name has at most 40 letters, digits and . _ @ -, and begins with a letter or a digit."
        raise Refused(Hint.INVALID, sentence)
    if any(fold(token.name) == fold(command.name) for token in known.values()):
        raise Refused(Hint.CONFLICT, f"There is a token named '{command.name}' already; revoke it first.")
    most = MOST_RELAYS if command.role is Role.RELAY else MOST_TOKENS
    if sum((token.role is Role.RELAY) is (command.role is Role.RELAY) for token in known.values()) >= most:
        raise Refused(Hint.CONFLICT, f"There are {most} tokens already; revoke some first.")
    _check_relay(command)
    vms = tuple(dict.fromkeys(fold(name) for name in command.vms))
    made = TokenMade(draft.now, command.id, command.name, command.role, command.digest, vms, fold(command.host))
    draft.record(made)


def _check_relay(command: MakeToken) -> None:
    """A relay's token names VMs or a host, and no other does."""
    if command.role is not Role.RELAY:
        if command.vms or command.host:
            raise Refused(Hint.INVALID, "Only a token to relay is for some VMs or a host; leave them off.")
    elif not command.vms and not command.host:
        raise Refused(Hint.INVALID, "A token to relay is for some VMs or for a host: say which.")
    elif len(command.vms) > MOST_VMS:
        raise Refused(Hint.INVALID, f"A relay speaks for {MOST_VMS} VMs at most by their names; name its host instead.")


def _named(region: Region, name: str) -> AccessToken:
    """The token of that name or id; ``Refused`` without one."""
    wanted = fold(name)
    for token in region.tokens.values():
        if wanted in (fold(token.name), fold(token.id)):
            return token
    raise Refused(Hint.NOT_FOUND, f"There is no token named '{name}'.")

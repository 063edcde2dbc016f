"""Tokens of people and programs: who has one, a new one, and taking one back. The gate lets only admins come here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from forewarn.core.refusal import Refused
from forewarn.core.tokens.values import Role
from forewarn.web.operator.errors import refusal_of
from forewarn.web.operator.routes import tokens
from forewarn.web.operator.routes.tokens import MadeTokenAnswer, TokenAnswer, TokenBody
from forewarn.web.portal.addresses import with_news
from forewarn.web.portal.forms import NotRight, checked
from forewarn.web.portal.page import Elsewhere, GoTo, PortalPage, Visit

_HERE = "/portal/tokens"
_ROLES = {
    "read": "look at everything",
    "operate": "work with the region",
    "admin": "make and revoke tokens, too",
}  # a relay's token names its VMs: the command line makes it


@dataclass(frozen=True)
class TokensView:
    tokens: list[TokenAnswer]
    wanted: bool  # whether this server asks anybody for a token
    roles: dict[str, str]
    name: str = ""  # as it was typed
    role: str = "read"
    made: MadeTokenAnswer | None = None  # told in the answer to the form that asked for it, and never again
    refusal: str = ""
    where: str = "name"  # the field that the refusal is about
    status: int = 200  # HTTP's OK; a refusal has its own


async def view(visit: Visit) -> TokensView:
    """Names and roles. The server's own token, a setting, is not among them."""
    listed = await tokens.list_tokens(visit.look)
    return TokensView(listed.tokens, visit.desk.tokens.wanted, _ROLES)


async def change(visit: Visit) -> TokensView | GoTo:
    """Make the one that was asked for, or take one back.

    A session lasts for hours and a token for ever, so a session alone makes none: the form asks for a token, too. A new
    one is shown in this very answer. Nothing is redirected to: an address would have to carry it, and no address,
    journal or log may.
    """
    before, shown = visit.look.seq, await view(visit)
    asked = replace(shown, name=visit.typed("name"), role=visit.typed("role"))
    try:
        if visit.typed("revoke"):
            await tokens.revoke_token(visit.typed("revoke"), visit.asker())
            return GoTo(with_news(_HERE, visit.request_id, before))
        if problem := _stranger(visit):
            return replace(asked, refusal=problem, where="token", status=403)
        body = checked(TokenBody, {"name": asked.name.strip(), "role": asked.role})
        made = await tokens.make_token(body, visit.desk, visit.asker())
    except NotRight as problem:
        return replace(asked, refusal=problem.message, status=400)
    except Refused as refused:
        status, _, message = refusal_of(refused, visit.desk) or (500, "internal", str(refused))
        return replace(asked, refusal=message, status=status)
    added = TokenAnswer(id=made.id, name=made.name, role=made.role, vms=[], host="", made_at=visit.look.now)
    every = sorted([*shown.tokens, added], key=lambda token: token.name.lower())
    return replace(shown, tokens=every, made=made)


def _stranger(visit: Visit) -> str:
    """Why the token that was typed does not count; empty where it does. Guessing is bounded as at the sign-in."""
    sessions = visit.sessions
    if not sessions.wanted:
        return ""  # the route refuses it
    if seconds := sessions.tries.wait_seconds(visit.caller):
        return f"Too many wrong tokens came from this address; try again in {seconds} s."
    known = sessions.granted(visit.typed("token"), "")
    if known is not None and known.role.may(Role.ADMIN):
        return ""
    sessions.tries.note(visit.caller)
    return "This is not a token that may make others."


PAGES = (
    PortalPage(
        "tokens",
        "/tokens",
        "Tokens",
        view,
        "pages/tokens.html",
        post=change,
        api=("GET /v1/tokens", "POST /v1/tokens", "DELETE /v1/tokens/{token}"),
        reading=lambda visit: Elsewhere((("token", "list"),)),
        under="settings",
    ),
)

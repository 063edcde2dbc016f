"""Signing in and out, and how one wants the pages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from forewarn.web.access import Grant
from forewarn.web.portal.addresses import own_path
from forewarn.web.portal.page import GoTo, PortalPage, Visit
from forewarn.web.portal.preferences import CHOICES, COOKIE
from forewarn.web.portal.session import LONGEST_NAME, TokenSessions

_STALE = "This code does not hold any more: it opens once, within a minute."
_WRONG = "This is not the token of this server."
_YEAR = 365 * 86_400  # browsers cut cookies to 400 days (RFC 6265bis)


@dataclass(frozen=True)
class SigningIn:
    """The form; ``refusal`` says why the last try did not count."""

    wanted: bool
    back: str
    name: str = ""
    refusal: str = ""
    status: int = 200  # HTTP's OK; a refusal has its own
    longest: int = LONGEST_NAME


async def view(visit: Visit) -> SigningIn:
    return SigningIn(visit.sessions.wanted, own_path(visit.first("back")))


async def sign_in(visit: Visit) -> SigningIn | GoTo:
    """By the token, or by a code that ``forewarn portal --open`` has fetched with it."""
    sessions, back = visit.sessions, own_path(visit.typed("back"))
    form = SigningIn(sessions.wanted, back, visit.typed("name"))
    if not sessions.wanted:
        return GoTo(back)
    if seconds := sessions.tries.wait_seconds(visit.caller):
        refusal = f"Too many wrong tokens came from this address; try again in {seconds} s."
        return replace(form, refusal=refusal, status=429)
    known = _granted(sessions, visit)
    if known is None:
        sessions.tries.note(visit.caller)
        return replace(form, refusal=_STALE if visit.typed("code") else _WRONG, status=401)
    return GoTo(back, (sessions.cookie(known, visit.host, visit.scheme),))


def _granted(sessions: TokenSessions, visit: Visit) -> Grant | None:
    """Who comes in, where what was shown is right; else None."""
    if visit.typed("code"):
        return sessions.use_code(visit.typed("code"))
    return sessions.granted(visit.typed("token"), visit.typed("name"))


async def sign_out(visit: Visit) -> GoTo:
    return GoTo("/portal/sign-in", (visit.sessions.end(visit.host, visit.scheme),))


async def prefer(visit: Visit) -> GoTo:
    """Keep how somebody wants the pages, in a cookie of its own."""
    chosen = visit.preferences.changed({name: visit.typed(name) for name in CHOICES})
    cookie = f"{COOKIE}={chosen.cookie()}; Path=/portal; Max-Age={_YEAR}; HttpOnly; SameSite=Strict"
    return GoTo(own_path(visit.typed("back")), (cookie,))


@dataclass(frozen=True)
class Choosing:
    choices: dict[str, tuple[str, ...]]
    back: str


async def choose(visit: Visit) -> Choosing:
    return Choosing(dict(CHOICES), own_path(visit.first("back")))


async def ask_sign_out(visit: Visit) -> SigningIn:
    return SigningIn(visit.sessions.wanted, own_path(visit.first("back")))


PAGES = (
    PortalPage("preferences", "/preferences", "Preferences", choose, "pages/preferences.html", post=prefer),
    PortalPage("sign-in", "/sign-in", "Sign in", view, "pages/sign_in.html", post=sign_in, bare=True),
    PortalPage("sign-out", "/sign-out", "Sign out", ask_sign_out, "pages/sign_out.html", post=sign_out),
)

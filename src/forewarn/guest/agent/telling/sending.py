"""How one message reaches one channel: by a webhook, or by Apprise where that is installed."""

from __future__ import annotations

import importlib
from typing import Protocol
from urllib.parse import urlsplit

from forewarn import __version__

USER_AGENT = f"forewarn-agent/{__version__}"
_PATIENCE_SECONDS = 10.0  # what GitHub grants web hooks
# RFC 9110, 8470 and 6585: timeout, conflict, too early, too many; all pass by themselves
_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429})


class Sendable(Protocol):
    """What can be told: a title and a sentence, or all of it for programs."""

    @property
    def title(self) -> str: ...

    @property
    def text(self) -> str: ...

    def as_json(self) -> bytes: ...


class Undeliverable(Exception):  # noqa: N818 - it reads as what it is
    """The message did not get there. ``lasting``: and would not the next time either."""

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.lasting = lasting


def send_by_webhook(url: str, message: Sendable, user_agent: str = USER_AGENT) -> None:
    """POST it as JSON. The modules are loaded here, by the first message: an agent that is silent need not carry them.

    A redirect is refused: it would turn the POST into a GET, or take the message to where nobody meant it to go.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, build_opener

    headers = {"Content-Type": "application/json", "User-Agent": user_agent}
    request = Request(url, message.as_json(), headers, method="POST")  # noqa: S310 - the scheme was checked on reading
    try:
        with build_opener(_no_redirect()).open(request, timeout=_PATIENCE_SECONDS) as answer:
            answer.read(1024)
    except HTTPError as problem:
        status = problem.code
        problem.close()
        again = status >= 500 or status in _WORTH_ANOTHER_TRY
        raise Undeliverable(f"it answered {status}", lasting=not again) from None
    except (OSError, HTTPException) as problem:
        raise Undeliverable(str(getattr(problem, "reason", problem)) or type(problem).__name__) from None


def _no_redirect() -> type:
    from urllib.request import HTTPRedirectHandler

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    return NoRedirect


def send_by_apprise(url: str, message: Sendable) -> None:
    """Through a package that knows a hundred services; the extra ``notify`` brings it."""
    try:
        apprise = importlib.import_module("apprise")
    except ImportError:
        reason = "the package apprise is not installed (in a clone of forewarn: pip install '.[notify]')"
        raise Undeliverable(reason, lasting=True) from None
    sender = apprise.Apprise()
    if not sender.add(url):
        raise Undeliverable("Apprise does not understand the URL", lasting=True)
    if not sender.notify(title=message.title, body=message.text):
        raise Undeliverable("Apprise could not deliver it")


def shown_url(url: str) -> str:
    """A URL for a log: without its path, which is where chat systems put the secret, and without a password."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{parts.scheme}://{host if parts.scheme in ('http', 'https') else '…'}"

"""All links of the portal, made from the paths of its pages. No text from outside is used as an address as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode, urlsplit

ROOT = "/portal"
_NEWS = ("did", "since")
_WORD = "told"
_PASSING = (*_NEWS, _WORD, "back")  # parameters that are not a part of what a page shows


class Addresses:
    """The paths of the pages by name."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    @property
    def names(self) -> frozenset[str]:
        """Which pages there are."""
        return frozenset(self._paths)

    def url(self, page: str, **fields: object) -> str:
        """The address of a page. Fields of its path go there, the others into the query; empty ones are left out."""
        path, query = self._paths[page], {}
        for name, value in fields.items():
            slot = f"{{{name}}}"
            if slot in path:
                path = path.replace(slot, quote(_text(value), safe=""))
            elif value not in (None, "", (), []):
                query[name] = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        given = [(name, _text(each)) for name, values in query.items() for each in values]
        return f"{ROOT}{path}{'?' if given else ''}{urlencode(given)}"


def api(path: str, **query: object) -> str:
    """The address of the operator API that gives the bytes behind a page."""
    return f"{path}?{urlencode({name: _text(value) for name, value in query.items()})}"


def _text(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode()


def own_path(given: str, otherwise: str = f"{ROOT}/") -> str:
    """Where a form wants to return to, if that is a page of the portal; else ``otherwise``: no open redirect.

    Browsers read ``\\`` as ``/`` and ``//`` as another host, so both are refused.
    """
    parts = urlsplit(given) if given.isascii() and given.isprintable() else urlsplit("")
    is_own = not parts.scheme and not parts.netloc and parts.path.startswith(f"{ROOT}/") and "\\" not in given
    return given if is_own and "//" not in parts.path else otherwise


def lasting(address: str) -> str:
    """The address without the parameters that tell of a deed just done, and without the way back from it."""
    path, _, query = address.partition("?")
    kept = [each for each in query.split("&") if each and each.partition("=")[0] not in _PASSING]
    return f"{path}?{'&'.join(kept)}" if kept else path


def with_news(back: str, request_id: str, before: int) -> str:
    """The page to show after a deed, with the request id and where in the journal to look for it, on any node."""
    plain = lasting(back)
    return f"{plain}{'&' if '?' in plain else '?'}{_NEWS[0]}={request_id}&{_NEWS[1]}={before}"


def with_word(back: str, deed: str) -> str:
    """Where to go on after a deed of which the journal tells nothing: the page says so by the deed's own word."""
    plain = lasting(back)
    return f"{plain}{'&' if '?' in plain else '?'}{_WORD}={deed}"

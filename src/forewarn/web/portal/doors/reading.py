"""How to see the same elsewhere: what a page shows, as command lines and as requests of the operator API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlencode

from forewarn.web.portal.doors.twins import ApiCall, Here, Twin, az, cannot, curl, forewarn
from forewarn.web.portal.page import PortalPage, Visit

_FIELD = re.compile(r"\{\w+\}")


def options(query: Mapping[str, str]) -> tuple[str, ...]:
    """The filters of a list as options: each is called in the command line as in the API."""
    return tuple(word for name, value in query.items() for word in (f"--{name.replace('_', '-')}", value))


def doors_of(page: PortalPage, visit: Visit) -> tuple[Twin, ...]:
    """For the drawer of a page that only shows; a deed has its own."""
    if page.reading is None:
        return ()
    reading = page.reading(visit)
    asked = [request.partition(" ")[2] for request in page.api if request.startswith("GET ")]
    here = Here(visit.base, visit.sessions.wanted)
    calls = [
        ApiCall("GET", _address(path, visit.path.values(), reading.query if not place else {}))
        for place, path in enumerate(asked)
    ]
    return (
        forewarn(*reading.forewarn),
        curl(here, *calls),
        az(*reading.az) if reading.az else cannot("az", reading.no_az),
    )


def _address(path: str, fields: Iterable[str], query: Mapping[str, str]) -> str:
    """The path of a request with the fields of the page's own address in their order."""
    values = iter(fields)
    filled = _FIELD.sub(lambda _: quote(next(values), safe=""), path)
    return f"{filled}?{urlencode(query)}" if query else filled

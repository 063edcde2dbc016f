"""For each deed what somebody would fill in, in the small region: every deed of the table has a line here."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from tests.unit.web.portal.conftest import Browser

Given = dict[str, tuple[str, ...]]


def _vm(*names: str) -> Callable[[Browser], Given]:
    return lambda browser: {"vm": names}


def _events(browser: Browser) -> Given:
    """Those of the availability set, which wait."""
    found = [each.id for each in browser.plane.region.events.values() if each.scope == "availability-set/front"]
    return {"event": tuple(found[:1])}


SAMPLES: dict[str, Callable[[Browser], Given]] = {
    "restart": _vm("web-2"),
    "redeploy": _vm("web-2"),
    "reimage": _vm("web-2"),
    "stop": _vm("web-2", "lone"),
    "deallocate": _vm("web-2", "lone"),
    "start": _vm("off"),
    "evict": _vm("lone"),
    "delete": _vm("lone", "off"),
    "read": _vm("lone"),
    "approve": _events,
    "cancel": _events,
}


async def filled_in(browser: Browser, key: str) -> str:
    """The address of the deed's page with the sample filled in."""
    return f"/portal/do/{key}?{urlencode(SAMPLES[key](browser), doseq=True)}"

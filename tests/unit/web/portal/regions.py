"""The regions that every page is looked at in: nothing, something of everything, and names that try to be markup."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.unit.web.portal.conftest import Browser

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "javascript:alert(1)",
    "{{7*7}}",
    "\N{RIGHT-TO-LEFT OVERRIDE}txt.exe",
    "bell\x07null\x00escape\x1b[31m",
    "W" * 256,
    "=cmd|' /C calc'!A0",
)


async def nothing(browser: Browser) -> None:
    """A region as it is when somebody has just started it."""


async def small(browser: Browser) -> None:
    """Something of everything."""
    await browser.ask("/v1/vms", {"name": "web", "count": 3, "availability_set": "front", "read": True}, 201)
    await browser.ask("/v1/vms", {"name": "lone", "spot": True}, 201)
    await browser.ask("/v1/vms", {"name": "role", "cloud_service": "shop", "role": "Worker", "count": 2}, 201)
    await browser.ask("/v1/vms", {"name": "off", "terminate_notice_seconds": 300}, 201)
    await browser.ask("/v1/scale-sets", {"name": "pool", "capacity": 2}, 201)
    await browser.ask("/v1/vms/deallocate", {"names": ["off"]})
    await browser.ask("/v1/vms/restart", {"names": ["web-0"]})
    await browser.ask("/v1/vms/redeploy", {"names": ["web-1"]})
    await browser.ask("/v1/campaigns", {"kind": "freeze", "hosts": ["host-0", "host-1"]}, 201)
    await browser.ask("/v1/faults", {"kind": "throttled", "vms": ["web-2"], "times": 3}, 201)


async def hostile(browser: Browser) -> None:
    """Text from outside wherever text is taken: it is shown, and does nothing."""
    browser.client.headers["X-Forewarn-Client"] = HOSTILE[0]
    tags = {text[:60]: text for text in HOSTILE}
    sizes = {f"odd-{number}": text for number, text in enumerate(HOSTILE)}
    for name, size in sizes.items():
        await browser.ask("/v1/vms", {"name": name, "size": size, "tags": tags, "read": True}, 201)
    await browser.ask("/v1/vms/restart", {"names": ["odd-0"]})


REGIONS: dict[str, Callable[[Browser], Awaitable[None]]] = {"nothing": nothing, "small": small, "hostile": hostile}

"""One request to the Resource Manager and its answer, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.web.documents.whereabouts import LOCATION, SUBSCRIPTION, TENANT
from forewarn.web.resource_manager.login.access import Access

FILTER, TOP = "$filter", "$top"  # with these a caller asks for some of a list
EXPAND = "$expand"  # and with this for more of each
RETRY_AFTER_SECONDS = 1  # without it, or with 0, the clients sleep 30 seconds between two looks


@dataclass(frozen=True)
class ArmDesk:
    """What every handler may use."""

    plane: Plane
    subscription: str = SUBSCRIPTION
    tenant: str = TENANT
    location: str = LOCATION
    access: Access = field(default_factory=Access)
    bind_nics: bool = False  # whether VMs are known by the addresses of their network interfaces


@dataclass(frozen=True)
class Call:
    """A request, parsed. ``names`` holds what the route's pattern left open, in the caller's spelling."""

    method: str
    path: str  # one slash between segments, none at the end, the caller's spelling
    query: Mapping[str, str]  # keys in lower case
    body: Any  # parsed JSON; None where there was none
    base_url: str  # scheme://host:port as the caller wrote it
    origin: Origin
    headers: Mapping[str, str] = field(default_factory=dict)  # keys in lower case
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def api_version(self) -> str:
        return self.query.get("api-version", "")


@dataclass(frozen=True)
class ArmReply:
    """An answer. A None body is an empty one."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

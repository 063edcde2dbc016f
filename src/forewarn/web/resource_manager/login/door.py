"""Where the Resource Manager is and how one gets in, for those who want to tell others."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.web.resource_manager.call import Desk


@dataclass(frozen=True)
class Door:
    """A Resource Manager that answers."""

    url: str
    authority_pem: str  # whoever trusts this trusts the url
    desk: Desk

"""Settings: what this server was told, and where each value came from. Nothing can be changed here."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.web.operator.routes.region import settings
from forewarn.web.operator.schema.answers import SettingAnswer
from forewarn.web.portal.page import PortalPage, Reading, Visit


@dataclass(frozen=True)
class SettingsView:
    q: str
    settings: list[SettingAnswer]
    total: int
    kept_in: str
    metadata: str


async def view(visit: Visit) -> SettingsView:
    """Those with ``?q=`` in their name, their value or what they do."""
    q, every = visit.first("q").strip(), await settings(visit.desk)
    part = q.lower()
    found = [each for each in every if part in f"{each.name} {each.value} {each.source} {each.help}".lower()]
    return SettingsView(q, found, len(every), visit.desk.kept_in, visit.desk.metadata_url)


PAGES = (
    PortalPage(
        "settings",
        "/settings",
        "Settings",
        view,
        "pages/settings.html",
        api=("GET /v1/settings",),
        reading=lambda visit: Reading((("settings", "--running"),)),
        menu="Settings",
    ),
)

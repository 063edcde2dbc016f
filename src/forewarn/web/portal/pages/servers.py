"""Nodes and settings: who serves the region, whether they agree, what this server was told. Nothing is changed here."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.web.operator.routes.nodes import NodesAnswer, list_nodes
from forewarn.web.operator.routes.region import settings
from forewarn.web.operator.schema.answers import SettingAnswer
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit


@dataclass(frozen=True)
class SettingsView:
    q: str
    settings: list[SettingAnswer]
    total: int
    kept_in: str
    metadata: str


async def view_nodes(visit: Visit) -> NodesAnswer:
    """Who serves the region, and how far each has come."""
    return await list_nodes(visit.desk, visit.desk.plane)


async def view_settings(visit: Visit) -> SettingsView:
    """Those with ``?q=`` in their name, their value or what they do."""
    q, every = visit.first("q").strip(), await settings(visit.desk)
    part = q.lower()
    found = [each for each in every if part in f"{each.name} {each.value} {each.source} {each.help}".lower()]
    return SettingsView(q, found, len(every), visit.desk.kept_in, visit.desk.metadata_url)


PAGES = (
    PortalPage(
        "nodes",
        "/nodes",
        "Nodes",
        view_nodes,
        "pages/nodes.html",
        parts={"part-nodes": "parts/nodes.html"},
        api=("GET /v1/nodes",),
        reading=lambda visit: Elsewhere((("node", "list"),)),
        menu="Nodes",
    ),
    PortalPage(
        "settings",
        "/settings",
        "Settings",
        view_settings,
        "pages/settings.html",
        api=("GET /v1/settings",),
        reading=lambda visit: Elsewhere((("settings", "--running"),)),
        menu="Settings",
    ),
)

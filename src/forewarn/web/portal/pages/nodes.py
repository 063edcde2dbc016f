"""Nodes: who serves the region, how far each has come, and whether they agree."""

from __future__ import annotations

from forewarn.web.operator.routes.nodes import NodesAnswer, list_nodes
from forewarn.web.portal.page import PortalPage, Reading, Visit


async def view(visit: Visit) -> NodesAnswer:
    return await list_nodes(visit.desk.plane)


PAGES = (
    PortalPage(
        "nodes",
        "/nodes",
        "Nodes",
        view,
        "pages/nodes.html",
        parts={"part-nodes": "parts/nodes.html"},
        api=("GET /v1/nodes",),
        reading=lambda visit: Reading((("node", "list"),)),
        menu="Nodes",
    ),
)

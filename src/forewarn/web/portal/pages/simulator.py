"""The simulator: how to run it, and a record of it drawn in the browser. The server sees nothing of the file."""

from __future__ import annotations

from forewarn.web.portal.page import PortalPage, Visit


async def view(visit: Visit) -> None:
    """There is nothing to know: the page and its script are all."""


PAGES = (PortalPage("simulator", "/simulator", "Simulator", view, "pages/simulator.html", menu="Simulator"),)

"""The table of pages, in the order of the navigation. A new page is a row here, a module, a template, a test region."""

from __future__ import annotations

from forewarn.web.portal.page import PortalPage
from forewarn.web.portal.pages import overview, vms

PAGES: tuple[PortalPage, ...] = (*overview.PAGES, *vms.PAGES)

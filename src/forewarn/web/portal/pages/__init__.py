"""The pages, one module a subject: look, view, template. ``PAGES`` is the table of them all.

A new page is a module here, a row in its ``PAGES``, a template, and something to show in the tests' small region.
"""

from __future__ import annotations

from forewarn.web.portal.page import PortalPage
from forewarn.web.portal.pages import doing, overview, search, sign_in, vms

PAGES: tuple[PortalPage, ...] = (  # in the order of the navigation
    *overview.PAGES,
    *vms.PAGES,
    *search.PAGES,
    *doing.PAGES,
    *sign_in.PAGES,
)

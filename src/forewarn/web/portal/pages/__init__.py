"""The pages, one module a subject: look, view, template. ``PAGES`` is the table of them all.

A new page is a module here, a row in its ``PAGES``, a template, and something to show in the tests' small region.
"""

from __future__ import annotations

from forewarn.web.portal.page import PortalPage
from forewarn.web.portal.pages import (
    activity,
    campaigns,
    doing,
    events,
    export,
    faults,
    hosts,
    machines,
    overview,
    scale_sets,
    scopes,
    search,
    servers,
    sign_in,
    simulator,
    tokens,
    vm,
    vms,
    wizard,
)

PAGES: tuple[PortalPage, ...] = (  # in the order of the navigation; of two paths that fit, the first is taken
    *overview.PAGES,
    *events.PAGES,
    *vms.PAGES,
    *vm.PAGES,
    *scale_sets.PAGES,
    *wizard.PAGES,
    *scopes.PAGES,
    *hosts.PAGES,
    *machines.PAGES,
    *campaigns.PAGES,
    *faults.PAGES,
    *activity.PAGES,
    *servers.PAGES,
    *tokens.PAGES,
    *simulator.PAGES,
    *search.PAGES,
    *doing.PAGES,
    *export.PAGES,
    *sign_in.PAGES,
)

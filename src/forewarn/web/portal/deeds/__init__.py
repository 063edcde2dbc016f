"""What can be done from the portal. ``DEEDS`` is the table: confirmation, palette and drawer are made from it."""

from __future__ import annotations

from forewarn.web.portal.deeds import campaigns, clock, events, faults, first_visit, hosts, scale_sets, scopes, vms
from forewarn.web.portal.deeds.deed import PortalDeed

_SUBJECTS = (vms, events, scale_sets, scopes, hosts, campaigns, clock, faults, first_visit)

DEEDS: dict[str, PortalDeed] = {each.key: each for subject in _SUBJECTS for each in subject.DEEDS}

"""What can be done from the portal. ``DEEDS`` is the table: confirmation, palette and drawer are made from it."""

from __future__ import annotations

from forewarn.web.portal.deeds import events, vms
from forewarn.web.portal.deeds.deed import PortalDeed

DEEDS: dict[str, PortalDeed] = {each.key: each for each in (*vms.DEEDS, *events.DEEDS)}

"""A new scale set in three steps. Each step is an address; what was filled in on the others goes along in it.

Nothing is kept between steps, so a link shows somebody else the same, and going back loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.deeds.scale_set_form import (
    BASICS,
    DELAY,
    FORM,
    MANAGEMENT,
    NOTIFICATION,
    OS_IMAGE,
    SCALE_IN,
    SWITCHES,
    UPGRADE,
)
from forewarn.web.portal.deeds.scale_sets import CREATE
from forewarn.web.portal.forms import FormField, Given
from forewarn.web.portal.page import PortalPage, Visit
from forewarn.web.portal.pages.doing import Asking, asking_of

_OF_NOTICES = ("The terminate notice", "Terminate notifications")  # how the region's sentences about them begin


@dataclass(frozen=True)
class WizardStep:
    """One tab: its fields, and those of the others, which it carries."""

    step: str
    fields: tuple[FormField, ...]
    carried: tuple[FormField, ...]
    given: Given
    refusal: str = ""
    where: str = ""
    upgrade: tuple[FormField, ...] = (UPGRADE, SCALE_IN)
    termination: tuple[FormField, ...] = (NOTIFICATION, DELAY)
    others: tuple[FormField, ...] = (OS_IMAGE, *SWITCHES)


def _known(visit: Visit) -> Given:
    """What was typed on any step. What the form does not ask for is dropped."""
    return {field.name: visit.query[field.name] for field in FORM if field.name in visit.query}


async def basics(visit: Visit) -> WizardStep:
    return WizardStep("new-scale-set", BASICS, MANAGEMENT, _known(visit))


async def management(visit: Visit) -> WizardStep:
    """Says beside the field what the region would refuse about it, once somebody has chosen."""
    given = _known(visit)
    asking = await asking_of(visit, DEEDS[CREATE], given) if "notification" in given else None
    step = WizardStep("new-scale-set-management", MANAGEMENT, BASICS, given)
    if asking is None or _where(asking) not in {field.name for field in MANAGEMENT}:
        return step
    return replace(step, refusal=asking.refusal, where=_where(asking))


def _where(asking: Asking) -> str:
    """The field that a refusal is about."""
    if asking.refusal.startswith(_OF_NOTICES):
        return DELAY.name if asking.refusal.startswith(_OF_NOTICES[0]) else NOTIFICATION.name
    return asking.where


@dataclass(frozen=True)
class Review:
    """What would be made, or why not and on which step to mend it."""

    asking: Asking
    given: Given
    chosen: tuple[tuple[str, str], ...]
    mend: str  # the step that has the field in question
    step: str = "new-scale-set-review"
    carried: tuple[FormField, ...] = FORM


async def review(visit: Visit) -> Review:
    given = _known(visit)
    asking = await asking_of(visit, DEEDS[CREATE], given)
    basic = {field.name for field in BASICS}
    mend = "new-scale-set" if not _where(asking) or _where(asking) in basic else "new-scale-set-management"
    return Review(asking, given, tuple(_chosen(given)), mend)


def _chosen(given: Given) -> Iterable[tuple[str, str]]:
    for field in FORM:
        value = given.get(field.name, (field.default,))[0].strip()
        if field is DELAY and given.get("notification", ("Off",))[0] != "On":
            continue
        if field.name == "eviction_policy" and given.get("spot", ("Off",))[0] != "On":
            continue
        if value:
            yield field.label, value


PAGES = (
    PortalPage(
        "new-scale-set", "/new-scale-set", "Create a virtual machine scale set", basics, "pages/wizard.html",
        api=("POST /v1/scale-sets",), under="scale-sets",
    ),
    PortalPage(
        "new-scale-set-management", "/new-scale-set/management", "Create a virtual machine scale set", management,
        "pages/wizard_management.html", api=("POST /v1/scale-sets",), under="scale-sets",
    ),
    PortalPage(
        "new-scale-set-review", "/new-scale-set/review", "Create a virtual machine scale set", review,
        "pages/wizard_review.html", api=("POST /v1/scale-sets",), under="scale-sets",
    ),
)  # fmt: skip

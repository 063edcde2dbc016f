"""Doing something: first a page that says exactly what will happen, then, once that is confirmed, the deed.

``GET /portal/do/DEED`` is a look, however often it is asked for: it rehearses the deed and changes nothing. The form on
it carries a digest of what was shown. Where that is no longer what would happen, confirming shows the new outlook
instead of doing something that nobody has read. Between that comparison and the write another command may still come
in: the deed is then decided anew by the core, as every command is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import blake2b

from starlette.exceptions import HTTPException

from forewarn.core.refusal import Refused
from forewarn.plane.ports import JournalFault
from forewarn.web.operator.errors import refusal_of
from forewarn.web.portal.addresses import own_path, with_news, with_word
from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.deeds.deed import MANY, Outlook, PortalDeed
from forewarn.web.portal.doors.twins import Here, Twin, curl
from forewarn.web.portal.forms import Filled, Given, NotRight, fill
from forewarn.web.portal.page import GoTo, PortalPage, Visit

_CHANGED = "What would happen has changed since you looked. This is what would happen now; confirm it again."


@dataclass(frozen=True)
class Asking:
    """A deed on its way: what was typed, what would happen, or why not."""

    deed: PortalDeed
    given: Given
    question: str
    back: str
    outlook: Outlook | None = None
    hit: int = 0  # VMs
    number: int | None = None  # to be typed, where that is asked for
    seen: str = ""
    refusal: str = ""
    where: str = ""  # the field that the refusal is about
    twins: tuple[Twin, ...] = ()
    status: int = 200  # HTTP's OK; a refusal has its own


async def ask(visit: Visit) -> Asking:
    """What would happen now."""
    return await asking_of(visit, _deed(visit), visit.query)


async def act(visit: Visit) -> Asking | GoTo:
    """Do it, if what was confirmed is what would happen."""
    deed, given = _deed(visit), visit.form
    asking = await asking_of(visit, deed, given)
    if asking.outlook is None:
        return asking
    if _first(given, "seen") != asking.seen:
        return replace(asking, refusal=_CHANGED, status=409)
    if asking.number is not None and _first(given, "number").strip() != str(asking.number):
        problem = f"Type {asking.number}, the number of VMs that this hits, to confirm."
        return replace(asking, refusal=problem, where="number", status=400)
    before = visit.look.seq
    try:
        await deed.do(fill(deed.fields, given), visit.asker(), visit.desk)
    except (Refused, JournalFault) as refused:
        return _refused(visit, asking, refused)
    if deed.unwritten:
        return GoTo(with_word(asking.back, deed.key))
    return GoTo(with_news(asking.back, visit.request_id, before))


def _deed(visit: Visit) -> PortalDeed:
    found = DEEDS.get(visit.path["deed"])
    if found is None:
        raise HTTPException(404, "There is no such deed; the buttons of the pages lead to those there are")
    return found


async def asking_of(visit: Visit, deed: PortalDeed, given: Given) -> Asking:
    """The deed with what would happen now, or why it cannot be done; nothing is changed."""
    back = own_path(_first(given, "back"))
    asking = Asking(deed, given, deed.title, back)
    try:
        filled = fill(deed.fields, given)
        asking = Asking(deed, filled.given, deed.question(filled), back, twins=_twins(visit, deed, filled))
        outlook = deed.tell(await deed.do(filled, visit.rehearsal(), visit.desk))
    except NotRight as problem:
        return replace(asking, refusal=problem.message, where=problem.where, status=400)
    except (Refused, JournalFault) as problem:
        return _refused(visit, asking, problem)
    hit = len(outlook.hit(visit.look.region))
    number = max(hit, 1) if deed.final or hit > MANY else None
    return replace(asking, outlook=outlook, hit=hit, number=number, seen=_digest(filled, outlook))


def _refused(visit: Visit, asking: Asking, problem: Exception) -> Asking:
    status, _, message = refusal_of(problem, visit.desk) or (500, "internal", str(problem))
    return replace(asking, outlook=None, refusal=message, status=status)


def _first(given: Given, name: str) -> str:
    return given.get(name, ("",))[0]


def _digest(filled: Filled, outlook: Outlook) -> str:
    """Of what was shown, by the values that the form means: an address may leave out what a form sends as a default."""
    told = json.dumps([sorted(filled.values.items()), outlook.shape()], default=str)
    return blake2b(told.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _twins(visit: Visit, deed: PortalDeed, filled: Filled) -> tuple[Twin, ...]:
    others = deed.twins(filled, visit.look.region)
    own = curl(Here(visit.base, visit.sessions.wanted), deed.call(filled), *deed.further(filled))
    return (*others[:1], own, *others[1:])


PAGES = (
    PortalPage(
        "do",
        "/do/{deed}",
        "Confirm",
        ask,
        "pages/do.html",
        parts={"confirm": "parts/confirm.html"},
        post=act,
    ),
)

"""Letting answers of this node go wrong on purpose, and taking that back. Not a command: nothing of it is kept."""

from __future__ import annotations

from typing import Any

from forewarn.core.looking.lookup import vm_named
from forewarn.core.refusal import Hint, Refused
from forewarn.web.operator.desk import Asker, Desk, DryRun
from forewarn.web.operator.routes import faults
from forewarn.web.operator.schema.requests import FaultBody
from forewarn.web.portal.deeds.deed import Outlook, PortalDeed, body_of, some
from forewarn.web.portal.doors.twins import ApiCall, Twin, cannot, forewarn
from forewarn.web.portal.forms import Filled, FormField
from forewarn.web.portal.written import count, duration

EFFECTS = {
    "gone": "the answer is 410 Gone",
    "throttled": "the answer is 429 Too Many Requests",
    "error": "the answer is 500",
    "empty": "the answer is 200 without a body",
    "delay": "the answer comes late",
    "drop": "the connection is closed without an answer",
    "skip": "one incarnation of the document is left out",
}
_CANNOT = tuple(cannot(door, "Azure spoils nobody's answers on purpose.") for door in ("az", "PowerShell"))
_ADD = (
    FormField("kind", "What goes wrong", "choice", choices=tuple(EFFECTS), default="gone", required=True),
    FormField("vm", "VMs", "words", "vms", hint="Whose answers, like web-0 web-1; empty: everybody's.", longest=4096),
    FormField("times", "How many answers", "whole", hint="Empty: until the rule is cleared.", longest=9),
    FormField("share", "Share of the answers", "decimal", hint="From 0 to 1; empty: every one.", longest=9),
    FormField("delay", "Seconds of delay", "decimal", "delay_seconds", hint="For delay alone.", longest=9),
)
_CLEAR = (FormField("fault", "Rule", "hidden"),)


async def _add(filled: Filled, asker: Asker, desk: Desk) -> Any:
    body: FaultBody = filled.body(FaultBody)
    look = asker.look()
    if not isinstance(asker, DryRun):
        return await faults.add(body, desk, look)
    if not desk.metadata_url:
        raise Refused(Hint.CONFLICT, "This node has no metadata face to spoil answers of.")
    whom = some(tuple(vm_named(look.region, name).name for name in body.vms), "VM") if body.vms else "everybody"
    often = count(body.times, "time") if body.times else "until the rule is cleared"
    late = f", {duration(body.delay_seconds)} late" if body.delay_seconds else ""
    return Outlook(f"For {whom}, {often}: {EFFECTS[body.kind]}{late}. The rule is this node's, and ends with it.")


async def _clear(filled: Filled, asker: Asker, desk: Desk) -> Any:
    fault, rules = filled.typed("fault"), [rule.id for rule in desk.faults.list()]
    if fault and fault not in rules:
        raise Refused(Hint.NOT_FOUND, f"There is no fault rule {fault}.")
    if not isinstance(asker, DryRun):
        return await (faults.clear(fault, desk) if fault else faults.clear_all(desk))
    return Outlook(
        f"{count(1 if fault else len(rules), 'rule')} will be taken back: those answers are right again from then on."
    )


def _as_it_is(answer: Any) -> Outlook:
    assert isinstance(answer, Outlook)
    return answer


def _add_line(filled: Filled) -> Twin:
    values = filled.values
    words = ["fault", "add", str(values.get("kind", "gone")), *values.get("vms", ())]
    for name, option in (("times", "--times"), ("share", "--share")):
        words += [option, f"{values[name]:g}"] if values.get(name) else []
    words += ["--delay", f"{values['delay_seconds']:g}s"] if values.get("delay_seconds") else []
    return forewarn(words)


DEEDS = (
    PortalDeed(
        key="fault-add",
        title="Add a fault",
        question=lambda filled: "Let answers go wrong on purpose?",
        fields=_ADD,
        do=_add,
        tell=_as_it_is,
        call=lambda filled: ApiCall("POST", "/v1/faults", body_of(filled, FaultBody)),
        twins=lambda filled, region: (_add_line(filled), *_CANNOT),
        unwritten="The rule is in force on this node, until it is spent or cleared.",
        hint="410, 429, 500, an empty or a late answer, a closed connection, for chosen VMs.",
    ),
    PortalDeed(
        key="fault-clear",
        title="Clear",
        question=lambda filled: f"Clear rule {filled.typed('fault')}?" if filled.typed("fault") else "Clear all rules?",
        fields=_CLEAR,
        do=_clear,
        tell=_as_it_is,
        call=lambda filled: ApiCall("DELETE", f"/v1/faults/{filled.typed('fault')}".rstrip("/")),
        twins=lambda filled, region: (forewarn(["fault", "clear", *filter(None, filled.all("fault"))]), *_CANNOT),
        unwritten="Those answers are as they should be again.",
        hint="From then on those answers are as they should be.",
    ),
)

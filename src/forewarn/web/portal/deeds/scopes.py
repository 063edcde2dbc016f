"""What may be chosen for a scope: which of its events nobody has to approve."""

from __future__ import annotations

from typing import Any

from forewarn.core.region import Region
from forewarn.web.operator.desk import Asker, Desk
from forewarn.web.operator.routes import scopes
from forewarn.web.operator.schema.requests import PolicyBody
from forewarn.web.portal.deeds.deed import Outlook, PortalDeed
from forewarn.web.portal.deeds.scale_set_form import POLICY, SWITCHES
from forewarn.web.portal.doors.twins import ApiCall, Twin, cannot, forewarn
from forewarn.web.portal.forms import Filled, FormField, checked


def _policy(filled: Filled) -> dict[str, bool]:
    return {key: filled.values[key] == "On" for key in POLICY}


async def _set(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await scopes.set_policy(
        filled.typed("kind"), filled.typed("name"), checked(PolicyBody, _policy(filled)), asker
    )


def _told(answer: Any) -> Outlook:
    policy = answer.policy.model_dump()
    on = [field.label.lower() for field in SWITCHES if policy[field.name]]
    return Outlook(f"{answer.key} will {' and '.join(on) if on else 'approve nothing by itself'}.")


def _twins(filled: Filled, region: Region) -> tuple[Twin, ...]:
    policy = _policy(filled)
    options = [f"--{'' if policy[key] else 'no-'}{key.replace('_', '-')}" for key in POLICY]
    return (
        forewarn(["scope", "policy", f"{filled.typed('kind')}/{filled.typed('name')}", *options]),
        cannot("az", "az has no option for it; az rest can send scheduledEventsPolicy of a VM or an availability set."),
        cannot("PowerShell", "The Az module has no parameter for it."),
    )


DEEDS = (
    PortalDeed(
        key="set-policy",
        title="Save",
        question=lambda filled: f"Change what needs no approval for {filled.typed('kind')}/{filled.typed('name')}?",
        fields=(
            FormField("kind", "Kind", "hidden", required=True),
            FormField("name", "Name", "hidden", required=True),
            *SWITCHES,
        ),
        do=_set,
        tell=_told,
        call=lambda filled: ApiCall(
            "PUT", f"/v1/scopes/{filled.typed('kind')}/{filled.typed('name')}/policy", _policy(filled)
        ),
        twins=_twins,
        hint="Which events nobody has to approve; events that exist are not touched.",
    ),
)

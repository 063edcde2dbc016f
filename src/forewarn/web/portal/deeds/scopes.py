"""What may be chosen for a scope: which of its events nobody has to approve."""

from __future__ import annotations

from typing import Any

from forewarn.core.region import Region, fold
from forewarn.core.specs import ScopeKind
from forewarn.web.operator.desk import Asker, Desk
from forewarn.web.operator.routes import scopes
from forewarn.web.operator.schema.requests import PolicyBody
from forewarn.web.portal.deeds.deed import Outlook, PortalDeed
from forewarn.web.portal.deeds.scale_set_form import POLICY, SWITCHES
from forewarn.web.portal.deeds.scale_set_twins import policy_options
from forewarn.web.portal.doors.twins import ApiCall, Twin, az, cannot, forewarn
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
        _az(filled, region),
        # New-AzVmssConfig, Update-AzVM and Update-AzAvailabilitySet of Az.Compute as of Az 16.1.0
        cannot("PowerShell", "Of the three, the Az module can set only the last: -EnableAllInstancesDown."),
    )


def _az(filled: Filled, region: Region) -> Twin:
    kind, name = filled.typed("kind"), filled.typed("name")
    scope, vm = region.scopes.get(f"{kind}/{fold(name)}"), region.vms.get(fold(name))
    options = policy_options(_policy(filled))
    if kind == ScopeKind.AVAILABILITY_SET and scope is not None:
        return az(["vm", "availability-set", "update", "-g", scope.resource_group, "-n", name, *options])
    if kind == ScopeKind.VM and vm is not None:
        return az(["vm", "update", "-g", vm.spec.resource_group, "-n", name, *options])
    return cannot("az", "az has this for VMs, availability sets and scale sets only.")


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

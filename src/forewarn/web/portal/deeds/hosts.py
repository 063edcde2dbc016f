"""What is done to hosts: maintenance and failures."""

from __future__ import annotations

from typing import Any, get_args

from forewarn.web.operator.desk import Asker, Desk
from forewarn.web.operator.routes import hosts
from forewarn.web.operator.schema.requests import FailBody, MaintainBody, Maintenance
from forewarn.web.portal.deeds.deed import PortalDeed, body_of, outcome, some
from forewarn.web.portal.doors.twins import ApiCall, cannot, forewarn
from forewarn.web.portal.forms import Filled, FormField

_HOSTS = FormField("host", "Hosts", "names", "hosts", required=True)
KIND = FormField("kind", "Kind", "choice", choices=get_args(Maintenance), default="freeze", hint="What is done.")
_NOT_A_USER = "Users of Azure do not see hosts; an operator of the platform works on them."


async def _maintain(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await hosts.maintain(filled.body(MaintainBody), asker)


async def _fail(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await hosts.fail(filled.body(FailBody), asker)


DEEDS = (
    PortalDeed(
        key="maintain",
        title="Maintain",
        question=lambda filled: f"Maintain {some(filled.all('host'), 'host')}?",
        fields=(_HOSTS, KIND),
        do=_maintain,
        tell=outcome,
        call=lambda filled: ApiCall("POST", "/v1/hosts/maintain", body_of(filled, MaintainBody)),
        twins=lambda filled, region: (
            forewarn(["host", "maintain", *filled.all("host"), "--kind", filled.typed("kind", "freeze")]),
            cannot("az", _NOT_A_USER),
            cannot("PowerShell", _NOT_A_USER),
        ),
        hint="One event for each scope on each host; it starts when all are approved, or at NotBefore.",
    ),
    PortalDeed(
        key="fail",
        title="Fail",
        question=lambda filled: f"Let {some(filled.all('host'), 'host')} fail?",
        fields=(_HOSTS,),
        do=_fail,
        tell=outcome,
        call=lambda filled: ApiCall("POST", "/v1/hosts/fail", body_of(filled, FailBody)),
        twins=lambda filled, region: (
            forewarn(["host", "fail", *filled.all("host")]),
            cannot("az", _NOT_A_USER),
            cannot("PowerShell", _NOT_A_USER),
        ),
        final="the hosts break now, without notice, and their VMs are rebuilt elsewhere",
        danger=True,
        hint="The hosts break now; their VMs are rebuilt on others.",
    ),
)

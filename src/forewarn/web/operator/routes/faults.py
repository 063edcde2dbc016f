"""Fault rules: what shall go wrong between the metadata face and its callers."""

from __future__ import annotations

from forewarn.core.looking.lookup import vm_named
from forewarn.core.refusal import Hint, Refused
from forewarn.web.faults import FaultRule
from forewarn.web.operator.desk import TheDesk, TheLook
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.answers import FaultAnswer, FaultsAnswer, FaultsCleared
from forewarn.web.operator.schema.requests import FaultBody

router = routes_below("/v1/faults", "faults")


@router.post("", status_code=201, summary="Add a fault rule")
async def add(body: FaultBody, desk: TheDesk, look: TheLook) -> FaultAnswer:
    """For chosen VMs, the next answers of this node, or a share of them, go wrong. Rules end with the server."""
    if not desk.metadata_url:
        raise Refused(
            Hint.CONFLICT, "This node has no metadata face to spoil answers of; ask one that has, by its own address."
        )
    vms = dict.fromkeys(vm_named(look.region, name).name for name in body.vms)
    rule = FaultRule(body.kind, tuple(vms), body.times, body.share, body.delay_seconds)
    return _fields(desk.faults.add(rule))


@router.get("", summary="List fault rules")
async def list_faults(desk: TheDesk) -> FaultsAnswer:
    """The rules in force, and how many answers each has changed."""
    return FaultsAnswer(faults=[_fields(rule) for rule in desk.faults.list()])


@router.delete("", summary="Clear all fault rules")
async def clear_all(desk: TheDesk) -> FaultsCleared:
    """From now on nothing goes wrong on purpose."""
    return FaultsCleared(cleared=desk.faults.clear(None))


@router.delete("/{fault_id}", summary="Clear a fault rule")
async def clear(fault_id: str, desk: TheDesk) -> FaultsCleared:
    """Take one rule back."""
    cleared = desk.faults.clear(fault_id)
    if not cleared:
        raise Refused(Hint.NOT_FOUND, f"There is no fault rule {fault_id}.")
    return FaultsCleared(cleared=cleared)


def _fields(rule: FaultRule) -> FaultAnswer:
    return FaultAnswer(
        id=rule.id,
        kind=str(rule.kind),
        vms=list(rule.vms),
        times=rule.times,
        share=rule.share,
        delay_seconds=rule.delay_seconds,
        answered=rule.answered,
    )

"""How the metadata face knows a VM by its connection: told, told anew, and taken back."""

from __future__ import annotations

from forewarn.core.commands import BindVm
from forewarn.core.looking.lookup import vm_named
from forewarn.core.region import Region
from forewarn.core.specs import NO_BINDING, Binding
from forewarn.web.operator.desk import Asker, TheAsker
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.fleet_answers import VmChanged
from forewarn.web.operator.schema.requests import BindBody
from forewarn.web.operator.telling.views import vm_fields

router = routes_below("/v1/vms", "vms")


@router.put("/{name}/binding", summary="Bind a VM")
async def bind(name: str, body: BindBody, asker: TheAsker) -> VmChanged:
    """In place of the binding it has. What another VM has is refused, and then nothing is changed."""
    return await _bound(asker, name, body.binding())


@router.delete("/{name}/binding", summary="Unbind a VM")
async def unbind(name: str, asker: TheAsker) -> VmChanged:
    """Take back all that the metadata face knows a VM by; on loopback its name in the path still counts."""
    return await _bound(asker, name, NO_BINDING)


async def _bound(asker: Asker, name: str, binding: Binding) -> VmChanged:
    await asker.submit(BindVm(name, binding))
    return await asker.tell(_changed, asker.look().region, name)


def _changed(region: Region, name: str) -> VmChanged:
    return VmChanged(**dict(vm_fields(region, vm_named(region, name))))

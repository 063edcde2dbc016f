"""What a VM sees, shown to an operator: by a read on the VM's behalf, or by a look that the region does not notice."""

from __future__ import annotations

import json
from collections.abc import Sequence

from forewarn.core.commands import Pulse
from forewarn.core.facts import Fact, ScopeEnabled
from forewarn.core.looking.lookup import vm_named
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Region, Scope, Vm
from forewarn.core.rules import Rules
from forewarn.core.step import step
from forewarn.web.documents.document import document_bytes
from forewarn.web.documents.instance import instance_answer
from forewarn.web.operator.desk import Look, Visible
from forewarn.web.operator.schema.fleet_answers import ReadAnswer
from forewarn.wire.document import NotBeforeFormat
from forewarn.wire.versions import API_VERSIONS, NEWEST_THREE, ApiVersion, find, is_imds


def find_version(date: str) -> ApiVersion:
    found = find(date)
    if found is None:
        known = ", ".join(version.date for version in API_VERSIONS)
        raise Refused(Hint.INVALID, f"There is no api-version '{date}' of scheduled events; choose one of {known}.")
    return found


def read_by(look: Look, facts: Sequence[Fact], name: str, version: ApiVersion, form: NotBeforeFormat) -> ReadAnswer:
    """What the VM has read, and whether that enabled its scope; refused if the VM has been deleted meanwhile."""
    region = look.region
    vm = vm_named(region, name)
    scope = region.scope_of(vm)
    return ReadAnswer(
        vm=vm.name,
        scope=scope.key,
        enabled=any(isinstance(fact, ScopeEnabled) and fact.scope == scope.key for fact in facts),
        api_version=version.date,
        document=json.loads(document_bytes(region, scope, version, form)),
    )


def seen_by(look: Look, visible: Visible | None, name: str, rules: Rules) -> tuple[Region, Scope, bool]:
    """The region and the scope that a GET of this VM would be answered from now, and whether the scope is enabled.

    ``visible`` is what a metadata face with a visibility lag lets a scope see; None where it sees everything at once.
    The first GET of a scope enables it, and its document is the one after that. Here the enabling is worked out on the
    published region and thrown away, so looking changes nothing.
    """
    region, vm = look.region, vm_named(look.region, name)
    if region.scope_of(vm).enabled_at is None:
        now = look.now if region.latest_at is None else max(look.now, region.latest_at)
        region, _ = step(region, Pulse(((vm.key, now),)), now, rules)
        return region, region.scope_of(vm), False
    shown = region if visible is None else visible(vm.scope)
    return shown, shown.scope_of(vm), True


def instance_of(region: Region, vm: Vm, version: str) -> bytes:
    """What ``/metadata/instance`` answers this VM, whole and in JSON."""
    if not is_imds(version):
        newest = ", ".join(NEWEST_THREE)
        raise Refused(
            Hint.INVALID, f"There is no api-version '{version}' of the instance metadata; the newest are {newest}."
        )
    return instance_answer(region, vm, version, (), None).body

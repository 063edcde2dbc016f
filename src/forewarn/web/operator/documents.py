"""A document as its VM sees it, shown to an operator."""

from __future__ import annotations

import json
from collections.abc import Sequence

from forewarn.core.facts import Fact, ScopeEnabled
from forewarn.core.refusal import Hint, Refused
from forewarn.web.documents.document import document_bytes
from forewarn.web.operator.desk import Look
from forewarn.web.operator.schema.fleet_answers import ReadAnswer
from forewarn.web.operator.views import find_vm
from forewarn.wire.document import NotBeforeFormat
from forewarn.wire.versions import API_VERSIONS, ApiVersion, find


def find_version(date: str) -> ApiVersion:
    found = find(date)
    if found is None:
        known = ", ".join(version.date for version in API_VERSIONS)
        raise Refused(Hint.INVALID, f"There is no api-version '{date}' of scheduled events; choose one of {known}.")
    return found


def read_by(look: Look, facts: Sequence[Fact], name: str, version: ApiVersion, form: NotBeforeFormat) -> ReadAnswer:
    """What the VM has read, and whether that enabled its scope; refused if the VM has been deleted meanwhile."""
    region = look.region
    vm = find_vm(region, name)
    scope = region.scope_of(vm)
    return ReadAnswer(
        vm=vm.name,
        scope=scope.key,
        enabled=any(isinstance(fact, ScopeEnabled) and fact.scope == scope.key for fact in facts),
        api_version=version.date,
        document=json.loads(document_bytes(region, scope, version, form)),
    )

"""A document as its VM sees it, for whoever looks over the VM's shoulder."""

from __future__ import annotations

import json
from collections.abc import Sequence

from forewarn.core.documents import document_for
from forewarn.core.facts import Fact, ScopeEnabled
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import ScopeKind
from forewarn.web.operator.desk import Look
from forewarn.web.operator.schema.answers import SettingView
from forewarn.web.operator.schema.fleet_answers import ReadAnswer
from forewarn.web.operator.views import find_vm
from forewarn.wire.document import NotBeforeFormat, encode_document
from forewarn.wire.versions import API_VERSIONS, ApiVersion, find


def find_version(date: str) -> ApiVersion:
    found = find(date)
    if found is None:
        known = ", ".join(version.date for version in API_VERSIONS)
        raise Refused(Hint.INVALID, f"There is no api-version '{date}' of scheduled events; choose one of {known}.")
    return found


def not_before_format(settings: Sequence[SettingView]) -> NotBeforeFormat:
    """As the metadata face of this server writes it."""
    chosen = next((each.value for each in settings if each.name == "not_before_format"), "")
    return "iso8601" if chosen == "iso8601" else "rfc1123"


def read_by(look: Look, facts: Sequence[Fact], name: str, version: ApiVersion, form: NotBeforeFormat) -> ReadAnswer:
    """What the VM has read, and what came of that; the VM may have been deleted since it was asked to."""
    region = look.region
    vm = find_vm(region, name)
    scope = region.scope_of(vm)
    body = encode_document(
        document_for(region, scope),
        version,
        role_instances=scope.kind is ScopeKind.CLOUD_SERVICE,
        not_before_format=form,
    )
    return ReadAnswer(
        vm=vm.name,
        scope=scope.key,
        enabled=any(isinstance(fact, ScopeEnabled) and fact.scope == scope.key for fact in facts),
        api_version=version.date,
        document=json.loads(body),
    )

"""A scope's Scheduled Events document as the bytes that its VMs get."""

from __future__ import annotations

from forewarn.core.looking.documents import document_for
from forewarn.core.region import Region, Scope
from forewarn.core.specs import ScopeKind
from forewarn.wire.document import NotBeforeFormat, encode_document
from forewarn.wire.versions import ApiVersion


def document_bytes(
    region: Region, scope: Scope, version: ApiVersion, not_before_format: NotBeforeFormat = "rfc1123"
) -> bytes:
    """The document of ``scope`` in ``region``, in JSON.

    The metadata face sends these bytes and the operator face shows them: made in one place, they cannot differ. What
    decides about them is the four arguments alone, which is what a cache of documents relies on.
    """
    return encode_document(
        document_for(region, scope),
        version,
        role_instances=scope.kind is ScopeKind.CLOUD_SERVICE,
        not_before_format=not_before_format,
    )

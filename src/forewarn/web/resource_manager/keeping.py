"""Documents into the journal and out of it: secrets are removed in both directions.

On the way out as well, because a journal may be older than a row of the table of secrets.
"""

from __future__ import annotations

from typing import Any

import msgspec

from forewarn.core.commands import KeepResource
from forewarn.core.region import Resource
from forewarn.web.resource_manager.secrets import without_secrets


def keep(document: dict[str, Any], owner: str = "") -> KeepResource:
    """Remember a document under its ``id``, for as long as ``owner`` is there if it has one."""
    return KeepResource(document["id"], msgspec.json.encode(without_secrets(document)).decode(), owner)


def read(kept: Resource) -> dict[str, Any]:
    return without_secrets(msgspec.json.decode(kept.body))

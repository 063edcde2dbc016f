"""What a VM would be sent, for a person to look at: as it is, laid out, and beside another api-version."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass

from forewarn.core.looking.lookup import vm_named
from forewarn.web.documents.document import document_bytes
from forewarn.web.operator.documents import find_version, instance_of, seen_by
from forewarn.web.portal.page import Visit
from forewarn.wire.versions import API_VERSIONS, NEWEST, NEWEST_THREE, ApiVersion


@dataclass(frozen=True)
class SeenBytes:
    """Bytes as the metadata face would send them: as they are, and laid out for a reader."""

    version: str
    raw: str
    lines: tuple[str, ...]
    size: int
    incarnation: int | None = None
    hidden: tuple[str, ...] = ()  # what newer versions tell and this one does not


@dataclass(frozen=True)
class Lens:
    """One version, or two beside each other."""

    sides: tuple[SeenBytes, ...]
    versions: tuple[str, ...]  # newest first
    beside: str = ""


async def look_through(visit: Visit, name: str, tab: str) -> Lens:
    """Looking is not reading: nothing is noted, nothing enabled."""
    if tab == "instance":
        wanted, beside = visit.first("api-version", NEWEST_THREE[0]), visit.first("beside")
        shown = [await asyncio.to_thread(_instance, visit, name, each) for each in (wanted, beside) if each]
        return Lens(tuple(shown), NEWEST_THREE, beside)
    wanted, beside = visit.first("api-version", NEWEST.date), visit.first("beside")
    shown = [_document(visit, name, find_version(each)) for each in (wanted, beside) if each]
    return Lens(tuple(shown), tuple(each.date for each in reversed(API_VERSIONS)), beside)


def _instance(visit: Visit, name: str, version: str) -> SeenBytes:
    region = visit.look.region
    return _shown(instance_of(region, vm_named(region, name), version), version)


def _document(visit: Visit, name: str, version: ApiVersion) -> SeenBytes:
    desk = visit.desk
    region, scope, _ = seen_by(visit.look, desk.visible, name, desk.plane.rules)
    body = document_bytes(region, scope, version, desk.not_before_format)
    return _shown(body, version.date, scope.incarnation, tuple(hidden_in(version)))


def hidden_in(version: ApiVersion) -> Iterable[str]:
    """Fields and whole events that only newer versions tell of."""
    yield from (name for name in NEWEST.fields if name not in version.fields)
    yield from (f"events of type {kind}" for kind in sorted(NEWEST.types - version.types))


def _shown(body: bytes, version: str, incarnation: int | None = None, hidden: tuple[str, ...] = ()) -> SeenBytes:
    raw = body.decode("utf-8", "replace")
    laid_out = json.dumps(json.loads(raw), indent=2, ensure_ascii=False)
    return SeenBytes(version, raw, tuple(laid_out.split("\n")), len(body), incarnation, hidden)

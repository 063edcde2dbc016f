"""Documents as bytes, by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from forewarn.sim.oracle.memory import OracleEvent
from forewarn.sim.oracle.tables import KINDS, VERSIONS, Version

_DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


@dataclass(frozen=True, slots=True)
class Paper:
    """What one document said, in whatever version it is asked for."""

    works: tuple[OracleEvent, ...]
    audience_kind: str

    def body(self, api_version: str, incarnation: int) -> bytes:
        return document(self.works, self.audience_kind, api_version, incarnation)


def document(works: Iterable[OracleEvent], audience_kind: str, api_version: str, incarnation: int) -> bytes:
    """What a GET in this version is answered with."""
    version = VERSIONS[api_version]
    prefix = "_" if version.underscore and audience_kind != "cloud-service" else ""
    shown = [work for work in works if KINDS[work.cause].type not in version.hidden]
    events = ",".join(_event(work, version, prefix) for work in shown)
    return f'{{"DocumentIncarnation":{incarnation},"Events":[{events}]}}'.encode()


def _event(work: OracleEvent, version: Version, prefix: str) -> str:
    kind = KINDS[work.cause]
    names = ",".join(_text(prefix + label) for label in work.labels)
    told = [
        f'"EventId":{_text(work.id.upper())}',
        f'"EventStatus":"{"Scheduled" if work.pending else "Started"}"',
        f'"EventType":"{kind.type}"',
        '"ResourceType":"VirtualMachine"',
        f'"Resources":[{names}]',
        f'"NotBefore":"{instant(work.not_before) if work.pending else ""}"',
    ]
    if version.description:
        told.append(f'"Description":{_text(kind.description)}')
    if version.source:
        told.append(f'"EventSource":"{kind.source}"')
    if version.duration:
        told.append(f'"DurationInSeconds":{work.duration}')
    return "{" + ",".join(told) + "}"


def instant(at: datetime) -> str:
    """RFC 1123, as .NET's "R" writes it."""
    at = at.astimezone(UTC)
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"{day}, {at.day:02} {month} {at.year:04} {at.hour:02}:{at.minute:02}:{at.second:02} GMT"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

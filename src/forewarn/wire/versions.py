"""What each api-version shows: one value for each of the seven Scheduled Events versions, and the list of the rest.

Scheduled Events and the rest of the metadata service have separate lists of versions; a few dates are in both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from forewarn.terms import EventType
from forewarn.wire.json_bytes import write_json


@dataclass(frozen=True, slots=True, eq=False)
class ApiVersion:
    """One version of ``/metadata/scheduledevents``. Compared and hashed by identity: it is a key of hot caches."""

    date: str
    types: frozenset[str]  # an event of any other type is hidden
    fields: tuple[str, ...]  # of an event, in wire order; any other is absent
    underscore: bool = False  # before the names of IaaS VMs
    post_needs_header: bool = True  # GET needs ``Metadata: true`` in every version


_2017_03_01 = ApiVersion(
    date="2017-03-01",
    types=frozenset({EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY}),
    fields=("EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"),
    underscore=True,
    post_needs_header=False,
)
_2017_08_01 = replace(_2017_03_01, date="2017-08-01", underscore=False, post_needs_header=True)
_2017_11_01 = replace(_2017_08_01, date="2017-11-01", types=_2017_08_01.types | {EventType.PREEMPT})
_2019_01_01 = replace(_2017_11_01, date="2019-01-01", types=_2017_11_01.types | {EventType.TERMINATE})
_2019_04_01 = replace(_2019_01_01, date="2019-04-01", fields=(*_2019_01_01.fields, "Description"))
_2019_08_01 = replace(_2019_04_01, date="2019-08-01", fields=(*_2019_04_01.fields, "EventSource"))
_2020_07_01 = replace(_2019_08_01, date="2020-07-01", fields=(*_2019_08_01.fields, "DurationInSeconds"))

API_VERSIONS = (_2017_03_01, _2017_08_01, _2017_11_01, _2019_01_01, _2019_04_01, _2019_08_01, _2020_07_01)
NEWEST = API_VERSIONS[-1]

_BY_DATE = {version.date: version for version in API_VERSIONS}


def find(text: str) -> ApiVersion | None:
    """The Scheduled Events version of that date. ``latest``, path styles and unknown dates are no version."""
    return _BY_DATE.get(text)


IMDS_VERSIONS = (
    "2017-03-01",
    "2017-04-02",
    "2017-08-01",
    "2017-10-01",
    "2017-12-01",
    "2018-02-01",
    "2018-04-02",
    "2018-10-01",
    "2019-02-01",
    "2019-03-11",
    "2019-04-30",
    "2019-06-01",
    "2019-06-04",
    "2019-08-01",
    "2019-08-15",
    "2019-11-01",
    "2020-06-01",
    "2020-07-15",
    "2020-09-01",
    "2020-10-01",
    "2020-12-01",
    "2021-01-01",
    "2021-02-01",
    "2021-03-01",
    "2021-05-01",
    "2021-08-01",
    "2021-10-01",
    "2021-11-01",
    "2021-11-15",
    "2021-12-13",
    "2023-07-01",
    "2023-11-15",
    "2024-03-15",
    "2024-07-17",
    "2025-04-07",
)
NEWEST_THREE = IMDS_VERSIONS[:-4:-1]  # newest first, as an error names them
VERSIONS_BODY = write_json({"apiVersions": IMDS_VERSIONS})  # of /metadata/versions

_IMDS = frozenset(IMDS_VERSIONS)


def is_imds(text: str) -> bool:
    """Whether ``/metadata/instance`` knows this version."""
    return text in _IMDS

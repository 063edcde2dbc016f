from __future__ import annotations

import json

import pytest

from forewarn.terms import EventType
from forewarn.wire.versions import (
    API_VERSIONS,
    IMDS_VERSIONS,
    NEWEST,
    NEWEST_THREE,
    VERSIONS_BODY,
    find,
    is_imds,
)

FIRST_FIELDS = ("EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore")
FIRST_TYPES = {"Freeze", "Reboot", "Redeploy"}


@pytest.mark.parametrize(
    ("date", "newer_types", "newer_fields"),
    [
        ("2017-03-01", set(), ()),
        ("2017-08-01", set(), ()),
        ("2017-11-01", {"Preempt"}, ()),
        ("2019-01-01", {"Preempt", "Terminate"}, ()),
        ("2019-04-01", {"Preempt", "Terminate"}, ("Description",)),
        ("2019-08-01", {"Preempt", "Terminate"}, ("Description", "EventSource")),
        ("2020-07-01", {"Preempt", "Terminate"}, ("Description", "EventSource", "DurationInSeconds")),
    ],
)
def test_each_version_shows_its_types_and_fields(
    date: str, newer_types: set[str], newer_fields: tuple[str, ...]
) -> None:
    version = find(date)

    assert version is not None
    assert version.types == FIRST_TYPES | newer_types
    assert version.fields == FIRST_FIELDS + newer_fields


def test_only_the_first_version_has_underscores_and_takes_a_post_without_the_header() -> None:
    assert [version.date for version in API_VERSIONS if version.underscore] == ["2017-03-01"]
    assert [version.date for version in API_VERSIONS if not version.post_needs_header] == ["2017-03-01"]


def test_the_newest_version_shows_every_type() -> None:
    assert NEWEST is API_VERSIONS[-1]
    assert NEWEST.types == set(EventType)


@pytest.mark.parametrize(
    "text", ["", "latest", "{latest}", "2020-07-02", "2021-12-13", " 2020-07-01", "2020-07-01 ", "v2", "2020-7-1"]
)
def test_what_is_no_scheduled_events_version_is_not_found(text: str) -> None:
    assert find(text) is None


def test_both_lists_are_in_order_and_share_three_dates() -> None:
    dates = [version.date for version in API_VERSIONS]

    assert dates == sorted(dates)
    assert list(IMDS_VERSIONS) == sorted(IMDS_VERSIONS)
    assert set(dates) & set(IMDS_VERSIONS) == {"2017-03-01", "2017-08-01", "2019-08-01"}


def test_the_newest_three_are_of_the_imds_list_and_newest_first() -> None:
    assert NEWEST_THREE == ("2025-04-07", "2024-07-17", "2024-03-15")


def test_the_versions_endpoint_lists_imds_versions_in_order() -> None:
    assert VERSIONS_BODY.startswith(b'{"apiVersions":["2017-03-01","2017-04-02",')
    assert tuple(json.loads(VERSIONS_BODY)["apiVersions"]) == IMDS_VERSIONS
    assert all(is_imds(date) for date in IMDS_VERSIONS)
    assert not is_imds("2020-07-01")

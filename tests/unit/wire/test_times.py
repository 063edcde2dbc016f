from __future__ import annotations

import locale
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime, parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.wire.json_bytes import WireError
from forewarn.wire.times import (
    format_duration,
    format_iso8601,
    format_iso_duration,
    format_rfc1123,
    parse_duration,
    parse_instant,
    parse_iso_duration,
)

INSTANT = datetime(2016, 9, 19, 18, 29, 47, tzinfo=UTC)
instants = st.datetimes(timezones=st.just(UTC))
durations = st.timedeltas(min_value=timedelta(0))


@pytest.fixture
def other_locale() -> Iterator[None]:
    """Any locale of this machine that is not English, where there is one."""
    before = locale.setlocale(locale.LC_TIME)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"):
        try:
            locale.setlocale(locale.LC_TIME, name)
            break
        except locale.Error:
            continue
    yield
    locale.setlocale(locale.LC_TIME, before)


def test_an_instant_is_written_as_the_service_writes_it() -> None:
    assert format_rfc1123(INSTANT) == "Mon, 19 Sep 2016 18:29:47 GMT"
    assert format_iso8601(INSTANT) == "2016-09-19T18:29:47Z"


@pytest.mark.usefixtures("other_locale")
def test_the_locale_changes_nothing() -> None:
    assert format_rfc1123(INSTANT) == "Mon, 19 Sep 2016 18:29:47 GMT"
    assert parse_instant("Mon, 19 Sep 2016 18:29:47 GMT") == INSTANT


@given(instants)
def test_an_rfc_1123_instant_has_29_bytes_and_the_weekday_python_knows(at: datetime) -> None:
    written = format_rfc1123(at)

    assert len(written) == 29
    assert written == format_datetime(at, usegmt=True)


@given(instants.filter(lambda at: at.year >= 1000))
def test_a_strict_parse_gives_the_instant_back(at: datetime) -> None:
    whole = at.replace(microsecond=0)

    assert parsedate_to_datetime(format_rfc1123(at)) == whole
    assert datetime.strptime(format_rfc1123(at), "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC) == whole


@given(instants)
def test_both_forms_of_an_instant_are_read_back(at: datetime) -> None:
    assert parse_instant(format_rfc1123(at)) == at.replace(microsecond=0)
    assert parse_instant(format_iso8601(at)) == at


def test_an_instant_of_another_zone_is_written_in_utc() -> None:
    there = INSTANT.astimezone(timezone(timedelta(hours=-7)))

    assert format_rfc1123(there) == "Mon, 19 Sep 2016 18:29:47 GMT"
    assert format_iso8601(there) == "2016-09-19T18:29:47Z"


@pytest.mark.parametrize(
    "text",
    [
        "Mon, 19 Sep 2016 18:29:47 GMT",
        "Fri, 19 Sep 2016 18:29:47 GMT",
        "mon, 19 sep 2016 18:29:47 gmt",
        "19 Sep 2016 18:29:47 UTC",
        "  Mon, 19 Sep 2016 18:29:47 +0000 ",
        "2016-09-19T18:29:47Z",
        "2016-09-19T18:29:47",
        "2016-09-19 18:29:47+00:00",
        "2016-09-19T20:29:47+02:00",
        "2016-09-19T18:29:47.0000000Z",
    ],
)
def test_a_reader_takes_every_spelling_that_was_seen(text: str) -> None:
    assert parse_instant(text) == INSTANT


@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_blank_is_no_instant(text: str) -> None:
    assert parse_instant(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "Mon, 32 Sep 2016 18:29:47 GMT",
        "Mon, 19 Foo 2016 18:29:47 GMT",
        "Mon, 19 Sep 2016 25:29:47 GMT",
        "Mon, 19 Sep 2016 18:29:47 PST",
        "Mon,_19_Sep_2016_18:29:47_GMT",
        "2016-13-19T18:29:47Z",
        "0001-01-01T00:00:00+14:00",
        "1474309787",
        "x" * 10_000,
    ],
)
def test_what_is_no_instant_is_refused_with_a_short_sentence(text: str) -> None:
    with pytest.raises(WireError, match=r"is neither an RFC 1123 nor an ISO 8601 instant\.$") as caught:
        parse_instant(text)

    assert len(str(caught.value)) < 120


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("PT5M", 5),
        ("PT300S", 5),
        ("P0DT5M", 5),
        ("PT0H5M0S", 5),
        ("P0Y0M0DT5M", 5),
        ("pt5m", 5),
        ("PT1H30M", 90),
        ("PT0.5H", 30),
        ("PT7,5M", 7.5),
        ("P1D", 24 * 60),
        ("P1W", 7 * 24 * 60),
        ("PT0S", 0),
        ("P0D", 0),
    ],
)
def test_every_spelling_of_an_iso_duration_is_read(text: str, minutes: float) -> None:
    assert parse_iso_duration(text) == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    "text",
    ["", "P", "PT", "P1DT", "5M", "PT5", "P5", "PT-5M", "-PT5M", "P1M", "P1Y", "PT5M3H", "PTM", "PT\u0665M", "15m"],
)
def test_what_is_no_iso_duration_is_refused(text: str) -> None:
    with pytest.raises(WireError, match="is not an ISO 8601 duration"):
        parse_iso_duration(text)


@pytest.mark.parametrize(
    ("duration", "iso", "human"),
    [
        (timedelta(0), "PT0S", "0s"),
        (timedelta(seconds=90), "PT1M30S", "1m30s"),
        (timedelta(minutes=15), "PT15M", "15m"),
        (timedelta(hours=2), "PT2H", "2h"),
        (timedelta(days=7), "P7D", "7d"),
        (timedelta(days=1, hours=1, seconds=0.05), "P1DT1H0.05S", "1d1h0.05s"),
    ],
)
def test_a_duration_is_written_in_its_shortest_usual_form(duration: timedelta, iso: str, human: str) -> None:
    assert format_iso_duration(duration) == iso
    assert format_duration(duration) == human


@given(durations)
def test_both_forms_of_a_duration_are_read_back(duration: timedelta) -> None:
    assert parse_iso_duration(format_iso_duration(duration)) == duration
    assert parse_duration(format_duration(duration)) == duration
    assert parse_duration(format_iso_duration(duration)) == duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15m", 900),
        ("90s", 90),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("7d", 7 * 86400),
        ("2w", 14 * 86400),
        ("1.5h", 5400),
        ("0.25s", 0.25),
        ("0s", 0),
        ("0", 0),
        (" 15M ", 900),
        ("PT15M", 900),
    ],
)
def test_people_write_durations_in_many_ways(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", " ", "15", "-5m", "m", "5m1h", "5m5m", "5 m", "5min", "forever", "1" * 13 + "s"])
def test_what_is_no_duration_is_refused_and_told_how(text: str) -> None:
    with pytest.raises(WireError, match="write it like 15m"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["999999999999w", "P999999999999D", "999999999d 24h"])
def test_a_duration_longer_than_any_calendar_is_refused(text: str) -> None:
    with pytest.raises(WireError, match="too long"):
        parse_duration(text)


@given(st.text(max_size=30))
def test_no_text_makes_a_reader_fail_in_another_way(text: str) -> None:
    for read in (parse_instant, parse_iso_duration, parse_duration):
        with suppress(WireError):
            read(text)

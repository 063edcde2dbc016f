from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from forewarn import __version__
from forewarn.core.facts import FORMAT, ClockMoved, Fact, VmDeleted, VmMoved
from forewarn.plane.ports import JournalFault
from forewarn.stores import codec
from tests.unit.stores.examples import AT, EVERY_FACT


@pytest.mark.parametrize("fact", EVERY_FACT, ids=lambda fact: type(fact).__name__)
def test_a_fact_comes_back_as_it_went(fact: Fact) -> None:
    assert codec.decode(1, FORMAT, codec.encode(fact)) == fact


def test_instants_come_back_aware_and_to_the_microsecond() -> None:
    decoded = codec.decode(1, FORMAT, codec.encode(ClockMoved(AT)))
    assert (decoded.at, decoded.at.utcoffset()) == (AT, timedelta(0))


def test_every_older_format_of_facts_can_be_upgraded() -> None:
    assert set(codec.UPCASTS) == set(range(1, FORMAT))


def _named_differently(stored: dict[str, Any]) -> dict[str, Any]:
    """Format -1 to 0: the field was called ``machine``."""
    stored["vm"] = stored.pop("machine")
    return stored


def _from_minutes(stored: dict[str, Any]) -> dict[str, Any]:
    """Format 0 to 1: instants were minutes, and the kind had another name."""
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=stored["at"])
    return {**stored, "fact": "VmMoved", "at": at.isoformat()}


OLDER = {FORMAT - 2: _named_differently, FORMAT - 1: _from_minutes}


def test_an_older_format_is_lifted_step_by_step_to_a_fact_of_today() -> None:
    body = b'{"fact":"VmRehoused","at":90,"machine":"db","host":3}'
    moved = VmMoved(datetime(2026, 1, 1, 1, 30, tzinfo=UTC), vm="db", host=3)
    assert codec.decode(7, FORMAT - 2, body, OLDER) == moved


def test_the_current_format_is_not_lifted() -> None:
    fact = VmDeleted(AT, vm="db")
    assert codec.decode(7, FORMAT, codec.encode(fact), {FORMAT: _named_differently, **OLDER}) == fact


def test_an_older_format_that_cannot_be_upgraded_is_refused() -> None:
    with pytest.raises(JournalFault, match=rf"Record 7 .* format {FORMAT - 1}, .* Start an older forewarn"):
        codec.decode(7, FORMAT - 1, b"{}", {})


@pytest.mark.parametrize("body", [b"{}", b'{"fact":"VmRehoused","at":"soon"}', b"[]", b"nonsense"])
def test_an_older_record_that_is_damaged_is_refused_by_its_number(body: bytes) -> None:
    with pytest.raises(JournalFault, match="Record 7 of the journal"):
        codec.decode(7, FORMAT - 2, body, OLDER)


def test_a_newer_format_is_refused_with_what_to_do() -> None:
    with pytest.raises(JournalFault) as caught:
        codec.decode(7, FORMAT + 1, codec.encode(ClockMoved(AT)))
    assert str(caught.value) == (
        f"Record 7 of the journal was written in format {FORMAT + 1} by a newer forewarn; this is forewarn "
        f"{__version__}, which reads formats up to {FORMAT}. Install a newer forewarn; the journal was not touched."
    )


def test_an_unknown_kind_of_fact_is_refused_by_number_and_name() -> None:
    with pytest.raises(JournalFault, match=r"Record 7 .* kind 'VmTeleported'.* Install the forewarn that wrote it"):
        codec.decode(7, FORMAT, b'{"fact":"VmTeleported","at":"2026-01-01T00:00:00Z"}')


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0",
        b"{",
        b'{"fact":"VmDeleted"}',
        b'{"fact":"VmDeleted","at":"2026-01-01T00:00:00Z","vm":7}',
        b'{"fact":"VmDeleted","at":"yesterday","vm":"db"}',
        b'{"fact":["VmDeleted"]}',
        b'{"fact":"VmDeleted","at":"2026-01-01T00:00:00Z","vm":"\xff"}',
        b"[" * 100_000,
        b'{"at":' * 100_000,
    ],
    ids=range(10),
)
def test_a_damaged_record_is_refused_by_its_number(body: bytes) -> None:
    with pytest.raises(JournalFault, match=r"Record 7 of the journal is damaged .* Restore"):
        codec.decode(7, FORMAT, body)

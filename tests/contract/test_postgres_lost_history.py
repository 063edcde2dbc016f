"""A server that lost or replaced what a node has seen: found out at every way to look, and nothing is built on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forewarn.core.region import Region
from forewarn.plane.ports import Diverged
from forewarn.stores.postgres.journal import PostgresJournal
from tests.contract.shared_regions import EVERYTHING, LONG, InPostgres, append
from tests.unit.stores.examples import entries


def _forget(region: InPostgres, last: int) -> None:
    """As a standby does that takes over without the records after ``last``."""
    chain = region.execute("SELECT chain FROM facts WHERE seq = %s", last)[0][0]
    region.execute("DELETE FROM facts WHERE seq > %s", last)
    region.execute("UPDATE head SET seq = %s, chain = %s", last, chain)


def _write_since(journal: PostgresJournal) -> None:
    with journal.write() as transaction:
        transaction.since(5)
        transaction.append(entries(1))


LOOKS: dict[str, Callable[[PostgresJournal], object]] = {
    "a block": _write_since,
    "catching up": lambda journal: journal.read(5, EVERYTHING),
    "the head": lambda journal: journal.head(),
    "news": lambda journal: journal.shared.await_news(5, LONG, willing=True),
}


def _write(journal: PostgresJournal, _: InPostgres) -> None:
    append(journal, entries(5))


def _read(journal: PostgresJournal, region: InPostgres) -> None:
    append(region.join(), entries(5))
    journal.read(0, EVERYTHING)


def _be_handed(journal: PostgresJournal, region: InPostgres) -> None:
    append(region.join(), entries(5))
    with journal.write() as transaction:
        transaction.since(0)


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("how", [_write, _read, _be_handed])
def test_a_journal_that_lost_what_this_node_has_seen_is_found_out(
    region: InPostgres,
    how: Callable[[PostgresJournal, InPostgres], None],
    look: Callable[[PostgresJournal], object],
) -> None:
    journal = region.join()
    how(journal, region)
    _forget(region, 3)
    with pytest.raises(Diverged, match=r"it ends at record 3, and record 5 was there\. Start this node anew"):
        look(journal)
    assert region.join().head() == 3


@pytest.mark.parametrize("look", [LOOKS["a block"], LOOKS["catching up"]], ids=["a block", "catching up"])
@pytest.mark.parametrize("written_anew", [2, 3, 9])
def test_a_journal_that_replaced_what_this_node_has_seen_is_found_out(
    region: InPostgres, written_anew: int, look: Callable[[PostgresJournal], object]
) -> None:
    journal = region.join()
    append(journal, entries(5))
    _forget(region, 3)
    append(region.join(), entries(written_anew, "other"))
    with pytest.raises(Diverged, match="holds another record 5 than the one that this node has seen"):
        look(journal)
    assert list(region.join().verify()) == []


def test_after_reading_later_records_of_a_replaced_journal_the_replacement_is_still_found_out(
    region: InPostgres,
) -> None:
    journal = region.join()
    append(journal, entries(5))
    _forget(region, 3)
    append(region.join(), entries(9, "other"))
    journal.read(6, EVERYTHING)
    with pytest.raises(Diverged, match="holds another record 5"):
        journal.read(5, EVERYTHING)


def test_what_was_lost_is_not_kept_in_a_snapshot(region: InPostgres) -> None:
    journal = region.join()
    append(journal, entries(5))
    _forget(region, 3)
    append(region.join(), entries(9, "other"))
    with pytest.raises(Diverged, match="holds another record 5"):
        journal.snapshot(Region(), 5)
    assert region.join().load() == (Region(), 0)


def test_a_node_that_starts_anew_goes_on_with_what_there_is(region: InPostgres) -> None:
    append(region.join(), entries(5))
    _forget(region, 3)
    journal = region.join()
    assert len(journal.read(0, EVERYTHING)) == 3
    append(journal, entries(1, "next"))
    assert journal.head() == 4

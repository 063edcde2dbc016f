"""What readers tell their server of reads of very many VMs: all of it, and never so much at once that others wait."""

from __future__ import annotations

import sys
from datetime import timedelta

import pytest

from forewarn.core.commands import CreateVms
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.server.readers.messages import ReaderReport
from forewarn.server.readers.seats import Seat
from tests.contract.metadata.readers_bench import ReadersBench
from tests.e2e.metadata_region import NOON, region_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="readers share memory as Linux has it")
MOST = 2_000  # as of a relay
NAMES = [f"web-{number}" for number in range(9_000)]
EVERY_SECONDS = 1.0  # so often the server must have heard of all; an eighth of a day that is as short as this
SHORT_DAY = Rules(disable_after=timedelta(seconds=8 * EVERY_SECONDS))


class Heard:
    """The reports that a server takes, each with when it came."""

    def __init__(self, patch: pytest.MonkeyPatch, bench: ReadersBench) -> None:
        true, self.reports = Seat._note, list[tuple[float, int]]()

        def note(seat: Seat, report: ReaderReport) -> None:
            self.reports.append((bench.plane.system.elapsed(), len(report.reads)))
            true(seat, report)

        patch.setattr(Seat, "_note", note)

    def with_reads(self) -> list[tuple[float, int]]:
        return [each for each in self.reports if each[1]]


def read_all(bench: ReadersBench) -> None:
    """As if one reader had just answered each of them."""
    bench.do(lambda: bench.at_work()[0].ground.last.update(dict.fromkeys(NAMES, NOON)))


def known(bench: ReadersBench) -> int:
    return bench.do(lambda: len(bench.plane.reads.last))


def test_reads_of_very_many_vms_are_told_in_portions_over_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    with region_of(ReadersBench, rules=SHORT_DAY) as bench:
        bench.submit(CreateVms(tuple(NAMES), VmSpec(), "seed"))
        bench.do(bench.plane.reads.last.clear)
        heard = Heard(monkeypatch, bench)
        read_all(bench)
        bench.until(lambda: known(bench) == len(NAMES), "all reads at the server")
        told = heard.with_reads()
        assert max(number for _, number in told) <= MOST
        assert sum(number for _, number in told) == len(NAMES)  # each once
        assert told[-1][0] - told[0][0] > EVERY_SECONDS / 4  # others have their turns between them
        assert bench.do(lambda: bench.plane.reads.last == dict.fromkeys(NAMES, NOON))


def test_a_reader_that_ends_tells_what_it_has_not_told_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    with region_of(ReadersBench) as bench:  # ten seconds, of which none is waited for
        bench.submit(CreateVms(tuple(NAMES), VmSpec(), "seed"))
        bench.do(bench.plane.reads.last.clear)
        heard = Heard(monkeypatch, bench)
        read_all(bench)
        bench.run(bench.readers.close())
        assert max(number for _, number in heard.with_reads()) <= MOST
        assert known(bench) == len(NAMES)


def test_a_reader_that_ends_in_the_middle_of_telling_tells_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    with region_of(ReadersBench, rules=SHORT_DAY) as bench:
        bench.submit(CreateVms(tuple(NAMES), VmSpec(), "seed"))
        bench.do(bench.plane.reads.last.clear)
        heard = Heard(monkeypatch, bench)
        read_all(bench)
        bench.until(lambda: bench.do(heard.with_reads), "the first portion")
        bench.run(bench.readers.close())
        assert sum(number for _, number in heard.with_reads()) == known(bench) == len(NAMES)

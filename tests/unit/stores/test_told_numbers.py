"""Numbers of documents that forewarn 0.1 told are not told again for something else.

``told-by-0.1.jsonl`` was written by 0.1: each line is a fact, and the incarnation of each enabled scope after it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from forewarn.core.folding.evolve import evolve
from forewarn.core.invariants import region as invariants
from forewarn.core.looking.documents import document_for
from forewarn.core.region import Region
from forewarn.stores import codec
from forewarn.terms import ScheduledEvent

GOLDEN = Path(__file__).parents[2] / "golden" / "journal" / "told-by-0.1.jsonl"


class Line(msgspec.Struct):
    body: msgspec.Raw
    told: dict[str, int]


def _lines() -> list[Line]:
    return [msgspec.json.decode(line, type=Line) for line in GOLDEN.read_bytes().splitlines()]


def test_a_journal_of_0_1_folds_to_numbers_that_are_never_lower_than_those_it_told() -> None:
    region, highest = Region(), dict[str, int]()
    begun_again = 0
    for seq, line in enumerate(_lines(), 1):
        region = evolve(region, codec.decode(seq, 1, bytes(line.body)))
        for key, told in line.told.items():
            assert region.scopes[key].incarnation >= highest.get(key, 0), (seq, key)
            assert region.scopes[key].incarnation >= told, (seq, key)
            begun_again += told < highest.get(key, 0)
            highest[key] = max(highest.get(key, 0), told)
    assert begun_again, "the example shows nothing: 0.1 began again at 1 after a silence or a deletion"
    assert invariants.violations(region) == []


def test_after_a_replay_each_incarnation_still_names_one_document_of_a_scope() -> None:
    region, named = Region(), dict[tuple[str, int], tuple[ScheduledEvent, ...]]()
    for seq, line in enumerate(_lines(), 1):
        region = evolve(region, codec.decode(seq, 1, bytes(line.body)))
        for key, scope in region.scopes.items():
            if scope.enabled_at is not None:
                document = document_for(region, scope)
                assert named.setdefault((key, document.incarnation), document.events) == document.events

"""Every kind of fact is folded, named and told."""

from __future__ import annotations

from typing import get_args

import pytest

from forewarn.core import facts as f
from forewarn.core.folding.evolve import FOLDS
from forewarn.core.looking.story import tell
from forewarn.core.looking.subjects import subject_of
from tests.unit.stores.examples import EVERY_FACT


def test_every_kind_of_fact_has_a_fold() -> None:
    assert set(FOLDS) == set(get_args(f.Fact))


@pytest.mark.parametrize("fact", EVERY_FACT, ids=lambda fact: type(fact).__name__)
def test_every_fact_has_a_subject_and_a_sentence(fact: f.Fact) -> None:
    assert subject_of(fact)
    assert tell(fact).endswith(".")

"""Readers under damage: the kept corpus, then some thousand mutations of it. ``make fuzz`` goes on from there."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.mutating import mutate
from tests.fuzz.seeds import CORPUS
from tests.fuzz.targets import TARGETS

_RUNS = {"snapshot_files": 150, "templates": 1500, "region_files": 800}
_USUAL_RUNS = 5000


def kept(target: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]


@pytest.mark.parametrize("target", TARGETS)
def test_what_went_wrong_once_does_not_again(target: str) -> None:
    corpus = kept(target)
    assert corpus, "a target begins with something good"
    for data in corpus:
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_a_reader_keeps_its_promise_under_damage(target: str) -> None:
    chance, corpus = random.Random(target), kept(target)
    for _ in range(_RUNS.get(target, _USUAL_RUNS)):
        data = mutate(chance, corpus)
        try:
            TARGETS[target](data)
        except Exception as problem:
            raise AssertionError(f"{target} broke on {data!r}; keep it in {CORPUS / target}") from problem


def test_every_corpus_has_a_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)

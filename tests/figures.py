"""A page of figures, read by the library's own parser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client.openmetrics import parser

_parse: Callable[[str], Iterator[Any]] = parser.text_string_to_metric_families


def figures(text: str) -> dict[tuple[str, ...], float]:
    """Every sample, by its name and the values of its labels in the order in which they stand."""
    assert text.endswith("# EOF\n")
    samples = (sample for family in _parse(text) for sample in family.samples)
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}

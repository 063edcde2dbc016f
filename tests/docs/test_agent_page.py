"""docs/agent.md is the reference that it says it is."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from forewarn.cli.reference.agent_file import COMMON_WORDS, OCCASION_WORDS
from forewarn.guest.agent.config.reading import AGENT_KEYS
from forewarn.guest.agent.steps import KINDS
from forewarn.guest.agent.steps.keys import COMMON
from forewarn.guest.agent.telling.metrics import SERIES
from forewarn.guest.agent.telling.occasions import OCCASIONS
from forewarn.guest.agent.values import Barrier, Notification, Sharing, Verdict
from tests.docs.generate import DOCS

PAGE = (DOCS / "agent.md").read_text()
RULE_KEYS = ("name", "verdict", "types", "sources", "statuses", "names", "shorter_than", "steps", "any_time", "system")


def section(title: str) -> str:
    """What stands under a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found, title
    return found[1]


def keys_in(text: str) -> set[str]:
    return set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_every_kind_of_step_is_on_the_page(kind: str) -> None:
    assert keys_in(section(f'`kind = "{kind}"`')) == set(KINDS[kind].keys.all)


def test_every_other_key_is_on_the_page() -> None:
    assert keys_in(section("`[[step]]`")) == set(COMMON) == set(COMMON_WORDS)
    assert keys_in(section("`[agent]`")) == set(AGENT_KEYS)
    assert keys_in(section("`[[rule]]`")) == set(RULE_KEYS)
    assert keys_in(section("`[[window]]`")) == {"name", "days", "from", "to", "zone"}
    told = {field.name.removesuffix("_seconds") for field in fields(Barrier)}
    assert keys_in(section("`[barrier]`")) == told
    assert keys_in(section("`[[notification]]`")) == {field.name for field in fields(Notification)} - {"line"}
    for word in (*Verdict, *Sharing):
        assert word in PAGE


def test_every_occasion_and_every_metric_is_on_the_page() -> None:
    assert keys_in(section("Occasions")) == set(OCCASIONS) == {str(each) for each in OCCASION_WORDS}
    assert keys_in(section("Metrics")) > {series.name for series in SERIES}

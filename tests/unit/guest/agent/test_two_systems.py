"""One ``agent.toml`` for Linux and Windows: each takes what is its own, and is explained so."""

from __future__ import annotations

import pytest

from forewarn.guest.agent.config.reading import check_text
from forewarn.guest.agent.values import AgentConfig

BOTH = """
[[rule]]
name = "windows waits"
system = "windows"
types = ["Freeze"]
verdict = "prepare-only"

[[rule]]
name = "all"
verdict = "prepare-then-approve"
steps = ["stop the unit", "stop the service"]

[[step]]
name = "stop the unit"
kind = "systemd"
system = "linux"
units = ["worker.service"]

[[step]]
name = "stop the service"
kind = "service"
system = "windows"
services = ["worker"]
"""


def read(system: str, text: str = BOTH) -> AgentConfig:
    checked = check_text(text, "", system)
    assert checked.config is not None, checked.complaints
    return checked.config


def test_each_system_has_its_own_rules_and_steps_and_those_of_both() -> None:
    linux, windows = read("linux"), read("windows")
    assert [rule.name for rule in linux.rules] == ["all"]
    assert [rule.name for rule in windows.rules] == ["windows waits", "all"]
    assert [step.name for step in linux.steps] == ["stop the unit"]
    assert [step.name for step in windows.steps] == ["stop the service"]
    assert linux.rules[-1].steps == ("stop the unit",)


def test_a_rule_of_one_system_does_not_shadow_one_of_the_other() -> None:
    text = BOTH.replace('types = ["Freeze"]\n', "").replace('name = "all"\n', 'name = "all"\nsystem = "linux"\n')
    assert [check_text(text, "", system).complaints for system in ("linux", "windows")] == [(), ()]


def test_what_is_wrong_with_a_step_of_the_other_system_is_told_too() -> None:
    checked = check_text(BOTH.replace('services = ["worker"]', "services = 3"), "", "linux")
    assert [each.message for each in checked.complaints] == [
        "step 'stop the service' of kind 'service' has a services that must be a list of texts, not a number"
    ]


def test_a_system_that_there_is_not_is_refused() -> None:
    checked = check_text(BOTH.replace('system = "linux"', 'system = "macos"'), "", "linux")
    assert [(each.line, "macos" in each.message) for each in checked.complaints] == [(16, True)]


ONLY_WINDOWS = BOTH.replace('steps = ["stop the unit", "stop the service"]', 'steps = ["stop the service"]')
NO_UNIT = (
    BOTH[: BOTH.index("[[step]]")].replace('steps = ["stop the unit", "stop the service"]\n', "")
    + (BOTH[BOTH.rindex("[[step]]") :])
)  # a rule without a list means all steps, of which there are none on Linux


@pytest.mark.parametrize("text", [ONLY_WINDOWS, NO_UNIT], ids=["steps that it names", "all steps"])
def test_a_rule_that_would_approve_with_nothing_prepared_is_refused(text: str) -> None:
    checked = check_text(text, "agent.toml", "linux")
    assert checked.config is None
    [refusal] = [str(each) for each in checked.complaints if not each.warning]
    assert refusal == (
        "agent.toml:8: rule 'all' would approve on this system with nothing prepared: its steps are all for another "
        'system; write system = "windows" under it, and a [[rule]] that says what is done here'
    )
    assert check_text(text, "agent.toml", "windows").config is not None


def test_with_the_way_out_that_is_told_the_file_is_good_on_both() -> None:
    mended = ONLY_WINDOWS.replace('name = "all"\n', 'name = "all"\nsystem = "windows"\n')
    mended += '\n[[rule]]\nname = "nothing to do here"\nsystem = "linux"\nverdict = "approve-now"\n'
    assert [rule.name for rule in read("linux", mended).rules] == ["nothing to do here"]
    assert [rule.name for rule in read("windows", mended).rules] == ["windows waits", "all"]


def test_a_rule_that_never_approves_is_warned_of_only() -> None:
    checked = check_text(ONLY_WINDOWS.replace("prepare-then-approve", "prepare-only"), "", "linux")
    told = [each.message for each in checked.complaints if "prepares nothing on this system" in each.message]
    assert checked.config is not None
    assert len(told) == 1


def test_two_systems_may_have_each_a_step_of_the_same_name() -> None:
    """A rule names it once; each system does its own."""
    text = BOTH.replace('"stop the unit", "stop the service"', '"stop it"')
    text = text.replace('name = "stop the unit"', 'name = "stop it"').replace(
        'name = "stop the service"', 'name = "stop it"'
    )
    for system, kind in (("linux", "systemd"), ("windows", "service")):
        config = read(system, text)
        assert [(step.name, step.kind) for step in config.steps] == [("stop it", kind)]
        assert config.rules[-1].steps == ("stop it",), "or it would approve with nothing prepared"

"""What installing and uninstalling the service of Windows would do; tests/platforms/windows does it, under wine."""

from __future__ import annotations

from pathlib import Path

import pytest

from forewarn.guest.agent.config.defaults import COMMENTED_TOML
from forewarn.guest.agent.tools.install import Action, CannotInstall, carry_out
from forewarn.guest.agent.tools.install_windows import Found, note_path, plan_install, plan_uninstall

PROGRAM = ("python.exe", "-I", "-m", "forewarn")
NOTHING = Found(service=False)


def told(actions: list[Action]) -> list[str]:
    return [f"{each.verb} {each.subject}" for each in actions]


def written(actions: list[Action]) -> None:
    """Only the files: services and the registry are Windows' own."""
    carry_out([each for each in actions if each.verb in ("make", "write", "remove")])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "agent.toml"


def test_the_service_is_registered_with_its_file_and_its_event_source(config: Path) -> None:
    plan = plan_install(PROGRAM, config, NOTHING, start=True)

    assert told(plan) == [
        f"write {config}",
        f"write {note_path(config)}",
        "register service forewarn-agent",
        "register event source forewarn-agent",
        "start service forewarn-agent",
    ]
    assert plan[0].text == COMMENTED_TOML
    assert plan[2].text == f"python.exe -I -m forewarn agent run --service --config {config}"


def test_entries_as_microsofts_sample_writes_them_are_an_option_that_leaves_a_source_of_others(config: Path) -> None:
    plan = plan_install(PROGRAM, config, NOTHING, azure=True)
    assert "register event source AzureScheduledEvents" in told(plan)
    assert "agent run --service --azure-event-log --config" in plan[2].text
    written(plan)
    removed = told(plan_uninstall(config, there=True))
    assert "unregister event source AzureScheduledEvents" in removed
    written(plan_uninstall(config, there=True))

    theirs = Found(service=False, azure_source=True)
    plan = plan_install(PROGRAM, config, theirs, azure=True)
    assert "register event source AzureScheduledEvents" not in told(plan)
    written(plan)
    assert "unregister event source AzureScheduledEvents" not in told(plan_uninstall(config, there=True))
    assert plan_install(PROGRAM, config, Found(service=True, azure_source=True), azure=True)


def test_a_service_that_is_there_does_not_change_its_entries_in_silence(config: Path) -> None:
    written(plan_install(PROGRAM, config, NOTHING))

    with pytest.raises(CannotInstall, match="'forewarn agent uninstall' first"):
        plan_install(PROGRAM, config, Found(service=True), azure=True)
    assert "register service forewarn-agent" not in told(plan_install(PROGRAM, config, Found(service=True)))


def test_a_service_of_others_is_neither_installed_over_nor_removed(config: Path) -> None:
    with pytest.raises(CannotInstall, match="was not made by"):
        plan_install(PROGRAM, config, Found(service=True))
    with pytest.raises(CannotInstall, match="was not made by"):
        plan_uninstall(config, there=True)
    assert plan_uninstall(config, there=False) == []


def test_a_file_that_belongs_to_somebody_else_is_not_obeyed(config: Path) -> None:
    strangers = ((str(config), "S-1-5-21-1-2-3-1001"),)

    with pytest.raises(CannotInstall, match="belongs to S-1-5-21-1-2-3-1001, who could tell the agent") as refused:
        plan_install(PROGRAM, config, Found(service=False, strangers=strangers))
    assert f'takeown /a /r /f "{config}"' in str(refused.value)


def test_what_somebody_has_written_in_the_file_stays(config: Path) -> None:
    written(plan_install(PROGRAM, config, NOTHING))
    assert f"remove {config}" in told(plan_uninstall(config, there=True))

    config.write_text("[agent]\n")
    assert f"keep {config}" in told(plan_uninstall(config, there=True))

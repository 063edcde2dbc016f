"""Installing writes two files; uninstalling removes just those."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from forewarn.guest.agent.config.defaults import COMMENTED_TOML
from forewarn.guest.agent.tools.install import UNIT_PATH, Action, CannotInstall, carry_out, plan_install, plan_uninstall
from forewarn.guest.agent.tools.unit import quote

PROGRAM = ["/usr/bin/forewarn"]
CONFIG = "etc/forewarn/agent.toml"
UNIT = UNIT_PATH.lstrip("/")


def files(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


def did(actions: list[Action], root: Path) -> list[tuple[str, str]]:
    return [(each.verb, each.subject.removeprefix(f"{root}/")) for each in actions]


def test_a_plan_changes_nothing(tmp_path: Path) -> None:
    plan_install(tmp_path, PROGRAM)
    plan_uninstall(tmp_path, live=False)

    assert list(tmp_path.iterdir()) == []


def test_install_writes_a_unit_and_a_file_that_explains_itself(tmp_path: Path) -> None:
    actions = plan_install(tmp_path, PROGRAM)
    carry_out(actions)

    assert did(actions, tmp_path) == [("make", "etc/forewarn"), ("write", CONFIG), ("write", UNIT)]
    assert sorted(files(tmp_path)) == [CONFIG, UNIT]
    assert (tmp_path / CONFIG).read_text() == COMMENTED_TOML
    assert (tmp_path / CONFIG).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / UNIT).stat().st_mode & 0o777 == 0o644
    assert "ExecStart=/usr/bin/forewarn agent run --config /etc/forewarn/agent.toml\n" in (tmp_path / UNIT).read_text()


def test_uninstall_leaves_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    carry_out(plan_install(tmp_path, PROGRAM))
    wants = tmp_path / "etc/systemd/system/multi-user.target.wants/forewarn-agent.service"
    wants.parent.mkdir()
    wants.symlink_to(UNIT_PATH)
    carry_out(plan_uninstall(tmp_path, live=False))

    assert files(tmp_path) == {}
    assert not wants.is_symlink()
    assert not (tmp_path / "etc/forewarn").exists()
    assert plan_uninstall(tmp_path, live=False) == []


def test_an_agent_toml_that_was_there_is_neither_overwritten_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "etc/forewarn").mkdir(parents=True)
    (tmp_path / CONFIG).write_text("# mine\n")
    carry_out(plan_install(tmp_path, PROGRAM))
    carry_out(plan_uninstall(tmp_path, live=False))

    assert files(tmp_path) == {CONFIG: "# mine\n"}


def test_an_agent_toml_that_was_changed_is_kept_and_so_is_the_memory(tmp_path: Path) -> None:
    carry_out(plan_install(tmp_path, PROGRAM))
    (tmp_path / CONFIG).write_text(COMMENTED_TOML + "# and more\n")
    (tmp_path / "var/lib/forewarn-agent").mkdir(parents=True)
    actions = plan_uninstall(tmp_path, live=False)
    carry_out(actions)

    assert did(actions, tmp_path) == [("remove", UNIT), ("keep", CONFIG), ("keep", "var/lib/forewarn-agent")]
    assert list(files(tmp_path)) == [CONFIG]


def test_another_file_beside_it_keeps_the_directory(tmp_path: Path) -> None:
    carry_out(plan_install(tmp_path, PROGRAM))
    (tmp_path / "etc/forewarn/barrier.secret").write_text("x")
    carry_out(plan_uninstall(tmp_path, live=False))

    assert list(files(tmp_path)) == ["etc/forewarn/barrier.secret"]


def test_installing_again_renews_the_unit_and_uninstall_still_knows_what_came_with_it(tmp_path: Path) -> None:
    carry_out(plan_install(tmp_path, PROGRAM))
    actions = plan_install(tmp_path, ["/opt/forewarn"])
    carry_out(actions)
    assert did(actions, tmp_path) == [("keep", CONFIG), ("write", UNIT)]
    (tmp_path / CONFIG).unlink()
    carry_out(plan_install(tmp_path, PROGRAM))
    carry_out(plan_uninstall(tmp_path, live=False))

    assert files(tmp_path) == {}
    assert not (tmp_path / "etc/forewarn").exists()


def test_a_unit_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / UNIT).parent.mkdir(parents=True)
    (tmp_path / UNIT).write_text("[Unit]\n")
    with pytest.raises(CannotInstall, match="not written by"):
        plan_install(tmp_path, PROGRAM)
    with pytest.raises(CannotInstall, match="not written by"):
        plan_uninstall(tmp_path, live=False)

    assert files(tmp_path) == {UNIT: "[Unit]\n"}


def test_systemd_is_told_where_it_runs(tmp_path: Path) -> None:
    assert [each.subject for each in plan_install(tmp_path, PROGRAM, enable=True) if each.verb == "run"] == [
        "systemctl daemon-reload",
        "systemctl enable --now forewarn-agent.service",
    ]
    carry_out(plan_install(tmp_path, PROGRAM))
    assert [each.subject for each in plan_uninstall(tmp_path, live=True) if each.verb == "run"] == [
        "systemctl disable --now forewarn-agent.service",
        "systemctl daemon-reload",
    ]


def test_a_command_that_fails_is_told_in_a_sentence() -> None:
    with pytest.raises(CannotInstall, match="'false' failed: status 1"):
        carry_out([Action("run", "false")])


def test_another_place_for_the_file_is_in_the_unit(tmp_path: Path) -> None:
    carry_out(plan_install(tmp_path, ["/opt/my tools/forewarn"], "/srv/100%/agent.toml"))

    assert (tmp_path / "srv/100%/agent.toml").exists()
    wanted = 'ExecStart="/opt/my tools/forewarn" agent run --config "/srv/100%%/agent.toml"\n'
    assert wanted in (tmp_path / UNIT).read_text()
    assert quote('a"b\\c$d') == '"a\\"b\\\\c$$d"'
    assert quote("") == '""'


def test_systemd_finds_the_unit_good_and_hardened(tmp_path: Path) -> None:
    carry_out(plan_install(tmp_path, ["/bin/true"]))
    unit = str(tmp_path / UNIT)
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=40", unit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout.splitlines()[-1]

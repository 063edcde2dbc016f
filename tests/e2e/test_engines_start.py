"""Servers whose region files name engines: which starts are refused, and what a start does to hosts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.program import ROOT, ServerProgram, clean_environment, run, without_limits

FREE = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0", "--resource-manager", "127.0.0.1:0")


def _file(tmp_path: Path, *, kind: str = "docker", more: str = "") -> Path:
    """One engine with one host, which nobody has to answer for."""
    address = f"socket = '{tmp_path}/engine.sock'" if kind == "docker" else "uri = 'test:///default'"
    config = tmp_path / "region.toml"
    config.write_text(
        f"[machines]\nlocks = '{tmp_path}/locks'\n"
        f"[[engine]]\nname = 'boxes'\nkind = '{kind}'\nnode = 'alpha'\n"
        f"[[host]]\nname = 'rack-1'\nengine = 'boxes'\nadded = true\n{address}\n{more}"
    )
    return config


def _refused(*arguments: str | Path, status: int, **variables: str) -> str:
    done = run("serve", *arguments, status=status, env=clean_environment(**variables))
    assert done.stdout == ""
    told = without_limits(done.stderr)
    assert told.count("\n") == 1, told
    return told


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--clock", "x60"), "real machines live in real time"),
        (("--clock", "virtual"), "real machines live in real time"),
        (("--ephemeral",), "an ephemeral region forgets its machines"),
        (("--node-name", "beta"), "this region has only this node, 'beta'"),
    ],
)
def test_a_start_that_real_machines_do_not_go_together_with_is_refused(
    options: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    config = _file(tmp_path)
    kept = () if "--ephemeral" in options else ("--data", tmp_path / "data")

    assert sentence in _refused("--config", config, *kept, *options, *FREE, status=2)
    assert not (tmp_path / "data").exists()


def test_a_host_that_the_file_adds_takes_part_once_and_again_after_a_restart(tmp_path: Path) -> None:
    config = _file(tmp_path)
    for _ in range(2):
        with ServerProgram.start(tmp_path / "data", "--config", config) as server:
            assert [host["name"] for host in server.json("host", "list")] == ["rack-1"]


def test_a_second_server_on_the_same_engine_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    config = _file(tmp_path)
    with ServerProgram.start(tmp_path / "first", "--config", config) as server:
        told = _refused("--config", config, "--data", tmp_path / "second", *FREE, status=1)
        assert "Another forewarn works at host rack-1" in told
        assert server.forewarn("ping").startswith("forewarn ")
    with ServerProgram.start(tmp_path / "second", "--config", config) as server:  # the lock went with the first
        assert server.forewarn("ping").startswith("forewarn ")


def test_who_lacks_libvirts_binding_is_told_both_ways_to_it(tmp_path: Path) -> None:
    """The environment of the tests has none, and must not."""
    told = _refused("--config", _file(tmp_path, kind="libvirt"), "--data", tmp_path / "data", *FREE, status=3)

    assert "a package of the libvirt extra" in told
    assert "pip install '.[libvirt]'" in told
    assert "python3-libvirt" in told
    assert "--system-site-packages" in told
    assert not (tmp_path / "data").exists()


def test_a_binding_that_is_for_another_python_is_told_with_both_ways_too(tmp_path: Path) -> None:
    """As where an environment sees the packages of a distribution whose Python is another one."""
    (tmp_path / "seen").mkdir()
    (tmp_path / "seen/libvirt.py").write_text("import libvirtmod\n")
    config = _file(tmp_path, kind="libvirt")
    told = _refused("--config", config, "--data", tmp_path / "data", *FREE, status=1, PYTHONPATH=str(tmp_path / "seen"))

    assert "which this Python cannot load: No module named 'libvirtmod'" in told
    assert "the libvirt extra" in told
    assert "python3-libvirt" in told
    assert not (tmp_path / "data").exists()


def test_no_locked_file_names_libvirts_binding() -> None:
    """It is built against the libvirt of the machine where it is installed: no pin and no hash is right for all."""
    locked = sorted((ROOT / "requirements").glob("*.txt"))

    assert ROOT / "requirements/dev.txt" in locked
    assert [path.name for path in locked if re.search(r"^libvirt[-_.]python\b", path.read_text(), re.M | re.I)] == []


def test_a_remote_engine_whose_token_cannot_be_read_is_refused_without_repeating_it(tmp_path: Path) -> None:
    other = "[[engine]]\nname = 'other'\nkind = 'remote'\nurl = 'https://engine.example'\ntoken_file = 'token'\n"
    config = _file(tmp_path, more=other)
    for text in (None, "sesame and more"):
        if text is not None:
            (tmp_path / "token").write_text(text)
        told = _refused("--config", config, "--data", tmp_path / "data", *FREE, status=1)
        assert "engine 'other' of the region file" in told
        assert "sesame" not in told

"""Two regions that want one port: whoever loses is told who is there, and nobody takes one for the other."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.e2e.program import ServerProgram, clean_environment, run

pytestmark = pytest.mark.slow


def address_of(url: str) -> str:
    return url.removeprefix("http://")


def test_a_ping_tells_which_region_answers_and_can_insist_on_one(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "shop", "--name", "shop") as shop:
        other = ServerProgram.launch(tmp_path / "mine", "--name", "mine", "--control", address_of(shop.control))
        assert other.process.wait(60) == 1
        other.close()
        told = shop.forewarn("ping", "--wait", "60", "--expect", "shop")
        refused = run("ping", "--wait", "60", "--expect", "mine", status=1, env=shop.environment())
        pong = shop.json("ping")

    data = str((tmp_path / "shop").resolve())
    assert "ready: region shop, metadata " in shop.ready
    assert f"at {shop.control}, region 'shop', data {data}: " in told
    assert (
        f"is not region 'mine', but a forewarn, region 'shop', data {data}; commands would change that"
        in refused.stderr
    )
    assert (pong["region"], pong["data"]) == ("shop", data)
    assert (
        f"a forewarn has it, region 'shop', data {data}); choose another address with --control."
        in other.log.read_text()
    )


@pytest.mark.parametrize("face", ["metadata", "control"])
def test_a_server_whose_port_is_taken_says_whether_a_forewarn_has_it(tmp_path: Path, face: str) -> None:
    token = clean_environment(FOREWARN_TOKEN="sesame")
    with ServerProgram.start(tmp_path / "first", env=token) as first, socket.create_server(("127.0.0.1", 0)) as held:
        taken = address_of(getattr(first, face))
        sentences = []
        for number, address in enumerate((taken, f"127.0.0.1:{held.getsockname()[1]}")):
            second = ServerProgram.launch(tmp_path / f"second-{number}", f"--{face}", address)
            assert second.process.wait(60) == 1
            second.close()
            sentences.append(second.log.read_text())

    assert f"cannot listen on {taken} (Address already in use: a forewarn has it); choose another" in sentences[0]
    assert "(Address already in use: another program has it)" in sentences[1]


def test_a_server_without_a_name_is_told_by_its_directory(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "plain") as server:
        told = server.forewarn("ping")
        refused = run("ping", "--expect", "shop", status=1, env=server.environment())

    assert f", data {(tmp_path / 'plain').resolve()}: metadata" in told
    assert "is not region 'shop'" in refused.stderr

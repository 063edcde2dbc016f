"""What is misspelled is answered with what was meant, and nothing has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from forewarn.cli.main import build_parser
from forewarn.settings.near import near_miss

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run

WORDS = [
    (["vm", "restrat", "web-0"], "no command 'restrat' here; did you mean 'restart'? (see 'forewarn vm --help')"),
    (["vn", "list"], "no command 'vn' here; did you mean 'vm'?"),
    (["evnet", "list"], "did you mean 'event'?"),
    (["vm", "create", "web-9", "--availabilty-set", "front"], "did you mean '--availability-set'?"),
    (["serve", "--clok", "virtual"], "no option '--clok' here; did you mean '--clock'? (see 'forewarn serve --help')"),
    (["vm", "list", "--jsno"], "did you mean '--json'?"),
    (["host", "maintain", "host-0", "--kind", "frezee"], "argument --kind: there is no choice 'frezee' here; did you"),
    (["fault", "add", "gon"], "did you mean 'gone'?"),
    (["activity", "--door", "window"], "choose from portal, operator"),
    (["vm", "read", "web-0", "web-1"], "'web-1' is one argument too many (see 'forewarn vm read --help')"),
    (["clock", "advance", "-5m"], "time only goes forward"),
    (["clock", "advance", "15"], "write it as 15m"),
    (["clock", "speed", "-1"], "is not a speed"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "told"), WORDS, ids=lambda each: " ".join(each) if isinstance(each, list) else "")
def test_a_misspelled_word_is_answered_with_the_nearest_one(
    run: Run, region: Region, typed: list[str], told: str
) -> None:
    seq = region.plane.seq

    result = run(*typed)

    assert (result.status, result.out) == (2, "")
    assert told in result.err
    assert result.err.count("\n") == 1
    assert region.plane.seq == seq


NAMES = [
    (["vm", "restart", "wbe-0"], "There is no VM named 'wbe-0'. Did you mean 'web-0'?"),
    (["vm", "show", "WEB0"], "Did you mean 'web-0'?"),
    (["vm", "list", "--scope", "availability-set/frnt"], "Did you mean 'availability-set/front'?"),
    (["scope", "policy", "availability-set/frnot", "--auto-approve-reboot"], "Did you mean 'availability-set/front'?"),
    (["host", "maintain", "hots-0"], "There is no host named 'hots-0'. Did you mean 'host-0'?"),
    (["host", "show", "hos-0"], "Did you mean 'host-0'?"),
    (["vmss", "scale", "poool", "3"], "Did you mean 'pool'?"),
    (["vmss", "show", "pol"], "Did you mean 'pool'?"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "told"), NAMES, ids=lambda each: " ".join(each) if isinstance(each, list) else "")
def test_a_misspelled_name_is_answered_with_the_nearest_one(
    run: Run, region: Region, typed: list[str], told: str
) -> None:
    run("vm", "create", "web", "--count", "2", "--availability-set", "front")
    run("vmss", "create", "pool", "--capacity", "1")
    before = region.plane.region, region.plane.seq

    result = run(*typed)

    assert (result.status, result.out) == (4, "")
    assert told in result.err
    assert (region.plane.region, region.plane.seq) == before


def test_a_misspelled_id_is_answered_with_the_nearest_one(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2")
    region.read("web-0", "web-1")
    run("vm", "restart", "web-0", "web-1")
    wanted = run("event", "list", "--json").json[0]["id"]
    campaign = run("campaign", "start", "--kind", "freeze", "--json").json["id"]

    for command, right in (("event", wanted), ("campaign", campaign)):
        for wrong in (right[:-1], right[1] + right[0] + right[2:]):
            if wrong != right:
                assert f"Did you mean '{right}'?" in run(command, "cancel", wrong + " " * (36 - len(wrong))).err
        assert "Did you mean" not in run(command, "cancel", "00000000-0000-0000-0000-000000000000").err


def test_a_word_that_is_like_no_known_one_gets_no_guess(run: Run, region: Region) -> None:
    run("vm", "create", "web")

    assert run("vm", "show", "zookeeper").err == "forewarn: There is no VM named 'zookeeper'.\n"
    assert near_miss("zebra", ["vm", "host"]) == ""


@pytest.mark.parametrize("words", [[], ["vm"], ["event"], ["agent"], ["store"]])
def test_a_command_without_its_second_word_shows_its_help(run: Run, words: list[str]) -> None:
    result = run(*words)

    assert (result.status, result.err) == (0, "")
    assert result.out.startswith(f"usage: {' '.join(['forewarn', *words])} ")
    assert "commands:" in result.out


def test_help_is_the_same_whether_asked_for_or_not(run: Run) -> None:
    assert run().out == run("--help").out == build_parser().format_help()


def test_several_names_are_several_vms(run: Run, region: Region) -> None:
    assert run("vm", "create", "a", "b", "c").out == "Created 3 VMs: a, b, c.\n"

"""``forewarn vm bind``, ``vmss bind`` and their opposites."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run


def test_a_vm_that_exists_is_bound_bound_anew_and_unbound(run: Run, region: Region) -> None:
    run("vm", "create", "web-0")

    assert run("vm", "bind", "web-0", "--netns", "blue").out == "web-0 is bound to netns blue.\n"
    anew = run("vm", "bind", "web-0", "--netns", "hyper", "--interface", "tap0", "--address", "10.0.0.4")
    assert anew.out == "web-0 is bound to address 10.0.0.4, netns hyper, interface tap0.\n"
    assert run("vm", "bind", "web-0", "--local-address", "127.0.0.5", "--json").json["binding"] == {
        "address": "",
        "local_address": "127.0.0.5",
        "netns": "",
        "interface": "",
        "unix": "",
    }
    assert run("vm", "bind", "web-0", "--unix", "web-0").out == "web-0 is bound to unix web-0.\n"
    assert run("vm", "unbind", "web-0").out == "web-0 is not bound to anything.\n"
    assert not any(run("vm", "show", "web-0", "--json").json["binding"].values())


def test_what_another_vm_has_is_refused_with_its_name_and_nothing_changes(run: Run, region: Region) -> None:
    run("vm", "create", "a", "--netns", "blue")
    run("vm", "create", "b", "--address", "10.0.0.4")

    refused = run("vm", "bind", "b", "--netns", "blue")

    assert (refused.status, refused.err) == (1, "forewarn: VM 'a' has netns blue already.\n")
    assert run("vm", "show", "b", "--json").json["binding"]["address"] == "10.0.0.4"


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("vm", "bind", "a"), 2, "say what to bind to"),
        (("vm", "bind", "a", "--netns", "../etc"), 1, "cannot name a network namespace"),
        (("vm", "bind", "a", "--interface", "tap0"), 1, "name the namespace too"),
        (("vm", "bind", "nobody", "--netns", "n"), 4, "There is no VM named 'nobody'"),
        (("vm", "unbind", "nobody"), 4, "There is no VM named 'nobody'"),
        (("vm", "create", "y", "--netns", "../etc"), 1, "cannot name a network namespace"),
        (("vmss", "bind", "web"), 2, "say what to bind to"),
        (("vmss", "bind", "web", "--netns", "same"), 1, "write {name} or {id} where they differ"),
        (("vmss", "bind", "nobody", "--netns", "{name}"), 4, "There is no scale set named 'nobody'"),
        (("vmss", "create", "x", "--address", "10.0.0.4/24"), 1, "no range of IP addresses"),
    ],
)
def test_what_cannot_be_bound_is_a_sentence(
    arguments: tuple[str, ...], status: int, sentence: str, run: Run, region: Region
) -> None:
    run("vm", "create", "a")
    run("vmss", "create", "web", "--capacity", "1")
    names = run("vm", "list", "--names").lines

    refused = run(*arguments)

    assert (refused.status, sentence in refused.err) == (status, True), refused.err
    assert run("vm", "list", "--names").lines == names


def test_a_scale_set_is_bound_by_a_pattern_that_later_instances_inherit(run: Run, region: Region) -> None:
    run("vmss", "create", "web", "--capacity", "1")

    said = run("vmss", "bind", "web", "--netns", "{name}", "--address", "10.0.0.0/24")
    run("vmss", "scale", "web", "2")

    assert said.out == "web_0 is bound to address 10.0.0.1, netns web_0.\n"
    binding = run("vm", "show", "web_1", "--json").json["binding"]
    assert (binding["address"], binding["netns"]) == ("10.0.0.2", "web_1")
    assert "netns                  {name}" in run("vmss", "show", "web").out
    assert run("vmss", "unbind", "web").out == "web_0 is bound to nothing.\nweb_1 is bound to nothing.\n"


def test_a_scale_set_may_be_born_with_its_pattern_and_keeps_it_through_other_changes(run: Run, region: Region) -> None:
    run("vmss", "create", "web", "--capacity", "1", "--netns", "vm-{id}")
    run("vmss", "update", "web", "--terminate-notice", "10m", "--capacity", "2")

    assert [run("vm", "show", f"web_{n}", "--json").json["binding"]["netns"] for n in (0, 1)] == ["vm-0", "vm-1"]


def test_a_region_files_bindings_are_told_to_a_server_that_runs(run: Run, region: Region, tmp_path: Path) -> None:
    run("vmss", "create", "web", "--capacity", "1")
    run("vm", "create", "b", "--netns", "b")
    file = tmp_path / "region.toml"
    file.write_text("[[vm]]\nname = 'a'\n[[binding]]\nvm = 'a'\nnetns = 'red'\n[[binding]]\nvm = 'b'\n"
                    "[[binding]]\nscale_set = 'web'\nnetns = '{name}'\n")  # fmt: skip

    assert run("vm", "create", "--file", str(file)).status == 0

    names = [run("vm", "show", name, "--json").json["binding"]["netns"] for name in ("a", "b", "web_0")]
    assert names == ["red", "", "web_0"]

"""What a region file declares of real machines: what is read, what is refused and by which line."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.settings.errors import CommandFailed
from forewarn.settings.kinds import ClockChoice
from forewarn.settings.machine_entries import Declared, is_local_uri
from forewarn.settings.machine_tables import check_together, this_node
from forewarn.settings.region_file import check_region_file

DOCKER = """\
[[engine]]
name = "boxes"
kind = "docker"
node = "alpha"
"""
HOST = """\
[[host]]
name = "rack-1"
engine = "boxes"
socket = "/run/docker.sock"
"""
LIBVIRT = """\
[[engine]]
name = "hv"
kind = "libvirt"
"""


def declared(tmp_path: Path, text: str) -> Declared:
    file = tmp_path / "region.toml"
    file.write_text(text)
    found, complaints = check_region_file(file)
    assert [str(each) for each in complaints] == []
    return found.declared


def complaints(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "region.toml"
    file.write_text(text)
    return [str(each).removeprefix(f"{file}:") for each in check_region_file(file)[1]]


def test_engines_hosts_blueprints_and_patience_are_read(tmp_path: Path) -> None:
    found = declared(
        tmp_path,
        DOCKER
        + HOST
        + """\
fence = ["off", "rack-1"]
capacity = 7
[[blueprint]]
name = "worker"
engine = "boxes"
image = "worker:1"
environment = { A = "b" }
[machines]
grace = "5s"
fence_after = "never"
""",
    )

    (host,) = found.every_host()
    assert (host.socket, host.node, host.is_local, host.entry.capacity) == ("/run/docker.sock", "alpha", True, 7)
    assert (found.machines.grace, found.machines.fence_after) == (timedelta(seconds=5), None)
    assert found.machines.listing_every == timedelta(seconds=10)
    assert found.blueprints[0].environment == {"A": "b"}


def test_what_may_hold_a_password_is_not_shown(tmp_path: Path) -> None:
    blueprint = '[[blueprint]]\nname = "w"\nengine = "boxes"\nimage = "w"\nenvironment = { KEY = "s3cret" }\n'
    found = declared(tmp_path, f'{DOCKER}{HOST}fence = ["off", "--password", "s3cret"]\n{blueprint}')

    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[engine]\nname = 'a'\n", "1: engines are written as [[engine]] tables, with two brackets"),
        ("[[engine]]\nname = 'a'\n", "1: [[engine]] number 1 needs a kind"),
        ("[[engine]]\nname = 'a'\nkind = 'dokcer'\n", "3: 'dokcer' is no kind of engine: docker, libvirt, remote"),
        ("[[engine]]\nname = 'a b'\nkind = 'docker'\n", "2: 'a b' cannot be the name"),
        (
            "[[engine]]\nname = 'a'\nkind = 'docker'\nuri = 'x'\n",
            "4: an engine of kind docker is reached by its",
        ),
        ("[[engine]]\nname = 'a'\nkind = 'docker'\nsokket = 'x'\n", "4: unknown key 'engine.sokket'; did you mean"),
        ("[[engine]]\nname = 'a'\nkind = 'docker'\nprogram = 'x'\n", "4: program of [[engine]] number 1: it must be a"),
        ("[[engine]]\nname = 'a'\nkind = 'remote'\n", "1: engine 'a' needs a url, a socket or a program"),
        ("[[engine]]\nname = 'a'\nkind = 'remote'\nurl = 'http://x'\n", "4: 'http://x' is not like https://"),
        ("[[engine]]\nname = 'a'\nkind = 'remote'\nurl = 'https://x'\n", "1: engine 'a' is reached by https, so it"),
        ("[[engine]]\nname = 'a'\nkind = 'remote'\nsocket = '/x'\nca = 'y'\n", "5: a ca is for engines with a url"),
        ("[[engine]]\nname = 'a'\nkind = 'docker'\nca = 'y'\n", "4: a ca is for engines of kind remote"),
        (DOCKER + DOCKER, "6: two [[engine]] tables are named 'boxes'"),
        (DOCKER + HOST.replace("boxes", "bokses"), "7: there is no [[engine]] named 'bokses'; did you mean 'boxes'?"),
        (DOCKER + HOST.replace("rack-1", "host-1"), "6: 'host-1' cannot name a real host: pretended ones are called"),
        (DOCKER + HOST.replace("/run", "run"), "5: the socket of host 'rack-1' is a path that begins with /"),
        (DOCKER + HOST.replace("socket", "uri"), "8: an engine of kind docker is reached by its socket, not by a uri"),
        (DOCKER + HOST.replace('socket = "/run/docker.sock"', ""), "5: host 'rack-1' needs a socket"),
        (DOCKER.replace("node", "#") + HOST, "5: host 'rack-1' is reached by a local socket, so it needs a node"),
        (DOCKER + HOST + "fence = 'off'\n", "9: fence of [[host]] number 1: it must be a list of texts"),
        (DOCKER + HOST + "capacity = -1\n", "9: capacity of [[host]] number 1: -1 is not a number from 0"),
        (
            DOCKER + HOST + HOST.replace("rack-1", "rack-2") + "node = 'beta'\n",
            "5: the hosts of engine 'boxes' have different nodes (alpha, beta)",
        ),
        (
            LIBVIRT + "[[host]]\nname = 'a'\nengine = 'hv'\nuri = 'qemu:///system'\n",
            "4: host 'a' is reached by a local URI, so it needs a node",
        ),
        ("[machines]\ngrace = '2h'\n", "2: grace of [machines]: '2h' is not between 0s and 1h"),
        ("[machines]\ngrace = 'never'\n", "2: grace of [machines]: 'never' is not a duration"),
        ("[machines]\nparallel = 0\n", "2: parallel of [machines]: 0 is not a number from 1 to 1000"),
        (DOCKER + HOST + "[[blueprint]]\nname='w'\nengine='boxes'\n", "9: blueprint 'w' needs its image"),
        (
            DOCKER + HOST + "[[blueprint]]\nname='w'\nengine='boxes'\nimage='i'\npool='p'\n",
            "13: pool is not for engines of kind docker",
        ),
        (
            DOCKER + HOST + "[[blueprint]]\nname='w'\nengine='boxes'\nimage='i'\nmemory='lots'\n",
            "9: blueprint 'w': 'lots' is not an amount of memory",
        ),
        (
            LIBVIRT + "[[blueprint]]\nname='w'\nengine='hv'\ndefinition='no.xml'\n",
            "7: there is no file 'no.xml' beside the region file",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, told: str, tmp_path: Path) -> None:
    found = complaints(tmp_path, text)

    assert len(found) == 1, found
    assert found[0].startswith(told)


def test_hosts_of_several_nodes_need_an_address_for_their_peers(tmp_path: Path) -> None:
    hosts = "".join(
        f"[[host]]\nname = '{name}'\nengine = 'hv'\nuri = 'qemu:///system'\nnode = '{name}'\n" for name in ("a", "b")
    )
    found = complaints(tmp_path, "[settings]\nnode_name = 'a'\nstore = 'postgresql://db/x'\n" + LIBVIRT + hosts)

    assert found == [
        "7: host 'a' needs a peer_uri, by which other nodes reach it",
        "12: host 'b' needs a peer_uri, by which other nodes reach it",
    ]


@pytest.mark.parametrize(
    ("uri", "local"),
    [
        ("qemu:///system", True),
        ("test:///default", True),
        ("qemu+unix:///system?socket=/run/x", True),
        ("qemu+ssh://root@hyper/system", False),
        ("qemu+tcp://10.0.0.1/system", False),
    ],
)
def test_a_uri_without_a_host_is_local(uri: str, local: bool) -> None:
    assert is_local_uri(uri) is local


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("clock = 'x60'", "real machines live in real time: with [[engine]] tables the clock is real, and not x60"),
        ("clock = 'virtual'", "the clock is real, and not virtual"),
        ("ephemeral = true", "an ephemeral region forgets its machines when it ends"),
        ("node_name = 'beta'", "hosts are worked on by node 'alpha', and this region has only this node, 'beta'"),
        ("store = 'postgresql://db/x'", "hosts name the nodes that work there (alpha): say by node_name which one"),
    ],
)
def test_settings_that_real_machines_do_not_go_together_with_are_refused(
    settings: str, sentence: str, tmp_path: Path
) -> None:
    (found,) = complaints(tmp_path, f"[settings]\n{settings}\n{DOCKER}{HOST}")

    assert sentence in found


def test_without_engines_any_clock_will_do(tmp_path: Path) -> None:
    check_together(Declared(), ClockChoice("virtual", 0.0), ephemeral=True)
    assert this_node(Declared(), "", shared=False) == ""


def test_a_lone_server_is_the_node_that_its_hosts_name(tmp_path: Path) -> None:
    found = declared(tmp_path, DOCKER + HOST)

    assert this_node(found, "", shared=False) == "alpha"
    assert this_node(found, "alpha", shared=False) == "alpha"
    assert this_node(found, "beta", shared=True) == "beta"


def test_two_nodes_without_a_store_cannot_be(tmp_path: Path) -> None:
    second = DOCKER.replace("boxes", "more").replace("alpha", "beta")
    (found,) = complaints(tmp_path, DOCKER + HOST + second + HOST.replace("boxes", "more").replace("rack-1", "rack-2"))

    assert "hosts name 2 nodes (alpha, beta), and a region without a store has one" in found


def test_a_start_by_flags_is_checked_together_too(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="real machines live in real time"):
        check_together(declared(tmp_path, DOCKER + HOST), ClockChoice("fast", 60.0), ephemeral=False)

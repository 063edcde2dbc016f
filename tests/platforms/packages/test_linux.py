"""What ``make packages`` makes: .deb and .rpm installed, used, upgraded, removed and purged in a root of Debian's."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from forewarn import __version__
from release.packages import pack, stage_agent
from tests.e2e.program import FOREWARN, ServerProgram
from tests.platforms.packages.built import debian, run

_MODULES = Path("usr/share/forewarn/forewarn")
_CONFIG = Path("etc/forewarn/agent.toml")
_WANTED = Path("etc/systemd/system/multi-user.target.wants")
# What dpkg and rpm remember for themselves
_BOOKS = ("var/lib/dpkg", "var/log", "var/cache", "root/.rpmdb", "var/lib/rpm", "packages")
_STEPS = """
[[step]]
name = "leave the load balancer"
kind = "ready-file"
path = "/run/ready"
"""

Found = dict[str, tuple[int, int, int] | int]


pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def unpacked(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Debian that has Python and nothing of ours, with what was built in /packages."""
    place = tmp_path_factory.mktemp("debian") / "root"
    place.mkdir()
    needless = ("dev", "usr/share/doc", "usr/share/locale", "var/cache", "var/lib/apt")
    without = [f"--exclude=./{each}/*" for each in needless]
    run(["tar", "--extract", "--file", debian(), "--directory", place, *without])
    (place / "packages").mkdir()
    for path in (*release.glob("*.deb"), *release.glob("*.rpm")):
        shutil.copy(path, place / "packages")
    yield place
    shutil.rmtree(place)


@pytest.fixture
def root(unpacked: Path) -> Iterator[Path]:
    """The same for every test: what one leaves there is taken away after it."""
    clean = _files(unpacked)
    yield unpacked
    for name in ("forewarn-agent", "forewarn-server-unit"):
        _inside(unpacked, "dpkg", "--force-all", "--purge", name, status=None)
        run(["rpm", "--root", unpacked, "-e", "--noscripts", name], status=None)
    for name in sorted(_files(unpacked).keys() - clean.keys(), reverse=True):
        path = unpacked / name
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def _inside(root: Path, *words: str, status: int | None = 0) -> str:
    """A command in there, which reaches no network."""
    done = run(["unshare", "--net", "chroot", root, *words], status=status, LC_ALL="C.UTF-8")
    return f"{done.stdout}{done.stderr}"


def _dpkg(root: Path, verb: str, name: str, status: int = 0) -> str:
    what = f"/packages/{name}_{__version__}_all.deb" if verb == "-i" else name
    return _inside(root, "dpkg", "--force-unsafe-io", verb, what, status=status)


def _rpm(root: Path, *words: str | Path) -> None:
    """Debian's own, in the root; what Debian has is not in its books, so that it cannot know of Python."""
    run(["rpm", "--root", root, "--nodeps", *words])


def _files(root: Path) -> Found:
    """All that is there, so that a change is seen."""
    found: Found = {}
    for place, directories, names in os.walk(root):
        here = Path(place).relative_to(root)
        directories[:] = [each for each in directories if str(here / each) not in _BOOKS]
        for name in (*directories, *names):
            told = Path(place, name).lstat()
            whole = stat.S_ISDIR(told.st_mode)
            found[str(here / name)] = told.st_mode if whole else (told.st_mode, told.st_size, told.st_mtime_ns)
    return found


def _changed(before: Found, after: Found) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _not_compiled(root: Path) -> list[Path]:
    modules = list((root / _MODULES).rglob("*.py"))
    assert modules
    return [each for each in modules if not list((each.parent / "__pycache__").glob(f"{each.stem}.*.pyc"))]


def _approves(root: Path) -> None:
    """The installed agent, at a region's event: it prepares for it and has its approval taken."""
    ready, away = root / "run/ready", root / "run/ready.forewarn-away"
    ready.touch()
    words = ("run", "--type", "Preempt", "--", "chroot", root, "/usr/bin/forewarn", "agent", "run", "--once")
    told = run([FOREWARN, *words])
    assert not ready.exists(), told
    away.unlink()
    assert "approved" in f"{told.stdout}{told.stderr}", told


def test_the_agent_comes_works_is_upgraded_and_goes(root: Path) -> None:
    clean = _files(root)

    _dpkg(root, "-i", "forewarn-agent")
    assert _inside(root, "forewarn", "version") == f"forewarn {__version__}\n"
    assert "is good" in _inside(root, "forewarn", "agent", "check")
    assert "a package of the server extra" in _inside(root, "forewarn", "serve", status=3)
    assert _not_compiled(root) == []
    assert not (root / _WANTED / "forewarn-agent.service").is_symlink(), "enabled by nobody"
    assert stat.S_IMODE((root / _CONFIG).stat().st_mode) == 0o600

    with (root / _CONFIG).open("a") as file:
        file.write(_STEPS)
    _approves(root)
    (root / _WANTED).mkdir(parents=True, exist_ok=True)
    (root / _WANTED / "forewarn-agent.service").symlink_to("/usr/lib/systemd/system/forewarn-agent.service")
    _dpkg(root, "-i", "forewarn-agent")
    assert (root / _CONFIG).read_text().endswith(_STEPS)
    assert (root / _WANTED / "forewarn-agent.service").is_symlink(), "an upgrade disables nothing"
    assert _not_compiled(root) == []

    _dpkg(root, "-r", "forewarn-agent")
    remembered = {str(each.relative_to(root)) for each in (root / "var/lib/forewarn-agent").rglob("*")}
    assert remembered, "the agent kept nothing, so that purging it shows nothing"
    left = _changed(clean, _files(root)) - {str(_WANTED), str(_WANTED.parent)}
    assert left == {str(_CONFIG), str(_CONFIG.parent), "var/lib/forewarn-agent", *remembered}

    _dpkg(root, "-P", "forewarn-agent")
    assert _changed(clean, _files(root)) - {str(_WANTED), str(_WANTED.parent)} == set()


def test_the_agent_of_a_clone_is_not_overtaken(root: Path) -> None:
    run([FOREWARN, "agent", "install", "--root", root, "--program", "/opt/forewarn/bin/forewarn"])
    before = _files(root)

    told = _dpkg(root, "-i", "forewarn-agent", status=1)

    assert "remove it with 'forewarn agent uninstall', and install again" in told
    assert _changed(before, _files(root)) == set()
    run([FOREWARN, "agent", "uninstall", "--root", root])
    _dpkg(root, "-i", "forewarn-agent")
    run([FOREWARN, "agent", "uninstall", "--root", root])
    assert (root / "usr/lib/systemd/system/forewarn-agent.service").exists(), "it is the package's to remove"


def test_the_rpm_of_the_agent_does_the_same(root: Path) -> None:
    clean = _files(root)
    (package,) = (root / "packages").glob("forewarn-agent-*.rpm")

    _rpm(root, "-i", package)
    assert _inside(root, "forewarn", "version") == f"forewarn {__version__}\n"
    assert "is good" in _inside(root, "forewarn", "agent", "check")
    with (root / _CONFIG).open("a") as file:
        file.write(_STEPS)
    _approves(root)
    _rpm(root, "-U", "--replacepkgs", package)
    assert (root / _CONFIG).read_text().endswith(_STEPS)
    assert _not_compiled(root) == []

    shutil.rmtree(root / "var/lib/forewarn-agent")  # rpm knows no purging: what an agent remembers is left
    _rpm(root, "-e", "forewarn-agent")
    kept = f"{_CONFIG}.rpmsave"
    assert _changed(clean, _files(root)) == {kept, str(_CONFIG.parent)}
    assert (root / kept).read_text().endswith(_STEPS)


def test_the_servers_unit_serves_and_its_region_outlives_it(root: Path, tmp_path: Path) -> None:
    clean = _files(root)
    _dpkg(root, "-i", "forewarn-server-unit")
    unit = root / "usr/lib/systemd/system/forewarn.service"
    told = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    (command,) = [shlex.split(each) for each in told]
    options = dict(zip(command[2::2], command[3::2], strict=True))
    assert command[:2] == ["/opt/forewarn/bin/forewarn", "serve"]
    assert options.pop("--data") == "/var/lib/forewarn"
    config = root / options.pop("--config")[1:]

    tried = tmp_path / "forewarn.service"
    tried.write_text(unit.read_text().replace(command[0], str(FOREWARN)))
    assert run(["systemd-analyze", "verify", tried]).stderr == ""
    rest = [word for pair in options.items() for word in pair]
    with ServerProgram.start(tmp_path / "data", "--config", config, *rest) as server:
        assert "web-0" in server.forewarn("vm", "create", "web-0")
        assert server.stop() == 0

    region = root / "var/lib/forewarn/region"
    region.parent.mkdir()
    region.touch()
    _dpkg(root, "-r", "forewarn-server-unit")
    data = {"var/lib/forewarn", "var/lib/forewarn/region"}
    files = {"etc/forewarn", "etc/forewarn/region.toml", "etc/forewarn/node.env"}
    assert _changed(clean, _files(root)) == data | files
    _dpkg(root, "-P", "forewarn-server-unit")
    assert _changed(clean, _files(root)) == data


def test_both_formats_hold_the_modules_of_the_wheel_and_need_python_alone(
    release: Path, wheel: Path, tmp_path: Path
) -> None:
    (deb,), (rpm,) = release.glob("forewarn-agent_*.deb"), release.glob("forewarn-agent-*.rpm")
    run(["dpkg-deb", "-x", deb, tmp_path])
    fields = run(["dpkg-deb", "-f", deb, "Version", "Architecture", "Depends"]).stdout.splitlines()
    listed = run(["dpkg-deb", "-c", deb]).stdout.splitlines()
    heads = "%{VERSION} %{ARCH} %{BUILDHOST} [%{REQUIRES} ]"
    of_rpm = run(["rpm", "-qp", "--qf", heads, rpm]).stdout.split()
    in_rpm = run(["rpm", "-qp", "--qf", "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]", rpm]).stdout.splitlines()

    with ZipFile(wheel) as archive:
        shipped = {name: archive.read(name) for name in archive.namelist() if name.startswith("forewarn/")}
    unpacked = [each for each in (tmp_path / _MODULES).rglob("*") if each.is_file()]
    assert {str(each.relative_to(tmp_path / _MODULES.parent)): each.read_bytes() for each in unpacked} == shipped
    assert fields == [f"Version: {__version__}", "Architecture: all", "Depends: python3 (>= 3.11)"]
    assert of_rpm[:3] == [__version__, "noarch", "localhost"]
    assert {each for each in of_rpm[3:] if not each.startswith("rpmlib(")} == {"python3"}
    assert {each.split()[1] for each in listed} == {"root/root"}
    mine = {(each.split()[0], each.split()[5][1:]) for each in listed if not each.startswith("d")}
    assert {(each.split()[0], each.split()[2]) for each in in_rpm if not each.startswith("d")} == mine
    assert {each.split()[1] for each in in_rpm} == {"root"}
    assert run(["rpm", "-qpc", rpm]).stdout == f"/{_CONFIG}\n"


def test_the_same_wheel_makes_the_same_packages(wheel: Path, tmp_path: Path) -> None:
    for turn in ("one", "other"):
        (tmp_path / turn / "made").mkdir(parents=True)
        stage_agent(tmp_path / turn / "agent", wheel)
        pack(tmp_path / turn / "agent", "agent", tmp_path / turn / "made", 1_700_000_000)
    one, other = (sorted((tmp_path / turn / "made").iterdir()) for turn in ("one", "other"))

    assert {each.suffix[1:] for each in one} == {"deb", "rpm"}
    assert [each.read_bytes() for each in one] == [each.read_bytes() for each in other]

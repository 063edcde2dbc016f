"""The files of a guest: busybox, Debian's own Python, and forewarn as its wheel installs it; nothing else.

Built once, below ``.build/guest``, again whenever the product's sources change. Both kinds of machines take it: as an
initramfs beside Debian's kernel, and as the one layer of a container's image.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
HOME = ROOT / ".build/guest"
PYTHON = Path("/usr/bin/python3")  # Debian's: python3-libvirt, which the engine's tests need, depends on it
_KEPT_SECONDS = 24 * 3600.0  # longer than any run of tests that could still start a guest from it
_LEFT_OUT = (
    "test", "tests", "idlelib", "tkinter", "lib2to3", "ensurepip", "distutils", "pydoc_data", "turtledemo", "venv",
    "site-packages", "dist-packages", "config-*", "unittest", "sqlite3", "curses", "dbm", "wsgiref", "multiprocessing",
    "xmlrpc", "asyncio", "_sqlite3*", "_curses*", "_dbm*", "_codecs_*", "_test*", "_tkinter*", "_ctypes_test*",
)  # fmt: skip


def tree() -> Path:
    """The folder with it all."""
    made = HOME / f"tree-{_digest()}"
    if made.exists():
        return made
    half = HOME / f"tree.{os.getpid()}"
    for folder in ("bin", "proc", "sys", "dev", "tmp", "etc", "root", "run", "var/lib", "boots"):
        (half / folder).mkdir(parents=True)
    shutil.copy("/bin/busybox", half / "bin/busybox")
    _copy_python(half)
    _copy_forewarn(half / "forewarn")
    shutil.copytree(Path(__file__).parent / "inside", half / "inside")
    try:
        half.rename(made)
    except OSError:  # another run has made it meanwhile
        shutil.rmtree(half)
    _forget_older_than(made.stat().st_mtime - _KEPT_SECONDS)
    return made


def _forget_older_than(moment: float) -> None:
    """What sources of yesterday made: nobody runs it any more."""
    for path in HOME.glob("*tree-*"):
        if path.stat().st_mtime < moment:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _copy_python(root: Path) -> None:
    """The interpreter, its standard library without what no agent uses, and the libraries that both load."""
    program = PYTHON.resolve()
    _copy(program, root)
    (root / "bin/python3").symlink_to(program)
    library = Path(f"/usr/lib/{program.name}")
    shutil.copytree(library, root / library.relative_to("/"), ignore=shutil.ignore_patterns(*_LEFT_OUT))
    loaded = [program, *(root / library.relative_to("/") / "lib-dynload").glob("*.so")]
    told = subprocess.run(["ldd", *map(str, loaded)], capture_output=True, text=True, check=True).stdout
    for word in {word for line in told.splitlines() for word in line.split() if word.startswith("/lib")}:
        if Path(word).is_file():
            _copy(Path(word), root)


def _copy_forewarn(place: Path) -> None:
    """As ``pip install`` leaves it: the package, compiled, without the server's rooms, which an agent does not load."""
    shutil.copytree(
        ROOT / "src/forewarn",
        place / "forewarn",
        ignore=shutil.ignore_patterns("__pycache__", "web", "plane", "stores", "engines", "sim", "testing", "server"),
    )
    subprocess.run([PYTHON, "-m", "compileall", "-q", str(place)], check=True)


def _copy(path: Path, root: Path) -> None:
    target = root / str(path).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)


def _digest() -> str:
    """Of all that goes in from here."""
    found = hashlib.sha256()
    for path in sorted((*(ROOT / "src/forewarn").rglob("*.py"), *Path(__file__).parent.rglob("*"))):
        if path.is_file() and path.suffix != ".pyc":
            found.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return found.hexdigest()[:12]

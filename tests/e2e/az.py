"""The real ``az`` against a running region, in a directory and with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import PATIENCE_SECONDS, ROOT, ServerProgram, clean_environment

USUAL = ROOT / ".build" / "az" / "bin" / "az"


def find_az() -> Path:
    """The pinned one that ``make test`` makes, or the one that FOREWARN_AZ names."""
    found = Path(os.environ.get("FOREWARN_AZ") or USUAL)
    if not found.exists():
        pytest.fail(f"there is no az at {found}; run: bash requirements/az.sh")
    return found


@dataclass(frozen=True)
class Az:
    """``az`` with the environment that it gets."""

    program: Path
    environment: Mapping[str, str]

    @classmethod
    def ready(cls, server: ServerProgram, directory: Path, **more: str) -> Az:
        """After ``eval "$(forewarn az-env)"``."""
        return cls.bare(directory, **server.json("az-env", "--dir", str(directory / "az")), **more)

    @classmethod
    def bare(cls, directory: Path, **variables: str) -> Az:
        """With these variables and nothing else that would tell it something."""
        home = directory / "home"
        home.mkdir(exist_ok=True)
        program = find_az()
        kept = {name: value for name, value in clean_environment().items() if not _speaks_to_az(name)}
        path = f"{program.parent}{os.pathsep}{kept.get('PATH', '')}"
        return cls(program, {**kept, "PATH": path, "HOME": str(home), **variables})

    def with_variables(self, **more: str) -> Az:
        return Az(self.program, {**self.environment, **more})

    def run(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """One command to its end, which must be the one that is expected."""
        done = subprocess.run(
            [self.program, *arguments],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        told = f"az {' '.join(arguments)} ended with {done.returncode}, not {status}:\n{done.stdout}{done.stderr}"
        assert done.returncode == status, told
        return done

    def json(self, *arguments: str) -> Any:
        """What a command answers; None where that is nothing."""
        out = self.run(*arguments, "--output", "json").stdout
        return json.loads(out) if out.strip() else None

    def error(self, *arguments: str, status: int = 1) -> str:
        """What a command complains about."""
        return self.run(*arguments, status=status).stderr


def _speaks_to_az(name: str) -> bool:
    return name.startswith(("AZURE_", "ARM_", "IDENTITY_")) or name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")

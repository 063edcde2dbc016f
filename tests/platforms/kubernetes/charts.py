"""Helm, as PyPI has it, on the chart of this repository."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
CHART = ROOT / "examples" / "chart"
IMAGE = "registry.example/forewarn"
TOOLS = ROOT / ".build" / "chart" / "bin"


def helm(*words: str | Path, status: int = 0) -> str:
    done = subprocess.run([TOOLS / "helm", *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def render(namespace: str, *settings: str) -> list[dict[str, Any]]:
    """The manifests that an installation would make."""
    wanted = (f"image.repository={IMAGE}", *settings)
    given = [word for each in wanted for word in ("--set", each)]
    text = helm("template", "forewarn", CHART, "--namespace", namespace, *given)
    return [each for each in yaml.safe_load_all(text) if each]

"""Parts that need packages which not every install has: import them, or say in one sentence what to install."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from types import ModuleType

from forewarn.settings.errors import CommandFailed, Exit

_SERVER = (
    "cryptography",
    "fastapi",
    "httptools",
    "immutables",
    "jinja2",
    "msgspec",
    "prometheus_client",
    "pydantic",
    "shtab",
    "starlette",
    "uvicorn",
    "uvloop",
)
_EXTRAS = {
    **dict.fromkeys(_SERVER, "server"),
    "psycopg": "postgresql",
    "apprise": "notify",
    "opentelemetry": "otlp",
    "greenlet": "sim",
    "libvirt": "libvirt",
}
# Another way to the package of an extra, where there is one
_ELSE = {
    "libvirt": ", which builds it against this machine's libvirt-dev; or install the distribution's own package "
    "(Debian: python3-libvirt) and make the environment with --system-site-packages",
}


def import_part(module: str, command: str) -> ModuleType:
    """Import a module for a command, or say what is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        name = (problem.name or "").partition(".")[0]
        if name not in _EXTRAS:
            raise
        raise _missing(name, command) from None


def look_for(package: str, command: str) -> None:
    """Say what is missing where a package is imported later than a command begins."""
    if find_spec(package) is None:
        raise _missing(package, command)


def _missing(package: str, command: str) -> CommandFailed:
    extra = _EXTRAS[package]
    return CommandFailed(
        f"'{command}' needs {package}, a package of the {extra} extra; install it in a clone of forewarn: "
        f"pip install '.[{extra}]'{_ELSE.get(package, '')}",
        Exit.UNREACHABLE,
    )

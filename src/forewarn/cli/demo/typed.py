"""Lines for a person to type, in the words of the shell that this system has: sh, or PowerShell on Windows."""

from __future__ import annotations

import sys
from collections.abc import Iterator

_PATH = "metadata/scheduledevents"
_QUERY = "api-version=2020-07-01"
_HEADER = '-Headers @{Metadata="true"}'


def setting(**variables: str) -> str:
    """Variables of the environment, which everything that is typed after it sees."""
    if sys.platform == "win32":
        return "; ".join(f"$env:{name} = '{value}'" for name, value in variables.items())
    return "export " + " ".join(f"{name}={value}" for name, value in variables.items())


def document_url(endpoint: str) -> str:
    return f"{endpoint}/{_PATH}?{_QUERY}"


def reading(endpoint: str) -> str:
    """The document of a VM, in one line."""
    if sys.platform == "win32":
        return f'Invoke-RestMethod {_HEADER} "{document_url(endpoint)}" | ConvertTo-Json -Depth 4'
    return f'curl -s -H Metadata:true "{document_url(endpoint)}"'


def reading_tidily(endpoint: str) -> Iterator[str]:
    """The same, as a person can read it."""
    if sys.platform == "win32":
        yield reading(endpoint)
        return
    yield "curl -s -H Metadata:true \\"
    yield f'    "{document_url(endpoint)}" \\'
    yield "    | python3 -m json.tool"


def approving(endpoint: str, body: str) -> Iterator[str]:
    """An approval as a VM's program would send it; with a whole id no line is wider than a terminal."""
    if sys.platform == "win32":
        yield f"Invoke-RestMethod -Method Post {_HEADER} `"
        yield f"  -Body '{body}' `"
    else:
        yield "curl -s -H Metadata:true \\"
        yield f"  -d '{body}' \\"
    yield f'  "{document_url(endpoint)}"'

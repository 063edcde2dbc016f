"""Web pages that the owner of a desk has open: they reach what listens on loopback, and must not speak for a VM.

A page of another origin cannot send the ``Metadata`` header, but the oldest api-version takes approvals without it; and
a page whose name was rebound to this machine may send any header. So what a browser adds is looked for: an ``Origin``,
or the name of a site in ``Host``. Where VMs are known by their network, no browser of ours is near.
"""

from __future__ import annotations

from ipaddress import ip_address

from forewarn.web.metadata.http.requests import Request


def is_of_a_page(request: Request) -> bool:
    """Whether a browser has sent this for a page."""
    return any(name == b"origin" or (name == b"host" and _is_a_site(value)) for name, value in request.fields)


def _is_a_site(host: bytes) -> bool:
    """Sites that anybody can own have a dot in their name; addresses do too, and are no names."""
    name = host.decode("latin-1").lower()
    name = name.partition("]")[0].removeprefix("[") if name.startswith("[") else name.partition(":")[0]
    name = name.removesuffix(".")
    if "." not in name or name.endswith(".localhost"):
        return False
    try:
        ip_address(name)
    except ValueError:
        return True
    return False

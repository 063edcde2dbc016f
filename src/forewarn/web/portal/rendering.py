"""Templates to HTML, and HTML to an answer with an ETag, compressed where that is welcome."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from forewarn.web.portal import written
from forewarn.web.portal.addresses import Addresses, api
from forewarn.web.portal.static_files import StaticFiles

FOLDER = Path(__file__).parent / "templates"
PART = "X-Forewarn-Part"
_KEPT = 2_000  # ours: rows and states that are made once; of the longest list some forty pages, a megabyte or two
_WORTH_PACKING = 1_000  # bytes: below that an answer fits one packet with its head, packed or not
# Our own templates write these; what comes from outside is escaped in them and closes no tag.
_PLACES = r"/portal/(?:do|new|tokens)[/\"?-]"
_LINK = re.compile(rf'<a\b[^>]*\bhref="{_PLACES}[^>]*>.*?</a>', re.DOTALL)
_BUTTON = re.compile(rf'<button\b[^>]*\bformaction="{_PLACES}[^>]*>.*?</button>', re.DOTALL)
_CHOICE = re.compile(r'<input\b[^>]*\btype="checkbox"[^>]*\bname="(?:vm|event|host|instance)s?"[^>]*>')
_FORM_TO_A_DEED = re.compile(rf'(<form\b[^>]*\baction="{_PLACES}[^>]*>)(.*?)(</form>)', re.DOTALL)
_SUBMIT = re.compile(r'<button\b[^>]*\btype="submit"[^>]*>.*?</button>', re.DOTALL)


def environment(addresses: Addresses, files: StaticFiles) -> Environment:
    """The Jinja2 environment: undefined names raise, all is escaped, every value passes ``written.shown``."""
    env = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=written.shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    env.globals.update(url=addresses.url, api=api, pages=addresses.names)
    env.globals.update(static=files.url, scripts=files.scripts, digest=files.digest)
    for way in (
        written.iso,
        written.clock_text,
        written.told,
        written.relative,
        written.duration,
        written.number,
        written.count,
    ):
        env.filters[way.__name__] = way
    made: Any = env.get_template("kept.html").module
    env.globals["kept"] = {name: lru_cache(_KEPT)(getattr(made, name)) for name in ("state", "vm_row")}
    return env


def answer(request: Request, html: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The page with an ETag, gzipped where the browser takes that; 304 where its If-None-Match still fits."""
    body = html.encode()
    tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
    fields = {"ETag": tag, "Vary": f"Accept-Encoding, {PART}", **(headers or {})}
    if status == 200 and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=fields)
    if len(body) >= _WORTH_PACKING and "gzip" in request.headers.get("accept-encoding", ""):
        body, fields["Content-Encoding"] = gzip.compress(body, 5, mtime=0), "gzip"
    return Response(body, status, fields, "text/html; charset=utf-8")


def rendered(env: Environment, template: str, context: Mapping[str, Any]) -> str:
    return env.get_template(template).render(context)


def without_deeds(html: str) -> str:
    """A page for those who may only look: nothing on it leads to a deed.

    It is taken out of the finished page, so that no template can forget it. This is courtesy; that a reader changes
    nothing is the gate's doing.
    """
    html = _FORM_TO_A_DEED.sub(lambda form: form[1] + _SUBMIT.sub("", form[2]) + form[3], html)
    return _CHOICE.sub("", _BUTTON.sub("", _LINK.sub("", html)))

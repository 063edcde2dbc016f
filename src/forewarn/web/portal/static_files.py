"""Styles and scripts: read once, served under a digest of them all, so that a browser may keep them for ever."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

FOLDER = Path(__file__).parent / "static"
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
# What only readers of the source want: types and reasons are a quarter of the bytes.
_COMMENT = re.compile(rb"^\s*//[^\n]*\n|^\s*/\*.*?\*/ *\n|/\*\*[^*]*\*/ ?|^[ ]+", re.DOTALL | re.MULTILINE)
_CSS_SPACE = re.compile(rb"\s*([{};,>])\s*|(?<=:) ")
_LATER = (
    "main.js",
    "worker.js",
    "palette.js",
    "sign-in.js",
    "simulator.js",
)  # loaded by a page, by a script, or when it is wanted
_FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class _File:
    plain: bytes
    packed: bytes
    kind: str


class StaticFiles:
    """All files of the folder, in memory. Elsewhere blocks: make it before a server serves."""

    def __init__(self, folder: Path = FOLDER) -> None:
        paths = sorted(path for path in folder.iterdir() if path.suffix in _KINDS)
        self._files = {path.name: _file(path) for path in paths}
        whole = sha256()
        for name, file in self._files.items():
            whole.update(b"%d %s %d " % (len(name), name.encode(), len(file.plain)))
            whole.update(file.plain)
        self.digest = whole.hexdigest()[:16]

    @property
    def scripts(self) -> list[str]:
        """The modules that a page loads beside ``main.js``: preloaded by link, so that they come in one go."""
        return [name for name in self._files if name.endswith(".js") and name not in _LATER]

    def url(self, name: str) -> str:
        if name not in self._files:
            raise LookupError(f"there is no static file {name}")
        return f"/portal/static/{self.digest}/{name}"

    async def answer(self, request: Request) -> Response:
        """A file under the digest of all, to be cached for ever. Under another digest, of a page of another version:
        no-store.
        """
        file = self._files.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("There is no such file.", 404)
        kept = _FOR_EVER if request.url.path == self.url(request.path_params["name"]) else "no-store"
        headers = {"Cache-Control": kept, "Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(file.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=file.kind)
        return Response(file.plain, headers=headers, media_type=file.kind)


def _file(path: Path) -> _File:
    plain = _COMMENT.sub(b"", path.read_bytes())
    if path.suffix == ".css":
        plain = _CSS_SPACE.sub(rb"\1", plain).replace(b";}", b"}")
    return _File(plain, gzip.compress(plain, 9, mtime=0), _KINDS[path.suffix])

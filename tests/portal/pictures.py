"""Takes the pictures of the README and of docs/portal.md, from a real server in Chromium: ``make pictures``.

Beside them stands a digest of the templates and styles that they show. A test compares it with today's, so a picture
cannot go on telling of pages that look different by now.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page

from tests.e2e.program import ServerProgram
from tests.portal.browser import LAPTOP, PHONE, ROOT, Theme, chromium, visitor
from tests.portal.regions import a_busy_afternoon, look

PICTURES = ROOT / "docs/pictures"
MADE_FROM = PICTURES / "made-from.txt"
_PORTAL = ROOT / "src/forewarn/web/portal"

_TALL = (1366, 900)  # so that what is coming is in the picture, too
# name -> where it is taken, how wide, in which theme
_TAKEN: dict[str, tuple[str, tuple[int, int], Theme]] = {
    "overview": ("/portal/", _TALL, "light"),
    "confirmation": ("/portal/do/restart?vm=web-2", LAPTOP, "light"),
    "vm": ("/portal/vms/web-2?tab=sees&beside=2019-01-01", LAPTOP, "light"),
    "campaign": ("/portal/campaigns/{campaign}", LAPTOP, "dark"),
    "overview-phone": ("/portal/", PHONE, "dark"),
    "vms-phone": ("/portal/vms", PHONE, "light"),
}


def digest() -> str:
    """Of all that decides how a page looks."""
    whole = sha256()
    for path in sorted([*(_PORTAL / "templates").rglob("*.html"), _PORTAL / "static/portal.css"]):
        whole.update(f"{path.relative_to(_PORTAL)}\n{path.read_text()}\n".encode())
    return whole.hexdigest()


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory() as place,
        chromium() as browser,
        ServerProgram.start(Path(place) / "region", "--clock", "virtual") as server,
    ):
        a_busy_afternoon(server)
        campaign = look(server, "/v1/campaigns")["campaigns"][0]["id"]
        for name, (path, size, theme) in _TAKEN.items():
            with visitor(browser, server.control, size, theme) as somebody:
                page = somebody.open(path.format(campaign=campaign))
                _settle(page)
                page.screenshot(path=PICTURES / f"{name}.png")
    MADE_FROM.write_text(f"{digest()}\n")


def _settle(page: Page) -> None:
    """Until the header says that the page is live: then nothing moves any more on a clock that stands."""
    page.wait_for_function("() => document.querySelector('[data-contact=live]')")


if __name__ == "__main__":
    main()

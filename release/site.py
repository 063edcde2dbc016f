"""The docs site, from the pages of a clone: ``python -m release.site [FOLDER]`` makes FOLDER/html.

The pages are taken as they are. Only links that lead out of them (to a test, an example) are others on the site: there
they lead to the home page of ``release.toml``, or, as long as there is none, are plain words. Zensical fails on a link
to a page or a heading that is not there. It does not look at links to other files, so this does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from forewarn import __version__
from release.describe import Release

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs")
_ZENSICAL = ROOT / ".build" / "zensical" / "bin" / "zensical"
_CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^]]+)\]\((?!https?:|mailto:|#)(?P<path>[^)#\s]+)(?P<heading>#[^)\s]*)?\)")


def gather(source: Path, into: Path, release: Release) -> list[str]:
    """Copy the pages of a clone, with links as they have to be on the site. Back comes which lead nowhere."""
    lost: list[str] = []
    home = release.home_page.rstrip("/")

    def led(link: re.Match[str], place: Path) -> str:
        path = Path(os.path.normpath(place.parent / link["path"]))
        if path.parts[0] in PAGES and (path.suffix == ".md" or (source / path).is_file()):
            return link[0]
        if not (source / path).exists():
            lost.append(f"{place}: {link['path']} leads nowhere")
        return f"[{link['text']}]({home}/blob/v{__version__}/{path})" if home else link["text"]

    for name in PAGES:
        (shutil.copytree if (source / name).is_dir() else shutil.copy)(source / name, into / name)
    for page in sorted(into.rglob("*.md")):
        place = page.relative_to(into)
        parts = _CODE.split(page.read_text())  # every second one is a block of code, where nothing is a link
        parts[::2] = [_LINK.sub(lambda link: led(link, place), part) for part in parts[::2]]  # noqa: B023 - used at once
        page.write_text("".join(parts))
    return lost


def main(source: Path, into: Path) -> int:
    """Build, and say what is wrong."""
    shutil.rmtree(into, ignore_errors=True)
    (into / "pages").mkdir(parents=True)
    shutil.copy(source / "release" / "site.toml", into / "zensical.toml")
    lost = gather(source, into / "pages", Release.read(source / "release" / "release.toml"))
    if lost:
        print("\n".join(lost), file=sys.stderr)
        return 1
    done = subprocess.run([_ZENSICAL, "build", "--strict"], cwd=into, check=False)  # noqa: S603 - the pinned one
    if done.returncode == 0:
        print("the site is there: python3 -m http.server --bind 127.0.0.1 --directory", os.path.relpath(into / "html"))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(ROOT, ROOT / ".build" / "site"))

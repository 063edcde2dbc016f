"""What ``release.toml`` says, in the metadata of wheel and sdist. Hatchling calls it when it builds them.

The description is the README. Its links to files lead into a clone; who reads it on a package index has none. So they
become links to the home page, or, as long as there is no home page, plain words.
"""

from __future__ import annotations

import re
import tomllib
from email.utils import parseaddr
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.metadata.plugin.interface import MetadataHookInterface

_HERE = Path(__file__).parent
_PICTURE = re.compile(r"^!\[[^]]*\]\((?!https?:)[^)]+\)\n\n?", re.MULTILINE)
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^]]+)\]\((?!https?:|mailto:|#)(?P<path>[^)\s]+)\)")


class Release(NamedTuple):
    """The settings of a release; what is empty is not chosen yet."""

    home_page: str = ""
    author: str = ""
    image: str = ""

    @classmethod
    def read(cls, path: Path = _HERE / "release.toml") -> Release:
        return cls(**tomllib.loads(path.read_text()))

    def authors(self) -> list[dict[str, str]]:
        name, address = parseaddr(self.author)
        told = {"name": name, "email": address} if "@" in address else {"name": self.author}
        return [{key: value for key, value in told.items() if value}] if self.author else []

    def urls(self) -> dict[str, str]:
        home = self.home_page.rstrip("/")
        if not home:
            return {}
        return {
            "Homepage": home,
            "Documentation": f"{home}/tree/main/docs",
            "Changelog": f"{home}/blob/main/CHANGELOG.md",
            "Issues": f"{home}/issues",
        }

    def description(self, readme: str, version: str) -> str:
        """The README for readers who have no clone."""
        home = self.home_page.rstrip("/")
        if not home:
            return _LINK.sub(lambda link: link["text"], _PICTURE.sub("", readme))

        def absolute(link: re.Match[str]) -> str:
            kind = "raw" if link["mark"] else "blob"
            return f"{link['mark']}[{link['text']}]({home}/{kind}/v{version}/{link['path']})"

        return _LINK.sub(absolute, readme)


class CustomMetadataHook(MetadataHookInterface):
    """Its name is what hatchling looks for."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what ``pyproject.toml`` calls dynamic."""
        root = Path(self.root)
        release = Release.read(root / "release" / "release.toml")
        (version,) = re.findall(r'^__version__ = "([^"]+)"$', (root / "src/forewarn/__init__.py").read_text(), re.M)
        text = release.description((root / "README.md").read_text(), version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["authors"] = release.authors()
        metadata["urls"] = release.urls()

"""``[[notification]]`` tables of a region file: who is told of what should not stay so, and where.

Addresses stand here and nowhere else: no API, flag or page takes one, so nobody makes a server call somewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from forewarn.settings.near import complain_of_key, near_miss

if TYPE_CHECKING:
    from forewarn.guest.agent.config.complaints import Complaints
    from forewarn.guest.agent.config.toml_lines import Place

KINDS = ("webhook", "apprise")
OCCASIONS = ("campaign-still", "deadline-missed", "scope-silent", "node-lags")
_MOST = 20  # ours: each has a thread


@dataclass(frozen=True)
class NotificationEntry:
    """One ``[[notification]]``. The address is a secret: chat systems put one into it."""

    kind: str
    url: str = field(default="", repr=False)
    url_file: str = ""
    on: tuple[str, ...] = ()


KEYS = tuple(each.name for each in fields(NotificationEntry))


def read_notifications(book: Complaints, tables: object, directory: Path) -> tuple[NotificationEntry, ...]:
    """The tables that are right; what is wrong with the others is noted by its line."""
    if not isinstance(tables, list):
        book.complain(("notification",), "notifications are written as [[notification]] tables, with two brackets")
        return ()
    if len(tables) > _MOST:
        book.complain(("notification", _MOST), f"there are more than {_MOST} [[notification]] tables")
        return ()
    found = (_read_entry(book, index, table, directory) for index, table in enumerate(tables))
    return tuple(entry for entry in found if entry is not None)


def _read_entry(book: Complaints, index: int, table: object, directory: Path) -> NotificationEntry | None:
    place, title = ("notification", index), f"[[notification]] number {index + 1}"
    if not isinstance(table, dict):
        book.complain(place, f"{title} is not a table")
        return None
    for key, value in table.items():
        if key not in KEYS:
            complain_of_key(book, (*place, key), f"notification.{key}", KEYS)
        elif key == "on":
            _check_occasions(book, (*place, key), title, value)
        elif not isinstance(value, str) or not value:
            book.complain((*place, key), f"{key} of {title} must be text")
    if not book.sound(place):
        return None
    kind, on, file = table.get("kind", ""), tuple(table.get("on", ())), table.get("url_file", "")
    entry = NotificationEntry(kind, table.get("url", ""), str(directory / file) if file else "", on)
    _check(book, place, title, entry)
    return entry if book.sound(place) else None


def _check_occasions(book: Complaints, place: Place, title: str, value: object) -> None:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value) or not value:
        book.complain(place, f"on of {title} must be a list of texts: {', '.join(OCCASIONS)}")
        return
    for each in value:
        if each not in OCCASIONS:
            hint = near_miss(each, OCCASIONS) or f"; there are {', '.join(OCCASIONS)}"
            book.complain(place, f"on of {title} has {each!r}, which is no occasion{hint}")


def _check(book: Complaints, place: Place, title: str, entry: NotificationEntry) -> None:
    if entry.kind not in KINDS:
        book.complain(place, f"kind of {title} must be {' or '.join(KINDS)}")
    elif bool(entry.url) == bool(entry.url_file):
        book.complain(place, f"{title} needs a url or a url_file: one of the two")
    elif entry.url and (problem := address_problem(entry.kind, entry.url)):
        book.complain((*place, "url"), f"url of {title} {problem}")


def address_problem(kind: str, url: str) -> str:
    """What is wrong with an address, if anything is. It is not repeated: it is a secret."""
    from forewarn.guest.agent.toml_words import url_problem

    if kind == "apprise":
        printable = url.isprintable() and " " not in url
        return "" if "://" in url and printable else 'is not an Apprise URL, such as "slack://token/channel"'
    if problem := url_problem(url):
        return f'{problem}; it is like "https://chat.example.org/hooks/1234"'
    if _is_link_local(urlsplit(url).hostname or ""):
        return "is of the link: metadata services of clouds live there, and none of them is to be told anything"
    return ""


def _is_link_local(host: str) -> bool:
    try:
        found = ip_address(host.partition("%")[0])
    except ValueError:
        return False  # a name: whoever wrote this file may choose where it leads
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_link_local)

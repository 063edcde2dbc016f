"""``[[notification]]`` of a region file: what is read, what is refused and by which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from forewarn.server.notifying.notifier import targets_of
from forewarn.settings.errors import CommandFailed
from forewarn.settings.notification_file import KINDS, OCCASIONS, NotificationEntry
from forewarn.settings.region_file import check_region_file
from forewarn.web.signals.figures import CHANNEL_KINDS


def checked(tmp_path: Path, text: str) -> tuple[tuple[NotificationEntry, ...], list[str]]:
    file = tmp_path / "region.toml"
    file.write_text(text)
    found, complaints = check_region_file(file)
    return found.notifications, [f"{each.line}: {each.message} {each.suggestion}".strip() for each in complaints]


def test_what_is_right_is_read_and_the_address_is_not_shown(tmp_path: Path) -> None:
    text = """\
[[notification]]
kind = "webhook"
url = "https://chat.example.org/hooks/sesame"
on = ["deadline-missed", "node-lags"]

[[notification]]
kind = "apprise"
url_file = "address"
"""
    (tmp_path / "address").write_text("mailtos://somebody:sesame@mail.example.org\n")
    entries, wrong = checked(tmp_path, text)
    assert wrong == []
    assert "sesame" not in repr(entries)
    targets = targets_of(entries)
    assert [(each.kind, each.url, each.on) for each in targets] == [
        ("webhook", "https://chat.example.org/hooks/sesame", ("deadline-missed", "node-lags")),
        ("apprise", "mailtos://somebody:sesame@mail.example.org", ()),
    ]


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        ('kind = "webhok"\nurl = "https://a.example"', 1, "kind of [[notification]] number 1 must be webhook or"),
        ('kind = "webhook"', 1, "needs a url or a url_file"),
        ('kind = "webhook"\nurl = "https://a.example"\nurl_file = "x"', 1, "needs a url or a url_file"),
        ('kind = "webhook"\nurl = "ftp://sesame.example"', 3, "does not begin with http:// or https://"),
        ('kind = "webhook"\nurl = "http://169.254.169.254/latest"', 3, "metadata services of clouds live there"),
        ('kind = "webhook"\nurl = "http://[fe80::1]/"', 3, "metadata services of clouds live there"),
        ('kind = "webhook"\nurl = "http://[::ffff:169.254.1.2]/"', 3, "metadata services of clouds live there"),
        ('kind = "apprise"\nurl = "slack"', 3, "is not an Apprise URL"),
        ('kind = "webhook"\nurl = "https://a.example"\non = ["deadline-mised"]', 4, "did you mean 'deadline-missed'?"),
        ('kind = "webhook"\nurl = "https://a.example"\non = "node-lags"', 4, "must be a list of texts"),
        ('kind = "webhook"\nurl = "https://a.example"\nhook = 1', 4, "unknown key 'notification.hook'"),
        ('kind = "webhook"\nurl = 1', 3, "url of [[notification]] number 1 must be text"),
    ],
)
def test_what_is_wrong_is_refused_by_its_line_without_the_address(
    tmp_path: Path, lines: str, line: int, said: str
) -> None:
    entries, wrong = checked(tmp_path, f"[[notification]]\n{lines}\n")
    assert entries == ()
    assert [each for each in wrong if each.startswith(f"{line}: ") and said in each], wrong
    assert "sesame" not in str(wrong)


def test_a_table_with_one_bracket_and_more_than_twenty_are_refused(tmp_path: Path) -> None:
    assert "two brackets" in checked(tmp_path, '[notification]\nkind = "webhook"\n')[1][0]
    one = '[[notification]]\nkind = "webhook"\nurl = "https://a.example"\n'
    assert len(checked(tmp_path, one * 20)[0]) == 20
    assert "more than 20" in checked(tmp_path, one * 21)[1][0]


@pytest.mark.parametrize("text", [None, "http://169.254.169.254/", "nonsense"])
def test_an_address_in_a_file_is_held_to_the_same(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "address").write_text(text)
    entry = NotificationEntry("webhook", url_file=str(tmp_path / "address"))
    with pytest.raises(CommandFailed, match="the address of a notification") as refused:
        targets_of([entry])
    assert str(tmp_path / "address") in refused.value.message


def test_the_lists_agree() -> None:
    assert KINDS == CHANNEL_KINDS
    assert len(OCCASIONS) == 4

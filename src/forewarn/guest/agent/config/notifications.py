"""``[[notification]]`` of an ``agent.toml``: where people are told, and of what."""

from __future__ import annotations

from importlib.util import find_spec

from forewarn.guest.agent.config.section import Section
from forewarn.guest.agent.telling.occasions import OCCASIONS
from forewarn.guest.agent.toml_words import url_problem
from forewarn.guest.agent.values import Notification

NOTIFICATION_KINDS = ("webhook", "apprise")
_EXAMPLES = {"webhook": '"https://chat.example.org/hooks/1234"', "apprise": '"slack://token/channel"'}


def read_notification(section: Section) -> Notification:
    kind = section.choice("kind", NOTIFICATION_KINDS, required=True)
    url = section.text("url", required=True, example=_EXAMPLES.get(kind, _EXAMPLES["webhook"]))
    on = section.choices("on", OCCASIONS)
    section.refuse_rest()
    if url and kind == "webhook":
        _check_webhook(section, url)
    elif kind == "apprise":
        _check_apprise(section, url)
    return Notification(kind, url, on, section.line)


def _check_webhook(section: Section, url: str) -> None:
    problem = url_problem(url)
    if not problem:
        return
    other = "://" in url and not url.lower().startswith(("http:", "https:"))
    hint = 'for such addresses write kind = "apprise"' if other else f"write url = {_EXAMPLES['webhook']}"
    section.complain("url", problem, hint)


def _check_apprise(section: Section, url: str) -> None:
    if url and "://" not in url:
        section.complain("url", "is not an Apprise URL", f"such as {_EXAMPLES['apprise']}")
    if find_spec("apprise") is None:
        section.warn("kind", "needs a package that is not installed", "in a clone of forewarn: pip install '.[notify]'")

"""``[barrier]`` of an ``agent.toml``.

Half a configuration is refused: one VM would approve while another is not ready.
"""

from __future__ import annotations

import string
import sys
from pathlib import Path

from forewarn.guest.agent.config.section import Section, address_problem
from forewarn.guest.agent.toml_words import url_problem
from forewarn.guest.agent.values import AgentConfig, Barrier, Sharing

_ADDRESS = '"http://{name}:16928"'
_MAKE, _CLOSE = "openssl rand -hex 32 >", "chmod 600 {}"
if sys.platform == "win32":  # which has no openssl, and whose PowerShell writes two bytes for a letter unless told
    _MAKE = 'python -c "import secrets; print(secrets.token_hex(32))" | Set-Content -Encoding ascii'
    _CLOSE = 'icacls "{}" /inheritance:r /grant *S-1-5-18:F *S-1-5-32-544:F *S-1-3-4:F'
_SHORTEST_SECRET = 16  # bytes: 128 bits where each is random; NIST SP 800-131A wants 112 of an HMAC key


def read_barrier(section: Section) -> Barrier:
    sharing = section.choice("sharing", (each.value for each in Sharing), Sharing.TOGETHER.value)
    barrier = Barrier(
        sharing=Sharing(sharing),
        listen=section.listen("listen"),
        address=_address(section),
        secret_file=section.text("secret_file"),
        patience_seconds=section.optional_seconds("patience", "0", "7d"),
    )
    section.refuse_rest()
    if barrier.sharing is Sharing.TOGETHER:
        _want_all(section)
    else:
        _want_none(section, sharing)
    if barrier.secret_file:
        _check_secret(section, barrier.secret_file)
    return barrier


def _want_all(section: Section) -> None:
    needed = {"listen": '"0.0.0.0:16928"', "address": _ADDRESS, "secret_file": '"/etc/forewarn/barrier.secret"'}
    for key, example in needed.items():
        if section.values and not section.has(key):
            section.book.complain(section.place, f"{section.title} has no {key}", f"write {key} = {example}")


def _want_none(section: Section, sharing: str) -> None:
    for key in ("listen", "address", "secret_file", "patience"):
        if section.has(key):
            section.warn(key, f"has no effect with sharing = {sharing!r}", "leave it out")


def _address(section: Section) -> str:
    text = section.text("address", example=_ADDRESS)
    if not text:
        return ""
    try:
        fields = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    except ValueError:
        fields = set()
    if fields != {"name"}:
        section.complain("address", "must hold {name}, and no other braces", f"write address = {_ADDRESS}")
        return ""
    example = text.replace("{name}", "web-0")
    problem = url_problem(example) if "://" in example else address_problem(example)
    if problem:
        section.complain("address", problem, f"write address = {_ADDRESS}")
    return text


def _check_secret(section: Section, text: str) -> None:
    path = Path(text)
    if not path.is_absolute():
        section.complain("secret_file", f"is {text!r}", "it must be an absolute path")
        return
    try:
        secret, is_open = path.read_bytes().strip(), _others_may_read(path)
    except OSError as problem:
        hint = f"make one: {_MAKE} {text}; the same on every VM"
        section.complain("secret_file", f"cannot be read: {problem.strerror or problem}", hint)
        return
    if len(secret) < _SHORTEST_SECRET:
        hint = f"make a longer one: {_MAKE} {text}"
        section.complain("secret_file", f"holds fewer than {_SHORTEST_SECRET} characters", hint)
    if is_open:
        section.warn("secret_file", "can be read by others", _CLOSE.format(text))


def _others_may_read(path: Path) -> bool:
    if sys.platform == "win32":
        from forewarn.guest.system.windows.access import others_may_read

        return others_may_read(path)
    return bool(path.stat().st_mode & 0o077)


def check_listeners(section: Section, config: AgentConfig) -> None:
    """Two listeners cannot have one address."""
    listen = config.barrier.listen
    if listen and listen == config.status_listen and not listen.endswith(":0"):
        section.complain("listen", "is the address of status_listen too", "give each its own port")

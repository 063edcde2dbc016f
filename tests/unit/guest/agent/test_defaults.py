"""The ``agent.toml`` that ``install`` writes: good as it is, good with everything switched on, and complete."""

from __future__ import annotations

import re
from pathlib import Path

from forewarn.durable import write_whole
from forewarn.guest.agent.config.defaults import COMMENTED_TOML
from forewarn.guest.agent.config.reading import AGENT_KEYS, check_text
from forewarn.guest.agent.steps import KINDS
from forewarn.guest.agent.telling.occasions import OCCASIONS
from forewarn.guest.agent.values import SYSTEMS, AgentConfig, Verdict
from forewarn.terms import EventSource, EventStatus, EventType


def switched_on(secret: Path) -> str:
    """Every line that begins with a bare # without it."""
    write_whole(secret, b"0123456789abcdef0123456789abcdef", 0o600)
    lines = (line[1:] if re.match(r"#[^ ]", line) else line for line in COMMENTED_TOML.splitlines())
    text, places = re.subn("^secret_file = .*$", lambda _: f"secret_file = '{secret}'", "\n".join(lines), flags=re.M)
    assert places == 1
    return text


def test_the_generated_file_as_it_is_means_the_defaults() -> None:
    checked = check_text(COMMENTED_TOML, "")

    assert checked.complaints == ()
    assert checked.config == AgentConfig()


def test_the_generated_file_with_every_key_uncommented_is_good_and_has_the_defaults_it_tells(tmp_path: Path) -> None:
    kinds = set()
    for system in SYSTEMS:
        checked = check_text(switched_on(tmp_path / "secret"), "", system)
        config = checked.config

        assert [each for each in checked.complaints if "margin" not in each.message] == []
        assert config is not None
        kinds |= {step.kind for step in config.steps}
    assert kinds == set(KINDS)
    assert config is not None
    default = AgentConfig()
    for key in ("endpoint", "name", "poll_seconds", "margin_seconds", "state_directory", "status_listen", "log_format"):
        assert getattr(config, key) == getattr(default, key), key
    assert config.unhealthy_after_seconds == default.unhealthy_after_seconds


def test_the_generated_file_names_every_key_and_every_word() -> None:
    words = [
        *AGENT_KEYS,
        *Verdict,
        *EventType,
        *EventSource,
        *EventStatus,
        *OCCASIONS,
        *KINDS,
        "shorter_than",
        "statuses",
        "sharing",
        "together",
        "alone",
        "never",
        "patience",
        "secret_file",
        "timeout",
        "retries",
        "repeatable",
    ]

    assert [word for word in words if not re.search(rf"\b{re.escape(word)}\b", COMMENTED_TOML)] == []

"""The ``agent.toml`` that ``install`` writes: good as it is, good with everything switched on, and complete."""

from __future__ import annotations

import re
from pathlib import Path

from forewarn.guest.agent.config.defaults import COMMENTED_TOML
from forewarn.guest.agent.config.reading import AGENT_KEYS, check_text
from forewarn.guest.agent.steps import KINDS
from forewarn.guest.agent.telling.occasions import OCCASIONS
from forewarn.guest.agent.values import AgentConfig, Verdict
from forewarn.terms import EventSource, EventStatus, EventType


def switched_on(secret: Path) -> str:
    """Every line that begins with a bare # without it."""
    secret.write_text("0123456789abcdef0123456789abcdef")
    secret.chmod(0o600)
    lines = (line[1:] if re.match(r"#[^ ]", line) else line for line in COMMENTED_TOML.splitlines())
    return "\n".join(lines).replace("/etc/forewarn/barrier.secret", str(secret))


def test_the_generated_file_as_it_is_means_the_defaults() -> None:
    checked = check_text(COMMENTED_TOML, "")

    assert checked.complaints == ()
    assert checked.config == AgentConfig()


def test_the_generated_file_with_every_key_uncommented_is_good_and_has_the_defaults_it_tells(tmp_path: Path) -> None:
    checked = check_text(switched_on(tmp_path / "secret"), "")
    config = checked.config

    assert [each for each in checked.complaints if "margin" not in each.message] == []
    assert config is not None
    assert {step.kind for step in config.steps} == set(KINDS)
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

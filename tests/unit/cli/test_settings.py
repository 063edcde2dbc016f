"""Settings: where each value comes from, and what is refused."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forewarn.cli.main import build_parser
from forewarn.cli.reference import commands as reference
from forewarn.core.causes import CAUSES, Cause
from forewarn.core.rules import Rules
from forewarn.engines.simulated import Durations
from forewarn.server import parts
from forewarn.settings.errors import CommandFailed
from forewarn.settings.kinds import Address
from forewarn.settings.resolve import Settings, resolve
from forewarn.settings.table import CAUSE_DEFAULTS, SETTINGS
from forewarn.web.metadata.settings import Limits, MetadataSettings

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Run


def source(settings: Settings, name: str) -> str:
    return next(shown.source for shown in settings.shown if shown.name == name)


def refusal(flags: dict[str, str], environment: dict[str, str] | None = None) -> str:
    with pytest.raises(CommandFailed) as caught:
        resolve(flags, environment or {})
    assert caught.value.status == 2
    return caught.value.message


def test_without_any_setting_the_defaults_hold() -> None:
    settings = resolve({}, {})

    assert settings.data == Path("forewarn-data")
    assert (str(settings.metadata), str(settings.control)) == ("127.0.0.1:16925", "127.0.0.1:16926")
    assert {shown.source for shown in settings.shown} == {"default"}
    assert [shown.name for shown in settings.shown] == list(SETTINGS)


def test_a_flag_wins_over_the_environment_which_wins_over_the_file() -> None:
    file = {"clock": "virtual", "update_domains": "7", "fault_domains": "2"}
    environment = {"FOREWARN_CLOCK": "x10", "FOREWARN_UPDATE_DOMAINS": "6"}

    settings = resolve({"clock": "x5", "update_domains": None}, environment, file, Path("region.toml"))

    assert (str(settings.clock), source(settings, "clock")) == ("x5", "flag")
    assert (settings.update_domains, source(settings, "update_domains")) == (6, "environment")
    assert (settings.fault_domains, source(settings, "fault_domains")) == (2, "file")


def test_a_profile_changes_defaults_only() -> None:
    settings = resolve({"profile": "azure", "visibility_lag": "5s"}, {})

    assert (settings.throttle_per_second, source(settings, "throttle_per_second")) == (5, "profile azure")
    assert (settings.first_read_delay, source(settings, "first_read_delay")) == (timedelta(seconds=60), "profile azure")
    assert (settings.visibility_lag, source(settings, "visibility_lag")) == (timedelta(seconds=5), "flag")


def test_a_profile_may_come_from_the_file() -> None:
    assert resolve({}, {}, {"profile": "azure"}, Path("r.toml")).throttle_per_second == 5


def test_an_empty_variable_is_not_set() -> None:
    assert source(resolve({}, {"FOREWARN_CLOCK": ""}), "clock") == "default"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("clock", "fast", "write real, virtual, or xN"),
        ("clock", "x0", "is not a clock"),
        ("clock", "xnan", "is not a clock"),
        ("clock", "x-2", "is not a clock"),
        ("metadata", "16925", "is not HOST:PORT"),
        ("metadata", "127.0.0.1:70000", "is not HOST:PORT"),
        ("metadata", "::1:16925", "stands in brackets"),
        ("control", ":16926", "is not HOST:PORT"),
        ("first_read_delay", "121s", "is not between 0s and 2m"),
        ("first_read_delay", "60", "is not a duration"),
        ("update_domains", "0", "whole number from 1 to 20"),
        ("vms_per_host", "1.5", "whole number"),
        ("throttle_per_second", "inf", "is not a number"),
        ("unknown_event", "maybe", "none of refuse, ok"),
        ("profile", "aws", "none of plain, azure"),
        ("token", "with space", "without spaces"),
        ("duration_freeze", "-2", "is not a duration"),
        ("duration_freeze", "1.5s", "whole number of seconds"),
        ("data", "", "directory"),
        ("notice_reboot", "11y", "is not a duration"),
        ("notice_reboot", "99999d", "longer than ten years"),
        ("faces", "", "a node needs a face"),
        ("faces", " , ", "a node needs a face"),
        ("faces", "metadata,portal", "'portal' is no face; choose among metadata, control, resource-manager"),
        ("faces", "control,metadata,control", "names a face twice"),
        ("staleness", "0s", "is not between 1s and 1h"),
        ("drain", "2h", "is not between 0s and 1h"),
        ("health", "16928", "is not HOST:PORT"),
        ("hosts", "lb.example:443", "leave off the port"),
        ("hosts", "*", "is not the name or address of a host"),
        ("hosts", "lb.example/x", "is not the name or address of a host"),
        ("node_name", "two\nlines", "printable"),
        ("trusted_proxies", "10.0.0.1/8", "neither an address nor a network"),
        ("trusted_proxies", "proxy.example", "neither an address nor a network"),
        ("resource_manager_url", "http://rm.example", "is not like https://rm.example:16927"),
        ("resource_manager_url", "https://rm.example/path", "is not like https://rm.example:16927"),
        ("resource_manager_url", "https://rm.example:x", "is not like https://rm.example:16927"),
    ],
)
def test_a_value_that_is_not_right_is_refused_with_its_name_and_place(name: str, text: str, sentence: str) -> None:
    message = refusal({name: text})

    assert f"the setting {name} ({SETTINGS[name].flag})" in message
    assert sentence in message


def test_the_place_of_a_bad_value_is_named() -> None:
    assert "(FOREWARN_CLOCK)" in refusal({}, {"FOREWARN_CLOCK": "slow"})


def test_the_faces_never_share_a_port() -> None:
    assert "must not share port 16926" in refusal({"metadata": "10.0.0.1:16926"})
    assert "must not share port 16927" in refusal({"control": "127.0.0.1:16927"})
    assert resolve({"metadata": "127.0.0.1:0", "control": "127.0.0.1:0"}, {}).control.port == 0


def test_beyond_loopback_control_needs_a_token() -> None:
    assert "needs a token" in refusal({"control": "0.0.0.0:16926"})
    assert "needs a token" in refusal({"control": "operator.example:16926"})
    assert resolve({"control": "0.0.0.0:16926"}, {"FOREWARN_TOKEN": "sesame"}).token == "sesame"
    assert resolve({"control": "[::1]:16926"}, {}).control == Address("::1", 16926)


def test_beyond_loopback_the_resource_manager_needs_a_token_too() -> None:
    assert "resource_manager listens on 0.0.0.0:1" in refusal({"resource_manager": "0.0.0.0:1"})
    assert resolve({"resource_manager": "0.0.0.0:1"}, {"FOREWARN_TOKEN": "sesame"}).token == "sesame"


def test_the_resource_manager_can_be_off() -> None:
    settings = resolve({"resource_manager": "off", "control": "127.0.0.1:16927"}, {})

    assert settings.resource_manager is None
    assert next(shown.value for shown in settings.shown if shown.name == "resource_manager") == "off"


def test_a_token_is_never_shown() -> None:
    settings = resolve({"token": "sesame"}, {})

    assert "sesame" not in repr(settings)
    assert next(shown.value for shown in settings.shown if shown.name == "token") == "(set)"


def test_a_node_has_the_faces_it_is_told_to_have() -> None:
    settings = resolve({"faces": "control, metadata", "health": "127.0.0.1:16928"}, {})

    assert settings.faces == ("metadata", "control")
    assert list(settings.addresses) == ["metadata", "control", "health"]
    assert list(resolve({}, {}).addresses) == ["metadata", "control", "resource_manager"]
    assert list(resolve({"resource_manager": "off"}, {}).addresses) == ["metadata", "control"]


def test_a_face_that_is_wanted_and_off_is_refused() -> None:
    message = refusal({"faces": "metadata,resource-manager", "resource_manager": "off"})

    assert "faces asks for the resource-manager face and resource_manager is off" in message


def test_what_a_node_does_not_have_needs_no_token_and_no_port() -> None:
    assert resolve({"faces": "metadata", "control": "0.0.0.0:16926"}, {}).faces == ("metadata",)
    assert resolve({"faces": "metadata", "control": "127.0.0.1:16925"}, {}).faces == ("metadata",)
    assert "metadata and health must not share port 16925" in refusal({"health": "0.0.0.0:16925"})


def test_health_needs_no_token_beyond_loopback() -> None:
    assert resolve({"health": "0.0.0.0:16928"}, {}).health == Address("0.0.0.0", 16928)


@pytest.mark.parametrize("clock", ["virtual", "x60"])
def test_a_clock_that_can_be_turned_does_not_go_with_a_shared_store(clock: str) -> None:
    assert "go by its clock, which cannot be turned" in refusal({"clock": clock, "store": "postgresql:///forewarn"})


@pytest.mark.parametrize(
    ("store", "shown"),
    [
        ("", ""),
        ("postgresql://db.example/forewarn", "postgresql://db.example/forewarn"),
        ("postgresql://me:hush%40%2F@db.example:5433/forewarn", "postgresql://me@db.example:5433/forewarn"),
        ("postgres://me:hush@one,two:5433/f?target_session_attrs=any", "postgres://me@one,two:5433/f"),
        ("postgresql://me:hush@[fd00::1]:5433/f", "postgresql://me@[fd00::1]:5433/f"),
        ("postgresql:///f?host=/run/postgresql&password=hush&user=me", "postgresql:///f"),
        ("postgresql://:hush@db.example", "postgresql://@db.example"),
    ],
)
def test_a_store_is_shown_without_its_password(store: str, shown: str) -> None:
    settings = resolve({}, {"FOREWARN_STORE": store})

    assert settings.store == store
    assert next(each.value for each in settings.shown if each.name == "store") == shown
    assert "hush" not in repr(settings)


@pytest.mark.parametrize(
    ("store", "sentence"),
    [
        ("mysql://me:hush@db.example/f", "a store is a PostgreSQL address"),
        ("host=db.example password=hush", "a store is a PostgreSQL address"),
        ("hush", "a store is a PostgreSQL address"),
        ("postgresql://me:hu sh@db.example/f", "write %20 and %23"),
        ("postgresql://me:hu#sh@db.example/f", "write %20 and %23"),
        ("postgresql://me:hu@sh@db.example/f", "write %40 for '@'"),
        ("postgresql://me:hu/sh@db.example/f", "write %40 for '@' and %2F for '/'"),
        ("postgresql://me:hu?sh@db.example/f", "write %40 for '@' and %2F for '/'"),
        ("postgresql://me:hush", "cannot be read"),
        ("postgresql://me:hush@db.example:hush/f", "cannot be read"),
        ("postgresql://me:hush@fd00::1:5432/f", "stands in brackets"),
    ],
)
def test_a_store_that_is_not_right_is_refused_without_being_repeated(store: str, sentence: str) -> None:
    message = refusal({}, {"FOREWARN_STORE": store})

    assert message.startswith("the setting store (FOREWARN_STORE) is not right: ")
    assert sentence in message
    assert "hush" not in message
    assert "sh@" not in message


def test_lists_are_read_in_any_spelling() -> None:
    flags = {"hosts": "LB.example, [fd00::1] ,10.0.0.1,", "trusted_proxies": "10.0.0.1,fd00::/64"}
    settings = resolve(flags, {})

    assert settings.hosts == ("lb.example", "fd00::1", "10.0.0.1")
    assert [str(each) for each in settings.trusted_proxies] == ["10.0.0.1/32", "fd00::/64"]
    shown = {each.name: each.value for each in settings.shown}
    assert (shown["hosts"], shown["faces"]) == ("lb.example,fd00::1,10.0.0.1", "metadata,control,resource-manager")


def test_the_table_of_causes_says_the_same_as_the_core() -> None:
    assert [cause for cause, *_ in CAUSE_DEFAULTS] == [cause.value.replace("-", "_") for cause in CAUSES]
    settings = resolve({}, {})

    for cause, row in CAUSES.items():
        assert settings.recoveries[cause.value] == row.recovery
        assert settings.durations[cause.value] == row.duration_seconds
        if cause.value in settings.notices:
            assert settings.notices[cause.value] == row.notice
    without = {Cause.FAILURE, Cause.CRASH, Cause.REIMAGE, Cause.DELETION}
    assert set(CAUSES) - {Cause(name) for name in settings.notices} == without


def test_the_defaults_are_those_of_the_parts_themselves() -> None:
    settings = resolve({}, {})
    rules, usual = parts.rules_of(settings), Rules()

    for name in ("update_domains", "fault_domains", "vms_per_host", "user_operation_limit", "disable_after"):
        assert getattr(rules, name) == getattr(usual, name)
    metadata = parts.metadata_settings(settings)  # its limits follow from the files that this process may open
    assert metadata.guest_sockets == Path("forewarn-data/guests")
    assert replace(metadata, limits=Limits(), guest_sockets=None) == MetadataSettings()
    assert settings.reboot_impact == Durations().restart
    assert settings.redeploy_impact == Durations().redeploy
    assert (settings.eviction_impact, settings.deletion_impact) == (Durations().evict, Durations().delete)


def test_every_chosen_number_reaches_the_rules() -> None:
    settings = resolve({"notice_live_migration": "1m", "recovery_user_restart": "2s", "duration_reboot": "90s"}, {})
    rules = parts.rules_of(settings)

    assert rules.notice(Cause.LIVE_MIGRATION) == timedelta(minutes=1)
    assert rules.recovery(Cause.USER_RESTART) == timedelta(seconds=2)
    assert rules.duration_seconds(Cause.REBOOT) == 90


def test_the_settings_command_shows_every_setting_and_its_source(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "region.toml"
    file.write_text('[settings]\nvms_per_host = 4\nnotice_freeze = "1m"\n')
    monkeypatch.setenv("FOREWARN_CLOCK", "virtual")
    monkeypatch.setenv("FOREWARN_CONFIG", str(file))

    shown = {each["name"]: each for each in run("settings", "--duration-reboot", "-1", "--json").json}

    assert set(shown) == set(SETTINGS)
    assert (shown["vms_per_host"]["value"], shown["vms_per_host"]["where"]) == ("4", str(file))
    assert (shown["clock"]["source"], shown["clock"]["where"]) == ("environment", "FOREWARN_CLOCK")
    assert (shown["duration_reboot"]["value"], shown["duration_reboot"]["source"]) == ("-1", "flag")
    assert "environment FOREWARN_CLOCK" in run("settings").out


def test_a_collector_is_an_address_without_a_secret() -> None:
    assert resolve({"otlp": "http://127.0.0.1:4318/"}, {}).otlp == "http://127.0.0.1:4318"
    for text, why in (
        ("https://user:hidden@collector.example", "do not stand in its address"),
        ("collector:4318", "is not like http"),
        ("http://collector.example?key=hidden", "is not like http"),
    ):
        with pytest.raises(CommandFailed, match=why):
            resolve({"otlp": text}, {})


def test_spans_without_a_collector_are_refused() -> None:
    with pytest.raises(CommandFailed, match="name it by --otlp"):
        resolve({"otlp_traces": "on"}, {})


def test_the_settings_command_refuses_what_the_server_would_refuse(run: Run) -> None:
    result = run("settings", "--clock", "sundial")

    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("forewarn: the setting clock (--clock) is not right")


def test_the_documentation_has_every_setting_and_command() -> None:
    table, commands = reference.settings_markdown(), reference.cli_markdown()

    assert all(f"| `{name}` |" in table for name in SETTINGS)
    assert "\\|" in table
    for command in ("serve", "vm", "host"):
        assert f"\n## `forewarn {command}`\n" in commands
    for command in ("vm evict", "event watch", "journal export", "sim replay"):
        assert f"\n### `forewarn {command}`\n" in commands
    assert "| [`ping`](#forewarn-ping) | ask whether a server is ready |" in commands
    assert commands.count("```text") == len(_commands_below(build_parser())) + 1
    assert max(len(line) for line in commands.splitlines() if not line.startswith("|")) <= 110


def _commands_below(parser: argparse.ArgumentParser) -> list[str]:
    """Their names, with those of the commands they are below."""
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    children = [child for action in found for child in action.choices.values()]
    return [name for child in children for name in (child.prog, *_commands_below(child))]


def test_a_server_in_a_guests_environment_is_told_where_that_address_belongs() -> None:
    guest = {"FOREWARN_METADATA": "http://127.0.0.1:16925/vm/web-0", "FOREWARN_ENDPOINT": "http://127.0.0.1:16925"}
    said = refusal({}, guest)
    assert "not HOST:PORT" in said
    assert "a guest's address, which belongs in FOREWARN_ENDPOINT" in said
    assert "FOREWARN_ENDPOINT" not in refusal({}, {"FOREWARN_METADATA": "nonsense"})
    only = {"FOREWARN_ENDPOINT": "http://127.0.0.1:16925/vm/web-0"}
    assert resolve({}, only) == resolve({}, {})

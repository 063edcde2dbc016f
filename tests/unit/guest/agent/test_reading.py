"""A good ``agent.toml`` becomes values; a bad one is refused with file, line and a way out, all of it at once."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from forewarn.durable import write_whole
from forewarn.guest.agent.config.complaints import BadConfig, Complaint
from forewarn.guest.agent.config.reading import Checked, check_file, check_text, read_config
from forewarn.guest.agent.values import AgentConfig, Barrier, Notification, Rule, Sharing, Step, Verdict

SECRET = b"0123456789abcdef0123456789abcdef\n"
NOWHERE = Path("/nowhere/at/all").absolute()
GOOD = """\
[agent]
endpoint = "http://127.0.0.1:16925/vm/web-0"
name = "web-0"
poll = "500ms"
margin = "5s"
state_directory = "/srv/agent"
status_listen = "[::1]:16929"
unhealthy_after = "2m"
log_format = "json"

[[rule]]
name = "databases"
types = ["Reboot", "Redeploy"]
sources = ["Platform"]
names = ["db-*"]
statuses = ["Scheduled"]
shorter_than = "1m"
verdict = "prepare-only"
steps = ["drain"]

[[rule]]
verdict = "notify"

[[step]]
name = "drain"
kind = "command"
run = ["/bin/drain"]
undo = "/bin/undrain"
environment = { LEVEL = "high" }
timeout = "2m"
retries = false
repeatable = true

[barrier]
sharing = "together"
listen = "0.0.0.0:16928"
address = "http://{name}.internal:16928"
secret_file = 'SECRET'
patience = "5m"

[[notification]]
kind = "webhook"
url = "https://chat.example.org/hooks/1"
on = ["failed", "approved"]
""".replace("500ms", "0.5s")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    write_whole(path, SECRET, 0o600)
    return path


def test_a_good_file_becomes_values(secret: Path) -> None:
    checked = check_text(GOOD.replace("SECRET", str(secret)), "agent.toml")

    assert checked.complaints == ()
    assert checked.config == AgentConfig(
        path="agent.toml",
        endpoint="http://127.0.0.1:16925/vm/web-0",
        name="web-0",
        poll_seconds=0.5,
        margin_seconds=5.0,
        state_directory="/srv/agent",
        status_listen="[::1]:16929",
        unhealthy_after_seconds=120.0,
        log_format="json",
        rules=(
            Rule(
                name="databases",
                verdict=Verdict.PREPARE_ONLY,
                types=("Reboot", "Redeploy"),
                sources=("Platform",),
                names=("db-*",),
                statuses=("Scheduled",),
                shorter_than_seconds=60.0,
                steps=("drain",),
                line=11,
            ),
            Rule(name="rule 2", verdict=Verdict.NOTIFY, line=21),
        ),
        steps=(
            Step(
                name="drain",
                kind="command",
                settings={"run": ["/bin/drain"], "undo": "/bin/undrain", "environment": {"LEVEL": "high"}},
                timeout_seconds=120.0,
                retries=False,
                repeatable=True,
                line=24,
            ),
        ),
        barrier=Barrier(
            Sharing.TOGETHER, "0.0.0.0:16928", "http://{name}.internal:16928", str(secret), patience_seconds=300.0
        ),
        notifications=(Notification("webhook", "https://chat.example.org/hooks/1", ("failed", "approved"), line=41),),
    )


def test_an_empty_file_is_the_defaults() -> None:
    assert check_text("", "agent.toml") == Checked(AgentConfig(path="agent.toml"))


RULE = '[[rule]]\nverdict = "notify"\n'
STEP = '[[step]]\nname = "a"\nkind = "command"\nrun = "x"\n'

# What is wrong: the file, the line, and what the complaint and its suggestion say.
BAD: dict[str, tuple[str, int, str, str]] = {
    "not TOML": ("[agent]\npoll = 1s\n", 2, "not TOML", "quotes"),
    "the end is missing": ('[agent]\nname = "web', 2, "not TOML", ""),
    "a key twice": ('[agent]\npoll = "1s"\npoll = "2s"\n', 3, "not TOML", "once"),
    "a table nobody knows": ("[agnet]\n", 1, "no table [agnet]", "did you mean 'agent'?"),
    "a key nobody knows": ('[agent]\npol = "1s"\n', 2, "[agent] has no key 'pol'", "did you mean 'poll'?"),
    "a key of no likeness": ("[agent]\nzzz = 1\n", 2, "no key 'zzz'", "known are endpoint, name, state_directory"),
    "a key outside its table": ('poll = "1s"\n', 1, "'poll' stands outside", "belongs under [agent]"),
    "a table where a list is wanted": ('[rule]\nverdict = "notify"\n', 1, "must be a list of tables", "[[rule]]"),
    "a list where a table is wanted": ("[[barrier]]\n", 1, "must be one table", "[barrier]"),
    "a text where a list is wanted": (RULE + 'types = "Reboot"\n', 3, "must be a list, not text", 'types = ["Reboot"]'),
    "a number where text is wanted": ("[agent]\nname = 7\n", 2, "must be text, not a number", ""),
    "a text where true is wanted": (STEP + 'retries = "no"\n', 5, "must be true or false", "without quotes"),
    "a number in a list of texts": (RULE + 'names = [\n"a",\n3]\n', 5, "must hold texts, not a number", "web-*"),
    "an empty list": (RULE + "types = []\n", 3, "is an empty list", "leave the key out"),
    "a word twice": (RULE + 'types = ["Reboot",\n"Reboot"]\n', 4, "has 'Reboot' twice", "once"),
    "a number without a unit": ("[agent]\nmargin = 30\n", 2, "with its unit", 'margin = "30s"'),
    "a duration in prose": ('[agent]\nmargin = "30 minutes"\n', 2, "not a duration", ""),
    "a duration out of bounds": ('[agent]\npoll = "10m"\n', 2, "is '10m'", "from 0.2s to 1m"),
    "no verdict": ('[[rule]]\ntypes = ["Reboot"]\n', 1, "has no verdict", 'verdict = "ignore"'),
    "a verdict nobody knows": ('[[rule]]\nverdict = "aprove"\n', 2, "cannot be 'aprove'", "'approve-now'"),
    "a type nobody knows": (RULE + 'types = ["Freeze",\n"reboot"]\n', 4, "cannot have 'reboot'", "'Reboot'"),
    "a source nobody knows": (RULE + 'sources = ["Usr"]\n', 3, "cannot have 'Usr'", "'User'"),
    "a status nobody knows": (RULE + 'statuses = ["Completed"]\n', 3, "cannot have 'Completed'", "Scheduled, Started"),
    "two rules of one name": (
        '[[rule]]\nname = "a"\ntypes = ["Reboot"]\nverdict = "notify"\n[[rule]]\nname = "a"\nverdict = "ignore"\n',
        6,
        "is the name of another rule too",
        "line 1",
    ),
    "a rule behind one that fits all": (RULE + "\n" + RULE, 4, "can never match: 'rule 1' (line 1)", "remove it"),
    "steps for a verdict without steps": (
        STEP + RULE + 'steps = ["a"]\n',
        7,
        "would never run, since 'notify' prepares nothing",
        "prepare-then-approve",
    ),
    "a step that does not exist": (
        STEP + '[[rule]]\nverdict = "prepare-only"\nsteps = ["a",\n"aa"]\n',
        8,
        "names 'aa', which is no step",
        "did you mean 'a'?",
    ),
    "a step where there are none": (
        '[[rule]]\nverdict = "prepare-only"\nsteps = ["a"]\n',
        3,
        "names 'a', which is no step",
        "add [[step]]",
    ),
    "a kind of step nobody knows": ('[[step]]\nname = "a"\nkind = "comand"\n', 3, "cannot be 'comand'", "'command'"),
    "a step without a name": ('[[step]]\nkind = "systemd"\nunits = ["a"]\n', 1, "has no name", 'name = "drain"'),
    "a step without a kind": ('[[step]]\nname = "a"\n', 1, "has no kind", "kind ="),
    "two steps of one name": (STEP + STEP, 6, "is the name of another step too", "line 1"),
    "a step's key nobody knows": (STEP + 'timout = "1m"\n', 5, "'timout'", "'timeout'"),
    "a step without what it needs": (
        '[[step]]\nname = "a"\nkind = "haproxy"\nsocket = "/s"\nserver = "b"\n',
        1,
        "backend",
        "",
    ),
    "a listener that is none": ('[agent]\nstatus_listen = "16929"\n', 2, "not host:port", "127.0.0.1:16929"),
    "an IPv6 address without brackets": ('[agent]\nstatus_listen = "::1:80"\n', 2, "brackets", "[::1]"),
    "an endpoint that is none": ('[agent]\nendpoint = "ftp://x"\n', 2, "no address of a metadata service", "169.254"),
    "a state directory somewhere": ('[agent]\nstate_directory = "state"\n', 2, "is 'state'", "absolute"),
    "a log format nobody knows": ('[agent]\nlog_format = "yaml"\n', 2, "cannot be 'yaml'", "text, json"),
    "half a barrier": (
        '[barrier]\nlisten = "0.0.0.0:1"\naddress = "{name}:1"\n',
        1,
        "has no secret_file",
        "secret_file =",
    ),
    "an address without the name": (
        '[barrier]\naddress = "http://web:1"\n',
        2,
        "must hold {name}",
        "http://{name}:16928",
    ),
    "an address with other braces": ('[barrier]\naddress = "http://{name}:{port}"\n', 2, "must hold {name}", "{name}"),
    "an address that is no URL": ('[barrier]\naddress = "tcp://{name}:1"\n', 2, "does not begin with", "http://"),
    "a secret that is not there": (
        f"[barrier]\nsecret_file = '{NOWHERE}'\n",
        2,
        "cannot be read",
        "token_hex(32)" if sys.platform == "win32" else "openssl rand -hex 32",
    ),
    "a webhook without a URL": ('[[notification]]\nkind = "webhook"\n', 1, "has no url", "https://"),
    "a webhook that is no URL": (
        '[[notification]]\nkind = "webhook"\nurl = "chat"\n',
        3,
        "does not begin with",
        "https://",
    ),
    "a webhook for Apprise": (
        '[[notification]]\nkind = "webhook"\nurl = "slack://x"\n',
        3,
        "does not begin",
        '"apprise"',
    ),
    "a notification nobody knows": ('[[notification]]\nkind = "mail"\nurl = "x"\n', 2, "cannot be 'mail'", "webhook"),
    "an occasion nobody knows": (
        '[[notification]]\nkind = "webhook"\nurl = "http://x/"\non = ["fail"]\n',
        4,
        "cannot have 'fail'",
        "'failed'",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_refused_with_its_line_and_a_way_out(what: str) -> None:
    text, line, message, suggestion = BAD[what]
    checked = check_text(text, "etc/agent.toml")

    assert checked.config is None
    found = [each for each in checked.complaints if message in each.message]
    assert [(each.line, each.warning) for each in found] == [(line, False)], [str(each) for each in checked.complaints]
    assert suggestion in found[0].suggestion
    assert str(found[0]).startswith(f"etc/agent.toml:{line}: {found[0].message}")


def test_at_least_twenty_kinds_of_faulty_files_are_tested() -> None:
    assert len(BAD) >= 20


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_the_file() -> None:
    text = '[agent]\npol = "1s"\nmargin = 3\n' + STEP.replace("run", "rum") + '[[notification]]\nkind = "x"\n'
    lines = [(each.line, each.warning) for each in check_text(text).complaints]

    assert lines == sorted(lines)
    assert [line for line, _ in lines] == [2, 3, 4, 7, 8, 9]


def test_what_follows_from_another_fault_is_not_complained_about() -> None:
    complaints = check_text(STEP + '[[rule]]\nverdict = "oops"\ntypes = "Reboot"\n' + RULE).complaints

    assert [each.line for each in complaints] == [6, 7]


def warnings(text: str) -> list[tuple[int, str]]:
    checked = check_text(text)
    assert checked.config is not None
    assert all(each.warning and "warning: " in str(each) for each in checked.complaints)
    return [(each.line, each.message) for each in checked.complaints]


def test_a_margin_as_long_as_the_shortest_notice_is_warned_of() -> None:
    assert "before a Preempt" in warnings('[agent]\nmargin = "30s"\n' + STEP)[0][1]
    assert warnings('[agent]\nmargin = "29s"\n' + STEP) == []
    assert warnings('[agent]\nmargin = "30s"\n') == []
    spot = '[[rule]]\ntypes = ["Preempt"]\nverdict = "approve-now"\n'
    assert warnings('[agent]\nmargin = "30s"\n' + STEP + spot) == []
    assert "before a Terminate" in warnings('[agent]\nmargin = "5m"\n' + STEP + spot)[0][1]


def test_a_step_that_no_rule_uses_is_warned_of() -> None:
    everything = '[[rule]]\nverdict = "approve-now"\n'

    assert warnings(STEP + everything) == [(2, "name of step 'a' is a step that no rule uses")]
    assert warnings(STEP) == []


def test_steps_in_another_order_than_the_files_are_warned_of() -> None:
    text = STEP + STEP.replace('"a"', '"b"') + '[[rule]]\nverdict = "prepare-only"\nsteps = ["b", "a"]\n'

    assert [line for line, _ in warnings(text)] == [11]


def test_an_impatient_health_is_warned_of() -> None:
    assert warnings('[agent]\npoll = "10s"\nunhealthy_after = "20s"\n')[0][0] == 3


def test_a_barrier_that_is_off_wants_nothing(secret: Path) -> None:
    assert warnings('[barrier]\nsharing = "alone"\n') == []
    assert warnings('[barrier]\nsharing = "never"\npatience = "1m"\n')[0][0] == 3


def barrier(secret: Path) -> str:
    return f'[barrier]\nlisten = "0.0.0.0:1"\naddress = "http://{{name}}:1"\nsecret_file = \'{secret}\'\n'


def test_a_secret_that_others_can_read_is_warned_of_and_a_short_one_refused(secret: Path) -> None:
    assert warnings(barrier(secret)) == []
    write_whole(secret, SECRET, 0o644)
    assert "can be read by others" in warnings(barrier(secret))[0][1]
    secret.write_text("sesame\n")
    assert check_text(barrier(secret)).config is None


def test_two_listeners_cannot_have_one_address(secret: Path) -> None:
    checked = check_text('[agent]\nstatus_listen = "0.0.0.0:1"\n' + barrier(secret))

    assert [(each.line, "status_listen too" in each.message) for each in checked.complaints] == [(4, True)]


def test_a_url_is_not_repeated_in_complaints_because_it_may_hold_a_secret() -> None:
    checked = check_text('[[notification]]\nkind = "webhook"\nurl = "slack://sesame"\n')

    assert "sesame" not in str(checked.complaints)


def test_a_file_that_is_not_there_says_how_to_get_one(tmp_path: Path) -> None:
    checked = check_file(tmp_path / "agent.toml")

    assert checked.complaints == (
        Complaint(
            str(tmp_path / "agent.toml"),
            0,
            "cannot be read: No such file or directory",
            "'forewarn agent install' writes one",
        ),
    )
    assert str(checked.complaints[0]).startswith(f"{tmp_path / 'agent.toml'}: cannot be read")
    why = "Permission denied" if sys.platform == "win32" else "Is a directory"
    assert why in str(check_file(tmp_path).complaints[0])


def test_a_file_in_another_encoding_is_told_its_line(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_bytes(b"[agent]\n# caf\xe9\n")

    assert [each.line for each in check_file(path).complaints] == [2]


def test_reading_gives_the_config_or_raises_with_every_complaint(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text('[agent]\npoll = "2s"\n')
    assert read_config(path).poll_seconds == 2.0

    path.write_text("[agent]\npol = 1\nmargn = 2\n")
    with pytest.raises(BadConfig, match=re.escape("did you mean 'poll'?")) as caught:
        read_config(path)
    assert len(caught.value.complaints) == 2
    assert caught.value.complaints[0].as_json() == {
        "level": "error",
        "path": str(path),
        "line": 2,
        "message": "[agent] has no key 'pol'",
        "suggestion": "did you mean 'poll'?",
    }

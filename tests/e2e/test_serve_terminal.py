"""``forewarn serve`` at a real terminal: what to type next, and each request and change as it comes."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.program import FOREWARN, clean_environment
from tests.e2e.test_mock import ask
from tests.e2e.test_trying_out import FREE, typed
from tests.terminals import at_terminal

_SERVE = (FOREWARN, "serve", "--ephemeral", "--clock", "virtual", *FREE)


def test_on_a_terminal_a_server_tells_what_to_type_and_what_happens(tmp_path: Path) -> None:
    environment = clean_environment(COLUMNS="100")
    with at_terminal(_SERVE, environment) as terminal:
        terminal.sees("Ctrl-C ends it.")
        lines = terminal.shown.splitlines()
        first = next(place for place, line in enumerate(lines) if line == "Now type, in another terminal:")
        commands = [line.strip() for line in lines[first + 1 : -1]]
        assert [command.split()[0] for command in commands] == ["export", "forewarn", "forewarn", "curl", "forewarn"]
        told = typed("\n".join(commands), tmp_path, environment)
        assert '"EventType":"Reboot"' in told
        terminal.sees("web-0 was made")
        terminal.sees("web-0  GET 200: incarnation 2, Reboot")
        terminal.sees("impact")

        url = commands[3].split('"')[1]
        for _ in range(30):
            ask(url, header=False)
        ask(url)
        terminal.sees("web-0  GET 400: Required metadata header not specified, 29 more times")
        assert terminal.shown.count("GET 400") == 2
        # The ready line and the commands are to be copied whole; all that is told fits
        assert all(len(line) <= 100 for line in terminal.shown.partition("Ctrl-C ends it.")[2].splitlines())
        terminal.types("\x03")
        assert terminal.ends() == 0


def test_quiet_says_that_it_is_ready_and_no_more(tmp_path: Path) -> None:
    with at_terminal((*_SERVE, "--quiet"), clean_environment()) as terminal:
        terminal.sees("nothing is kept\n")
        url = terminal.shown.partition("metadata ")[2].partition(",")[0]
        assert ask(f"{url}/vm/web-0/metadata/scheduledevents?api-version=2020-07-01")[0] == 404
        terminal.types("\x03")
        assert terminal.ends() == 0
        assert "GET" not in terminal.shown
        assert "Now type" not in terminal.shown

"""The small commands: is a server there, where its portal is, which version is this, and completion for shells."""

from __future__ import annotations

import argparse
import time
import webbrowser
from collections.abc import Callable

from forewarn import __version__
from forewarn.cli import parsing
from forewarn.cli.api.client import OperatorClient, Unreachable
from forewarn.cli.api.shapes import Pong
from forewarn.cli.commands.clocks import describe
from forewarn.cli.completing import SCRIPTS
from forewarn.cli.output import Output
from forewarn.cli.parsing import Parser, Subparsers
from forewarn.server.neighbour import region_words
from forewarn.settings.errors import CommandFailed, Exit, usage
from forewarn.settings.extras import import_part
from forewarn.settings.times import show_moment

WAIT_SECONDS = 30.0  # a region of a million VMs starts from its snapshot in 17.6 s (docs/performance.md)
_PAUSE_SECONDS = 0.05  # not felt by a person who waits, and twenty connections a second are no load
SHELLS = ("bash", "zsh", "fish", "tcsh")


def add_to(subparsers: Subparsers, whole: Callable[[], Parser]) -> None:
    """``whole`` makes the complete parser, which completion is about."""
    ping = parsing.add_client_command(
        subparsers,
        "ping",
        _ping,
        "ask whether a server is ready",
        "Ask the server who it is. With --wait, wait until it answers; the exit status is 0 when it is ready and 3 "
        "when it is not there. With --expect it is 1 where another region answers, as it does when the port was taken.",
        "forewarn ping --wait 60 && forewarn vm create web",
        "forewarn serve --name shop & forewarn ping --wait --expect shop",
    )
    ping.add_argument(
        "--wait",
        nargs="?",
        const=str(WAIT_SECONDS),
        metavar="SECONDS",
        help=f"wait until it answers, at most so long (default: {WAIT_SECONDS:g})",
    )
    ping.add_argument("--expect", default="", metavar="NAME", help="fail unless it is the region of this name")
    _add_portal(subparsers)
    version = parsing.add_command(
        subparsers, "version", _version, "show the version", "Show the version of this program.", "forewarn version"
    )
    parsing.add_json(version)
    _add_completion(subparsers, whole)


def _add_portal(subparsers: Subparsers) -> None:
    portal = parsing.add_client_command(
        subparsers,
        "portal",
        _portal,
        "show where the portal is, or open it",
        "Print the address of the server's pages for browsers. With --open, open them; where the server wants a token, "
        "the browser is signed in by a code that holds once and for a minute, so that the token is in no address.",
        "forewarn portal",
        "forewarn portal --open --name anna",
    )
    portal.add_argument("--open", action="store_true", help="open it in a browser")
    portal.add_argument("--name", default="", help="what activity shows beside what you do there, if you sign in")


def _portal(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    if any(each["name"] == "portal" and each["value"] == "off" for each in client.settings()):
        raise CommandFailed(f"the server at {client.server.url} runs without its portal; start it with --portal on.")
    url = f"{client.server.url}/portal/"
    if args.open and not webbrowser.open(_signed_in(client, args.name) or url):
        raise CommandFailed(f"no browser could be started here; open {url} in one.")
    if out.as_json:
        out.json({"url": url, "opened": bool(args.open)})
    else:
        out.line(url)
    return Exit.OK


def _signed_in(client: OperatorClient, name: str) -> str:
    """A link that signs in, by a one-time code; empty where the server wants no token."""
    made = client.server.ask("POST", "/v1/portal/code", body={"name": name})
    return f"{client.server.url}/portal/sign-in#code={made['code']}" if made["wanted"] else ""


def _add_completion(subparsers: Subparsers, whole: Callable[[], Parser]) -> None:
    def complete(args: argparse.Namespace, out: Output) -> int:
        if args.shell in SCRIPTS:
            out.line(SCRIPTS[args.shell].rstrip())
        else:
            shtab = import_part("shtab", "forewarn completion")
            out.line(shtab.complete(whole(), shell=args.shell))
        return Exit.OK

    completion = parsing.add_command(
        subparsers,
        "completion",
        complete,
        "print completion for a shell",
        "Print the script that lets a shell complete this command on Tab: commands and options, and the names of VMs, "
        "hosts and sets and the ids of events and campaigns of the server at FOREWARN_URL, where one answers. tcsh "
        "completes commands and options only, and needs the server extra.",
        'eval "$(forewarn completion bash)"',
        "forewarn completion zsh > ~/.zfunc/_forewarn",
        "forewarn completion fish > ~/.config/fish/completions/forewarn.fish",
    )
    completion.add_argument("shell", choices=SHELLS, help="which shell")


def _ping(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    pong = client.ping() if args.wait is None else _wait(client, _seconds(args.wait))
    if args.expect and pong.get("region") != args.expect:
        here = f"what answers at {client.server.url} is not region {args.expect!r}"
        raise CommandFailed(f"{here}, but a forewarn{_which(pong)}; commands would change that one.")
    if out.as_json:
        out.json(pong)
    else:
        out.prose(_sentence(pong, client.server.url))
    return Exit.OK


def _seconds(text: str) -> float:
    try:
        found = float(text.removesuffix("s"))
    except ValueError:
        found = -1.0
    if not 0 <= found <= 86_400:
        raise usage(f"--wait takes a number of seconds up to a day, not {text!r}.")
    return found


def _wait(client: OperatorClient, seconds: float) -> Pong:
    """Ask again and again until the server answers or the time is up; then the last failure speaks."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return client.ping()
        except Unreachable:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE_SECONDS)


def _which(pong: Pong) -> str:
    return region_words(pong.get("region"), pong.get("data"))


def _sentence(pong: Pong, url: str) -> str:
    return (
        f"forewarn {pong['version']} at {url}{_which(pong)}: metadata {pong['metadata'] or 'elsewhere'}, "
        f"{pong['vms']} VMs, "
        f"{show_moment(pong['now'])} ({describe(pong['clock'])})"
    )


def _version(args: argparse.Namespace, out: Output) -> int:
    if out.as_json:
        out.json({"name": "forewarn", "version": __version__})
    else:
        out.line(f"forewarn {__version__}")
    return Exit.OK

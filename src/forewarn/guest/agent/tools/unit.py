"""The systemd unit under which the agent runs: as little as it needs, and a way to give a step more."""

from __future__ import annotations

from collections.abc import Sequence

UNIT_NAME = "forewarn-agent.service"
MARK = "# Written by 'forewarn agent install'; 'forewarn agent uninstall' removes it."

_UNIT = """\
{mark}
{manifest}
[Unit]
Description=forewarn agent: prepares this VM for Azure Scheduled Events
Wants=network-online.target
After=network-online.target
# Whatever happens to it, an agent that is down prepares nothing: it is always started again.
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
Restart=always
RestartSec=2
# A file that cannot be obeyed will not be better in two seconds.
RestartPreventExitStatus=2
WatchdogSec=60
TimeoutStopSec=30
KillMode=mixed
StateDirectory=forewarn-agent
StateDirectoryMode=0700

# The steps of agent.toml run in here too. If one of them needs more, loosen just that line:
# systemctl edit {unit}
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_KILL CAP_SETGID CAP_SETUID
# for DHCP, where a VM without a virtual network finds its metadata service
CapabilityBoundingSet=CAP_NET_BIND_SERVICE CAP_NET_RAW
ProtectSystem=full
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_PACKET
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""


def unit_text(program: Sequence[str], config_path: str, manifest: Sequence[str], mark: str = MARK) -> str:
    """The whole unit. ``manifest`` are the lines by which ``uninstall`` knows what else came with it.

    ``mark`` says who brought it: a unit with another one is not ``uninstall``'s to remove.
    """
    words = [*program, "agent", "run", "--config", config_path]
    lines = "".join(f"# {line}\n" for line in manifest)
    return _UNIT.format(mark=mark, manifest=lines, command=" ".join(map(quote, words)), unit=UNIT_NAME)


def quote(word: str) -> str:
    """A word of a command line as systemd reads it: it knows quotes, backslashes, % and $."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    safe = plain == word and all(letter.isalnum() or letter in "-_./+=:@," for letter in word)
    return word if safe and word else f'"{plain}"'

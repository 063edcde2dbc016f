"""Every setting of a server, as one table: what flags, environment, region file, help and documentation are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forewarn.settings import kinds
from forewarn.settings.kinds import FACES, SettingKind


@dataclass(frozen=True)
class Setting:
    """One thing that a region's owner may choose."""

    name: str
    default: str
    kind: SettingKind
    help: str

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def variable(self) -> str:
        return f"FOREWARN_{self.name.upper()}"


# (cause, notice, recovery, announced interruption). The twin of ``core.causes.CAUSES`` in plain text, because this
# module must load where the server's packages are not installed; a test holds the two together. An empty notice is
# not the region's to choose: a failure, a crash and a reimage have none, a deletion takes the VM's own.
CAUSE_DEFAULTS = (
    ("freeze", "15m", "10m", "9"),
    ("live_migration", "15m", "5m", "5"),
    ("network", "15m", "10m", "0"),
    ("reboot", "15m", "10m", "-1"),
    ("redeploy", "10m", "10m", "-1"),
    ("predicted_failure", "7d", "10m", "-1"),
    ("failure", "", "10m", "-1"),
    ("crash", "", "10m", "-1"),
    ("user_restart", "15m", "30s", "-1"),
    ("user_redeploy", "10m", "30s", "-1"),
    ("eviction", "30s", "0s", "-1"),
    ("reimage", "", "30s", "-1"),
    ("deletion", "", "0s", "-1"),
)

_GENERAL = (
    Setting("data", "forewarn-data", kinds.DIRECTORY, "directory that keeps the region"),
    Setting("name", "", kinds.NAME, "what the region is called; 'forewarn ping' tells it, and --expect insists on it"),
    Setting(
        "store",
        "",
        kinds.STORE,
        "PostgreSQL database that keeps the region instead, for any number of nodes; better given as FOREWARN_STORE "
        "than as a flag, for its password",
    ),
    Setting(
        "ephemeral",
        "off",
        kinds.SWITCH,
        "on keeps the region in memory alone, for trying things out: nothing is left of it when the server ends; not "
        "together with data or store",
    ),
    Setting(
        "desk",
        "off",
        kinds.SWITCH,
        "on is for published ports of a container: /vm/NAME/... is believed from any peer, and a token "
        "is made where none is given; not together with store or real machines",
    ),
    Setting("clock", "real", kinds.CLOCK, "real time, N times faster, or a clock that only moves when told"),
    Setting("metadata", "127.0.0.1:16925", kinds.ADDRESS, "where VMs read and approve their events"),
    Setting(
        "control",
        "127.0.0.1:16926",
        kinds.ADDRESS,
        "where operators and this command work; beyond loopback only with a token",
    ),
    Setting(
        "resource_manager",
        "127.0.0.1:16927",
        kinds.ADDRESS_OR_OFF,
        "where az and the SDKs work (https); off runs without it; beyond loopback only with a token",
    ),
    Setting(
        "profile",
        "plain",
        kinds.one_of("plain", "azure"),
        "azure turns on the manners of the real service: throttle, slow first read, visibility lag",
    ),
    Setting(
        "token",
        "",
        kinds.TOKEN,
        "secret that operators, az and the SDKs must know; better given as FOREWARN_TOKEN than as a flag",
    ),
    Setting(
        "hosts",
        "",
        kinds.HOSTS,
        "names and addresses, beside its own, under which the control and resource manager faces are reached, such as "
        "a load balancer's; they go into the certificate too",
    ),
    Setting(
        "portal",
        "on",
        kinds.SWITCH,
        "whether the control face has pages for browsers, at /portal/; off answers 404 there",
    ),
    Setting("log_level", "info", kinds.one_of("debug", "info", "warning", "error"), "how much is logged"),
    Setting("log_format", "text", kinds.one_of("text", "json"), "how: lines for people, or one JSON object a line"),
    Setting(
        "guest_sockets",
        "",
        kinds.DIRECTORY_OR_NONE,
        "directory of the sockets of VMs that are bound by --unix; empty: guests in the data directory",
    ),
    Setting(
        "request_log",
        "off",
        kinds.SWITCH,
        "on logs every answer of every face; a VM's GET then costs several times as much",
    ),
    Setting(
        "metrics",
        "on",
        kinds.SWITCH,
        "whether /metrics is answered: on the control port for those who may read, on the health port for everybody",
    ),
    Setting(
        "otlp",
        "",
        kinds.COLLECTOR_URL,
        "a collector that figures are sent to by OTLP over HTTP, such as http://127.0.0.1:4318; needs the extra otlp",
    ),
    Setting("otlp_every", "1m", kinds.duration("1s"), "how often they are sent there"),
    Setting(
        "otlp_traces",
        "off",
        kinds.SWITCH,
        "on sends it a span for every answer, too; a VM's GET then costs some twelve times as much",
    ),
    Setting(
        "unread_after",
        "2h",
        kinds.duration("1m"),
        "time without a read after which figures call a scope unread; nodes hear of each other's reads once an hour",
    ),
    Setting("update_domains", "5", kinds.whole(1, 20), "update domains that VMs are spread over"),
    Setting("fault_domains", "3", kinds.whole(1, 20), "fault domains that VMs are spread over"),
    Setting(
        "bind_nics",
        "off",
        kinds.SWITCH,
        "whether a VM is known by the address of its network interface, as the Resource Manager was told it",
    ),
    Setting("vms_per_host", "20", kinds.whole(1, 10_000), "VMs that fit on one host"),
    Setting(
        "availability_set_size",
        "200",
        kinds.whole(0, 1_000_000),
        "VMs that fit into one availability set; 0 is no limit",
    ),
    Setting(
        "user_operation_limit",
        "10",
        kinds.whole(0, 1_000_000),
        "user restarts and redeploys that may be scheduled at once; 0 is no limit",
    ),
    Setting("disable_after", "24h", kinds.duration("1s"), "time without a read after which a scope is disabled"),
    Setting(
        "first_read_delay",
        "0s",
        kinds.duration(high="120s"),
        "how long the first read of a scope is held back, at most 120s",
    ),
    Setting("visibility_lag", "0s", kinds.duration(high="1h"), "how late a change shows in documents"),
    Setting(
        "throttle_per_second", "0", kinds.number(0, 1_000_000), "requests a second that one VM may make; 0 is no limit"
    ),
    Setting("not_before_format", "rfc1123", kinds.one_of("rfc1123", "iso8601"), "how documents write NotBefore"),
    Setting(
        "unknown_event",
        "refuse",
        kinds.one_of("refuse", "ok"),
        "answer to the approval of an event that does not exist: 400 or 200",
    ),
)

_NODES = (
    Setting("faces", ",".join(FACES), kinds.FACES_LIST, "what this node does, as a list"),
    Setting(
        "readers",
        "0",
        kinds.whole(0, 64),
        "processes that answer at the metadata port beside the server, as many as cores for the most reads; 0: the "
        "server alone. On Linux",
    ),
    Setting("node_name", "", kinds.NAME, "what this node is called among the others; else its host and port"),
    Setting(
        "staleness",
        "10s",
        kinds.duration("1s", "1h"),
        "how long a node answers reads from what it knows while its store is silent; then 503",
    ),
    Setting(
        "drain",
        "0s",
        kinds.duration(high="1h"),
        "how long a node goes on serving after SIGTERM, while its readiness says no already",
    ),
    Setting(
        "health",
        "off",
        kinds.ADDRESS_OR_OFF,
        "where only /health/live and /health/ready are answered; the control face answers them too",
    ),
    Setting(
        "resource_manager_url",
        "",
        kinds.HTTPS_URL,
        "where clients find the Resource Manager, if that is not where it listens: a load balancer's address",
    ),
    Setting(
        "trusted_proxies",
        "",
        kinds.NETWORKS,
        "addresses and networks of load balancers whose X-Forwarded-Host, -Proto and -For are believed",
    ),
)

_IMPACTS = (
    Setting("reboot_impact", "30s", kinds.duration(), "how long a simulated restart takes"),
    Setting("redeploy_impact", "60s", kinds.duration(), "how long a simulated redeploy takes"),
    Setting("eviction_impact", "5s", kinds.duration(), "how long a simulated eviction takes"),
    Setting("deletion_impact", "5s", kinds.duration(), "how long a simulated deletion takes"),
)


def _of_causes() -> Iterator[Setting]:
    """Three settings for each cause: its notice, its recovery, and the interruption that documents announce."""
    for cause, notice, _, _ in CAUSE_DEFAULTS:
        if notice:
            yield Setting(f"notice_{cause}", notice, kinds.duration(), f"notice before {_title(cause)}")
    for cause, _, recovery, _ in CAUSE_DEFAULTS:
        text = f"how long {_title(cause)} stays in the document after its impact"
        yield Setting(f"recovery_{cause}", recovery, kinds.duration(), text)
    for cause, _, _, seconds in CAUSE_DEFAULTS:
        text = f"DurationInSeconds of {_title(cause)}; -1 is unknown"
        yield Setting(f"duration_{cause}", seconds, kinds.INTERRUPTION, text)


_TITLES = {
    "freeze": "a host's freeze",
    "live_migration": "a live migration",
    "network": "a network update",
    "reboot": "a host's reboot",
    "redeploy": "a host's redeploy",
    "predicted_failure": "a predicted failure",
    "failure": "a failure",
    "crash": "a crash of a real machine",
    "user_restart": "a user's restart",
    "user_redeploy": "a user's redeploy",
    "eviction": "an eviction",
    "reimage": "a reimage",
    "deletion": "a deletion",
}


def _title(cause: str) -> str:
    return _TITLES[cause]


SETTINGS: dict[str, Setting] = {setting.name: setting for setting in (*_GENERAL, *_NODES, *_IMPACTS, *_of_causes())}

# What a profile puts in the place of the defaults.
PROFILES: dict[str, dict[str, str]] = {
    "plain": {},
    "azure": {"throttle_per_second": "5", "first_read_delay": "60s", "visibility_lag": "30s"},
}

"""Where ``agent.toml`` is, and the file that ``install`` writes: right for most, and the first thing one reads."""

from __future__ import annotations

import sys

from forewarn.guest.agent.values import STATE_DIRECTORY

CONFIG_PATH = "/etc/forewarn/agent.toml"
if sys.platform == "win32":
    from forewarn.durable_windows import program_data

    CONFIG_PATH = program_data() + "\\forewarn\\agent.toml"

# Lines that begin with "# " explain; lines that begin with "#" alone are to be used by taking it away.
COMMENTED_TOML = """\
# What this VM's agent does about Azure Scheduled Events.
# 'forewarn agent check' finds what is wrong here, with lines; 'forewarn agent explain' says what would be done.
# Durations are written 90s, 15m, 2h. Everything below that is commented out with its value is the default.

[agent]
# Where the metadata service is. Empty: FOREWARN_ENDPOINT, then 169.254.169.254, then what DHCP tells.
#endpoint = ""
# This VM's name in documents. Empty: what the metadata service says. It is never the host name.
#name = ""
# How often to look. Azure advises once a second and allows five.
#poll = "1s"
# What is kept free before NotBefore: preparations end that much earlier, or a quarter of the notice where that is less.
#margin = "30s"
# Where the agent remembers what it has changed, so that it can undo it after a reboot.
#state_directory = "/var/lib/forewarn-agent"
# Where /healthz, /readyz and /metrics are, such as 127.0.0.1:16929. Empty: nowhere.
#status_listen = ""
# /healthz turns bad when the last good answer of the metadata service is older than this.
#unhealthy_after = "60s"
# text or json
#log_format = "text"

# The policy. The first rule that fits decides; a condition that is left out fits everything.
#   name          what logs and 'explain' call it
#   verdict       ignore | notify | prepare-then-approve | approve-now | prepare-only (and never approve)
#   types         Freeze, Reboot, Redeploy, Preempt, Terminate
#   sources       Platform, User
#   statuses      Scheduled, Started
#   names         patterns of this VM's name, for a file that many VMs share
#   shorter_than  of the announced interruption; one that is not known is not short
#   steps         which steps, of those below; left out, all of them
#   system        linux | windows, for a file that both share; left out, both
#   any_time      true: approved outside of the maintenance windows below, too
# Behind the rules of this file stand the built-in ones:
#   Preempt and Terminate: prepare with what time there is, then approve
#   what a user asked for: approve at once
#   a Freeze shorter than 30 seconds: approve at once
#   everything else: prepare, then approve
# As long as there is no [[step]] and no [barrier] below, there is one built-in rule instead, verdict = "notify": people
# are told, and nothing is approved in this VM's name. A VM that has nothing to prepare says so with a [[rule]] of
# verdict = "approve-now".
#
#[[rule]]
#name = "databases are never hurried"
#names = ["db-*"]
#types = ["Reboot", "Redeploy"]
#verdict = "prepare-only"
#
#[[rule]]
#name = "evictions leave no time for all of it"
#types = ["Preempt"]
#verdict = "prepare-then-approve"
#steps = ["leave the load balancer"]

# What is done before an event, in this order, and undone after it in reverse.
# Every step may have a timeout (else it has all the time there is), retries = false, repeatable = true where doing it
# twice does no harm, and a system, linux or windows, where it is for one of them only.
#
#[[step]]
#name = "leave the load balancer"
#kind = "ready-file"
#path = "/run/app/ready"
#
#[[step]]
#name = "drain haproxy"
#kind = "haproxy"
#socket = "/run/haproxy/admin.sock"
#backend = "web"
#server = "web-0"
#
#[[step]]
#name = "finish the work"
#kind = "command"
#run = ["/usr/local/bin/app-drain"]
#undo = ["/usr/local/bin/app-undrain"]
#timeout = "5m"
#
#[[step]]
#name = "tell the scheduler"
#kind = "http"
#url = "http://127.0.0.1:8080/pause"
#method = "POST"
#undo_url = "http://127.0.0.1:8080/resume"
#
#[[step]]
#name = "until it is idle"
#kind = "wait"
#url = "http://127.0.0.1:8080/idle"
#every = "2s"
#
#[[step]]
#name = "stop the worker"
#kind = "systemd"
#system = "linux"
#units = ["worker.service"]
#
#[[step]]
#name = "leave the cluster"
#kind = "kubernetes"
#drain = true
#
# The same from inside a pod, without kubectl; it says on the node why, too.
#
#[[step]]
#name = "leave the cluster, as a pod"
#kind = "kubernetes-node"
#drain = true
#
# What Windows has:
#
#[[step]]
#name = "stop the service"
#kind = "service"
#system = "windows"
#services = ["Spooler"]
#
#[[step]]
#name = "stop the site"
#kind = "iis"
#system = "windows"
#pools = ["shop"]
#
#[[step]]
#name = "leave Network Load Balancing"
#kind = "nlb"
#system = "windows"
#
#[[step]]
#name = "leave the failover cluster"
#kind = "cluster"
#system = "windows"
#
#[[step]]
#name = "whatever PowerShell can"
#kind = "powershell"
#system = "windows"
#run = "Disable-ScheduledTask nightly"
#undo = "Enable-ScheduledTask nightly"

# When events may be approved. With no window, at any time. With one or more, an event is prepared for as soon as it is
# announced, and approved only while a window is open; if none opens before its NotBefore, it starts then by itself.
# Times are the zone's wall time: where clocks go forward, a window within the hour left out does not open that day;
# where they go back, one within the hour that comes twice opens twice.
#   name          what logs and 'explain' call it
#   days          mon, tue, wed, thu, fri, sat, sun: on which it begins; left out, every day
#   from          when it opens, such as 22:00
#   to            when it closes; not after from, it is on the next day; 24:00 is the end of the day
#   zone          such as Europe/Berlin; left out, UTC
#
#[[window]]
#name = "nights at the weekend"
#days = ["fri", "sat"]
#from = "22:00"
#to = "04:00"
#zone = "Europe/Berlin"

# An approval counts for every VM that the event names. Until their agents are set up to tell each other that they are
# ready, an event that names several is not approved and starts at its NotBefore.
#   sharing       together | alone (approve when this VM is ready) | never (approve no shared event)
#   listen        where this agent hears the others
#   address       where the agent of the VM called {name} listens
#   secret_file   the same on every VM: openssl rand -hex 32
#   patience      how long a silent VM is waited for; left out, until NotBefore
#
#[barrier]
#sharing = "together"
#listen = "0.0.0.0:16928"
#address = "http://{name}:16928"
#secret_file = "/etc/forewarn/barrier.secret"
#patience = "5m"

# Who is told. on: scheduled, preparing, prepared, failed, approved, started, completed, canceled; left out, all.
# kind = "apprise" reaches mail, chat and more (pip install '.[notify]' in a clone).
#
#[[notification]]
#kind = "webhook"
#url = "https://chat.example.org/hooks/1234"
#on = ["failed", "approved", "completed"]
"""
if sys.platform == "win32":  # between single quotes a backslash is a backslash
    COMMENTED_TOML = COMMENTED_TOML.replace('"/var/lib/forewarn-agent"', f"'{STATE_DIRECTORY}'")
    _SECRET = f"'{program_data()}\\forewarn\\barrier.secret'"
    COMMENTED_TOML = COMMENTED_TOML.replace('"/etc/forewarn/barrier.secret"', _SECRET)

"""A Grafana dashboard of a forewarn region, made by code: ``python examples/monitoring/dashboard.py > dashboard.json``.

Each panel is a row of ``PANELS``: its title, its unit, and what it asks Prometheus for. Import the file in Grafana
(Dashboards, New, Import) and choose your Prometheus there.
"""

from __future__ import annotations

import json
import sys
from typing import Any

# Figures of the region are the same on every node (max), figures of a node are its own (sum, or by instance).
PANELS = (
    ("Reads a second", "reqps", "sum by (result) (rate(forewarn_reads_total[1m]))"),
    ("Answers a second", "reqps", "sum by (face, status) (rate(forewarn_answers_total[1m]))"),
    ("Waiting GETs", "short", "sum by (instance) (forewarn_waiting_reads)"),
    ("Connections", "short", "sum by (instance, face) (forewarn_connections)"),
    ("Readers and relays", "short", 'sum by (instance, __name__) ({__name__=~"forewarn_readers|forewarn_relays"})'),
    ("Open events", "short", "max by (type, phase) (forewarn_events) > 0 or max(forewarn_events) * 0"),
    ("Overdue events", "short", "max(forewarn_events_overdue)"),
    ("Deadlines missed", "short", "sum by (type) (max without (instance) (forewarn_deadlines_missed_total))"),
    ("Scopes unread", "short", "max(forewarn_scopes_unread)"),
    ("Campaigns", "short", "max by (state) (forewarn_campaigns)"),
    ("Commands a second", "ops", "sum by (door, outcome) (rate(forewarn_commands_total[1m]))"),
    ("Time of a write, 99 %", "s", "histogram_quantile(0.99, sum by (le) (rate(forewarn_write_seconds_bucket[5m])))"),
    ("Time of a commit, 99 %", "s", "histogram_quantile(0.99, sum by (le) (rate(forewarn_commit_seconds_bucket[5m])))"),
    ("Journal", "short", "max(forewarn_journal_head)"),
    ("Lag of nodes", "short", "forewarn_journal_lag_records"),
    ("Who leads", "short", "forewarn_leads"),
    ("Records since the snapshot", "short", "forewarn_snapshot_lag_records"),
    ("Hosts of machines", "short", "max by (health) (forewarn_machine_hosts)"),
    ("Errands open", "short", "max by (kind) (forewarn_errands_open)"),
    ("Memory", "bytes", "process_resident_memory_bytes"),
    ("CPU", "percentunit", "rate(process_cpu_seconds_total[1m])"),
)
_WIDTH, _HEIGHT, _ACROSS = 8, 7, 3  # of a panel, in Grafana's grid of 24 columns; panels in a row


def dashboard() -> dict[str, Any]:
    """As Grafana imports it."""
    return {
        "title": "forewarn",
        "uid": "forewarn-region",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
        },
        "panels": [_panel(number, *row) for number, row in enumerate(PANELS)],
    }


def _panel(number: int, title: str, unit: str, query: str) -> dict[str, Any]:
    row, column = divmod(number, _ACROSS)
    return {
        "id": number + 1,
        "title": title,
        "type": "timeseries",
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [{"refId": "A", "expr": query}],
    }


if __name__ == "__main__":
    json.dump(dashboard(), sys.stdout, indent=2)
    sys.stdout.write("\n")

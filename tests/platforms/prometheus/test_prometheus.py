"""Debian's Prometheus reads a real server: every panel of the dashboard has data, every alert fires."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import pytest

from forewarn.cli.api.client import OperatorClient, Server
from tests.e2e.nodes import NAMES, Nodes
from tests.e2e.nodes import ask as ask_node
from tests.e2e.program import EVENTS, FOREWARN, ServerProgram, ask, clean_environment
from tests.ports import free_port
from tests.postgres import Server as PostgresServer
from tests.waiting import until

MONITORING = Path(__file__).parents[3] / "examples" / "monitoring"
OPTIONS = ("--health", "127.0.0.1:0", "--resource-manager", "off", "--user-operation-limit", "0")


def test_every_alert_fires_on_what_it_is_for_and_none_where_all_is_well() -> None:
    for verb in (("check", "rules", "rules.yml"), ("test", "rules", "rules_test.yml")):
        done = subprocess.run(["promtool", *verb], cwd=MONITORING, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def prometheus(directory: Path, **targets: list[str]) -> Iterator[str]:
    """Debian's, on a free port, reading the targets of each job every second; its address."""
    jobs = [
        {"job_name": job, "static_configs": [{"targets": [urlsplit(each).netloc for each in urls]}]}
        for job, urls in targets.items()
    ]
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(MONITORING / "rules.yml")],
        "scrape_configs": jobs,
    }
    (directory / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    port = free_port()
    options = [f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/tsdb"]
    with (directory / "prometheus.log").open("wb") as log:
        words = ["prometheus", *options, f"--web.listen-address=127.0.0.1:{port}"]
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def found(url: str, query: str) -> list[dict[str, Any]]:
    try:
        with urlopen(f"{url}/api/v1/query?query={quote(query)}", timeout=10) as answer:
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
    except OSError:  # it is starting
        return []
    return [each for each in result if each["value"][1] != "NaN"]


def made() -> dict[str, Any]:
    """The dashboard, as the program of the page prints it."""
    done = subprocess.run([sys.executable, MONITORING / "dashboard.py"], capture_output=True, check=True)
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def test_every_panel_of_the_dashboard_has_data(tmp_path: Path) -> None:
    panels = {panel["title"]: panel["targets"][0]["expr"] for panel in made()["panels"]}
    with ServerProgram.start(tmp_path / "data", *OPTIONS) as server:
        client = OperatorClient(Server(server.control))
        with prometheus(tmp_path, forewarn=[server.health]) as url:
            number = 0

            def with_data() -> bool:
                nonlocal number
                number += 1
                client.server.ask("POST", "/v1/vms", body={"name": f"web-{number}"})
                ask(server.metadata, f"/vm/web-{number}{EVENTS}")
                client.server.ask("POST", "/v1/vms/restart", body={"names": [f"web-{number}"]})
                return not [title for title, query in panels.items() if not found(url, query)]

            until(with_data, "data in every panel", lambda: str([t for t, q in panels.items() if not found(url, q)]))
            assert [each["value"][1] for each in found(url, "forewarn_leads")] == ["1"]
            assert not found(url, 'ALERTS{alertstate="firing"}')


@contextmanager
def ten_agents(directory: Path, metadata: list[str]) -> Iterator[list[str]]:
    """Agents of web-0 to web-9, which ask the nodes in turns and approve at once; where each tells its figures."""
    found, processes = [], []
    try:
        for number in range(10):
            status = f"127.0.0.1:{free_port()}"
            endpoint = f"{metadata[number % len(metadata)]}/vm/web-{number}"
            config = directory / f"agent-{number}.toml"
            config.write_text(
                f'[agent]\nendpoint = "{endpoint}"\nname = "web-{number}"\nstatus_listen = "{status}"\n'
                f'state_directory = "{directory}/state-{number}"\n[[rule]]\nname = "all"\nverdict = "approve-now"\n'
            )
            with (directory / f"agent-{number}.log").open("wb") as log:
                words = [str(FOREWARN), "agent", "run", "--config", str(config)]
                processes.append(subprocess.Popen(words, env=clean_environment(), stdout=log, stderr=log))
            found.append(f"http://{status}")
        yield found
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


@pytest.mark.timeout(300)
def test_three_nodes_and_ten_agents_are_read_and_every_panel_has_data(postgres: PostgresServer, tmp_path: Path) -> None:
    panels = {panel["title"]: panel["targets"][0]["expr"] for panel in made()["panels"]}
    region = Nodes(postgres.region(), tmp_path, ("--user-operation-limit", "0"))
    try:
        for name in NAMES:
            region.launch(name, "--health", "127.0.0.1:0")
        for name in NAMES:
            region[name].await_ready()
        told = [region[name] for name in NAMES]
        assert ask_node(told[0].control, "POST", "/v1/vms", {"name": "web", "count": 10}).status < 300
        with (
            ten_agents(tmp_path, [each.metadata for each in told]) as agents,
            prometheus(tmp_path, forewarn=[each.health for each in told], agent=agents) as url,
        ):
            number = 0

            def with_data() -> bool:
                nonlocal number
                number += 1
                body = {"names": [f"web-{number % 10}"]}
                ask_node(told[number % 3].control, "POST", "/v1/vms/restart", body)
                up = found(url, "count(up == 1)")
                counted = found(url, "count(forewarn_agent_healthy == 1)")
                is_read = [each["value"][1] for each in up + counted] == ["13", "10"]
                return is_read and not [title for title, query in panels.items() if not found(url, query)]

            def lacking() -> str:
                return f"{found(url, 'up')}, {[t for t, q in panels.items() if not found(url, q)]}"

            until(with_data, "data in every panel", lacking)
            assert [each["value"][1] for each in found(url, "sum(forewarn_leads)")] == ["1"]
            heads = {each["value"][1] for each in found(url, "count(forewarn_journal_head > 0)")}
            assert heads == {"3"}
    finally:
        region.close()

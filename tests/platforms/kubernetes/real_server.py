"""The cases of the double on a real kube-apiserver, built from Debian's source package, with Debian's etcd behind it.

A target of its own (``make kubernetes``): the build takes some minutes. The agent has the rights that the chart gives
its service account, and no others. There is no cluster around the server: the bench is kubelet and controller.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from forewarn.plane.clock import wall_time
from forewarn.web.resource_manager.login.tls import prepare
from tests.contract.kubernetes.bench import ADMIN, AGENT, ClusterBench
from tests.contract.kubernetes.cases import *  # noqa: F403 - the cases
from tests.platforms.kubernetes.charts import render
from tests.ports import free_port
from tests.waiting import until

BUILT = Path(__file__).parents[3] / ".build" / "kubernetes"


@contextmanager
def program(log: Path, *words: str | Path) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterBench]:
    directory = tmp_path_factory.mktemp("kubernetes")
    (directory / "tokens.csv").write_text(
        f"{ADMIN},admin,1,system:masters\n{AGENT},system:serviceaccount:forewarn:forewarn-agent,2\n"
    )
    subprocess.run(["openssl", "genrsa", "-out", directory / "sa.key", "2048"], check=True, capture_output=True)
    files = prepare(directory / "tls", (), wall_time())
    store, peer, port = (free_port() for _ in range(3))
    at_store, at_peer = f"http://127.0.0.1:{store}", f"http://127.0.0.1:{peer}"
    etcd = {"data-dir": directory / "etcd", "listen-client-urls": at_store, "advertise-client-urls": at_store}
    etcd |= {"listen-peer-urls": at_peer, "initial-advertise-peer-urls": at_peer}
    etcd |= {"initial-cluster": f"default={at_peer}"}
    api = {
        "etcd-servers": at_store,
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "tls-cert-file": files.certificate,
        "tls-private-key-file": files.key,
        "service-account-key-file": directory / "sa.key",
        "service-account-signing-key-file": directory / "sa.key",
        "service-account-issuer": "https://kubernetes.default.svc",
        "token-auth-file": directory / "tokens.csv",
        "authorization-mode": "RBAC",
        "service-cluster-ip-range": "10.0.0.0/24",
        "disable-admission-plugins": "ServiceAccount",  # pods need none here
    }
    with ExitStack() as stack:
        for name, path, flags in (
            ("etcd", BUILT / "etcd", etcd),
            ("api", BUILT / "kube-apiserver", api),
        ):
            words = [f"--{key}={value}" for key, value in flags.items()]
            stack.enter_context(program(directory / f"{name}.log", path, *words))
        bench = ClusterBench(f"https://127.0.0.1:{port}", files.authority, directory, "policy/v1beta1")
        until(lambda: is_ready(bench), "the API server", lambda: (directory / "api.log").read_text()[-2000:])
        grant(bench)
        yield bench


def is_ready(bench: ClusterBench) -> bool:
    try:
        bench.ask("GET", "/api/v1/namespaces/default")
        roles = bench.ask("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]
    except (OSError, AssertionError):
        return False
    return len(roles) > 10  # its own, which it makes while it starts


def grant(bench: ClusterBench) -> None:
    """What the chart lets the agent do."""
    bench.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "forewarn"}})
    for each in render("forewarn"):
        if each["apiVersion"].startswith("rbac."):
            within = f"namespaces/{each['metadata']['namespace']}/" if "namespace" in each["metadata"] else ""
            bench.ask("POST", f"/apis/{each['apiVersion']}/{within}{each['kind'].lower()}s", each)


@pytest.fixture
def bench(server: ClusterBench) -> Iterator[ClusterBench]:
    yield server
    for pod in server.pods():
        server.ask("DELETE", f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
    server.ask("DELETE", "/api/v1/nodes")
    server.ask("DELETE", "/api/v1/namespaces/default/events")
    server.ask("DELETE", f"/apis/{server.policy}/namespaces/default/poddisruptionbudgets")


def test_the_agent_may_do_nothing_else(bench: ClusterBench) -> None:
    def asks(verb: str, resource: str, group: str = "") -> bool:
        about = {"verb": verb, "resource": resource, "group": group, "namespace": "default"}
        review = {"user": "system:serviceaccount:forewarn:forewarn-agent", "resourceAttributes": about}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": review}
        found = bench.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
        return bool(found["status"]["allowed"])

    assert asks("get", "nodes")
    refused = ("delete", "nodes"), ("delete", "pods"), ("get", "secrets"), ("create", "pods"), ("update", "nodes")
    assert [each for each in refused if asks(*each)] == []
    assert not asks("create", "clusterrolebindings", "rbac.authorization.k8s.io")

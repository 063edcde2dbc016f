"""The pages about the protocol and about operating say what the code does, where that can be compared."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network

from forewarn.core.commands import CreateVms
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.core.specs import Binding, ScopeKind, VmSpec
from forewarn.core.step import step
from forewarn.settings.table import PROFILES, SETTINGS
from forewarn.terms import EventType
from forewarn.web.documents.instance import instance_info
from forewarn.web.faults import FaultKind
from forewarn.web.metadata.settings import Limits
from forewarn.wire import errors
from forewarn.wire.instance import instance_tree
from forewarn.wire.tree import walk
from forewarn.wire.versions import API_VERSIONS, IMDS_VERSIONS
from tests.docs.generate import DOCS

PROTOCOL = (DOCS / "protocol.md").read_text()
OPERATING = (DOCS / "operating.md").read_text()


def _section(text: str, title: str) -> str:
    _, found, rest = text.partition(f"\n## {title}\n")
    assert found, f"there is no section {title!r}"
    return rest.partition("\n## ")[0]


def _rows(text: str) -> list[list[str]]:
    """The cells of a section's tables, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if not line.startswith("|---")]


def test_the_table_of_versions_adds_up_to_the_codes() -> None:
    types: set[str] = set()
    fields: list[str] = []
    told = []
    for date, _, new_types, new_fields in _rows(_section(PROTOCOL, "The seven api-versions"))[1:]:
        types |= set(re.findall(r"`(\w+)`", new_types))
        fields += re.findall(r"`(\w+)`", new_fields)
        told.append((date.strip("`"), frozenset(types), tuple(fields)))

    assert told == [(version.date, version.types, version.fields) for version in API_VERSIONS]


def test_the_table_of_fields_is_in_wire_order_and_complete() -> None:
    rows = _rows(_section(PROTOCOL, "The document"))[1:]

    assert [row[0].strip("`") for row in rows[2:]] == list(API_VERSIONS[-1].fields)
    for name, _, since, _ in rows[2:]:
        first = next(version for version in API_VERSIONS if name.strip("`") in version.fields)
        assert since == first.date


def test_every_body_that_is_quoted_is_sent() -> None:
    known = {answer.body.decode() for answer in vars(errors).values() if isinstance(answer, errors.ErrorReply)}
    quoted = set(re.findall(r'\{"error":[^`\n]*\}', PROTOCOL)) - {'{"error":"…"}'}

    assert quoted <= known
    assert len(quoted) == 5


def test_what_a_vm_reads_of_itself_is_what_the_page_says() -> None:
    """The last column of the table: a VM that nobody but the operator has said anything of."""
    region, _ = step(Region(), CreateVms(("web",), VmSpec(), "S"), datetime(2026, 1, 1, tzinfo=UTC), Rules())
    tree = instance_tree(instance_info(region, region.vms["web"]), IMDS_VERSIONS[-1])
    rows = [row for row in _rows(_section(PROTOCOL, "/metadata/instance")) if len(row) == 3][1:]
    compared = 0
    for paths, _, told in rows:
        value = re.fullmatch(r"`([^`]+)`|empty", told)
        first, *others = re.findall(r"`([^`]+)`", paths)
        for path in (first, *(f"{first.partition('/')[0]}/{other}" for other in others)):
            found = walk(tree, path.split("/"))
            assert found is not None, path
            if value and isinstance(found, str):
                assert found == (value[1] or ""), path
                compared += 1
    assert compared >= 8
    address = walk(tree, ["network", "interface", "0", "ipv4", "ipAddress", "0", "privateIpAddress"])
    assert ip_address(str(address)) in ip_network("10.128.0.0/9")


def test_the_number_of_versions_of_the_metadata_service_is_right() -> None:
    assert re.findall(r"the (\d+) of the metadata service", PROTOCOL) == [str(len(IMDS_VERSIONS))]
    assert f'"apiVersions":["{IMDS_VERSIONS[0]}",…,"{IMDS_VERSIONS[-1]}"]' in PROTOCOL


def test_the_limits_are_those_of_the_face() -> None:
    limits = Limits()
    page = " ".join(PROTOCOL.split())

    assert f"longer than {limits.request_seconds:g} s" in page
    assert f"target is over {limits.target_bytes // 1024} KiB" in page
    assert f"head over {limits.head_bytes // 1024} KiB or {limits.header_fields} fields" in page
    assert f"at most {limits.body_bytes // 1024} KiB" in page
    assert f"have passed, at most {limits.wait_seconds}." in page


def test_the_bounds_of_connections_and_answers_are_those_of_the_face() -> None:
    limits = Limits()
    page = " ".join(PROTOCOL.split())

    assert f"there are {limits.connections:,} connections already".replace(",", " ") in page
    assert f"or {limits.connections_each:,} of this VM".replace(",", " ") in page
    assert f"one VM gets {limits.answers_each_turn} answers at most" in page


def test_the_kinds_of_scopes_and_ways_to_be_known_are_those_of_the_core() -> None:
    document, callers = (" ".join(_section(PROTOCOL, name).split()) for name in ("The document", "Who is calling"))

    words = {ScopeKind.VM: "a lone VM", ScopeKind.CLOUD_SERVICE: "classic cloud service"}
    assert all(words.get(kind, kind.value.replace("-", " ")) in document for kind in ScopeKind)
    assert all(f"--{name.replace('_', '-')}" in callers for name in Binding.__struct_fields__)
    assert "scale sets yet" not in PROTOCOL


def test_the_switches_exist() -> None:
    switches = [row[-1] for row in _rows(_section(PROTOCOL, "Differences from Azure, and their switches"))[1:]]
    named = {name for switch in switches for name in re.findall(r"`([a-z_]+)`", switch)}

    assert named <= {*SETTINGS, *FaultKind, *PROFILES}


def test_the_kinds_of_fault_are_all_told() -> None:
    rows = _rows(_section(OPERATING, "Faults"))[1:]

    assert [row[0].strip("`") for row in rows] == [kind.value for kind in FaultKind]


def test_the_profile_is_told_as_it_is() -> None:
    rows = _rows(_section(OPERATING, "Profiles"))[1:]

    assert {row[0].strip("`"): row[2] for row in rows} == PROFILES["azure"]
    assert [row[1].split()[0] for row in rows] == [SETTINGS[row[0].strip("`")].default for row in rows]


def test_every_type_is_in_the_page() -> None:
    assert all(f"`{kind.value}`" in PROTOCOL for kind in EventType)


def test_no_reader_is_promised_every_number() -> None:
    """One request may change several events of a scope, and the numbers in between are never shown."""
    told = next(line for line in PROTOCOL.splitlines() if "a reader that waits" in line)
    assert "numbers are left out" in told
    assert "every" not in told.partition(" | ")[0]

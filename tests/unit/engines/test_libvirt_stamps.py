"""What is written into a libvirt definition, and which memory a domain has."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from forewarn.engines.libvirt.stamps import NAMESPACE, Stamp, boot_mark, read, stamp_in, with_stamp, written

FULL = Stamp("web-0", "6f1d6a3c", "e-1", "old@alpha#3", "beta", "pool/one.qcow2 pool/two.qcow2")


@pytest.mark.parametrize("stamp", [Stamp(), Stamp("web-0"), FULL, Stamp(vm="<&\"'>")])
def test_a_stamp_is_read_as_it_was_written(stamp: Stamp) -> None:
    assert read(written(stamp)) == stamp


@pytest.mark.parametrize("text", ["", "<machine", "<other/>", "<machine unknown='1'/>"])
def test_what_others_wrote_there_is_no_stamp(text: str) -> None:
    assert read(text) == Stamp()


def test_the_volumes_that_were_made_for_a_machine_are_named_by_pool() -> None:
    assert FULL.owned == (("pool", "one.qcow2"), ("pool", "two.qcow2"))
    assert Stamp().owned == ()


def test_a_machine_that_is_started_again_has_another_boot_mark() -> None:
    first = boot_mark(Stamp(errand="e-1"), "alpha", 1)
    assert boot_mark(Stamp(errand="e-1"), "alpha", 1) == first
    by_hand, by_errand = boot_mark(Stamp(errand="e-1"), "alpha", 2), boot_mark(Stamp(errand="e-2"), "alpha", 3)
    assert len({first, by_hand, by_errand}) == 3


def test_a_live_migration_carries_the_boot_mark_to_its_target_and_nowhere_else() -> None:
    assert boot_mark(FULL, "beta", 7) == "old@alpha#3"
    assert boot_mark(FULL, "alpha", 7) != "old@alpha#3"
    assert boot_mark(FULL, "gamma", 7) != "old@alpha#3"


@pytest.mark.parametrize("inside", ["<name>a</name>", "<metadata><x/></metadata>"])
def test_a_definition_gets_one_stamp_whatever_it_had(inside: str) -> None:
    twice = with_stamp(with_stamp(f"<domain>{inside}</domain>", Stamp("web-0")), FULL)
    (element,) = ElementTree.fromstring(twice).findall(f"./metadata/{{{NAMESPACE}}}machine")
    assert read(ElementTree.tostring(element, encoding="unicode")) == FULL
    assert stamp_in(twice) == FULL


@pytest.mark.parametrize("inside", ["", "<metadata/>", "<metadata><machine vm='another'/></metadata>"])
def test_a_definition_without_a_stamp_has_an_empty_one(inside: str) -> None:
    assert stamp_in(f"<domain>{inside}</domain>") == Stamp()

"""What forewarn writes into a domain's definition: one element of its metadata, of which it alone is the author.

libvirt keeps two definitions of a running domain: the one that runs and the *inactive* one that the next start uses. An
errand's id is stamped into the inactive one before anything destructive is done; a running definition that carries it
is the proof that the machine was started since. A stamp of the running definition travels with a live migration, one of
the inactive definition with the definition.
"""

from __future__ import annotations

from xml.etree import ElementTree

from msgspec import Struct, structs

NAMESPACE = "urn:forewarn:machine:1"
KEY = "forewarn"  # the prefix that libvirt writes the element with


class Stamp(Struct, frozen=True):
    """The element's attributes. All are empty where a domain has none."""

    vm: str = ""  # the VM that the machine was adopted as
    vm_id: str = ""
    errand: str = ""  # the errand that the next start, or the running one, belongs to
    mark: str = ""  # the boot mark that a live migration carries along
    to: str = ""  # the host that it is carried to: anywhere else it does not count
    disks: str = ""  # volumes made for this machine (pool/volume, parted by blanks), which go when it goes

    @property
    def owned(self) -> tuple[tuple[str, str], ...]:
        """The volumes that were made for this machine, as (pool, volume)."""
        pairs = (each.partition("/") for each in self.disks.split())
        return tuple((pool, volume) for pool, _, volume in pairs)


def written(stamp: Stamp) -> str:
    """The element as XML."""
    given = {name.replace("_", "-"): text for name, text in structs.asdict(stamp).items() if text}
    return ElementTree.tostring(ElementTree.Element("machine", given), encoding="unicode")


def with_stamp(definition: str, stamp: Stamp) -> str:
    """A domain's definition with the element among its metadata, in the place of one that is there already."""
    root = ElementTree.fromstring(definition)  # noqa: S314 - stands in the server's own files
    metadata = root.find("metadata")
    if metadata is None:
        metadata = ElementTree.SubElement(root, "metadata")
    for old in metadata.findall(f"{{{NAMESPACE}}}machine"):
        metadata.remove(old)
    element = ElementTree.fromstring(written(stamp))  # noqa: S314 - written just now
    element.tag = f"{{{NAMESPACE}}}machine"
    metadata.append(element)
    return ElementTree.tostring(root, encoding="unicode")


def read(element: str) -> Stamp:
    """What libvirt gives back, namespace and all. What cannot be read is no stamp: others may have written there."""
    try:
        found = ElementTree.fromstring(element)  # noqa: S314 - libvirt has parsed and written it before
    except ElementTree.ParseError:
        return Stamp()
    return _of(found)


def stamp_in(definition: str) -> Stamp:
    """The one of a whole definition; an empty one where it has none."""
    root = ElementTree.fromstring(definition)  # noqa: S314 - libvirt has parsed and written it before
    found = root.find(f"metadata/{{{NAMESPACE}}}machine")
    return Stamp() if found is None else _of(found)


def _of(found: ElementTree.Element) -> Stamp:
    known = {name: found.get(name.replace("_", "-"), "") for name in Stamp.__struct_fields__}
    return Stamp(**known)


def boot_mark(stamp: Stamp, host: str, domain_id: int) -> str:
    """Which memory a running domain has.

    A domain's id is new with each start, and only a start of ours changes the stamp; both change with a live migration,
    which keeps the memory and therefore carries the mark along.
    """
    if stamp.mark and stamp.to == host:
        return stamp.mark
    return f"{stamp.errand or 'by-hand'}@{host}#{domain_id}"

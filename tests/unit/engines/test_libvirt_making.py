"""What was made for a domain that cannot be is removed, and nobody else's; on a daemon in memory that refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from forewarn.core.machines.values import Errand, ErrandKind
from forewarn.engines.libvirt import acting, binding, looking, making
from forewarn.engines.libvirt import engine as libvirt_engine
from forewarn.engines.libvirt.engine import LibvirtEngine
from forewarn.engines.libvirt.hosts import Hosts, LibvirtHost
from forewarn.engines.libvirt.making import LibvirtBlueprint
from forewarn.engines.libvirt.stamps import Stamp, stamp_in, with_stamp, written
from forewarn.plane.hands.engine import Done, Failed, NotYet
from tests.contract.engines.bench import NOON, Permit

_DEFINITION = "<domain><name>$name</name><uuid>$uuid</uuid><devices><disk file='$disk'/></devices></domain>"
_ERRAND = Errand(
    id="0A1B2C3D-0000-4000-8000-000000000001",
    kind=ErrandKind.CREATE,
    engine="metal",
    host="",
    made_at=NOON,
    vm="job",
    vm_id="99999999-0000-4000-8000-000000000001",
    to="alpha",
    blueprint="worker",
)
_VOLUME = "job-0a1b2c3d.qcow2"
UNSUPPORTED, INTERNAL, OPERATION_INVALID = 67, 1, 55  # VIR_ERR_CONFIG_UNSUPPORTED, …_INTERNAL_ERROR, …


class LibvirtError(Exception):
    """As the binding's own."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self._code, self._message = code, message

    def get_error_code(self) -> int:
        return self._code

    def get_error_message(self) -> str:
        return self._message


_MODULE = SimpleNamespace(
    libvirtError=LibvirtError,
    VIR_DOMAIN_METADATA_ELEMENT=2,
    VIR_DOMAIN_AFFECT_LIVE=1,
    VIR_DOMAIN_AFFECT_CONFIG=2,
    VIR_DOMAIN_UNDEFINE_MANAGED_SAVE=1,
    VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA=2,
    VIR_DOMAIN_UNDEFINE_NVRAM=4,
    VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA=16,
)


class Domain:
    """One that is off."""

    def __init__(self, daemon: Daemon, definition: str) -> None:
        self._daemon, self._stamp = daemon, stamp_in(definition)

    def name(self) -> str:
        return "job"

    def state(self) -> tuple[int, int]:
        return 5, 0

    def isActive(self) -> bool:  # noqa: N802 - libvirt's name
        return False

    def isPersistent(self) -> bool:  # noqa: N802 - libvirt's name
        return True

    def metadata(self, *_: object) -> str:
        return written(self._stamp)

    def create(self) -> None:
        self._daemon.meet("create")

    def undefineFlags(self, _flags: int) -> None:  # noqa: N802 - libvirt's name
        self._daemon.meet("undefine")
        self._daemon.domain = None


class Daemon:
    """With one pool, and an error for the calls that are named."""

    def __init__(self, **errors: int) -> None:
        self.errors, self.domain = errors, None  # type: tuple[dict[str, int], Domain | None]
        self.volumes = {"another-0a1b2c3d.qcow2", "job-99999999.qcow2"}
        self.pool_is_active = True
        self.unseen: set[str] = set()  # in the pool too, made by another host

    def meet(self, call: str) -> None:
        if call in self.errors:
            raise LibvirtError(self.errors[call], f"unsupported configuration: {call}")

    def left(self) -> set[str]:
        """The names of all there is."""
        return self.volumes | ({"job"} if self.domain is not None else set())

    def lookupByName(self, _name: str) -> Domain:  # noqa: N802 - libvirt's name
        if self.domain is None:
            raise LibvirtError(binding.NO_DOMAIN, "Domain not found")
        return self.domain

    def defineXML(self, text: str) -> None:  # noqa: N802 - libvirt's name
        self.meet("define")
        self.domain = Domain(self, text)

    def storagePoolLookupByName(self, _name: str) -> Daemon:  # noqa: N802 - libvirt's name
        self.meet("pool")
        return self

    def isActive(self) -> int:  # noqa: N802 - libvirt's name
        """Whether the pool is: nothing else of this class is asked that."""
        return int(self.pool_is_active)

    def storageVolLookupByPath(self, _path: str) -> Any:  # noqa: N802 - libvirt's name
        return SimpleNamespace(info=lambda: (0, 1024, 0))

    def storageVolLookupByName(self, name: str) -> Any:  # noqa: N802 - libvirt's name
        if name not in self.volumes:
            raise LibvirtError(binding.NO_STORAGE_VOL, "Storage volume not found")
        return SimpleNamespace(path=lambda: f"/pool/{name}", delete=lambda: self._delete(name))

    def refresh(self, _flags: int) -> None:
        self.volumes |= self.unseen
        self.unseen = set()

    def _delete(self, name: str) -> None:
        self.meet("delete")
        self.volumes.remove(name)

    def createXML(self, _text: str) -> None:  # noqa: N802 - libvirt's name
        self.volumes.add(_VOLUME)

    def listVolumes(self) -> list[str]:  # noqa: N802 - libvirt's name
        if not self.pool_is_active:
            raise LibvirtError(OPERATION_INVALID, "storage pool is not active")
        return sorted(self.volumes)

    def isAlive(self) -> int:  # noqa: N802 - libvirt's name
        return 1


@pytest.fixture
def engine_at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An engine whose one host is this daemon."""
    for module in (acting, binding, looking, making):
        monkeypatch.setattr(module, "libvirt", lambda: _MODULE)

    class OneHost(Hosts):
        daemon: Daemon

        def connect(self, name: str) -> Any:
            return self.daemon

        def is_alive(self, name: str) -> bool:
            return True

    monkeypatch.setattr(libvirt_engine, "Hosts", OneHost)

    def made(daemon: Daemon) -> LibvirtEngine:
        OneHost.daemon = daemon
        blueprint = LibvirtBlueprint("worker", _DEFINITION, "machines", "/pool/base.qcow2")
        return LibvirtEngine("metal", [LibvirtHost("alpha", "test:///")], lambda: 0.0, {"worker": blueprint})

    return made


OTHERS = {"another-0a1b2c3d.qcow2", "job-99999999.qcow2"}


@pytest.mark.parametrize(("call", "changes"), [("define", 3), ("create", 5)])
def test_nothing_is_left_of_a_domain_that_libvirt_will_not_have(engine_at: Any, call: str, changes: int) -> None:
    daemon, permit = Daemon(**{call: UNSUPPORTED}), Permit()
    told = engine_at(daemon).carry_out(_ERRAND, permit)
    assert told == Failed(f"libvirt says: unsupported configuration: {call}", True)
    assert daemon.left() == OTHERS
    assert permit.asked == changes  # the volume, the definition and its start, and each that is taken back


def test_what_may_work_the_next_time_stays_as_it_was_made(engine_at: Any) -> None:
    daemon = Daemon(create=INTERNAL)
    assert engine_at(daemon).carry_out(_ERRAND, Permit()) == Failed(
        "libvirt says: unsupported configuration: create", False
    )
    assert daemon.domain is not None
    assert daemon.volumes == OTHERS | {_VOLUME}


def test_a_domain_of_that_name_that_is_anothers_is_left_alone(engine_at: Any) -> None:
    daemon = Daemon()
    daemon.defineXML(with_stamp("<domain><name>job</name></domain>", Stamp(errand="another")))
    told = engine_at(daemon).carry_out(_ERRAND, Permit())
    assert isinstance(told, Failed)
    assert told.lasting
    assert daemon.domain is not None
    assert daemon.volumes == OTHERS


def test_without_leave_nothing_is_taken_back_and_the_errand_is_not_over(engine_at: Any) -> None:
    daemon = Daemon(create=UNSUPPORTED)
    engine = engine_at(daemon)
    assert isinstance(engine.carry_out(_ERRAND, Permit(ask=lambda asked: asked < 4)), NotYet)
    assert daemon.domain is not None
    assert isinstance(engine.carry_out(_ERRAND, Permit(again=True)), Failed)
    assert daemon.left() == OTHERS


@pytest.mark.parametrize("call", ["undefine", "delete"])
def test_an_errand_whose_leavings_cannot_be_removed_is_asked_for_again(engine_at: Any, call: str) -> None:
    told = engine_at(Daemon(create=UNSUPPORTED, **{call: UNSUPPORTED})).carry_out(_ERRAND, Permit())
    assert isinstance(told, Failed)
    assert not told.lasting
    assert told.why.count("unsupported configuration") == 2


def another(daemon: Daemon) -> Daemon:
    """A domain of the name that is wanted, which is not this errand's."""
    daemon.defineXML(with_stamp("<domain><name>job</name></domain>", Stamp(errand="another")))
    return daemon


def test_a_host_without_the_pool_of_the_blueprint_has_nothing_to_be_removed(engine_at: Any) -> None:
    told = engine_at(another(Daemon(pool=binding.NO_STORAGE_POOL))).carry_out(_ERRAND, Permit())
    assert isinstance(told, Failed)
    assert told.lasting


def test_what_may_be_left_in_a_pool_that_is_not_active_is_told(engine_at: Any) -> None:
    daemon = another(Daemon())
    daemon.pool_is_active = False
    told = engine_at(daemon).carry_out(_ERRAND, Permit())
    assert isinstance(told, Failed)
    assert not told.lasting
    assert "Pool machines is not active" in told.why


def test_a_volume_that_was_made_at_another_host_goes_with_its_machine(engine_at: Any) -> None:
    """libvirt knows the volumes that it made itself, and others of the same pool once it has looked again."""
    daemon = Daemon()
    stamp = Stamp("job", _ERRAND.vm_id, disks=f"machines/{_VOLUME} machines/gone.qcow2")
    daemon.defineXML(with_stamp("<domain><name>job</name></domain>", stamp))
    daemon.unseen = {_VOLUME}
    errand = structs.replace(_ERRAND, kind=ErrandKind.DELETE, host="alpha", ref="job", to="")
    assert isinstance(engine_at(daemon).carry_out(errand, Permit()), Done)
    assert daemon.left() == OTHERS
    assert daemon.unseen == set()

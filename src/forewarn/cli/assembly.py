"""The server, put together: journal, plane and the faces that this node has. Needs the server extra."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from forewarn.cli.binding_file import BindingEntry
from forewarn.cli.errors import CommandFailed
from forewarn.cli.fleet import bind_all, create_missing
from forewarn.cli.fleet_file import FleetEntry
from forewarn.cli.listening import explained, hosts_of, listen, serve_app, url_of
from forewarn.cli.parts import (
    clock_of,
    driver_of,
    journal_of,
    kept_in,
    metadata_settings,
    rules_of,
    tell_if_short_of_files,
)
from forewarn.cli.setting_kinds import Address
from forewarn.cli.settings import Settings
from forewarn.plane.clock import RealClock, wall_time
from forewarn.plane.plane import Plane
from forewarn.stores import own_directory
from forewarn.web.forwarded import Forwarded
from forewarn.web.health import Health, HealthDoor, nothing_else
from forewarn.web.host_names import ANY_HOST
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.metadata.faults import FaultRules
from forewarn.web.operator.app import end_streams, operator_app
from forewarn.web.operator.models import SettingView
from forewarn.web.resource_manager import group_deletion, nic_bindings
from forewarn.web.resource_manager.access import Access
from forewarn.web.resource_manager.app import resource_manager_app
from forewarn.web.resource_manager.call import Desk
from forewarn.web.resource_manager.door import Door
from forewarn.web.resource_manager.tls import CERTIFICATE, TlsFiles, prepare


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    plane: Plane
    health: Health
    name: str
    urls: dict[str, str]  # where it listens, by the setting that says so


@asynccontextmanager
async def open_server(
    settings: Settings, fleet: Sequence[FleetEntry] = (), bindings: Sequence[BindingEntry] = ()
) -> AsyncIterator[Running]:
    """Everything that ``forewarn serve`` runs. It ends in the reverse order: the faces first, the journal last."""
    async with AsyncExitStack() as stack:
        opening = _Opening(settings, stack)
        health_url = await opening.open_health()
        plane = await _open_plane(settings, stack)
        await create_missing(plane, fleet)
        await bind_all(plane, bindings)
        urls = await opening.open_faces(plane)
        name = settings.node_name or _usual_name(urls)
        plane.introduce(name, tuple(face.replace("_", "-") for face in urls), tuple(urls.values()))
        opening.health.started(plane)
        stack.callback(asyncio.create_task(plane.watch_on()).cancel)
        yield Running(plane, opening.health, name, {**urls, **health_url})


async def _open_plane(settings: Settings, stack: AsyncExitStack) -> Plane:
    """The journal is opened first: whoever holds a data directory is the server of its region."""
    journal = await asyncio.to_thread(journal_of, settings)
    parts = (journal, RealClock(), driver_of(settings), rules_of(settings))
    try:
        plane = await asyncio.to_thread(lambda: Plane(*parts, staleness=settings.staleness))
    except BaseException:
        journal.close()
        raise
    stack.push_async_callback(plane.close)
    plane.clock = clock_of(settings, plane.region.latest_at)
    await plane.start()
    return plane


def _usual_name(urls: dict[str, str]) -> str:
    """The machine, and the port of its first face: nodes on one machine are told apart by that."""
    return f"{socket.gethostname()}:{next(iter(urls.values())).rpartition(':')[2]}"


@contextmanager
def _certificates_in(settings: Settings) -> Iterator[Path]:
    """Where certificates are kept. They are read once, so those of an ephemeral region need no place after that."""
    if not settings.ephemeral:
        yield settings.data / "tls"
        return
    with TemporaryDirectory(prefix="forewarn-tls-") as directory:
        yield Path(directory)


def _certificates(settings: Settings, directory: Path, hosts: tuple[str, ...]) -> TlsFiles:
    """Kept where nobody else can put others in their place, also by a node whose journal is elsewhere."""
    if not settings.ephemeral:
        own_directory.prepare(settings.data, directory.name)
        own_directory.prepare(directory, CERTIFICATE)
    return prepare(directory, hosts, wall_time())


class _Opening:
    """A server while it opens. What is open is on the stack, and closes with it."""

    def __init__(self, settings: Settings, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._stack = stack
        self._faults = FaultRules()
        self.health = Health()

    async def open_health(self) -> dict[str, str]:
        """Before everything else: a start may take long, and this says so."""
        address = self._settings.health
        if address is None:
            return {}
        listening = self._listen(address, "health")
        await self._serve(HealthDoor(nothing_else, self.health), listening, "health listener")
        return {"health": url_of("http", address, listening)}

    async def open_faces(self, plane: Plane) -> dict[str, str]:
        """Those that this node shall have. The control face is opened last, because it tells of the others."""
        addresses, urls = self._settings.addresses, dict.fromkeys(("metadata", "control", "resource_manager"), "")
        door = None
        if "metadata" in addresses:
            urls["metadata"] = await self._open_metadata(plane, addresses["metadata"])
        if "resource_manager" in addresses:
            door, urls["resource_manager"] = await self._open_resource_manager(plane, addresses["resource_manager"])
        if "control" in addresses:
            urls["control"] = await self._open_control(plane, addresses["control"], urls["metadata"], door)
        return {face: url for face, url in urls.items() if url}

    async def _open_metadata(self, plane: Plane, address: Address) -> str:
        settings = metadata_settings(self._settings)
        tell_if_short_of_files(settings.limits)
        face = MetadataFace(plane, self._faults, settings)
        with explained(address, "metadata"):
            await face.start(address.host, address.port)
        self._stack.push_async_callback(face.close)
        return f"http://{Address(address.host, face.port)}"

    async def _open_resource_manager(self, plane: Plane, address: Address) -> tuple[Door, str]:
        """The face for az and the SDKs, which insist on https; where it is told to be found, and where it listens."""
        settings, listening = self._settings, self._listen(address, "resource_manager")
        public = settings.resource_manager_url
        hosts = tuple(filter(None, (*hosts_of(address), *settings.hosts, urlsplit(public).hostname)))
        named = tuple(host for host in hosts if host != ANY_HOST)
        desk = Desk(plane, access=Access(settings.token), bind_nics=settings.bind_nics)
        await group_deletion.finish(desk)
        await nic_bindings.bind_all(desk)
        self._stack.callback(group_deletion.watch(desk))
        app = self._behind(resource_manager_app(desk, hosts=hosts))
        with _certificates_in(settings) as directory:
            try:
                files = await asyncio.to_thread(_certificates, settings, directory, named)
                authority = await asyncio.to_thread(files.authority_pem)
            except OSError as problem:
                raise CommandFailed(f"the certificates in {directory} cannot be kept: {problem}.") from None
            await self._serve(app, listening, "Resource Manager", (files.certificate, files.key))
        url = url_of("https", address, listening)
        return Door(public or url, authority, desk), url

    async def _open_control(self, plane: Plane, address: Address, metadata_url: str, door: Door | None) -> str:
        settings, listening = self._settings, self._listen(address, "control")
        views = [SettingView(each.name, each.value, each.source, each.help) for each in settings.shown]
        app = operator_app(
            plane,
            self._faults,
            views,
            hosts=(*hosts_of(address), *settings.hosts),
            token=settings.token or None,
            metadata_url=metadata_url,
            region_name=settings.name,
            kept_in=kept_in(settings),
            resource_manager=door,
        )
        await self._serve(self._behind(app), listening, "operator API")
        self._stack.callback(end_streams, app)
        return url_of("http", address, listening)

    def _behind(self, app: ASGIApp) -> ASGIApp:
        """What stands before a face that may be behind a load balancer."""
        return HealthDoor(Forwarded(app, self._settings.trusted_proxies), self.health)

    def _listen(self, address: Address, setting: str) -> socket.socket:
        listening = listen(address, setting)
        self._stack.callback(listening.close)
        return listening

    async def _serve(
        self, app: ASGIApp, listening: socket.socket, name: str, certificate: tuple[Path, Path] | None = None
    ) -> None:
        self._stack.push_async_callback(await serve_app(app, listening, name, certificate))

"""A server opened from its settings: journal, plane, and the sockets of the faces that this node has."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from forewarn.guest.agent.values import Notification
from forewarn.guest.system import this_machine
from forewarn.plane.plane import Plane
from forewarn.plane.system import SYSTEM
from forewarn.server import desk
from forewarn.server.assembly import Assembly, running
from forewarn.server.fleet import bind_all, create_missing
from forewarn.server.listening import explained, hosts_of, listen, serve_app, url_of
from forewarn.server.machines import add_hosts, machines_of
from forewarn.server.notifying.notifier import Notifier, targets_of
from forewarn.server.parts import journal_of, parts_of, tell_if_short_of_files
from forewarn.server.process import ServerEnd
from forewarn.settings.binding_file import BindingEntry
from forewarn.settings.errors import CommandFailed, usage
from forewarn.settings.extras import import_part, look_for
from forewarn.settings.fleet_file import FleetEntry
from forewarn.settings.kinds import Address
from forewarn.settings.machine_entries import NOTHING_DECLARED, Declared
from forewarn.settings.notification_file import NotificationEntry
from forewarn.settings.resolve import Settings
from forewarn.stores.sqlite import own_directory
from forewarn.web.answers import Answers
from forewarn.web.forwarded import Forwarded
from forewarn.web.health import HealthPaths, NodeHealth, nothing_else
from forewarn.web.host_names import ANY_HOST
from forewarn.web.introduction import Introduction
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.operator.app import end_streams, relays_of
from forewarn.web.operator.desk import Visible
from forewarn.web.seen import LookingOn
from forewarn.web.signals.counted import CountedFace
from forewarn.web.signals.gauges import Gauges
from forewarn.web.signals.page import MetricsAlone, MetricsPage

if TYPE_CHECKING:
    from forewarn.web.resource_manager.login.tls import TlsFiles


@dataclass(frozen=True)
class RunningServer:
    """A server that answers."""

    plane: Plane
    name: str
    urls: dict[str, str]  # where it listens, by the setting that says so
    token: str = field(default="", repr=False)  # where it was made at this start, and nobody else knows it
    ending: ServerEnd = field(default_factory=lambda: ServerEnd())


@asynccontextmanager
async def open_server(
    settings: Settings,
    fleet: Sequence[FleetEntry] = (),
    bindings: Sequence[BindingEntry] = (),
    declared: Declared = NOTHING_DECLARED,
    onlooker: LookingOn | None = None,
    notifications: Sequence[NotificationEntry] = (),
) -> AsyncIterator[RunningServer]:
    """Everything that ``forewarn serve`` runs. It ends in the reverse order: the faces first, the journal last."""
    _look_for_packages(settings)
    if settings.desk:
        desk.refuse_engines(declared)
    machines, told = machines_of(declared, settings), targets_of(notifications)
    async with AsyncExitStack() as stack:
        opening = _Opening(settings, stack)
        health_url = await opening.open_health()
        journal = await asyncio.to_thread(journal_of, settings)  # takes the lock of the data directory
        parts = replace(
            parts_of(settings, journal, machines, declared.machines), answers=opening.answers, onlooker=onlooker
        )
        server = await stack.enter_async_context(running(parts))
        plane = server.plane
        if settings.desk:
            desk.refuse_adopted(plane.region)
        await add_hosts(plane, machines, declared)
        await create_missing(plane, fleet)
        await bind_all(plane, bindings)
        urls = await opening.open_faces(server)
        name = machines.node or settings.node_name or _usual_name(plane.system.host_name(), urls)
        plane.membership.introduce(name, tuple(face.replace("_", "-") for face in urls), tuple(urls.values()))
        opening.health.started(plane)
        opening.metrics.started(plane, _kind_of_store(settings))
        stack.callback(asyncio.create_task(plane.ticking.watch_on()).cancel)
        if told:
            opening.tell_people(plane, told)
        if settings.otlp:
            opening.tell_collector(name)
        yield RunningServer(plane, name, {**urls, **health_url})


def _look_for_packages(settings: Settings) -> None:
    """Fail with a sentence where a package is missing, before anything is opened.

    Faces that are not wanted are not loaded, and the portal's pages not before the first visit.
    """
    if "resource_manager" in settings.addresses:
        import_part("forewarn.web.resource_manager.login.tls", "forewarn serve")
    if settings.readers and sys.platform != "linux":
        raise usage("readers need sockets and memory that processes share, as Linux alone has them: leave off readers.")
    if settings.portal and "control" in settings.faces:
        look_for("jinja2", "forewarn serve --portal on")
    if settings.otlp:
        import_part("forewarn.server.otlp.sender", "forewarn serve --otlp")


def _kind_of_store(settings: Settings) -> str:
    return "memory" if settings.ephemeral else "postgresql" if settings.store else "sqlite"


def _usual_name(host: str, urls: dict[str, str]) -> str:
    """The machine, and the port of its first face: nodes on one machine are told apart by that."""
    return f"{host}:{next(iter(urls.values())).rpartition(':')[2]}"


@contextmanager
def _certificates_in(settings: Settings) -> Iterator[Path]:
    """Where certificates are kept. They are read once, so those of an ephemeral region need no place after that."""
    if not settings.ephemeral:
        yield settings.data / "tls"
        return
    with TemporaryDirectory(prefix="forewarn-tls-") as directory:
        yield Path(directory)


def _certificates(settings: Settings, directory: Path, hosts: tuple[str, ...], now: datetime) -> tuple[TlsFiles, str]:
    """In the data directory, which only its owner may write, also where the journal is in a database."""
    from forewarn.web.resource_manager.login.tls import CERTIFICATE, prepare

    if not settings.ephemeral:
        own_directory.prepare(settings.data, directory.name)
        own_directory.prepare(directory, CERTIFICATE)
    files = prepare(directory, hosts, now)
    return files, files.authority_pem()


class _Opening:
    """A server while it opens. What is open is on the stack, and closes with it."""

    def __init__(self, settings: Settings, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._stack = stack
        self.health = NodeHealth()
        self.answers, self._gauges = Answers(), Gauges()
        self.metrics = MetricsPage(self.health, self.answers, self._gauges, settings.unread_after)
        self._visible: Visible | None = None  # of the metadata face, if this node has one

    async def open_health(self) -> dict[str, str]:
        """Listen for health checks before everything else: a start may take long, and this says so."""
        address = self._settings.health
        if address is None:
            return {}
        listening = self._listen(address, "health")
        others = MetricsAlone(self.metrics) if self._settings.metrics else nothing_else
        await self._serve(HealthPaths(others, self.health), listening, "health")
        return {"health": url_of("http", address, listening)}

    async def open_faces(self, server: Assembly) -> dict[str, str]:
        """Open the faces that this node shall have. The control face is the last, because it tells of the others."""
        addresses, urls = self._settings.addresses, dict.fromkeys(("metadata", "control", "resource_manager"), "")
        introduced = None
        if "metadata" in addresses:
            urls["metadata"] = await self._open_metadata(server, addresses["metadata"])
        if "resource_manager" in addresses:
            address = addresses["resource_manager"]
            introduced, urls["resource_manager"] = await self._open_resource_manager(server, address)
        if "control" in addresses:
            urls["control"] = await self._open_control(server, addresses["control"], urls["metadata"], introduced)
        return {face: url for face, url in urls.items() if url}

    async def _open_metadata(self, server: Assembly, address: Address) -> str:
        tell_if_short_of_files(server.parts.metadata.limits)
        face = server.metadata_face()
        self._visible = face.visible
        if self._settings.readers:
            await self._open_readers(server, face, address)
            return f"http://{Address(address.host, face.port)}"
        self._gauges.has("metadata", lambda: face.connections)
        self._gauges.waits(lambda: face.waiting)
        with explained(address, "metadata"):
            await face.start(address.host, address.port)
        self._stack.push_async_callback(face.close)
        return f"http://{Address(address.host, face.port)}"

    async def _open_readers(self, server: Assembly, face: MetadataFace, address: Address) -> None:
        """The metadata port is theirs; the face itself serves the places that VMs have of their own."""
        from forewarn.server.readers.crew import Readers
        from forewarn.server.readers.sockets import bind_for_readers

        settings, backlog = self._settings, server.parts.metadata.limits.backlog
        with explained(address, "metadata"):
            sockets = await bind_for_readers(address.host, address.port, settings.readers, backlog)
        await face.start_beside(sockets[0])
        self._stack.push_async_callback(face.close)
        log = (settings.log_level, settings.log_format)
        readers = Readers(server.plane, face, server.parts, sockets, log=log)
        self._gauges.has("metadata", lambda: face.connections + readers.connections)
        self._gauges.waits(lambda: face.waiting + readers.waiting)
        self._gauges.reads(readers)
        self._stack.push_async_callback(readers.close)
        await readers.start()

    async def _open_resource_manager(self, server: Assembly, address: Address) -> tuple[Introduction, str]:
        """The face for az and the SDKs, which insist on https; where it is told to be found, and where it listens."""
        from forewarn.web.resource_manager.login.tokens import introduction

        settings, listening = self._settings, self._listen(address, "resource_manager")
        public = settings.resource_manager_url
        hosts = tuple(filter(None, (*hosts_of(address), *settings.hosts, urlsplit(public).hostname)))
        named = tuple(host for host in hosts if host != ANY_HOST)
        desk, app = await self._stack.enter_async_context(server.resource_manager(hosts=hosts))
        with _certificates_in(settings) as directory:
            try:
                now = server.parts.system.wall()
                files, authority = await asyncio.to_thread(_certificates, settings, directory, named, now)
            except OSError as problem:
                raise CommandFailed(f"the certificates in {directory} cannot be kept: {problem}.") from None
            await self._serve(
                self._behind(app, "resource_manager"), listening, "resource_manager", (files.certificate, files.key)
            )
        url = url_of("https", address, listening)
        return introduction(public or url, authority, desk), url

    async def _open_control(
        self, server: Assembly, address: Address, metadata_url: str, introduced: Introduction | None
    ) -> str:
        listening, hosts = self._listen(address, "control"), (*hosts_of(address), *self._settings.hosts)
        app = server.operator_app(
            metadata_url=metadata_url,
            hosts=hosts,
            resource_manager=introduced,
            visible=self._visible,
            metrics=self.metrics if self._settings.metrics else None,
            readers=self._gauges.readers,
        )
        await self._serve(self._behind(app, "operator"), listening, "operator")
        self._gauges.follow(partial(relays_of, app))
        self._stack.callback(end_streams, app)
        return url_of("http", address, listening)

    def _behind(self, app: ASGIApp, face: str) -> ASGIApp:
        """What stands before a face that may be behind a load balancer."""
        counted = CountedFace(app, face, self.answers, SYSTEM.elapsed, logged=self._settings.notes_answers)
        return HealthPaths(Forwarded(counted, self._settings.trusted_proxies), self.health)

    def tell_people(self, plane: Plane, notifications: Sequence[Notification]) -> None:
        """Begin to tell people of what should not stay so, until the server ends."""
        settings = self._settings
        notifier = Notifier(
            plane, notifications, this_machine(), region_name=settings.name, unread_after=settings.unread_after
        )
        self._gauges.tells(notifier.told)
        self._stack.push_async_callback(notifier.close)
        self._stack.callback(asyncio.create_task(notifier.watch_on()).cancel)

    def tell_collector(self, node: str) -> None:
        """Begin to send figures, and spans where they are wanted, by OTLP, until the server ends."""
        from forewarn.server.otlp.sender import OtlpSender  # not loaded where it is not wanted

        settings = self._settings
        spans, every = settings.otlp_traces, settings.otlp_every
        sender = OtlpSender(settings.otlp, self.metrics.look, SYSTEM.wall, node=node, every=every, spans=spans)
        self._stack.push_async_callback(sender.close)
        self._stack.callback(asyncio.create_task(sender.send_on()).cancel)

    def _listen(self, address: Address, setting: str) -> socket.socket:
        listening = listen(address, setting)
        self._stack.callback(listening.close)
        return listening

    async def _serve(
        self, app: ASGIApp, listening: socket.socket, face: str, certificate: tuple[Path, Path] | None = None
    ) -> None:
        answering = await serve_app(app, listening, f"{face.replace('_', ' ')} face", certificate)
        self._gauges.has(face, answering.connections)
        self._stack.push_async_callback(answering.close)

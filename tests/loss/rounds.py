"""One round: a world, a load, faults, healing, quiet; then everything is held against everything."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec

from forewarn.plane.clock import wall_time
from tests.loss.checker import figures, latest_start, losses
from tests.loss.faults import BEHIND_ITS_BACK, EVERY, OF_NODES, OF_STORES, SOLE, Nemesis, striking
from tests.loss.guests import Guests
from tests.loss.history import History, Note, Notebook, Trouble, read_notes
from tests.loss.line import Lines
from tests.loss.machines import Node
from tests.loss.operators import Operator
from tests.loss.power import Recording, cut_losses, recording_of
from tests.loss.roster import Roster
from tests.loss.sabotage import VARIABLE
from tests.loss.world import STALENESS_SECONDS, Watch, World, lone_world, read_all, shared_world
from tests.waiting import until

_GUESTS = 8
_OPERATORS = 6


@dataclass(frozen=True)
class Plan:
    """What to do. ``faults`` are done in their order, once; without them chance decides for so many seconds."""

    seed: int
    shared: bool = True
    faults: tuple[str, ...] = ()
    seconds: float = 30.0
    longest_fault_seconds: float = 5.0
    disable_seconds: int = 0  # without a read, after which a scope is disabled; 0 leaves it at a day
    sabotage: str = ""  # a fault of the program's own, see sabotage.py
    at_once: bool = False  # two at work: one on nodes and wires, one on the store
    behind_its_back: bool = False  # whether files go away and bits turn, where the node has a store of its own
    cuts: int = 0  # of power, where the node has a store of its own
    started: int = 0  # on so many of them the server is started again


@dataclass(frozen=True)
class Verdict:
    """What came of a round."""

    losses: list[str]
    figures: Counter[str]
    seconds: float
    latest_start_seconds: float = 0.0  # after its NotBefore


@dataclass(frozen=True)
class Lived:
    """A round that is over, and not judged yet."""

    history: History
    wrong: list[str]  # with how its nodes ended
    recording: Recording | None = None  # where its node has a store of its own


def run_round(plan: Plan, directory: Path) -> Verdict:
    """Everything that happens is written below ``directory``, and stays there."""
    began = time.monotonic()
    lived = live(plan, directory)
    found, counted = [*lived.wrong, *losses(lived.history)], figures(lived.history)
    if lived.recording is not None and not found:
        found += cut_losses(lived.recording, directory / "cuts", plan.seed, plan.cuts, plan.started)
        counted["power cuts"] = plan.cuts
    (directory / "losses.txt").write_text("".join(f"{loss}\n" for loss in found))
    return Verdict(found, counted, time.monotonic() - began, latest_start(lived.history))


def live(plan: Plan, directory: Path) -> Lived:
    """One round, to its end."""
    directory.mkdir(parents=True, exist_ok=True)
    environment = {VARIABLE: plan.sabotage} if plan.sabotage else {}
    if plan.disable_seconds:
        environment["FOREWARN_DISABLE_AFTER"] = f"{plan.disable_seconds}s"
    opened = shared_world(directory, environment)
    if not plan.shared:
        opened = lone_world(directory, environment, readers=plan.seed % 2 == 0)
    with opened as world:
        wrong = _live_through(plan, world)
        history = _collect(plan, world)
    if world.watched is None or any(
        isinstance(note, Trouble) and note.kind in BEHIND_ITS_BACK for note in history.notes
    ):
        return Lived(history, wrong)
    return Lived(history, wrong, recording_of(world.disk.place, world.watched, history))


def _live_through(plan: Plan, world: World) -> list[str]:
    """Load, faults, healing, quiet, and the end of the nodes; what was wrong with how they ended."""
    chance, roster = random.Random(plan.seed), Roster()
    directory = world.directory
    operators = [
        Operator(number, world.nodes, roster, random.Random(chance.random()), directory) for number in range(_OPERATORS)
    ]
    guests = [
        Guests(number, _GUESTS, world.doors, roster, random.Random(chance.random()), directory)
        for number in range(_GUESTS)
    ]
    with ExitStack() as stack:
        clients: list[Guests | Operator] = [*guests, *operators]
        for client in clients:
            stack.callback(client.stop)
        operators[0].prepare()
        for client in clients:
            client.start()
        _harm(plan, world, chance)
        world.heal()
        for operator in operators:
            operator.leave()
        for guest in guests:
            guest.close_everything()
        world.await_ready()
        operators[0].join()
        wrong = [*_of_healed(world, operators[0])]
        _await_quiet(world, operators[0])
        for guest in guests:
            guest.leave()
    return wrong + world.close()


def _of_healed(world: World, operator: Operator) -> Iterator[str]:
    """Nothing of what was done to a program may stay with it: each node takes writes again, each relay reads."""
    for node in world.nodes:
        try:
            until(partial(operator.works_through, node), "it takes a write")
        except AssertionError:
            yield f"node {node.name} takes no writes, though everything is healed"
    for relay in world.relays:
        try:
            until(relay.answers, "it knows what there is")
        except AssertionError:
            yield f"{relay.name} turns everybody away, though everything is healed"


def _harm(plan: Plan, world: World, chance: random.Random) -> None:
    book = Notebook(world.directory / "troubles.notes")
    of_one = [(*SOLE, *BEHIND_ITS_BACK)] if plan.behind_its_back else [SOLE]
    kinds = of_one if not plan.shared else [OF_NODES, OF_STORES] if plan.at_once else [EVERY]
    nemeses = [
        Nemesis(world, random.Random(chance.random()), book, plan.longest_fault_seconds, plan.faults, among)
        for among in kinds
    ]
    try:
        with striking(nemeses):
            if plan.faults:
                for nemesis in nemeses:
                    nemesis.finish()
            else:
                time.sleep(plan.seconds)
    finally:
        book.close()


def _await_quiet(world: World, operator: Operator) -> None:
    """Until every event has ended. Whether they do is the judge's to say: here it is only waited for."""
    with ExitStack() as stack:
        says_quiet: Callable[[], bool]
        if world.server is None:
            says_quiet = partial(_says_quiet, world.nodes[0])
        else:
            says_quiet = Watch(stack.enter_context(world.journal())).is_quiet

        def is_quiet() -> bool:
            operator.close_events()
            return says_quiet()

        with suppress(AssertionError):
            until(is_quiet, "the region is quiet")


def _says_quiet(node: Node) -> bool:
    """Nothing is due before the scopes lapse, a day from now."""
    lines = Lines(5.0)
    try:
        clock = lines.ask(node.control_port, "GET", "/v1/clock", {}).json
    finally:
        lines.close()
    due = clock.get("next_deadline") if clock else ""
    return due is None or (due != "" and datetime.fromisoformat(due) > wall_time() + timedelta(hours=1))


def _collect(plan: Plan, world: World) -> History:
    directory = world.directory
    ended, offset = world.now(), wall_time().timestamp() - time.monotonic()
    with world.journal() as journal:
        records = read_all(journal)
        flaws = tuple(journal.verify())
    (directory / "journal.jsonl").write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in records))
    notes: list[Note] = read_notes([*directory.glob("*.notes"), *directory.glob("*.begun")])
    disable = float(plan.disable_seconds or 86_400)
    return History(tuple(records), tuple(notes), offset, ended, STALENESS_SECONDS, disable, flaws)

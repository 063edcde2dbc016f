"""What documents must show, told a second time: from the decisions, with dictionaries, and without a look at the core.

The model leaves four things to the region and only checks them: which host a VM gets, which id an event gets, when
exactly a campaign takes which host, and which of several events that may start takes a VM first. It is told what has
started; that all of it might, and that nothing else could have, is for the model to say.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.model.decisions import DAY, KINDS, SECOND, USER_KINDS, Audience, Machine, Notice


class Model:
    """The region, told by somebody who has read the decisions and nothing else."""

    def __init__(self, now: datetime, update_domains: int, limit: int) -> None:
        self.now = now
        self.update_domains = update_domains
        self.limit = limit
        self.machines: dict[str, Machine] = {}
        self.audiences: dict[str, Audience] = {}
        self.notices: dict[str, Notice] = {}
        self.lone_made = 0
        self.started: list[str] = []  # by the region, in its last step

    # What people do

    def create(self, name: str, scope: str, role: str = "", **more: object) -> None:
        lone = scope.startswith("vm/")
        audience = self.audiences.setdefault(scope, Audience())
        number = self.lone_made if lone else audience.made.get(role, 0)
        if lone:
            self.lone_made += 1
        else:
            audience.made[role] = number + 1
        resource = f"{role}_IN_{number}" if role else name
        machine = Machine(name, scope, resource, number, number % self.update_domains)
        for key, value in more.items():
            setattr(machine, key, value)
        self.machines[name] = machine

    def read(self, name: str, at: datetime) -> None:
        scope = self.machines[name].scope
        audience = self.audiences[scope]
        if not audience.enabled:
            self._tell_what_is_ahead(scope)
        audience.enabled, audience.last_read = True, max(at, audience.last_read or at)
        self.settle()

    def _tell_what_is_ahead(self, scope: str) -> None:
        for notice in self.notices.values():
            if notice.scope == scope and notice.pending and not notice.announced:
                notice.announced = True
                notice.phase = "approved" if notice.kind in self.audiences[scope].auto else "scheduled"

    def delete(self, name: str, new_id: str | None) -> None:
        """``new_id`` where the region says that an event was made; the model knows whether there should be one."""
        machine = self.machines[name]
        pending = any(n.kind == "deletion" and name in n.targets for n in self.notices.values())
        if pending:
            assert new_id is None, f"deleting {name} again made another event"
        elif machine.terminate_notice is None or not self.audiences[machine.scope].enabled:
            assert new_id is None, f"deleting {name} made an event"
            self._remove(name)
        else:
            assert new_id is not None, f"deleting {name} made no event"
            self._raise(new_id, "deletion", [name], machine.terminate_notice)
        self.settle()

    def ask(self, kind: str, name: str, new_id: str | None) -> None:
        """A user's restart or redeploy, or an eviction."""
        if self._joins(kind, name):
            assert new_id is None, f"{kind} of {name} again made another event"
            return
        assert new_id is not None, f"{kind} of {name} made no event"
        self._raise(new_id, kind, [name], KINDS[kind].notice)
        self.settle()

    def over_the_limit(self, names: list[str]) -> bool:
        """Whether one more operation for each of the VMs is too many."""
        return self.limit > 0 and self.user_operations() + len(names) > self.limit

    def would_wait(self, kind: str, name: str) -> bool:
        """Whether one more event would have to wait: for an approval, or for its turn."""
        audience = self.audiences[self.machines[name].scope]
        asks = audience.enabled and kind not in audience.auto
        return not self._joins(kind, name) and (asks or self._in_hand({name}))

    def _joins(self, kind: str, name: str) -> bool:
        return any(n.kind == kind and name in n.targets and not n.over for n in self.notices.values())

    def _in_hand(self, names: set[str], but: Notice | None = None) -> bool:
        """Whether something has one of them in hand: from its start until its impact has ended."""
        busy = (n for n in self.notices.values() if n is not but and not n.pending and not n.over)
        return any(n.targets & names for n in busy)

    def user_operations(self) -> int:
        return sum(n.pending and n.kind in USER_KINDS for n in self.notices.values())

    def stop(self, name: str) -> None:
        self.machines[name].down = True
        self.settle()

    def start(self, name: str) -> None:
        self.machines[name].down = False
        self.settle()

    def set_policy(self, scope: str, auto: set[str], all_down: bool) -> None:
        self.audiences[scope].auto, self.audiences[scope].all_down = auto, all_down
        self.settle()

    def maintain(self, kind: str, host: int, tenants: dict[str, tuple[str, list[str]]], campaign: str = "") -> None:
        """Work on a host; for each scope on it the new event's id and the VMs it names."""
        waits = kind != "failure" and any(self.audiences[scope].enabled for scope in tenants)
        group = f"{host} {sorted(new_id for new_id, _ in tenants.values())}"
        for scope, (new_id, names) in sorted(tenants.items()):
            notice = self._raise(new_id, kind, names, KINDS[kind].notice, wait=waits)
            notice.host, notice.campaign = host, campaign
            notice.group = group if notice.pending else ""
            if waits and not self.audiences[scope].enabled:
                notice.phase = "approved"
        self.settle()

    def check_that_nothing_is_in_the_way(self, campaign: str, tenants: dict[str, tuple[str, list[str]]]) -> None:
        """A campaign takes no VM that other work of a host is open for, and opens no second domain of a scope."""
        for scope, (_, names) in tenants.items():
            domain = self.machines[names[0]].update_domain
            for other in self.notices.values():
                if other.host is None or not other.targets:
                    continue
                theirs = self.machines[min(other.targets)].update_domain
                assert other.scope != scope or theirs == domain, f"{other.id} has domain {theirs} of {scope} open"
                assert other.campaign == campaign or not other.targets & set(names), f"{other.id} is in the way"

    def withdraw_work_on(self, host: int, names: list[str]) -> None:
        for notice in list(self.notices.values()):
            if notice.pending and notice.host == host and notice.targets & set(names):
                self._withdraw(notice)

    def spare(self, event_id: str, name: str) -> None:
        """A VM lives on another host now; where it went is the region's choice. What has started is not taken back."""
        notice = self.notices[event_id]
        assert notice.pending, f"{event_id} has started, and {name} was spared"
        assert notice.host is not None, f"{event_id} is about no host, and {name} was spared"
        self._leave(notice, name)

    def _leave(self, notice: Notice, name: str) -> None:
        """While it is ahead, an event names those only whom it will hit."""
        notice.targets.discard(name)
        if notice.pending:
            notice.resources = self._names(notice.targets)

    def _names(self, targets: set[str]) -> tuple[str, ...]:
        machines = sorted((self.machines[name] for name in targets), key=lambda m: (m.number, m.name))
        return tuple(machine.resource for machine in machines)

    def approve(self, ids: list[str]) -> None:
        for event_id in ids:
            if self.notices[event_id].phase == "scheduled":
                self.notices[event_id].phase = "approved"
        self.settle()

    def may_approve(self, ids: list[str], scope: str | None) -> bool:
        known = [self.notices.get(event_id) for event_id in ids]
        return all(n is not None and n.announced and scope in (None, n.scope) for n in known)

    def cancel(self, ids: list[str]) -> None:
        for event_id in ids:
            if event_id in self.notices:
                self._withdraw(self.notices[event_id])
        self.settle()

    def may_cancel(self, ids: list[str]) -> bool:
        return self.may_approve(ids, None) and all(self.notices[event_id].pending for event_id in ids)

    def cancel_campaign(self, campaign: str) -> None:
        for notice in list(self.notices.values()):
            if notice.campaign == campaign and notice.pending:
                self._withdraw(notice)
        self.settle()

    # What follows

    def _raise(
        self, new_id: str, kind: str, names: list[str], notice: timedelta, *, wait: bool | None = None
    ) -> Notice:
        machines = sorted((self.machines[name] for name in names), key=lambda m: (m.number, m.name))
        (scope,) = {machine.scope for machine in machines}
        assert len({machine.update_domain for machine in machines}) == 1
        made = Notice(
            id=new_id,
            kind=kind,
            scope=scope,
            targets=set(names),
            resources=self._names(set(names)),
            not_before=self._rounded_up(self.now + notice),
            announced=self.audiences[scope].enabled,
        )
        self.notices[new_id] = made
        if wait is None:
            wait = made.announced and kind not in self.audiences[scope].auto
        if not wait and new_id in self.started:
            self._begin(made)
        elif not wait:
            made.phase = "approved"
        return made

    @staticmethod
    def _rounded_up(instant: datetime) -> datetime:
        whole = instant.replace(microsecond=0)
        return whole if whole == instant else whole + SECOND

    def _begin(self, notice: Notice) -> None:
        """It starts, and the machines are taken in hand at once. Only who is told has to be given time to recover."""
        kind = KINDS[notice.kind]
        notice.phase, notice.ends = "started", self.now + kind.impact
        notice.leaves = notice.ends + (kind.recovery if notice.announced else 0 * SECOND)

    def _withdraw(self, notice: Notice) -> None:
        """With it goes the rest of the work on its host."""
        for other in list(self.notices.values()):
            if other is notice or (other.pending and other.group and other.group == notice.group):
                del self.notices[other.id]

    def _remove(self, name: str) -> None:
        machine = self.machines.pop(name)
        for notice in self.notices.values():
            if name in notice.targets:
                self._leave(notice, name)
        if machine.scope.startswith("vm/"):
            del self.audiences[machine.scope]

    def settle(self) -> None:
        """All that follows from what is there, until nothing follows any more."""
        moved = True
        while moved:
            moved = self._lapse()
            for notice in sorted(self.notices.values(), key=self._place):
                moved = self._move(notice) or moved

    def _place(self, notice: Notice) -> int:
        return self.started.index(notice.id) if notice.id in self.started else -1

    def check_that_all_has_started(self) -> None:
        """The region has told everything of its step: what is still ahead must not be able to start."""
        left = [notice.id for notice in self.notices.values() if notice.pending and self._may_start(notice)]
        assert not left, f"may start and has not: {left}"

    def _lapse(self) -> bool:
        late = [a for a in self.audiences.values() if a.last_read is not None and a.last_read + DAY <= self.now]
        for audience in late:
            audience.enabled, audience.last_read = False, None
        return bool(late)

    def _move(self, notice: Notice) -> bool:
        """One step of one event's life; whether there was one."""
        if notice.id not in self.notices:
            return False
        if not notice.targets or (notice.leaves is not None and notice.leaves <= self.now and notice.over):
            del self.notices[notice.id]
        elif notice.phase == "scheduled" and self._all_down(notice):
            notice.phase = "approved"
        elif notice.pending and notice.id in self.started and self._may_start(notice):
            self._begin(notice)
        elif not notice.pending and not notice.over and notice.ends is not None and notice.ends <= self.now:
            self._strike(notice)
        else:
            return False
        return True

    def _all_down(self, notice: Notice) -> bool:
        wanted = self.audiences[notice.scope].all_down
        return wanted and all(self.machines[name].down for name in notice.targets)

    def _may_start(self, notice: Notice) -> bool:
        others = [n for n in self.notices.values() if n.group and n.group == notice.group and n.pending]
        gathered = notice.phase == "approved" and all(other.phase == "approved" for other in others)
        return (gathered or notice.not_before <= self.now) and not self._in_hand(notice.targets, notice)

    def _strike(self, notice: Notice) -> None:
        notice.over = True
        for name in sorted(notice.targets):
            if notice.kind == "deletion" or (notice.kind == "eviction" and self.machines[name].deleted_when_evicted):
                self._remove(name)
            elif notice.kind == "eviction":
                self.machines[name].down = True

    # Time

    def next_deadline(self) -> datetime | None:
        dues = [a.last_read + DAY for a in self.audiences.values() if a.last_read is not None]
        for notice in self.notices.values():
            if notice.pending and self._in_hand(notice.targets, notice):
                continue  # what it waits for has an end of its own
            due = notice.not_before if notice.pending else (notice.leaves if notice.over else notice.ends)
            dues += [] if due is None else [due]
        return min(dues, default=None)

    # What is seen

    def shown(self, scope: str) -> dict[str, tuple[object, ...]]:
        """The events of a scope's document by id, each as its fields."""
        found: dict[str, tuple[object, ...]] = {}
        for notice in self.notices.values():
            if notice.scope == scope and notice.announced:
                kind, started = KINDS[notice.kind], notice.phase == "started"
                found[notice.id] = (
                    "Started" if started else "Scheduled",
                    kind.type,
                    notice.resources,
                    None if started else notice.not_before,
                    kind.description,
                    kind.source,
                    kind.seconds,
                )
        return found

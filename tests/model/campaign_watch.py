"""What a campaign may do, checked as it does it: one update domain at a time, every host once, and all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from forewarn.core.region import Event, Region


@dataclass
class CampaignWatch:
    """One campaign as an onlooker with the decisions in hand sees it."""

    id: str
    kind: str
    hosts_at_once: int
    steady: set[str]  # VMs that have been running where they are since it began
    state: str = "running"
    wave: int = -1
    hosts_of_wave: set[int] = field(default_factory=set)
    hit: set[str] = field(default_factory=set)

    def takes(self, host: int, events: list[Event], region: Region) -> None:
        """It has scheduled its events for a host."""
        assert self.state == "running", f"a campaign that is {self.state} took host {host}"
        domain = region.hosts[host].update_domain
        if domain != self.wave:
            assert domain > self.wave, "a campaign went back to an update domain"
            self.wave, self.hosts_of_wave = domain, set()
        assert host not in self.hosts_of_wave, "a campaign took a host twice"
        self.hosts_of_wave.add(host)
        named = {key for event in events for key in event.vms}
        assert named == set(region.hosts[host].vms), "a campaign left out a VM of a host"
        assert {event.cause.value for event in events} == {self.kind}
        self.hit |= named

    def look(self, region: Region) -> None:
        """What is open now keeps to its rules; what has ended has done all its work."""
        opened = [event for event in region.events.values() if event.campaign == self.id]
        assert len({event.update_domain for event in opened}) <= 1, "two update domains are open"
        if self.hosts_at_once:
            assert len({event.host for event in opened}) <= self.hosts_at_once
        state = region.campaigns[self.id].state.value
        if self.state == "running" and state == "completed":
            assert not opened
            assert self.steady <= self.hit, f"never hit: {sorted(self.steady - self.hit)}"
            self.state = state
        assert state == self.state, f"a campaign is {state} and should be {self.state}"

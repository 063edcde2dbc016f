"""Ids that a dry run had to make up, taken out of its answer.

The core derives ids from a seed of the request, so a dry run has some too, but they are not those that the request in
earnest will have: an answer that showed them would name events that never come to be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from forewarn.core import facts as f
from forewarn.core.region import Region, fold
from forewarn.core.specs import Orchestration

_WORD = re.compile(r"[\w-]+")
_IN_A_SENTENCE = "(yet to be made)"
_Told = TypeVar("_Told", bound=BaseModel)


def made_up(region: Region, facts: Iterable[f.Fact]) -> dict[str, str]:
    """What stands for each new id in an answer. ``region`` is the one after ``facts``.

    Nothing stands for the id of an event, a campaign or a VM. An instance of a flexible scale set is named after the
    seed as well; it is shown by the name of its set.
    """
    found: dict[str, str] = {}
    for fact in facts:
        if isinstance(fact, f.EventScheduled | f.EventBornStarted):
            found[fact.event.id] = ""
        elif isinstance(fact, f.CampaignStarted):
            found[fact.campaign_id] = ""
        elif isinstance(fact, f.VmCreated):
            found |= _of_vm(region, fact.name)
    return found


def _of_vm(region: Region, name: str) -> dict[str, str]:
    vm = region.vms.get(fold(name))
    if vm is None:  # made and gone again by one command
        return {}
    scale_set = region.scale_sets.get(fold(vm.scale_set)) if vm.scale_set else None
    flexible = scale_set is not None and scale_set.orchestration is Orchestration.FLEXIBLE
    return {vm.vm_id: ""} | ({vm.name: f"{vm.scale_set}_…"} if flexible else {})


def without(answer: _Told, ids: Mapping[str, str]) -> _Told:
    """The same answer with each of these ids replaced, in fields of any depth and within sentences."""
    told: _Told = _clean(answer, ids)
    return told


def _clean(value: Any, ids: Mapping[str, str]) -> Any:
    match value:
        case str():
            return ids[value] if value in ids else _WORD.sub(lambda word: _said(word[0], ids), value)
        case list():
            return [_clean(each, ids) for each in value if not (isinstance(each, str) and ids.get(each) == "")]
        case dict():
            return {key: _clean(each, ids) for key, each in value.items()}
        case BaseModel():
            fields = type(value).model_fields
            return value.model_copy(update={name: _clean(getattr(value, name), ids) for name in fields})
    return value


def _said(word: str, ids: Mapping[str, str]) -> str:
    return (ids[word] or _IN_A_SENTENCE) if word in ids else word

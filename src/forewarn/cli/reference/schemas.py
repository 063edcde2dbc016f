"""``region.toml`` and ``agent.toml`` as JSON Schema, for editors: made from what reads the files.

A schema knows tables, keys, types and words. What several keys mean together is known to ``settings check`` and ``agent
check`` alone; whatever these accept, the schemas accept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeAlias

from forewarn.cli.reference.agent_file import COMMON_WORDS, NOTIFICATION_WORDS, key_words
from forewarn.cli.reference.machine_tables import MACHINE_WORDS
from forewarn.cli.reference.region_file import BINDING_WORDS, VM_WORDS
from forewarn.cli.reference.region_file import NOTIFICATION_WORDS as REGION_NOTIFICATION_WORDS
from forewarn.guest.agent.config.notifications import NOTIFICATION_KINDS
from forewarn.guest.agent.config.reading import LOG_FORMATS
from forewarn.guest.agent.steps import KINDS
from forewarn.guest.agent.steps import keys as checks
from forewarn.guest.agent.telling.occasions import OCCASIONS
from forewarn.guest.agent.values import DAYS, SYSTEMS, Sharing, Verdict
from forewarn.settings import machine_entries as machines
from forewarn.settings import notification_file as told
from forewarn.settings.binding_file import BindingEntry
from forewarn.settings.fleet_file import EVICTION_POLICIES, TYPES, FleetEntry
from forewarn.settings.kinds import SWITCH
from forewarn.settings.table import SETTINGS, Setting
from forewarn.terms import EventSource, EventStatus, EventType

Schema: TypeAlias = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Schema = {"type": "string"}
_WORD: Schema = {"type": "string", "minLength": 1}
_FLAG: Schema = {"type": "boolean"}
_DURATION: Schema = {"type": "string", "pattern": "^ *[0-9]"}
_TEXTS: Schema = {"type": "array", "items": _WORD, "minItems": 1}
_TABLE: Schema = {"type": "object", "additionalProperties": _TEXT}
_TIME: Schema = {"type": "string", "pattern": "^[0-9]{2}:[0-9]{2}$"}
_CHECKED: dict[Callable[[object], str], Schema] = {
    checks.check_text: _WORD,
    checks.check_flag: _FLAG,
    checks.check_words: {"anyOf": [_WORD, _TEXTS]},
    checks.check_texts: _TEXTS,
    checks.check_table: _TABLE,
    checks.check_body: {"type": ["string", "object"]},
    checks.check_path: _WORD,
    checks.check_url: _WORD,
    checks.check_https: {"type": "string", "pattern": "^https://"},
    checks.check_method: _WORD,
    checks.check_duration: _DURATION,
}
_TYPED: dict[str, Schema] = {
    "str": _TEXT,
    "bool": _FLAG,
    "int": {"type": "integer"},
    "tuple[str, ...]": {"type": "array", "items": _TEXT},
    "Mapping[str, str]": _TABLE,
    "timedelta": _DURATION,
    "timedelta | None": {"anyOf": [_DURATION, {"const": "never"}]},
}
_OF_TYPE: dict[type, Schema] = {str: _TEXT, int: {"type": "integer"}, bool: _FLAG, dict: _TABLE}


def region_schema() -> Schema:
    """Every table and key of a region file."""
    vm = {each.name: _OF_TYPE[TYPES.get(each.name, str)] for each in fields(FleetEntry)}
    vm |= {"terminate_notice": _DURATION, "count": {"type": "integer", "minimum": 1}, "name": _WORD}
    vm["eviction_policy"] = {"enum": ["", *EVICTION_POLICIES]}
    binding = {each.name: _TEXT for each in fields(BindingEntry)}
    notification = {"kind": {"enum": list(told.KINDS)}, "url": _WORD, "url_file": _WORD, "on": _some(told.OCCASIONS)}
    notifying = _object(_described(notification, REGION_NOTIFICATION_WORDS), required=("kind",))
    properties = {
        "settings": _object({name: _setting(each) for name, each in SETTINGS.items()}),
        "vm": _array(_object(_described(vm, VM_WORDS), required=("name",))),
        "binding": _array(_object(_described(binding, BINDING_WORDS))),
        "notification": _array(notifying | {"oneOf": [{"required": ["url"]}, {"required": ["url_file"]}]}),
        "engine": _array(_entry(machines.EngineEntry, "[[engine]]") | _kinds_of_engines()),
        "host": _array(_entry(machines.HostEntry, "[[host]]")),
        "blueprint": _array(_entry(machines.BlueprintEntry, "[[blueprint]]")),
        "machines": _entry(machines.MachinesEntry, "[machines]"),
    }
    return _document("A region file of forewarn", properties)


def agent_schema() -> Schema:
    """Every table and key of an ``agent.toml``."""
    common = {"name": _WORD, "system": {"enum": list(SYSTEMS)}, "timeout": _DURATION}
    common |= {"retries": _FLAG, "repeatable": _FLAG}
    words = _described(common, COMMON_WORDS)
    steps = []
    for name, kind in KINDS.items():
        own = {key: _CHECKED[each.check] | {"description": each.about} for key, each in kind.keys.all.items()}
        needed = [key for key, each in kind.keys.all.items() if each.required]
        step = _object({"kind": {"const": name}} | words | own, required=("name", "kind", *needed))
        if kind.keys.either:
            step["oneOf"] = [{"required": [key]} for key in kind.keys.either]
        steps.append(step)
    properties = {
        "agent": _object(_described(_agent_keys(), key_words("agent"))),
        "rule": _array(_object(_described(_rule_keys(), key_words("rule")), required=("verdict",))),
        "step": _array({"type": "object", "oneOf": steps}),
        "window": _array(_object(_described(_window_keys(), key_words("window")), required=("from", "to"))),
        "barrier": _object(_described(_barrier_keys(), key_words("barrier"))),
        "notification": _array(_object(_described(_notification_keys(), NOTIFICATION_WORDS), required=("kind", "url"))),
    }
    return _document("An agent.toml of forewarn", properties)


def _agent_keys() -> dict[str, Schema]:
    texts = dict.fromkeys(("endpoint", "name", "status_listen"), _TEXT)
    durations = dict.fromkeys(("poll", "margin", "unhealthy_after"), _DURATION)
    return texts | durations | {"state_directory": _WORD, "log_format": {"enum": list(LOG_FORMATS)}}


def _rule_keys() -> dict[str, Schema]:
    return {
        "name": _TEXT,
        "verdict": {"enum": list(Verdict)},
        "types": _some(EventType),
        "sources": _some(EventSource),
        "statuses": _some(EventStatus),
        "names": _TEXTS,
        "shorter_than": _DURATION,
        "steps": _TEXTS,
        "system": {"enum": list(SYSTEMS)},
        "any_time": _FLAG,
    }


def _window_keys() -> dict[str, Schema]:
    return {"name": _TEXT, "days": _some(DAYS), "from": _TIME, "to": _TIME, "zone": _WORD}


def _barrier_keys() -> dict[str, Schema]:
    texts = dict.fromkeys(("listen", "address", "secret_file"), _TEXT)
    return {"sharing": {"enum": list(Sharing)}, "patience": _DURATION} | texts


def _notification_keys() -> dict[str, Schema]:
    return {"kind": {"enum": list(NOTIFICATION_KINDS)}, "url": _WORD, "on": _some(OCCASIONS)}


# Parts


def _document(title: str, properties: Mapping[str, Schema]) -> Schema:
    return {"$schema": _DRAFT, "title": title} | _object(properties)


def _object(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    found: Schema = {"type": "object", "additionalProperties": False, "properties": dict(properties)}
    needed = list(required)
    return found | {"required": needed} if needed else found


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _some(words: Iterable[str]) -> Schema:
    return {"type": "array", "items": {"enum": [str(each) for each in words]}, "minItems": 1, "uniqueItems": True}


def _described(properties: Mapping[str, Schema], words: Mapping[str, str]) -> dict[str, Schema]:
    return {key: schema | {"description": words[key]} for key, schema in properties.items()}


def _setting(setting: Setting) -> Schema:
    """Settings are text, and may be written as numbers; a switch also as true and false."""
    if setting.kind is SWITCH:
        kind: Schema = {"enum": [True, False, "on", "off", "1", "0", 1, 0]}
    elif setting.kind.choices:
        kind = {"enum": list(setting.kind.choices)}
    else:
        kind = {"type": ["string", "number"]}
    return kind | {"description": setting.help} | ({"default": setting.default} if setting.default else {})


def _entry(entry: type, title: str) -> Schema:
    known: tuple[Field[Any], ...] = fields(entry)
    needed = [each.name for each in known if each.default is MISSING and each.default_factory is MISSING]
    return _object(_described({each.name: _TYPED[str(each.type)] for each in known}, MACHINE_WORDS[title]), needed)


def _kinds_of_engines() -> Schema:
    return {"allOf": [{"properties": {"kind": {"enum": list(machines.KINDS)}}}]}

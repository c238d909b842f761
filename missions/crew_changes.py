"""What differs between two versions of a crew, in plain words."""

from collections.abc import Iterator, Mapping
from typing import Any

from .models import CrewVersion

SAID = {
    "description": "What {name} does was rewritten.",
    "model": "{name} asks another model.",
    "tools": "{name} may use other tools.",
    "rights": "{name} has other rights.",
}


def changes(before: CrewVersion, after: CrewVersion) -> list[str]:
    found = [f"The crew was renamed from {before.name} to {after.name}."] if before.name != after.name else []
    found += ["What it is good for was rewritten."] if before.good_for != after.good_for else []
    found += ["Its customs were written anew."] if before.customs != after.customs else []
    return [*found, *_agents(before.agents, after.agents)]


def _agents(before: list[Mapping[str, Any]], after: list[Mapping[str, Any]]) -> Iterator[str]:
    was, now = ({one["name"]: one for one in agents} for agents in (before, after))
    yield from (f"{name} is new." for name in now if name not in was)
    yield from (f"{name} is gone." for name in was if name not in now)
    for name in (name for name in now if name in was):
        yield from (said.format(name=name) for key, said in SAID.items() if was[name][key] != now[name][key])
    if before[0]["name"] != after[0]["name"]:
        yield f"{after[0]['name']} coordinates."

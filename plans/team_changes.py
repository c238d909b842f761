"""What differs between two versions of a team, in plain words."""

from collections.abc import Iterator, Mapping
from typing import Any

Held = Mapping[str, Any]
"""What a version of a team holds, as `TeamVersion.held` says it."""

SAID = {
    "description": "What it is for was rewritten.",
    "planner": "Another model plans.",
    "policy": "Who is asked changed.",
    "examples": "The tasks to try are others.",
}
OF_AGENT = {
    "description": "What {name} does was rewritten.",
    "system": "What {name} is told was rewritten.",
    "model": "{name} asks another model.",
    "fallback": "{name} has another fallback.",
}


def changes(before: tuple[str, Held], after: tuple[str, Held]) -> list[str]:
    """One sentence for each thing that changed."""
    (old_name, old), (new_name, new) = before, after
    renamed = [f"The team was renamed from {old_name} to {new_name}."] if old_name != new_name else []
    own = [sentence for name, sentence in SAID.items() if old[name] != new[name]]
    return [*renamed, *_agents(old, new), *own]


def _agents(before: Held, after: Held) -> Iterator[str]:
    was, now = ({one["name"]: one for one in held["agents"]} for held in (before, after))
    yield from (f"{name} is new." for name in now if name not in was)
    yield from (f"{name} is gone." for name in was if name not in now)
    for name in now.keys() & was.keys():
        yield from _of_agent(name, was[name], now[name])


def _of_agent(name: str, was: Held, now: Held) -> Iterator[str]:
    yield from (said.format(name=name) for key, said in OF_AGENT.items() if was[key] != now[key])
    gained, lost = sorted({*now["tools"]} - {*was["tools"]}), sorted({*was["tools"]} - {*now["tools"]})
    if gained:
        yield f"{name} has {', '.join(gained)} now."
    if lost:
        yield f"{name} has {', '.join(lost)} no more."

"""The ready-made crews: who is there from the beginning. The first one is taken where nothing else is said."""

from dataclasses import dataclass
from typing import Any

from .tools import NAMES

COORDINATOR = "Magi-01"
MANAGER = "LTM-Manager"
_COORDINATES = {"name": COORDINATOR, "description": "You coordinate the work and answer for its result."}
_READS = ("read_file", "ls", "find_files", "grep", "remember", "wait", "send_message")

CREWS: dict[str, tuple[dict[str, Any], ...]] = {
    "Coordinator": (_COORDINATES,),
    "Coordinator and helpers": (
        _COORDINATES,
        {"name": "Tester", "description": "You run tests and report the first failure. You correct nothing."},
        {"name": "Reader", "description": "You read files and answer what is in them.", "tools": list(_READS)},
    ),
}


@dataclass(frozen=True)
class Offered:
    """A crew to choose, in a few words; `agents` are the names."""

    name: str
    good_for: str
    agents: tuple[str, ...]


GOOD_FOR = {
    "Coordinator": "One agent with all tools. Best for most goals.",
    "Coordinator and helpers": "A tester and a reader beside, who answer when they are asked.",
}


def offered() -> list[Offered]:
    return [Offered(name, GOOD_FOR[name], tuple(one["name"] for one in crew)) for name, crew in CREWS.items()]


def agents(crew: str, model: str) -> list[dict[str, Any]]:
    """Columns of the agents of a ready-made crew."""
    return [made(one, model) for one in CREWS[crew]]


def made(one: dict[str, Any], model: str) -> dict[str, Any]:
    return {"tools": list(NAMES), "model": model, **{key: value for key, value in one.items() if value is not None}}

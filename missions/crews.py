"""Who is there from the beginning of a mission: crews by their names, and columns of their agents."""

from typing import Any

from runs.saved.forms import named

from .models import Crew, CrewVersion
from .tools import NAMES

READS = ("read_file", "ls", "find_files", "grep", "remember", "active_ltm", "wait", "send_message")
RIGHTS = {"library": "Finds all memories", "tidy": "May edit everybody’s short-term memory"}
COORDINATOR = {"name": "Magi-01", "description": "You coordinate the work and answer for its result."}


def offered() -> list[CrewVersion]:
    return [crew.current for crew in Crew.objects.offered().whole() if crew.current]


def names() -> list[str]:
    return [one.name for one in offered()]


def crew_named(which: str | int) -> CrewVersion | None:
    """Of that name or id; the first that is offered where none is named, if there is any. ValidationError."""
    if which:
        version: CrewVersion = named(Crew, which).current
        return version
    return next(iter(offered()), None)


def agents(version: CrewVersion | None, model: str) -> list[dict[str, Any]]:
    """Without a crew: a coordinator alone."""
    return [made(one, model) for one in (version.agents if version else [COORDINATOR])]


def made(one: dict[str, Any], model: str) -> dict[str, Any]:
    """Columns of an agent; what was not said stands as it does where nothing is."""
    said = {name: value for name, value in one.items() if value is not None and value != ""}
    return {"tools": list(NAMES), "model": model, **said}

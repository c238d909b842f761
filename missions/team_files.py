"""Crews as files: JSON with the keys of `CrewVersion.held` and a name, or Markdown with these as front matter and the
conventions as text."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from engine.llm.prompt_blocks import no_key_twice
from engine.tools import available_tools
from runs.forms import PlainTextField, validate_model
from runs.presets import NAME_LENGTH

from . import customs, memory_files
from .memory_files import FRONT
from .models import CrewVersion
from .models.presets import AGENT
from .presets import AGENT_RIGHTS
from .rules import MOST, agent_name_problem
from .tools import NAMES

LONGEST = 100_000  # characters
GOOD_FOR_LENGTH, DESCRIPTION_LENGTH = 300, 2_000
KEYS = ("name", "good_for", "agents", "customs")
FINISH = "finish"
NO_TEXT = "It has to be a text."


class InvalidMissionTeamFile(Exception):
    """The file is invalid. `problems` are pairs of path and sentence."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__("\n".join(": ".join(filter(None, one)) for one in problems))
        self.problems = problems


@dataclass(frozen=True)
class ParsedMissionTeam:
    """A parsed crew; `held` is the content of a version."""

    name: str
    held: Mapping[str, Any]


def team_file_text(version: CrewVersion) -> str:
    return json.dumps({"name": version.name, **version.held()}, ensure_ascii=False, indent=2) + "\n"


def parse_team_file(text: str) -> ParsedMissionTeam:
    """Parse JSON or Markdown. Raises InvalidMissionTeamFile with all problems."""
    if len(text) > LONGEST:
        raise InvalidMissionTeamFile([("", f"The file has {len(text):,} characters, and {LONGEST:,} are taken.")])
    if begins := FRONT.match(text):
        return parse_team(_of_front_matter(begins[0], text[begins.end() :]))
    try:
        given = json.loads(text, object_pairs_hook=no_key_twice)
    except (ValueError, RecursionError) as error:
        raise InvalidMissionTeamFile([("", f"It is no JSON: {error}")]) from error
    if not isinstance(given, dict):
        raise InvalidMissionTeamFile([("", "It has to be one JSON object, with `name` and `agents`.")])
    return parse_team(given)


def _of_front_matter(front: str, text: str) -> dict[str, Any]:
    try:
        given = memory_files.loaded(front)
    except memory_files.InvalidMemoryFile as wrong:
        raise InvalidMissionTeamFile([("", str(wrong))]) from wrong
    return given | ({"customs": text.strip()} if text.strip() else {})


def team_file_markdown(version: CrewVersion) -> str:
    held = version.held()
    own = held.pop("customs", "")
    return f"---\n{memory_files.dumped({'name': version.name, **held})}---\n{own}\n"


def parse_team(given: Mapping[str, Any]) -> ParsedMissionTeam:
    problems = list(_problems(given))
    if problems:
        raise InvalidMissionTeamFile(problems)
    agents = [{name: one.get(name, usual) for name, usual in AGENT.items()} for one in given["agents"]]
    own = (given.get("customs") or "").strip()
    held = {"good_for": given.get("good_for") or "", "agents": agents, **({"customs": own} if own else {})}
    return ParsedMissionTeam(given["name"].strip(), held)


def _problems(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((key, "This is not known here.") for key in given if key not in KEYS)
    yield from _of_text("name", given.get("name", ""), NAME_LENGTH, needed="Give the crew a name.")
    yield from _of_text("good_for", given.get("good_for") or "", GOOD_FOR_LENGTH)
    yield from _of_text("customs", given.get("customs") or "", customs.LONGEST)
    agents = given.get("agents")
    if not isinstance(agents, list) or not 0 < len(agents) <= MOST["agents"]:
        yield "agents", f"A crew has one to {MOST['agents']} agents. The first coordinates."
        return
    taken: list[str] = []
    for number, one in enumerate(agents):
        path = f"agents.{number}"
        if not isinstance(one, dict):
            yield path, "It has to be an object."
            continue
        yield from _of_agent(path, one, taken)
        taken.append(str(one.get("name", "")))
    tools = agents[0].get("tools") if isinstance(agents[0], dict) else None
    if isinstance(tools, list) and FINISH not in tools:
        yield "agents.0.tools", "The first coordinates and needs finish."


def _of_agent(path: str, one: Mapping[str, Any], taken: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from ((f"{path}.{key}", "This is not known here.") for key in one if key not in AGENT)
    name = one.get("name", "")
    if wrong := NO_TEXT if not isinstance(name, str) else agent_name_problem(name, taken):
        yield f"{path}.name", wrong
    yield from _of_text(f"{path}.description", one.get("description") or "", DESCRIPTION_LENGTH)
    yield from _of_model(f"{path}.model", one.get("model") or "")
    yield from _of_list(f"{path}.tools", one.get("tools"), {*NAMES, *available_tools("mission")}, "tool")
    yield from _of_list(f"{path}.rights", one.get("rights"), AGENT_RIGHTS, "right")


def _of_text(path: str, value: Any, longest: int, needed: str = "") -> Iterator[tuple[str, str]]:
    if not isinstance(value, str):
        yield path, NO_TEXT
        return
    try:
        PlainTextField(max_length=longest, needed=needed, lines=True).clean(value)
    except ValidationError as error:
        yield path, str(error.messages[0])


def _of_model(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(value, str):
        yield path, NO_TEXT
        return
    try:
        validate_model(value)
    except ValidationError as error:
        yield path, str(error.messages[0])


def _of_list(path: str, value: Any, known: Any, noun: str) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if not isinstance(value, list):
        yield path, "It has to be a list."
        return
    for one in value:
        if not isinstance(one, str) or one not in known:
            yield path, f"There is no {noun} “{str(one)[:60]}”."

"""Teams as JSON files: our own format, and that of the program which defined the endpoints under /api/automation.

Our format has the keys of `team_file_object`. In the other one `agents[].system_message`, `agents[].deployment_name`
and `starting_tasks` are read as `system`, `model` and `examples`. Unknown keys, and models and tools that do not exist
here, are listed in `ParsedTeam.left_out`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError

from engine.councils import council_complaint, with_name_now
from engine.llm.prompt_blocks import no_key_twice
from engine.names import look_alike
from engine.policy import BOTH, COUNCIL, parse_policy
from engine.tools import available_tools, server_tools
from runs.forms import PlainTextField, validate_fallback, validate_model
from runs.presets import NAME_LENGTH

from .models.presets import AGENT, OWN, TeamVersion
from .prompts.planner import PERSON
from .rules.approval_policy import CAREFUL_POLICY, TeamPolicy, each_demand
from .rules.enums import StepEffect

LONGEST = 200_000  # characters of a file
MOST_AGENTS = 8
MOST_EXAMPLES = 20
FOREIGN_FIELD_NAMES = {"system_message": "system", "deployment_name": "model", "starting_tasks": "examples"}
LENGTHS = {"name": NAME_LENGTH, "description": 300, "system": 12_000, "example": 2_000, "model": 200}
_TEXTS = {
    "name": PlainTextField(max_length=LENGTHS["name"], needed="It needs a name."),
    "description": PlainTextField(max_length=LENGTHS["description"]),
    "system": PlainTextField(max_length=LENGTHS["system"], lines=True),
    "example": PlainTextField(max_length=LENGTHS["example"], needed="It is empty.", lines=True),
    "model": PlainTextField(max_length=LENGTHS["model"]),
}


class InvalidTeamFile(Exception):
    """The file is no team; `problems` has a path and a sentence each."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("\n".join(f"{path}: {sentence}" if path else sentence for path, sentence in problems))
        self.problems = problems


@dataclass(frozen=True)
class ParsedTeam:
    """`held`: arguments of `Team.objects.create_first`. `left_out`: unused parts of the file, a sentence each."""

    name: str
    held: Mapping[str, Any]
    left_out: tuple[str, ...]


def team_file_text(version: TeamVersion) -> str:
    return as_json(team_file_object(version))


def team_file_object(version: TeamVersion) -> dict[str, Any]:
    """Return the team with the current names of its councils: an importer accepts names as well as ids."""
    held = version.held()
    return {"name": version.name, **held, "policy": each_demand(held["policy"], with_name_now)}


def as_json(team: Mapping[str, Any]) -> str:
    return json.dumps(team, ensure_ascii=False, indent=2) + "\n"


def parse_team_file(text: str) -> ParsedTeam:
    """Parse a file. Raises InvalidTeamFile with all problems at once."""
    return parse_team(_object_of(text))


def parse_team(given: Mapping[str, Any]) -> ParsedTeam:
    return _TeamParser(given).team()


def _object_of(text: str) -> dict[str, Any]:
    if len(text) > LONGEST:
        raise InvalidTeamFile([("", f"The file has {len(text):,} characters, and {LONGEST:,} are taken.")])
    try:
        given = json.loads(text, object_pairs_hook=no_key_twice)
    except (ValueError, RecursionError) as error:
        raise InvalidTeamFile([("", f"The file is no JSON: {error}")]) from error
    if not isinstance(given, dict):
        raise InvalidTeamFile([("", "The file has to be one JSON object, with `name` and `agents`.")])
    return given


@dataclass
class _TeamParser:
    given: Mapping[str, Any]
    problems: list[tuple[str, str]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def team(self) -> ParsedTeam:
        own = self._known(self.given, {"name", "agents", *OWN}, "")
        held = {
            "description": self._text("description", own.get("description"), "description"),
            "planner": self._model(own.get("planner"), "planner"),
            "policy": self._policy(own.get("policy")),
            "examples": list(self._examples(own.get("examples"))),
            "agents": list(self._agents(own.get("agents"))),
        }
        name = self._text("name", own.get("name"), "name")
        if self.problems:
            raise InvalidTeamFile(self.problems)
        return ParsedTeam(name, held, tuple(self.left_out))

    def _known(self, given: Mapping[str, Any], known: set[str], path: str) -> dict[str, Any]:
        """Return the known values under our names, and note unknown keys as left out."""
        renamed = {FOREIGN_FIELD_NAMES.get(key, key): value for key, value in given.items()}
        self.left_out += [f"{path}{key} is not known here." for key in renamed if key not in known]
        return {key: value for key, value in renamed.items() if key in known}

    def _text(self, kind: str, value: Any, path: str) -> str:
        if value is not None and not isinstance(value, str):
            self.problems.append((path, "It has to be a text."))
            return ""
        try:
            return str(_TEXTS[kind].clean(value or ""))
        except ValidationError as error:
            self.problems.append((path, str(error.messages[0])))
            return ""

    def _list(self, value: Any, path: str, most: int) -> list[Any]:
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > most:
            self.problems.append((path, f"It has to be a list of at most {most}."))
            return []
        return value

    def _examples(self, value: Any) -> Iterator[str]:
        for number, one in enumerate(self._list(value, "examples", MOST_EXAMPLES)):
            task = one.get("prompt") or one.get("name") if isinstance(one, dict) else one
            yield self._text("example", task, f"examples.{number}")

    def _agents(self, value: Any) -> Iterator[dict[str, Any]]:
        agents = self._list(value, "agents", MOST_AGENTS)
        if not agents:
            self.problems.append(("agents", f"A team has one to {MOST_AGENTS} agents."))
        names: list[str] = []
        for number, one in enumerate(agents):
            path = f"agents.{number}"
            if not isinstance(one, dict):
                self.problems.append((path, "It has to be an object."))
                continue
            agent = self._agent(self._known(one, set(AGENT), f"{path}."), path)
            if same := look_alike(agent["name"], (PERSON, *names)):
                self.problems.append((f"{path}.name", f"“{agent['name']}” is taken, or looks like “{same}”."))
            names.append(agent["name"])
            yield agent

    def _agent(self, given: Mapping[str, Any], path: str) -> dict[str, Any]:
        model = self._model(given.get("model"), f"{path}.model")
        return {
            "name": self._text("name", given.get("name"), f"{path}.name"),
            "description": self._text("description", given.get("description"), f"{path}.description"),
            "system": self._text("system", given.get("system"), f"{path}.system"),
            "model": model,
            "fallback": self._model(given.get("fallback"), f"{path}.fallback", instead_of=model),
            "tools": list(self._tools(given.get("tools"), f"{path}.tools")),
        }

    def _tools(self, value: Any, path: str) -> Iterator[str]:
        known = [*available_tools("plan"), *server_tools()]
        for name in dict.fromkeys(map(str, self._list(value, path, len(known)))):
            if name in known:
                yield name
            else:
                self.left_out.append(f"{path}: there is no tool “{name[:80]}” here.")

    def _model(self, value: Any, path: str, instead_of: str | None = None) -> str:
        """Return the model; empty, and noted as left out, if no provider serves it. Then the default is used."""
        model = self._text("model", value, path)
        try:
            return validate_model(model) if instead_of is None else validate_fallback(model, instead_of)
        except ValidationError as error:
            self.left_out.append(f"{path}: {error.messages[0]}")
            return ""

    def _policy(self, value: Any) -> dict[str, Any]:
        if value is None:
            return CAREFUL_POLICY.as_json()
        try:
            policy = TeamPolicy.of(value)
            for demand in (policy.plan, *policy.steps.values(), *policy.calls.values()):
                parse_policy(demand)
            if {*policy.steps, *policy.calls} != set(StepEffect) or not isinstance(policy.ahead, bool):
                raise ValueError("It has to say `plan`, `steps` and `calls` for each effect, and `ahead`.")
        except KeyError as missing:
            self.problems.append(("policy", f"It is no policy: {missing.args[0]} is missing."))
            return {}
        except (TypeError, AttributeError, ValueError) as error:
            self.problems.append(("policy", f"It is no policy: {error}"))
            return {}
        self.left_out += dict.fromkeys(
            f"policy: {complaint} Persons are asked in its place."
            for demand in (policy.plan, *policy.steps.values(), *policy.calls.values())
            if (complaint := unknown_council(demand))
        )
        return policy.as_json()


def unknown_council(demand: Mapping[str, Any]) -> str:
    """Return why the council in a demand cannot decide, in a sentence; empty if it can, or if there is none."""
    name = demand.get("council") or ""
    if demand.get("who") not in (COUNCIL, BOTH) or not name:
        return ""
    return council_complaint(name, demand.get("council_id"))

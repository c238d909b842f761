"""Schema and parsing of an agent's move. A move is one structured answer, so it works with any endpoint, and tools are
called by our code only.

Why so: engine/DESIGN.md, Tools.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.llm.prompt_blocks import misfit, one_object, unknown_name
from engine.llm.shapes import TEXT, Schema, arguments_by_tool, either, object_of, one_of

SUM_EXAMPLE = "15% of 80 is 12"  # in the calculator's description; an answer may repeat it


class AgentAct(StrEnum):
    CALL = "call"
    REPLY = "reply"
    ASK = "ask"
    GIVE_UP = "give_up"


@dataclass(frozen=True)
class AgentStep:
    """`thought` is one public sentence; `text` the reply, the question, or why it cannot be done."""

    act: AgentAct
    thought: str = ""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    text: str = ""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    thought: str = ""
    act: str
    tool: str | None = None
    arguments: str | dict[str, Any] | None = None
    text: str | None = None


# `arguments` is JSON in a string, so that one flat schema serves every tool.
SCHEMA = object_of({"thought": TEXT, "act": one_of(AgentAct), "tool": TEXT, "arguments": TEXT, "text": TEXT})


def exact_schema(tools: Mapping[str, Mapping[str, Any]], acts: Sequence[AgentAct]) -> Schema:
    """Return the JSON schema of a move: a call of one of the tools with its arguments, or another act with a text."""
    arguments = arguments_by_tool(tools) if AgentAct.CALL in acts else {}
    calls = [
        object_of({"thought": TEXT, "act": one_of([AgentAct.CALL]), "tool": one_of([name]), "arguments": one})
        for name, one in arguments.items()
    ]
    others = [act for act in acts if act is not AgentAct.CALL]
    return either([*calls, object_of({"thought": TEXT, "act": one_of(others), "text": TEXT})])


def read_step(text: str, tools: Mapping[str, type[BaseModel]]) -> AgentStep:
    """Parse an answer. `tools`: classes of arguments by name of the tool.

    Raises ValueError with a sentence that tells the model what to correct.
    """
    try:
        answer = _Answer.model_validate(one_object(text))
    except ValidationError as error:
        raise ValueError(f"The answer does not have the agreed form: {misfit(error)}.") from error
    if answer.act not in set(AgentAct):
        raise ValueError(f"There is no act “{answer.act[:40]}”. It is one of {', '.join(AgentAct)}.")
    act, thought = AgentAct(answer.act), answer.thought.strip()
    if act is AgentAct.CALL:
        return AgentStep(act, thought, answer.tool or "", arguments_of(answer.tool or "", answer.arguments, tools))
    if not (answer.text or "").strip():
        raise ValueError(f"To {act.replace('_', ' ')} takes a text: write it in “text”.")
    return AgentStep(act, thought, text=(answer.text or "").strip())


def arguments_of(
    name: str, arguments: str | dict[str, Any] | None, tools: Mapping[str, type[BaseModel]]
) -> dict[str, Any]:
    """Validate arguments (an object, or JSON in a text) with the tool's class, and add defaults.

    Raises ValueError as `read_step` does.
    """
    if name not in tools:
        raise ValueError(unknown_name(name, [*tools], "tool"))
    try:
        given = arguments if isinstance(arguments, dict) else json.loads(arguments or "{}")
        return tools[name].model_validate(given).model_dump(mode="json")
    except ValidationError as error:
        takes = ", ".join(tools[name].model_json_schema().get("properties", {})) or "none"
        raise ValueError(f"These arguments do not fit {name}: {misfit(error)}. It takes: {takes[:400]}.") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"The arguments of {name} are no JSON: write them as an object, not as a text.") from error


def step_problem(problem: str) -> str:
    return f"Your last answer could not be used: {problem} Make one move and answer with exactly one JSON object."

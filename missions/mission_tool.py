"""The tool by which agents of other procedures start a mission and wait for its result.

Why so: missions/DESIGN.md, Missions.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from engine.llm.providers import is_rehearsal
from engine.models import Effect, ModelCall, Run, ToolCall
from engine.tools import RunTool, Tool, ToolOutput, ToolRefused, ToolUse

from . import forms
from .display import changed_files
from .models import Mission
from .rules import why_check_failed

SHOWN_FILES = 50


class GivenFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str = Field(max_length=400)
    text: str = Field(max_length=100_000)


class MissionToolArguments(BaseModel):
    model_config = ConfigDict(title="Wanted", extra="forbid")

    goal: str = Field(
        min_length=1,
        max_length=forms.GOAL_LENGTH,
        description="What shall be so in the end. The crew knows nothing else: say all that it needs.",
    )
    check: str = Field(
        "", max_length=forms.CHECK_LENGTH, description="A command that ends with 0 where it is so; empty for none."
    )
    crew: str = Field("", max_length=forms.CREW_LENGTH, description="The name of a crew; empty for the usual one.")
    files: list[GivenFile] = Field(default=[], max_length=20, description="What lies in its workspace at first.")


def submit(asked: MissionToolArguments, use: ToolUse, made_by: Mapping[str, Any]) -> Mission:
    """Submit the mission. A rehearsal starts rehearsals."""
    files = [(one.path, one.text) for one in asked.files]
    rehearsed = _rehearsed_by(use.run)
    values, wrong = forms.submit_values({**asked.model_dump(exclude={"files"}), "model": rehearsed}, files)
    if wrong:
        raise ToolRefused("; ".join(f"{field}: {sentence}" for field, sentence in wrong))
    if rehearsed:
        values["agents"] = [{**one, "model": rehearsed} for one in values["agents"]]
    return Mission.objects.submit(**values, owner=made_by["owner"], made_by=made_by)


def _rehearsed_by(run: Run) -> str:
    """The model of the calling run if it is a rehearsal, otherwise empty."""
    asked = ModelCall.objects.filter(run=run).order_by("-pk").values_list("model", flat=True).first()
    return asked if asked and is_rehearsal(asked) else ""


def mission_result(run: Run) -> ToolOutput:
    """The outcome for the calling agent; marked as untrusted text if the mission has read any."""
    mission = Mission.objects.with_agents().get(pk=run.pk)
    outside = ToolCall.objects.filter(run=run, outside=True).exists()
    return ToolOutput("\n".join(filter(None, (_outcome(mission), _check(mission), _files(mission)))), outside=outside)


def _outcome(mission: Mission) -> str:
    return f"The mission came out as {mission.run.outcome}. {mission.unproven}".strip() + f"\nResult: {mission.result}"


def _check(mission: Mission) -> str:
    found = getattr(mission, "final_check", None)
    if found is None:
        return ""
    ended = (
        f"ended with {found.exit_code}"
        if found.exit_code is not None
        else f"could not run: {why_check_failed(found.reason)}"
    )
    return f"The check {found.command} {ended}."


def _files(mission: Mission) -> str:
    found = [f"{one.path} ({one.word.lower()})" for one in changed_files(mission)]
    more = f" and {len(found) - SHOWN_FILES} more" if len(found) > SHOWN_FILES else ""
    return f"Files that it changed: {', '.join(found[:SHOWN_FILES])}{more}." if found else ""


TOOLS = (
    Tool(
        "mission.carry_out",
        "Has a crew of agents carry out a goal in a sandbox without network, where they run commands and change files.",
        MissionToolArguments,
        Effect.WRITES,
        by_run=RunTool(submit, mission_result),
        deed=lambda asked: f"Have a crew pursue: {asked.goal}",
        contained=True,
    ),
)

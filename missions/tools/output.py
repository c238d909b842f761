"""The format of tool results: one line of JSON with facts, then a text, shortened to fit into the next prompt."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict

from engine.tools import ToolRefused, ToolUse, schema_title

from ..models import Mission, MissionAgent
from ..secret_redaction import redact_secrets

SHOWN, FIRST, LAST = 12_000, 4_000, 7_000  # characters


class MissionToolArgumentsBase(BaseModel):
    model_config = ConfigDict(extra="forbid", model_title_generator=schema_title)


def tool_text(tool: str, text: str = "", **facts: Any) -> str:
    head = json.dumps({"ok": True, "tool": tool, **facts}, ensure_ascii=False)
    return f"{head}\n{redact_secrets(text)}" if text else head


def output_facts(output: str) -> dict[str, Any]:
    """The facts in the first line; empty if it is no JSON object."""
    try:
        found = json.loads(output.partition("\n")[0])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def cut_text(text: str, advice: str) -> str:
    """The beginning and the end of a long text, with `advice` how to read the rest in between."""
    if len(text) <= FIRST + LAST:
        return text
    left_out = len(text) - FIRST - LAST
    return f"{text[:FIRST]}\n… {left_out:,} characters are left out; {advice} …\n{text[-LAST:]}"


def agent_of(use: ToolUse) -> MissionAgent:
    """The calling agent, from the step of the call. Reads rows, so it must run in a thread."""
    number, _, _ = use.step.partition(".")
    found = MissionAgent.objects.select_related("mission__run").filter(mission=use.run.pk, number=number or 0).first()
    if found is None:
        raise ToolRefused("Only an agent of a mission can do this.")
    return found


def mission_of(use: ToolUse) -> Mission:
    """The mission with all rows that rules read, as it is now."""
    return Mission.objects.active().get(pk=use.run.pk)

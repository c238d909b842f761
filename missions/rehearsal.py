"""Rehearsals of missions: scripts instead of models, so that a mission can be tried without an API key.

The goal selects the script (`examples`); for other goals a small program is written, run and corrected. Steps whose
tool the agent does not have are left out. Commands really run and change files. A helper waits for a message.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from engine.llm.prompt_blocks import read_fence

from .examples import EXAMPLES, OTHERWISE, MissionExample, ScriptedStep
from .prompts.steps import LAST

Messages = list[dict[str, str]]
MARK = "Rehearsal. "
OF_OTHERS = ("send_message", "wait")
HELPER = "Tester"


def rehearse_step(messages: Messages) -> str:
    now, role = now_of(messages), messages[0]["content"]
    tools = re.findall(r"^- ([\w.]+): ", role.partition("\n# Rules")[0], re.MULTILINE)
    example = next((one for one in EXAMPLES.values() if one.goal == text_of("GOAL", role).strip()), OTHERWISE)
    if "finish" not in tools:
        return _helping(example, tools, now["step"])
    own = [one for one in example.acts if one[1] in tools and (one[1] not in OF_OTHERS or _is_helped(now))]
    if messages[-1]["content"].endswith(LAST) or now["step"] > len(own):
        checked = "run_command" in tools and not text_of("CHECK", role)
        result = {"result": MARK + example.result, **({"check": example.check} if checked else {})}
        return _said("The script is at its end.", "finish", result)
    return _said(*_with_numbers(own[now["step"] - 1], now))


def _is_helped(now: dict[str, Any]) -> bool:
    """Whether the crew has a helper to write to."""
    return any(str(one).startswith(HELPER) for one in now.get("you_may_write_to", ()))


def _helping(example: MissionExample, tools: Sequence[str], number: int) -> str:
    """The step of a helper: it waits, does its part once it is woken, and waits again."""
    own = [("I wait until somebody needs me.", "wait", {}), *(one for one in example.helped if one[1] in tools)]
    if "run_command" not in tools or number > len(own):
        return _said("I wait until somebody needs me.", "wait" if "wait" in tools else None, {})
    return _said(*own[number - 1])


def _with_numbers(act: ScriptedStep, now: dict[str, Any]) -> ScriptedStep:
    """Replace the placeholder "asks" by the number of the running command."""
    sentence, tool, arguments = act
    if arguments.get("command_id") == "asks":
        living = [one for one in now["commands"] if " lives: " in one]
        number = int(living[-1].split()[0]) if living else 1
        return sentence, tool, {**arguments, "command_id": number}
    return act


def rehearse_summary(messages: Messages) -> str:
    return json.dumps({"summary": f"{MARK}What came before was left out.", "facts": []})


def rehearse_shortening(messages: Messages) -> str:
    return json.dumps({"text": f"{MARK}What was remembered was shortened."})


def _said(sentence: str, tool: str | None, arguments: dict[str, Any] | None) -> str:
    said = {"reasoning": MARK + sentence, "tool_name": tool}
    return json.dumps({**said, "tool_args": json.dumps(arguments) if tool is not None else None})


def now_of(messages: Messages) -> Any:
    """The values of the prompt's last fenced part."""
    text = messages[-1]["content"]
    return read_fence(text[text.rindex("BEGIN MATERIAL ") :])


def text_of(label: str, prompt: str) -> str:
    """The first text between boundary lines with this label; empty if there is none."""
    found = re.search(rf"^BEGIN {label} (\S+)\n(.*?)\nEND {label} \1$", prompt, re.MULTILINE | re.DOTALL)
    return found[2] if found else ""

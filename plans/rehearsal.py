"""Rehearsal of plans: rules in place of models, so that a plan can be tried without a provider's key.

1. The planner asks about a task of fewer than four words. Otherwise each line or sentence becomes a step, six at most,
   for the owner whose tools' descriptions share most words with it (from four letters on, by their first five), with
   the one tool that shares most; where none does, for the first owner, without a tool.
2. An agent calls that tool once. Arguments are taken from quotation marks (the last ones for people, else the first),
   addresses, dates, numbers and words in the action; of two moments the later is an hour after the other. Then the
   agent replies with the first line of the result. If the tool does not accept the arguments, it replies that the step
   does not say what the tool needs. If an action says "fail", its first series gives up.
3. Owner and tool of a step whose action was changed follow from the same rule; its present owner comes first.
4. The summary is the one by rule.

The rules are deterministic: the same task and team give the same plan.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from engine.llm.prompt_blocks import read_fence

from .prompts.planner import number_of_first
from .rules.claims import noted

FEWEST_WORDS = 4
MOST_STEPS = 6
FIRST_REQUEST_MESSAGES = 2  # more of them: the last answer was refused
ADDRESSED = ("to", "cc", "mail")  # the arguments that are addresses
PEOPLE = ("people", "who")  # the arguments that are people
ENDS = ("end", "until")  # the arguments that are the later one of two moments
QUESTION = "What should be done, with whom, and until when?"
Messages = list[dict[str, str]]


def rehearse_planner(messages: Messages) -> str:
    given = read_fence(messages[1]["content"])
    number_of_first(messages)  # raises if this is no planner's prompt
    task = " ".join([given["task"], *(answer for _, answer in given["answers"])])
    if len(re.findall(r"\w+", task)) < FEWEST_WORDS and not given["answers"]:
        return _json({"thought": "Rehearsal. The task is short.", "questions": [QUESTION], "steps": []})
    done = {step["action"] for step in given["fixed"]}
    actions = [action for action in _actions(task, given["notes"]) if action not in done]
    steps = [_step(action, given["owners"]) for action in actions or [task[:200]]]
    return _json({"thought": "Rehearsal. A step for each sentence.", "questions": [], "steps": steps})


def tools(messages: Messages) -> str:
    """Name owner and tools of a step whose action was changed, by the rule for steps."""
    given = read_fence(messages[1]["content"])
    own = sorted(given["owners"], key=lambda one: one["name"] != given["owner"])
    chosen = _step(given["action"], own)
    return _json({"thought": "Rehearsal. By what its tools say.", "owner": chosen["owner"], "tools": chosen["tools"]})


def _actions(task: str, notes: str) -> list[str]:
    """Split the task into actions; an action that failed gets other words, since the same would fail again."""
    parts = [part.strip(" -*\t") for part in re.split(r"\n+|(?<=[.!?;])\s+", task)]
    found = [part for part in parts if len(part) > 1]
    again = [f"{action} (another way)" if action in notes and " fail" in f" {action}" else action for action in found]
    return again[:MOST_STEPS]


def _step(action: str, owners: list[dict[str, Any]]) -> dict[str, Any]:
    best, owner, tools = 0, owners[0]["name"], list[str]()
    for one in owners:
        for tool in one["tools"]:
            shared = len(stems(action) & stems(f"{tool['name']} {tool['description']}"))
            if shared > best:
                best, owner, tools = shared, one["name"], [tool["name"]]
    return {"action": action, "owner": owner, "tools": tools, "needs": None}


def stems(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"[^\W\d_]{4,}", text.casefold())}


def rehearse_agent(messages: Messages) -> str:
    given = read_fence(messages[1]["content"])
    action, moves = given["action"], given["moves"]
    if re.search(r"\bfail\b", action) and "another way" not in action:
        return _move("give_up", text="Rehearsal. The step says that it fails.")
    if moves:
        result = next(iter(moves[-1]["result"].strip().splitlines()), "")
        return _move("reply", text=f"Rehearsal. {result or 'Done.'}")
    tool = _first_tool(messages[0]["content"], given)
    if not tool:
        return _move("reply", text=f"Rehearsal. {action}")
    name, schema = tool
    if len(messages) > FIRST_REQUEST_MESSAGES:
        return _move("reply", text=f"Rehearsal. No tool was used: the step does not say all that {name} needs.")
    return _move("call", tool=name, arguments=_json(arguments(action, schema)))


def _first_tool(system: str, given: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Return name and schema of the first tool in the prompt: of ours, else of an MCP server's in the material."""
    if ours := re.search(r"^([a-z_.0-9]+): .*\nArguments: (\{.*\})$", system, re.MULTILINE):
        return ours[1], json.loads(ours[2])
    return next(((one["name"], one["arguments"]) for one in given.get("tools", ())), None)


def arguments(action: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value from the action for each required property of the schema."""
    known = schema.get("$defs", {})
    fields = schema.get("properties", {})
    return {name: _value(action, fields.get(name, {}), known, name) for name in schema.get("required", ())}


def _value(action: str, field: Any, known: Mapping[str, Any], name: str = "") -> Any:
    """Return a value that fits a property; text if the schema (an MCP server's may be any) is not understood."""
    field, known = _meant(field, known)
    if "enum" in field:
        return field["enum"][0]
    kind, form = field.get("type"), field.get("format", "")
    if kind in ("integer", "number"):
        return _within(field, int(_first(r"\b\d{1,9}\b", action, "1")))
    if kind == "boolean":
        return False
    if kind == "array":
        return [_value(action, field.get("items", {}), known, name)]
    if kind == "object":
        fields = field.get("properties", {})
        return {name: _value(action, fields.get(name, {}), known, name) for name in field.get("required", fields)}
    if "date" in str(form):
        day = _first(r"\d{4}-\d\d-\d\d", action, "2026-01-05")
        return f"{day}T{'10' if name in ENDS else '09'}:00:00" if "time" in form else day
    return _text(action, name)


def _within(field: Mapping[str, Any], number: int) -> int:
    """Return the nearest number within the bounds; bounds that are no integers are ignored."""
    low, high = field.get("minimum"), field.get("maximum")
    number = max(number, low) if isinstance(low, int) else number
    return min(number, high) if isinstance(high, int) else number


def _meant(field: Any, known: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Resolve a `$ref` once: a reference to itself would never end."""
    if not isinstance(field, Mapping):
        return {}, known
    return (known.get(str(field["$ref"]).rpartition("/")[2], {}), {}) if "$ref" in field else (field, known)


def _text(action: str, name: str) -> str:
    if name in ADDRESSED:
        return _first(r"([\w.+-]+@[\w-]+(?:\.[\w-]+)+)", action, "somebody@example.org")
    quoted = re.findall(r"[“\"]([^”\"]+)[”\"]", action) or [action]
    return str(quoted[-1 if name in PEOPLE else 0])[:200]


def _first(pattern: str, text: str, otherwise: str) -> str:
    found = re.search(pattern, text)
    return (found[found.re.groups] if found else otherwise) or otherwise


def rehearse_summary(messages: Messages) -> str:
    given = read_fence(messages[1]["content"])
    done = [f"Step {step['place']}: {noted(step['note'], step['reply'] or step['status'])}" for step in given["steps"]]
    return _json({"summary": "\n".join([f"Rehearsal. The plan came out as {given['outcome']}.", *done])})


def _move(act: str, tool: str = "", arguments: str = "", text: str = "") -> str:
    thought = {"call": f"Rehearsal. {tool} fits.", "reply": "Rehearsal. That is all."}.get(act, "Rehearsal.")
    return _json({"thought": thought, "act": act, "tool": tool, "arguments": arguments, "text": text})


def _json(value: Mapping[str, Any] | Iterable[Any]) -> str:
    return json.dumps(value, ensure_ascii=False)

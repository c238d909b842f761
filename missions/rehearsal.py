"""How a mission is rehearsed: a stated script in place of models, so that everything can be watched with no key.

The coordinator writes a small program with a fault in it, runs it, reads the failure, corrects it, runs it again,
remembers what it was, answers a question that a command asks, and finishes with a command that shows the result. It
leaves out what it has no tool for. Whoever is written to later only says that it rehearses. Commands really run.
"""

import json
import re
from typing import Any

from engine.llm.prompting import read_fenced

Messages = list[dict[str, str]]

FAULTY = "def total(numbers):\n    return sum(numbers[1:])\n\n\nassert total([1, 2, 3]) == 6, total([1, 2, 3])\n"
FAULT, RIGHT = "sum(numbers[1:])", "sum(numbers)"
SHOWS = "python3 total.py && echo passed"
ASKS = "read -p 'Which month? ' month; echo \"Totals of $month are right.\""

SCRIPT: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "Rehearsal. A small program that adds numbers, with an example that it has to pass.",
        "write_to_file",
        {"path": "total.py", "content": FAULTY},
    ),
    ("Rehearsal. I run it to see whether its example passes.", "run_command", {"command": "python3 total.py"}),
    (
        "Rehearsal. The first number is left out: that is the fault.",
        "edit_file",
        {"path": "total.py", "target_text": FAULT, "replacement_text": RIGHT},
    ),
    ("Rehearsal. The same command again shows whether it is right now.", "run_command", {"command": SHOWS}),
    ("Rehearsal. What it was is worth keeping.", "remember", {"text": "The sum left out the first number."}),
    ("Rehearsal. A command that asks somebody something.", "run_command", {"command": ASKS, "timeout": 10}),
    (
        "Rehearsal. It asks for a month, so I type one.",
        "send_command_input",
        {"command_id": 3, "input": "May\n", "wait": 3},
    ),
)
FINISH = "Rehearsal. No model worked on this goal: a stated script wrote a small program, ran it and corrected it."


def step(messages: Messages) -> str:
    now = _now(messages[-1]["content"])
    tools = re.findall(r"^- ([\w.]+): ", messages[0]["content"], re.MULTILINE)
    own = [one for one in SCRIPT if one[1] in tools]
    if "finish" not in tools:
        return _said("Rehearsal. I was asked to help, and only say so.", None, None)
    if tools == ["finish"] or now["step"] > len(own):
        check = {"check": SHOWS} if "run_command" in tools and not now.get("check") else {}
        return _said("Rehearsal. The script is at its end.", "finish", {"result": FINISH, **check})
    sentence, tool, arguments = own[now["step"] - 1]
    return _said(sentence, tool, arguments)


def summary(messages: Messages) -> str:
    return json.dumps({"summary": "Rehearsal. What came before was left out.", "facts": []})


def shorter(messages: Messages) -> str:
    return json.dumps({"text": "Rehearsal. What was remembered was shortened."})


def _said(sentence: str, tool: str | None, arguments: dict[str, Any] | None) -> str:
    said = {"reasoning": sentence, "tool_name": tool}
    return json.dumps({**said, "tool_args": json.dumps(arguments) if arguments is not None else None})


def _now(text: str) -> Any:
    """What the last part of the prompt says, whatever stands before it."""
    begins = text.rindex("BEGIN MATERIAL ")
    return read_fenced(text[begins:])

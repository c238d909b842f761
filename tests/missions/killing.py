"""Missions that leave three commands living while they go on, one of which draws a screen, by a script that says the
same whoever dies."""

import json
from typing import Any

from missions.rehearsal import now_of
from missions.spec import MissionSpec as Product

LIVES = "echo {0} >> count; for i in $(seq 1 {1}); do echo {0}$i; sleep 0.1; done; echo {0} done"
DRAWS = r"printf '\033[?1049h\033[3;5HName? '; read name; printf '\033[?1049l'"
ASKS = f"echo three >> count; {DRAWS}; echo $name >> said; sleep 1; echo three done"
SCRIPT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("wait", {"seconds": 1}),  # it parks in any case, however slow the machine is
    ("run_command", {"command": LIVES.format("one", 30), "timeout": 0}),
    ("run_command", {"command": LIVES.format("two", 40), "timeout": 0}),
    ("run_command", {"command": ASKS, "timeout": 3}),
    ("send_command_input", {"command_id": 3, "input": "Ada\n", "rows": 20, "columns": 80, "wait": 0}),
    ("write_to_file", {"path": "a.txt", "content": "one\n", "expect": "new"}),
    ("edit_file", {"path": "a.txt", "target_text": "one", "replacement_text": "two"}),
    ("remember", {"text": "Three commands live."}),
    ("send_message", {"recipient": "human_user", "message": "They live."}),
    ("wait", {"seconds": 4}),
    ("wait", {"for_command": 1}),
    ("run_command", {"command": "sort count; echo four >> count", "timeout": 20}),
    ("wait", {"for_command": 2}),
    ("wait", {"for_command": 3}),
)
CHECK = 'test "$(tr "\\n" " " < count)" = "one two three four " && grep -x Ada said && grep -x two a.txt'


def step(messages: list[dict[str, str]]) -> str:
    number = now_of(messages)["step"]
    tool, args = SCRIPT[number - 1] if number <= len(SCRIPT) else ("finish", {"result": "They have ended."})
    return json.dumps({"reasoning": f"This is step {number}.", "tool_name": tool, "tool_args": json.dumps(args)})


class KilledProduct(Product):
    rehearsals = {**Product.rehearsals, "mission-step": step}

    @property
    def app_name(self) -> str:
        return "missions"

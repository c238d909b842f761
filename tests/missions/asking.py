"""An agent that asks its person for a word, repeats it, asks for a network, and finishes."""

import json
from typing import Any

from missions.face import Working as Product
from missions.rehearsal import _now


def step(messages: list[dict[str, str]]) -> str:
    now = _now(messages[-1]["content"])
    heard = now["said_by_people"]
    script: list[tuple[str, dict[str, Any]]] = [
        ("send_message", {"recipient": "human_user", "message": "Say something."}),
        ("wait", {}),
        ("send_message", {"recipient": "human_user", "message": f"You said: {(heard or ['nothing'])[-1]}"}),
        ("run_command", {"command": "true", "network": ["example.org:443"], "purpose": "To look."}),
    ]
    if "next one" in now["goal"]:
        script = []
    at = now["step"] - 1
    tool, args = script[at] if at < len(script) else ("finish", {"result": "It is over."})
    return json.dumps({"reasoning": "I do this now.", "tool_name": tool, "tool_args": json.dumps(args)})


class Working(Product):
    rehearsals = {**Product.rehearsals, "mission-step": step}

    @property
    def room(self) -> str:
        return "missions"

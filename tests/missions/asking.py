"""An agent that asks its person for a word, repeats it, asks for a network, and finishes."""

import json
from typing import Any

from missions.rehearsal import now_of, text_of
from missions.spec import MissionSpec as Product


def step(messages: list[dict[str, str]]) -> str:
    """What is heard stands behind the result of the step before, in one message."""
    before = "\n\n".join(one["content"] for one in messages)
    _, *heard = before.split("\nMESSAGE from the person ")
    now = now_of(messages) | {"goal": text_of("GOAL", before)}
    tool, args = _next(now, text_of("ORDER", heard[-1]) if heard else "", before)
    return json.dumps({"reasoning": "I do this now.", "tool_name": tool, "tool_args": json.dumps(args)})


def _next(now: dict[str, Any], heard: str, before: str) -> tuple[str, dict[str, Any]]:
    """However late its person answers, it waits for that."""
    if "next one" in now["goal"]:
        return "finish", {"result": "It is over."}
    if now["step"] == 1:
        return "send_message", {"recipient": "human_user", "message": "Name a colour."}
    if not heard:
        return "wait", {}
    if "You said: " not in before:
        return "send_message", {"recipient": "human_user", "message": f"You said: {heard}"}
    if "To look." not in before:
        return "run_command", {"command": "true", "network": ["example.org:443"], "purpose": "To look."}
    return "finish", {"result": "It is over."}


class AskingProduct(Product):
    rehearsals = {**Product.rehearsals, "mission-step": step}

    @property
    def app_name(self) -> str:
        return "missions"

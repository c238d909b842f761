"""An agent that leaves a command living, corrects a fault, publishes that as a branch, lets the command end, and
finishes."""

import json
from typing import Any

from missions.examples import FAULT, TESTED
from missions.rehearsal import now_of
from missions.spec import MissionSpec as Product

BRANCH = "fix/half-a-cent"
# by words of the criteria of the council that is asked: where none is shared a checksum decides, of the commit, too
MESSAGE = "Round half a cent up: what the goal needs, with nothing about a person, for people who rely on it"
LIVES = "echo begun >> begun; until [ -e stop ]; do sleep 0.2; done; echo over"
EDITS = [act for act in FAULT.acts if act[1] == "edit_file"]
ACTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("A service that the tests will want goes on beside me.", "run_command", {"command": LIVES, "timeout": 0}),
    ("I run the tests first, to see what is wrong.", "run_command", {"command": TESTED}),
    *EDITS,
    ("The same tests again.", "run_command", {"command": TESTED}),
    ("It is right now, so it can leave.", "publish", {"branch": BRANCH, "message": MESSAGE}),
    ("It is published. The service may end.", "write_to_file", {"path": "stop", "content": ""}),
    ("I wait for its end.", "wait", {"for_command": 1}),
)


def step(messages: list[dict[str, str]]) -> str:
    number = now_of(messages)["step"]
    sentence, tool, args = ACTS[number - 1] if number <= len(ACTS) else ("All is done.", "finish", {"result": DONE})
    return json.dumps({"reasoning": sentence, "tool_name": tool, "tool_args": json.dumps(args)})


DONE = f"Half a cent is rounded up. The branch {BRANCH} has the change; both tests pass."


class PublishingProduct(Product):
    rehearsals = {**Product.rehearsals, "mission-step": step}

    @property
    def app_name(self) -> str:
        return "missions"

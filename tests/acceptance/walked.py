"""What the walk through a plan needs: a site that dies whole, a team of a file, and models that say the same again.

What they answer hangs on what they are asked alone, never on how often: whoever is killed asks once more.
"""

import json
import os
import signal
from pathlib import Path

from tests.acceptance.site import ServedSite

TASK = "Welcome Ada Lovelace."
TITLE = "Welcome Ada"
QUESTION, ANSWER = "When does she begin?", "On 1 December."
AS_PLANNED, AS_CHANGED = "Enter a task: sign the contract.", "Enter a task: sign and scan the contract."
WRITE = "Send Ada the letter of welcome."
CURT, KIND = "Ada. Be here on 1 December.", "Dear Ada, we look forward to you on 1 December."
TOO_CURT = "A first letter must not be a command."
REASON = "Write it as one writes to a guest."
COUNCIL = "You are agent"
BY_BOTH = {"who": "both", "council": "Magi", "blind": False}
OPEN, PERSON = {"who": "open"}, {"who": "person"}
TEAM = {
    "name": "Reception",
    "description": "Receives who is new.",
    "policy": {
        "plan": PERSON,
        "steps": {"reads": OPEN, "writes": PERSON, "reaches_out": PERSON},
        "calls": {"reads": OPEN, "writes": OPEN, "reaches_out": BY_BOTH},
        "ahead": True,
    },
    "agents": [
        {"name": "Desk", "description": "Keeps the tasks.", "tools": ["tasks.add"]},
        {"name": "Letters", "description": "Writes letters.", "tools": ["mail.send"]},
    ],
}


class Mortal(ServedSite):
    def die(self) -> None:
        """Killed with all that it has begun, and started again on the same folder and port."""
        os.killpg(self.process.pid, signal.SIGKILL)
        assert self.process.wait(20) == -signal.SIGKILL
        self.__enter__()


def team_file(folder: Path) -> Path:
    file = folder / "reception.json"
    file.write_text(json.dumps(TEAM))
    return file


def planned(*steps: tuple[str, str, str], ask: tuple[str, ...] = ()) -> dict[str, object]:
    made = [{"action": action, "owner": who, "tools": [tool], "needs": None} for action, who, tool in steps]
    return {"thought": "So it goes.", "questions": list(ask), "steps": made}


def calls(tool: str, **arguments: object) -> dict[str, object]:
    return {"thought": "", "act": "call", "tool": tool, "arguments": json.dumps(arguments), "text": ""}


def replies(text: str) -> dict[str, object]:
    return {"thought": "", "act": "reply", "tool": "", "arguments": "", "text": text}


def letter(text: str) -> dict[str, object]:
    return calls("mail.send", to=["ada@example.org"], subject="Welcome", text=text)


def script() -> list[tuple[list[str], dict[str, object]]]:
    """The first whose texts are all asked about answers."""
    desk, letters = "You are Desk.", "You are Letters."
    said: list[tuple[list[str], dict[str, object]]] = [
        (["A plan is over."], {"summary": "Ada is welcomed."}),
        (["This is the first plan"], planned(ask=(QUESTION,))),
        (
            ["Your questions were answered", ANSWER],
            planned((AS_PLANNED, "Desk", "tasks.add"), (WRITE, "Letters", "mail.send")),
        ),
        (["A person has changed the action"], {"thought": "So it can.", "owner": "Desk", "tools": ["tasks.add"]}),
        ([desk, "was added"], replies("The task is entered.")),
        ([desk, AS_CHANGED], calls("tasks.add", title="Sign and scan the contract")),
        ([letters, "is about to be sent"], replies("Ada is written to.")),
        ([letters, REASON], letter(KIND)),
        ([letters], letter(CURT)),
    ]
    raw = [(texts, {"behaviour": "raw", "content": json.dumps(answer)}) for texts, answer in said]
    refuses = {"decision": "reject", "reason": TOO_CURT}
    return [*raw, ([COUNCIL, CURT], refuses), ([COUNCIL, KIND], {"decision": "approve"})]

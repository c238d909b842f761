"""Teams and plans as tests need them, and answers of models written out."""

import json

from plans.models import Team
from plans.procedure import submit
from plans.rules.demands import Policy

AGENTS = (
    {"name": "Sums", "description": "Calculates.", "model": "test/sums", "tools": ["figures.calculate"]},
    {"name": "Letters", "description": "Writes.", "model": "test/letters", "tools": ["mail.draft", "mail.send"]},
)


def team(policy=None, name="Desk", agents=AGENTS, **held):
    held = {"agents": list(agents), "planner": "test/planner", "policy": (policy or Policy()).as_json(), **held}
    Team.objects.found(name=name, owner=None, **held)
    return Team.objects.whole().get(name=name).current


def plan(owner, version=None, task="Add two and three, and write it to Ada.", **asked):
    return submit(owner=owner, task=task, team=version or team(), **asked)


def steps(*given):
    """A planner's answer: owner, tools, and needs where there are any, of each step."""
    made = [
        {"action": action, "owner": owner, "tools": tools, "needs": needs[0] if needs else None}
        for action, owner, tools, *needs in given
    ]
    return json.dumps({"thought": "So it goes.", "questions": [], "steps": made})


def questions(*asked):
    return json.dumps({"thought": "I ask.", "questions": list(asked), "steps": []})


def move(act, text="", tool="", arguments=""):
    return json.dumps({"thought": "", "act": act, "tool": tool, "arguments": arguments, "text": text})


def calls(tool, **arguments):
    return move("call", tool=tool, arguments=json.dumps(arguments))


def replies(text="It is done."):
    return move("reply", text)


SUM = ("Add two and three.", "Sums", ["figures.calculate"])
LETTER = ("Write it to Ada.", "Letters", ["mail.draft", "mail.send"])
SUMMARY = json.dumps({"summary": "All of it was done."})

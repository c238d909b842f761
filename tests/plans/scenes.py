"""Teams and plans as tests need them, and answers of models written out."""

import json

from asgiref.sync import sync_to_async

from engine.models import Gate, GateRule, Run
from judgements.models import Council
from plans.models import Team
from plans.procedure import submit
from plans.rules.approval_policy import TeamPolicy
from tests.conftest import ScriptedModels, perform
from tests.databases import copied_async
from tests.read_gates import decide_as_read

AGENTS = (
    {"name": "Sums", "description": "Calculates.", "model": "test/sums", "tools": ["figures.calculate"]},
    {"name": "Letters", "description": "Writes.", "model": "test/letters", "tools": ["mail.draft", "mail.send"]},
)


def team(policy=None, name="Desk", agents=AGENTS, **held):
    held = {"agents": list(agents), "planner": "test/planner", "policy": (policy or TeamPolicy()).as_json(), **held}
    Team.objects.create_first(name=name, owner=None, **held)
    return Team.objects.with_content().get(name=name).current


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
ADD = calls("figures.calculate", expression="2 + 3")


# ---- performed ---------------------------------------------------------------------------------------------------


async def planned(owner, models, *answers, version=None, **asked):
    """Performed until it waits for the first time. As the first plan of the usual team it stops behind the planner's
    first answer, and what it came to in a test before is put in again."""
    if version is None and await sync_to_async(_nothing_is_there)():
        found, told = await _planned_first(owner, answers[0], **asked)
        models.asked += told
        models.will("test/planner", *answers[1:])
        return found
    models.will("test/planner", *answers)
    made = await sync_to_async(plan)(owner, version, **asked)
    return (await perform(made.pk, models)).pk


def said_by(models):
    """What these models are still to say and were asked, to be kept beside the rows that came of it."""
    return dict(models.script), models.asked


def take_up(models, kept):
    """Models go on as those did that were kept."""
    script, asked = kept
    models.script.update(script)
    models.asked += asked


def _nothing_is_there():
    return not any(model.objects.exists() for model in (Run, Team, Council, GateRule))


@copied_async
async def _planned_first(owner, answer, **asked):
    models = ScriptedModels()
    models.will("test/planner", answer)
    made = await sync_to_async(plan)(owner, **asked)
    run = await perform(made.pk, models)
    assert run.status == Run.Status.WAITING
    return run.pk, models.asked


def pending(run):
    return list(Gate.objects.with_decisions().filter(run=run).pending().order_by("pk"))


async def says(run, user, decision, choice="", text="", kind=None):
    """Decide at the first gate that is asked, of this kind if one is named."""
    asked = await sync_to_async(pending)(run)
    gate = next(one for one in asked if kind in (None, one.kind))
    return await sync_to_async(decide_as_read)(gate.pk, user, decision, text, choice)

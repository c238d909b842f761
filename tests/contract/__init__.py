"""What every procedure's tests lend the contract: how one of its runs is asked for."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.db import connection, models

from debates.models import Debate
from engine.audit.full_verification import verify_all
from engine.gate_decisions import may_decide, offered_choices
from engine.ledger import immutability
from engine.llm.errors import Unauthorized
from engine.models import Gate, NewDocument, Run
from engine.queue.worker import Worker
from inquiries.models import ROLES, Inquiry
from judgements.models import Council, Judgement
from missions.models import Mission
from plans.models import Plan, Team
from plans.rules.approval_policy import OPEN_READS
from runs import run_actions
from tests.checking.models import Check
from tests.conftest import JAPAN, ScriptedModels, agents, standing

INSTANT = "rehearsal/instant"
MARKER = "Xylophone"  # in every text that somebody wrote
OFFLINE = ("debate", "inquiry", "judgement", "mission", "plan")  # whose rules stand in `tools/verify.py`


def judgement(owner: Any) -> Judgement:
    trio = [{**agent, "model": "rehearsal/instant"} for agent in agents()]
    return Judgement.objects.submit(owner=owner, title=f"{MARKER} title", content=f"{JAPAN} {MARKER}.", agents=trio)


def check(owner: Any) -> Check:
    asked = {"writer": "rehearsal/instant", "checker": "rehearsal/instant"}
    read = NewDocument(f"{MARKER}.txt", "text", (f"A {MARKER} has bars.", "They are struck."), "0" * 64)
    return Check.objects.submit(owner=owner, question=f"Is a {MARKER} an instrument?", documents=[read], **asked)


def doubted(owner: Any, policy: Any = None) -> Check:
    """At whose gate a person has to decide, or who the policy says."""
    asked = {"writer": "rehearsal/instant", "checker": "rehearsal/instant", "policy": policy}
    return Check.objects.submit(owner=owner, question=f"A {MARKER} is an instrument.", **asked)


def debate(owner: Any) -> Debate:
    """Of two, with a timekeeper that has a model."""
    options = [{"word": "PLAY", "meaning": f"Play the {MARKER}.", "direction": "for"}, {"word": "REST"}]
    who = f"Knows every {MARKER}."
    members = [{"name": name, "who": who, "model": "rehearsal/instant"} for name in ("Ada", "Ben")]
    asked = {"question": f"Shall a {MARKER} be played?", "options": options, "members": members, "most": 6}
    return Debate.objects.submit(owner=owner, timekeeper="rehearsal/instant", seed=bytes(32), **asked)


def plan(owner: Any) -> Plan:
    """Of two steps that only read, which nobody is asked about."""
    agents = [
        {"name": "Sums", "description": f"Plays the {MARKER}.", "model": INSTANT, "tools": ["figures.today"]},
    ]
    held = {"agents": agents, "planner": INSTANT, "policy": OPEN_READS.as_json()}
    team = Team.objects.create_first(name=f"Team {uuid4().hex}", owner=None, **held)
    task = f"Say which day it is for the {MARKER}. Name the {MARKER} after it."
    return Plan.objects.submit(owner=owner, task=task, team=team.current, matter=MARKER)


def inquiry(owner: Any) -> Inquiry:
    """Of a question that its one document answers."""
    read = NewDocument(f"{MARKER}.txt", "text", (f"A {MARKER} has wooden bars.", "They are struck."), "0" * 64)
    asked = {"question": f"Has a {MARKER} wooden bars?", "models": dict.fromkeys(ROLES, INSTANT), "documents": [read]}
    return Inquiry.objects.submit(owner=owner, **asked)


def mission(owner: Any) -> Mission:
    """Of an agent that writes one file and finishes: commands are tried elsewhere."""
    agents = [
        {"name": "Ada", "description": f"Plays the {MARKER}.", "model": INSTANT, "tools": ["write_to_file", "finish"]}
    ]
    files = [(f"{MARKER}.txt", f"A {MARKER} has bars.")]
    return Mission.objects.submit(owner=owner, goal=f"Tune the {MARKER}.", agents=agents, files=files)


EXAMPLES: dict[str, Callable[[Any], Any]] = {
    "judgement": judgement,
    "check": check,
    "debate": debate,
    "plan": plan,
    "inquiry": inquiry,
    "mission": mission,
}
THAT_WAIT: dict[str, Callable[[Any], Any]] = {"doubted check": doubted}


def trio(owner: Any) -> Council:
    three = [{**agent, "model": "rehearsal/instant"} for agent in agents()]
    return Council.objects.create_first(name="Trio", owner=owner, agents=three)


def doubted_by(who: str, owner: Any) -> Check:
    """At whose gate a council is asked, alone or besides."""
    trio(owner)
    return doubted(owner, {"who": who, "council": "Trio"})


THAT_ASK: dict[str, Callable[[Any], Any]] = {who: partial(doubted_by, who) for who in ("council", "both")}


async def play(pk: Any, models: Any = None) -> Run:
    """Let an engine perform a run to its end; whoever is asked at a gate says the first thing that there is to say."""
    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())
    try:
        async with asyncio.timeout(60):
            while not (run := await Run.objects.aget(pk=pk)).is_ended:
                await sync_to_async(decide)(run)
                while await standing(pk) == (run.status, run.revision):
                    await asyncio.sleep(0.01)
    finally:
        await engine.stop(grace=0)
        await performing
    return run


def decide(run: Run) -> None:
    for gate in Gate.objects.with_decisions().filter(run=run).pending():
        user = gate.asked_user or run.owner
        if may_decide(gate, user) and (gate.is_split or not gate.decisions.filter(by_user=user).exists()):
            said = [one for one in gate.choices if one["decision"] in offered_choices(gate)]
            first = next(iter(said), {"decision": "approve", "word": ""})
            run_actions.decide(gate.pk, user, first["decision"], choice=first["word"], text=MARKER)


PLAYED = EXAMPLES | THAT_WAIT


def played(name, owner):
    return asyncio.run(play(PLAYED[name](owner).run.pk))


def broken_off(name, owner):
    models = ScriptedModels()
    models.will(INSTANT, *[Unauthorized("The key was refused.")] * 3)
    return asyncio.run(play(PLAYED[name](owner).run.pk, models))


def problems():
    return [str(fault) for fault in verify_all().faults]


def texts_of(run):
    """Every column with a text of this run that a redaction has to empty, as (table, column, condition)."""
    for guard in immutability.all_guards():
        for rule in guard.rules:
            for column in rule.erased:
                if guard.run and column not in ("asked_by", "account", "cancelled_by_name"):
                    yield guard.table, column, guard.run.replace("OLD.", f"{guard.table}.")


def found(table, column, run_of, run):
    with connection.cursor() as cursor:
        key = models.UUIDField().get_db_prep_value(run.pk, connection)
        cursor.execute(f"SELECT {column} FROM {table} WHERE {run_of} = %s AND {column} <> ''", [key])
        return [text for (text,) in cursor.fetchall()]

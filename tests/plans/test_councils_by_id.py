"""A team's policy means one council, by its id: who takes that council's name, or rehearses it, lets nothing out."""

import json

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.test import Client

from engine import gate_decisions
from engine.audit.full_verification import verify_all
from engine.models import Gate, GateRule, Letter, Run
from judgements.models import Council
from magi_site.models import Token
from plans.forms import find_team
from plans.management.commands.plan import Command
from plans.models import Plan, Team
from plans.models.presets import council_uses
from plans.rules.approval_policy import TeamPolicy
from plans.rules.enums import StepEffect
from plans.team_files import parse_team, team_file_object
from runs.presets import NameReserved
from tests.callers import ApiCaller
from tests.conftest import agents, perform
from tests.databases import tampering
from tests.plans.scenes import LETTER, SUMMARY, calls, plan, replies, steps, team
from tests.plans.source import EVERY_SCOPE

pytestmark = pytest.mark.django_db(transaction=True)

OPEN, PERSON = {"who": "open"}, {"who": "person"}
LEGAL = {"who": "council", "council": "Legal"}
DEMANDS = {StepEffect.READS: OPEN, StepEffect.WRITES: OPEN, StepEffect.REACHES_OUT: OPEN}
TASK = "Write it to Ada."
REAL, REHEARSED = ("test/judge",) * 3, ("rehearsal/instant",) * 3


def found(name="Legal", models=REAL, owner=None):
    return Council.objects.create_first(name=name, owner=owner, agents=agents(*models))


def renamed(council, name):
    council.revise(name=name, author=None, agents=[{"fallback": "", **one} for one in agents(*REAL)])
    return council


def imitated(name="Legal"):
    """As it stands in a database in which somebody took the name when that was not refused yet."""
    other = found("Another")
    with tampering():
        Council.objects.filter(pk=other.pk).update(name=name)
        other.versions.update(name=name)
    return other


def letters_team(demand=None, name="Desk"):
    """Whose letters nobody but a council is asked about."""
    return team(TeamPolicy(OPEN, DEMANDS, {**DEMANDS, StepEffect.REACHES_OUT: demand or LEGAL}), name=name)


async def to_the_gate(mira, models, version=None, pk=None):
    """The gate before a letter, of a plan that was begun or is begun here."""
    models.will("test/planner", steps(LETTER), SUMMARY)
    models.will("test/letters", calls("mail.send", to=["ada@example.org"], subject="Five", text="5."), replies())
    pk = pk or (await sync_to_async(plan)(mira, version)).pk
    await perform(pk, models)
    return await Gate.objects.with_decisions().aget(run=pk, kind="tool")


async def judged(gate, models):
    """What the plan comes to once the council that was asked has judged."""
    assert (await perform(gate.council_id, models)).outcome == "approved"
    return await perform(gate.run_id, models)


def council_asked(gate):
    return gate.council.judgement.council_version.council_id


async def turned(gate, why):
    """Nobody but a person decides there, and it says why; nothing was sent."""
    said = await gate.decisions.aget()
    letters = await Letter.objects.acount()
    return (gate.state, gate.council_id, said.decision, why in said.text, letters) == ("pending", None, "turn", True, 0)


# ---- renamed, imitated, archived -----------------------------------------------------------------------------


async def test_a_renamed_council_goes_on_to_decide_and_its_imitator_is_not_asked(mira, models):
    legal = await sync_to_async(found)()
    version = await sync_to_async(letters_team)()
    await sync_to_async(renamed)(legal, "Law")
    await sync_to_async(imitated)()
    gate = await to_the_gate(mira, models, version)
    assert (await sync_to_async(council_asked)(gate), gate.policy["council_id"]) == (legal.pk, legal.pk)
    assert (await judged(gate, models)).status == Run.Status.FINISHED
    said = await gate.decisions.aget()
    assert (said.by, await Letter.objects.acount()) == ("council Law, version 2", 1)


def test_a_name_that_a_policy_uses_is_taken_by_no_other_council(mira):
    legal, other = found(), found("Other")
    letters_team()
    renamed(legal, "Law")
    for take in (lambda: found("Legal", owner=mira), lambda: found(" LEGAL"), lambda: renamed(other, "Legal")):
        with pytest.raises(NameReserved, match="the team “Desk”"):
            take()
    assert renamed(legal, "Legal").name == "Legal"


def test_a_page_says_who_asks_the_council_that_is_renamed(page, mira):
    rehearsed = agents(*REHEARSED)
    legal = found(models=REHEARSED, owner=mira)
    letters_team()
    posted = {"name": "Law", "version": "1", "retention_days": "365"}
    posted |= {f"a{n}-{key}": value for n, one in enumerate(rehearsed, 1) for key, value in one.items()}
    html = page.post(f"/councils/{legal.pk}/edit/", posted, follow=True).content.decode()
    assert "“Legal” is called “Law” now, and is still meant by the team “Desk”." in html


async def test_an_archived_council_leaves_it_to_a_person(mira, models):
    legal = await sync_to_async(found)()
    version = await sync_to_async(letters_team)()
    await sync_to_async(legal.archive)(None)
    assert await turned(await to_the_gate(mira, models, version), "The council “Legal” is archived.")


async def test_a_name_that_no_council_had_is_no_council_of_who_takes_it_later(mira, models):
    version = await sync_to_async(letters_team)()
    await sync_to_async(found)()
    assert await turned(await to_the_gate(mira, models, version), "No council decides here")


# ---- at every door -------------------------------------------------------------------------------------------


def by_page(user, version):
    client = Client()
    client.force_login(user)
    client.post("/plans/new/", {"task": TASK, "team": version.team_id, "team_version": version.number})


def by_api(user, version):
    assert (
        ApiCaller(user, scopes=EVERY_SCOPE).post("/plans", {"task": TASK, "team": str(version.team_id)}).status_code
        == 202
    )


def by_command_line(user, version):
    asked = {"task": TASK, "team": str(version.team_id), "title": "", "matter": None, "spend": None, "begin": None}
    Command().submit(asked)


def by_mcp(user, version):
    params = {"name": "start_plan", "arguments": {"task": TASK, "team": str(version.team_id), "wait": 0}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    token = Token.objects.make(user, scopes=EVERY_SCOPE).secret
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    Client().post("/mcp", json.dumps(message), "application/json", headers=headers)


def by_the_ten_endpoints(user, version):
    from automation_api import input_task

    input_task.WAIT_SECONDS, patience = 0.0, input_task.WAIT_SECONDS
    token = Token.objects.make(user, scopes=EVERY_SCOPE).secret
    body = json.dumps({"session_id": "s-1", "description": TASK})
    headers = {"Authorization": f"Bearer {token}"}
    try:
        Client().post("/api/automation/input_task", body, "application/json", headers=headers)
    finally:
        input_task.WAIT_SECONDS = patience


DOORS = (by_page, by_api, by_command_line, by_mcp, by_the_ten_endpoints)


def test_at_every_door_the_council_that_was_meant_is_asked_and_no_imitator(mira, models, settings):
    legal = found()
    version = letters_team()
    settings.COMPAT_TEAM = str(version.team_id)
    renamed(legal, "Law")
    imitated()
    wrong = []
    for door in DOORS:
        door(mira, version)
        begun = Plan.objects.filter(run__status="queued").first()
        decides = begun and begun.policy["calls"]["reaches_out"].get("council_id")
        wrong += [door.__name__] if decides != legal.pk else []
        Run.objects.filter(status="queued").update(status="cancelled")
    assert wrong == []


# ---- saved earlier -------------------------------------------------------------------------------------------


# ---- written with names --------------------------------------------------------------------------------------


def test_a_file_may_name_a_council_and_is_kept_with_its_id():
    legal = found()
    version = letters_team()
    assert version.policy["calls"]["reaches_out"] == {**LEGAL, "council_id": legal.pk}
    renamed(legal, "Law")
    again = parse_team(team_file_object(Team.objects.with_content().get().current)).held
    version.team.revise(name="Desk", author=None, **again)
    kept = Team.objects.get().current.policy["calls"]["reaches_out"]
    assert kept == {**LEGAL, "council": "Law", "council_id": legal.pk}


def test_an_id_that_never_had_the_name_is_not_taken_from_a_file():
    legal, other = found(), found("Other")
    version = letters_team({**LEGAL, "council_id": other.pk})
    assert version.policy["calls"]["reaches_out"]["council_id"] == legal.pk


def test_a_gate_rule_means_its_council_by_the_id_of_when_it_was_saved():
    legal = found()
    rule = GateRule.objects.create(procedure="plan", who="council", council="Legal", kind="tool")
    renamed(legal, "Law")
    imitated()
    rule.save()
    assert (rule.policy["council_id"], rule.council) == (legal.pk, "Law")
    with pytest.raises(ValidationError, match="More than one council has been called “Legal”"):
        GateRule(procedure="plan", who="council", council="Legal").clean()


def test_a_team_of_another_with_a_freed_name_gets_no_tasks_of_programs(settings):
    house = letters_team(name="House").team
    settings.COMPAT_TEAM = "House"
    house.revise(name="Home", author=None, **house.current.held())
    with pytest.raises(NameReserved, match="MAGI_COMPAT_TEAM"):
        letters_team(name="House")
    assert find_team("Home").team_id == house.pk


def test_who_writes_a_name_that_two_teams_have_had_is_asked_for_the_id():
    desk = letters_team().team
    desk.revise(name="Office", author=None, **desk.current.held())
    letters_team()
    with pytest.raises(ValidationError, match=f"by its id: {desk.pk} .now “Office”."):
        find_team("Desk")


def test_what_lets_a_council_decide_is_known():
    legal = found()
    letters_team()
    assert [tuple(use) for use in council_uses()] == [(legal.pk, "the team “Desk”")]


# ---- rehearsed -----------------------------------------------------------------------------------------------


async def test_a_rehearsed_council_opens_no_gate_of_a_real_plan(mira, models):
    await sync_to_async(found)(models=REHEARSED)
    version = await sync_to_async(letters_team)()
    gate = await to_the_gate(mira, models, version)
    assert (await judged(gate, models)).status == Run.Status.WAITING
    gate = await Gate.objects.with_decisions().aget(pk=gate.pk)
    said = await gate.decisions.aget()
    assert (gate.state, said.decision, "The council was rehearsed" in said.text) == ("pending", "turn", True)
    assert await Letter.objects.acount() == 0
    await sync_to_async(gate_decisions.decide)(gate.pk, mira, "approve", digest=gate.digest)
    await perform(gate.run_id, models)
    assert await Letter.objects.acount() == 1
    assert not (await sync_to_async(verify_all)()).faults


async def test_one_rehearsed_agent_is_enough_that_a_council_does_not_count(mira, models):
    await sync_to_async(found)(models=("test/judge", "test/judge", "rehearsal/instant"))
    gate = await to_the_gate(mira, models, await sync_to_async(letters_team)())
    await judged(gate, models)
    assert (await gate.decisions.aget()).decision == "turn"


async def test_what_a_rehearsed_council_allowed_before_is_asked_again(mira, models):
    await sync_to_async(found)(models=REHEARSED)
    gate = await to_the_gate(mira, models, await sync_to_async(letters_team)())
    judging = await perform(gate.council_id, models)
    await gate.decisions.acreate(by="council Legal", decision="approve", judged_by=judging)
    await Gate.objects.filter(pk=gate.pk).aupdate(state="approved")
    await perform(gate.run_id, models)
    assert await Letter.objects.acount() == 0
    assert await Gate.objects.filter(run=gate.run_id, kind="tool").acount() == 2

"""What was approved, by a council and a person who did not know of each other, is sent to the letter or not at all."""

import json
from collections import Counter

import pytest
from asgiref.sync import sync_to_async

from engine.models import Gate, Letter, Run, ToolCall
from judgements.models import Council
from plans import comments
from plans.models import PlanMessage, PlanStepMove
from plans.rules.approval_policy import TeamPolicy
from plans.rules.enums import StepEffect
from plans.spec import PlanSpec
from runs.record.export import FORMATS
from tests.conftest import ScriptedModels, perform
from tests.databases import copied_async, tampering
from tests.plans.scenes import LETTER, SUMMARY, calls, planned, replies, said_by, steps, take_up, team
from tests.read_gates import decide_as_read
from tests.tools.offline import verifier

pytestmark = pytest.mark.django_db(transaction=True)
OPEN, PERSON = {"who": "open"}, {"who": "person"}
BOTH = {"who": "both", "council": "Outgoing letters"}
WORDS = "It is 5."


def found_council():
    agents = [
        {"name": name, "model": "test/judge", "criteria": "Approve it.", "fallback": ""}
        for name in ("Facts", "Tone", "Law")
    ]
    Council.objects.create_first(name="Outgoing letters", owner=None, agents=agents)


def by_both(where):
    demands = {StepEffect.READS: OPEN, StepEffect.WRITES: OPEN, StepEffect.REACHES_OUT: BOTH}
    plain = {**demands, StepEffect.REACHES_OUT: PERSON}
    return TeamPolicy(OPEN, demands if where == "steps" else plain, demands if where == "calls" else plain)


async def newest(run, kind):
    return await Gate.objects.select_related("run").filter(run=run, kind=kind).alatest("pk")


async def approved(run, kind, mira, models):
    """The gate of this kind after a person and the council have approved it, the person first and blind."""
    gate = await newest(run, kind)
    assert (gate.policy["who"], gate.policy["blind"], gate.state) == ("both", True, "pending")
    await sync_to_async(decide_as_read)(gate.pk, mira, "approve")
    assert (await perform(gate.council_id, models)).outcome == "approved"
    return gate


@pytest.fixture
def begun(mira, models):
    """A plan with one letter, up to where a council and a person are asked about the step, or about the call; and
    `approved`, once both have approved it."""

    async def begun(where, approved=False):
        run, kept = await letter_of(mira, where, approved)
        take_up(models, kept)
        return run

    return begun


@copied_async
async def letter_of(mira, where, is_approved, subject="Five"):
    models = ScriptedModels()
    await sync_to_async(found_council)()
    version = await sync_to_async(team)(by_both(where))
    models.will("test/letters", calls("mail.send", to=["ada@example.org"], subject=subject, text=WORDS), replies())
    run = await planned(mira, models, steps(LETTER), SUMMARY, version=version)
    if where == "calls":
        await sync_to_async(decide_as_read)((await newest(run, "step")).pk, mira, "approve")
        await perform(run, models)
    if is_approved:
        await approved(run, {"steps": "step", "calls": "tool"}[where], mira, models)
    return run, said_by(models)


async def test_nobody_is_asked_about_a_subject_that_is_read_otherwise(mira, models):
    """An encoded word with line breaks in it: some patches of Python would write further headers and another text."""
    subject = "=?utf-8?q?Five=0d=0aReply-To:_x@evil.example=0d=0a=0d=0aPay_9=2C000_to_me.?="
    run, kept = await letter_of(mira, "steps", True, subject)
    take_up(models, kept)
    await perform(run, models)
    told = str([messages for model, messages in models.asked if model == "test/letters"][-1])
    assert "has “=?”, which begins text in a code: write the characters themselves" in told
    assert not await Letter.objects.aexists()
    assert not await Gate.objects.filter(run=run, kind="tool").aexists()


async def test_it_is_sent_as_it_was_approved(begun, mira, models):
    run = await begun("calls", approved=True)
    assert (await perform(run, models)).status == Run.Status.FINISHED
    assert (await Letter.objects.aget()).text == WORDS


async def test_what_the_person_said_reaches_the_agent_though_the_council_speaks_last(begun, mira, models):
    gate = await newest(await begun("steps"), "step")
    await perform(gate.council_id, models)
    decided = await sync_to_async(decide_as_read)(gate.pk, mira, "approve", "Before noon.")
    told = PlanMessage.objects.filter(plan=gate.run_id, to_step=1, by_name="mira")
    assert (decided.state, decided.last_decision.judged_by_id) == ("approved", gate.council_id)
    assert [one.content async for one in told] == ["Before noon."]


async def test_all_steps_stay_approved_though_the_council_speaks_last(mira, models):
    await sync_to_async(found_council)()
    version = await sync_to_async(team)(TeamPolicy({**BOTH, "blind": False}))
    run = await planned(mira, models, steps(LETTER), version=version)
    gate = await newest(run, "plan")
    await sync_to_async(decide_as_read)(gate.pk, mira, "approve", choice="all")
    await perform(gate.council_id, models)
    models.will("test/letters", replies())
    await perform(run, models)
    assert [one.state async for one in Gate.objects.filter(run=run, kind="step")] == ["approved"]


def _in_the_call():
    [move] = PlanStepMove.objects.filter(act="call")
    assert WORDS in move.arguments
    PlanStepMove.objects.filter(pk=move.pk).update(arguments=move.arguments.replace(WORDS, "It is 6."))


def _in_the_gate():
    gate = Gate.objects.get(kind="tool")
    assert WORDS in gate.text
    Gate.objects.filter(pk=gate.pk).update(text=gate.text.replace(WORDS, "It is 6."))


def _tamper(change):
    with tampering():
        change()


@pytest.mark.parametrize("change", [_in_the_call, _in_the_gate])
async def test_changed_by_one_character_in_the_database_it_is_asked_about_anew(begun, mira, models, change):
    run = await begun("calls", approved=True)
    gate = await newest(run, "tool")
    await sync_to_async(_tamper)(change)
    assert (await perform(run, models)).status == Run.Status.WAITING
    anew = await newest(run, "tool")
    assert (anew.number, anew.state) == (gate.number + 1, "pending")
    assert not await Letter.objects.aexists()
    assert not await ToolCall.objects.filter(run=run).aexists()


async def test_changed_by_one_character_by_an_edit_it_is_asked_about_anew_and_not_begun(begun, mira, models):
    run = await begun("steps", approved=True)
    gate = await newest(run, "step")
    await sync_to_async(comments.change_step)(run, mira, 1, {"action": "Write it to Adam.", "tools": LETTER[2]})
    assert (await perform(run, models)).status == Run.Status.WAITING
    anew = await newest(run, "step")
    assert (anew.number, anew.state, "Adam" in anew.text) == (gate.number + 1, "pending", True)
    assert not await Letter.objects.aexists()
    assert not [model for model, _ in models.asked if model == "test/letters"]


# ---- what others get to verify it -------------------------------------------------------------------------------


def given(run):
    """The bundle of this plan alone, as it is downloaded."""
    rows = PlanSpec().rows().filter(pk=run)
    return FORMATS["evidence.jsonl"].begun(None)(list(rows), "").splitlines()


def problems(lines):
    return list(verifier.verify([line.encode() for line in lines], None, "", Counter()))


async def test_its_bundle_leads_to_the_verdict_of_the_council(begun, mira, models):
    run = await begun("steps", approved=True)
    gate = await newest(run, "step")
    await perform(run, models)
    plan, council = lines = await sync_to_async(given)(run)
    assert [json.loads(line)["id"] for line in lines] == [str(run), str(gate.council_id)]
    assert await sync_to_async(problems)(lines) == []
    content, last = json.dumps(gate.text, ensure_ascii=False), json.loads(council)["record_hash"]
    forged = {
        "A council has not decided so": council.replace('"verdict":"approved"', '"verdict":"rejected"'),
        "A council judged another text": council.replace(content, '"Dear Ada, come on Friday."'),
        "What it has made is not as it ended": council.replace(last, "0" * 64),
    }
    for problem, instead in forged.items():
        assert instead != council
        found = await sync_to_async(problems)([plan, instead])
        assert f"{problem}. (record {run}: record {gate.council_id})" in found

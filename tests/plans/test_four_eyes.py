"""Under four eyes nobody decides about their own words: neither who asked, nor who changed a step, answered, spoke to
an agent or the planner, or asked for changes."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.test import Client

from engine import gate_decisions
from engine.models import AuthorContribution, Gate, Run, RunAuthor
from plans import comments
from plans.rules.approval_policy import OPEN, TeamPolicy
from plans.rules.enums import StepEffect
from runs.run_object import gate_object
from tests.conftest import ScriptedModels, allow, perform
from tests.databases import copied_async, tampering
from tests.plans.scenes import LETTER, SUM, calls, move, planned, replies, said_by, steps, take_up, team
from tests.read_gates import decide_as_read

pytestmark = pytest.mark.django_db(transaction=True)
FOUR = {"who": "person", "four_eyes": True}
WRITTEN = calls("mail.send", to=["ben@example.org"], subject="Five", text="It is 5.")


@pytest.fixture
def others(noor, reviewer):
    return allow(noor, "engine.decide_gate", "engine.view_run"), reviewer


@pytest.fixture
async def gate_of(mira, models):
    """Of the letter's step, or of what is named, of a plan whose second step Noor has changed."""
    pk = await under_four_eyes(mira)

    async def gate_of(step):
        await perform(pk, models)
        return await Gate.objects.select_related("run").filter(run=pk, step__startswith=step).alatest("pk")

    gate_of.plan = pk
    return gate_of


@copied_async
async def under_four_eyes(mira):
    by_effect = {StepEffect.READS: {"who": "open"}, StepEffect.WRITES: FOUR, StepEffect.REACHES_OUT: FOUR}
    version = await sync_to_async(team)(TeamPolicy(plan=FOUR, steps=by_effect, calls=by_effect))
    models = ScriptedModels()
    return await planned(mira, models, steps(SUM, LETTER), version=version)


async def may(gate, *users):
    return [await sync_to_async(gate_decisions.may_decide)(gate, user) for user in users]


async def change(gate_of, user, number=2):
    otherwise = {"action": "Write it to Ben.", "tools": (SUM, LETTER)[number - 1][2]}
    await sync_to_async(comments.change_step)(gate_of.plan, user, number, otherwise)


async def test_who_changed_a_step_does_not_approve_it_alone(gate_of, mira, others):
    assert await may(await gate_of("step-2"), mira, *others) == [False, True, True]
    await change(gate_of, others[0])
    changed = await gate_of("step-2")
    assert await may(changed, mira, *others) == [False, False, True]
    with pytest.raises(gate_decisions.NotAnApprover):
        await sync_to_async(decide_as_read)(changed.pk, others[0], "approve")


async def test_nor_under_another_name(gate_of, mira, others):
    noor = others[0]
    await change(gate_of, noor)
    noor.username = "renamed"
    await noor.asave()
    changed = await gate_of("step-2")
    assert await may(changed, mira, *others) == [False, False, True]
    waits = sync_to_async(lambda user: Gate.objects.for_user(user).filter(pk=changed.pk).exists())
    assert [await waits(one) for one in others] == [False, True]


async def test_nor_the_plan_that_has_it_nor_what_happens_in_it(gate_of, models, mira, others):
    await change(gate_of, others[0])
    whole = await gate_of("plan-1")
    assert await may(whole, *others) == [False, True]
    await sync_to_async(decide_as_read)(whole.pk, others[1], "approve", "", "all")
    models.will("test/sums", calls("figures.calculate", expression="2 + 3"), '{"act": "reply", "text": "5"}')
    models.will("test/letters", WRITTEN)
    call = await gate_of("step-2-")
    assert (call.tool, await may(call, mira, *others)) == ("mail.send", [False, False, True])


async def test_of_other_steps_they_decide(gate_of, others):
    await change(gate_of, others[0], number=1)
    assert await may(await gate_of("step-2"), *others) == [True, True]


async def test_nor_the_step_that_the_planner_made_of_it(gate_of, models, mira, others):
    await change(gate_of, others[0])
    await gate_of("step-2")
    models.will("test/planner", steps(SUM, ("Write it to Ben, in short.", *LETTER[1:])))
    await say(gate_of.plan, mira, "In short.")
    planned = await gate_of("step-")
    assert (planned.step, await may(planned, *others)) == ("step-3", [False, True])


async def test_what_others_have_to_decide_does_not_wait_for_who_wrote_it(gate_of, mira, others):
    await change(gate_of, others[0])
    changed = await gate_of("step-2")
    waits = [await sync_to_async(_waits_if_asked)(changed, user) for user in others]
    assert waits == [False, True]


def _waits_if_asked(gate, user):
    with tampering():
        Gate.objects.filter(pk=gate.pk).update(asked_user=user)
    return Gate.objects.for_user(user).exists()


@pytest.mark.parametrize("choice", ["accept", "all"])
async def test_words_with_a_yes_to_the_plan_come_into_nothing_of_it(gate_of, others, choice):
    await gate_of("step-2")
    await sync_to_async(decide_as_read)((await gate_of("plan-1")).pk, others[0], "approve", "Well planned.", choice)
    gate = await Gate.objects.select_related("run").aget(run=gate_of.plan, step="step-2")
    assert (gate.state, await may(gate, *others)) == ("approved" if choice == "all" else "pending", [True, True])


async def test_without_four_eyes_who_changed_it_decides(mira, models):
    run = await planned(mira, models, steps(LETTER))
    await sync_to_async(comments.change_step)(run, mira, 1, {"action": "Write it to Ben.", "tools": LETTER[2]})
    await perform(run, models)
    gate = await Gate.objects.select_related("run").filter(run=run, step="step-1").alatest("pk")
    assert await may(gate, mira) == [True]


async def test_a_yes_to_the_plan_and_its_steps_decides_none_that_two_persons_approve(mira, models):
    two = {**TeamPolicy().steps, StepEffect.REACHES_OUT: {"who": "person", "persons": 2}}
    run = await planned(mira, models, steps(SUM, LETTER), version=await sync_to_async(team)(TeamPolicy(steps=two)))
    plan, step = [gate async for gate in Gate.objects.filter(run=run).order_by("pk")]
    await sync_to_async(decide_as_read)(plan.pk, mira, "approve", "", "all")
    assert (step.step, await step.decisions.aexists()) == ("step-2", False)


# ---- whose words came into a letter -------------------------------------------------------------------------

ASKS = move("ask", "To whom?")


class Written:
    def __init__(self, pk, models):
        self.plan, self.models = pk, models

    async def __call__(self, step, kind):
        await perform(self.plan, self.models)
        pending = Gate.objects.select_related("run").filter(run=self.plan, state="pending", kind=kind)
        return await pending.filter(step__startswith=step).alatest("pk")


@copied_async
async def asks_twice(mira, *answered_by):
    """Up to the first question of an agent, or the letter once these two have answered both."""
    models, open_ = ScriptedModels(), dict.fromkeys(StepEffect, OPEN)
    version = await sync_to_async(team)(TeamPolicy(plan={"who": "open"}, steps=open_, calls=CALLS))
    models.will("test/sums", *[ASKS, replies("5.")] * 2)
    texts = [calls("mail.send", to=["ben@example.org"], subject="Five", text=text) for text in ("It is 5.", "Five.")]
    models.will("test/letters", ASKS, *texts)
    at = Written(await planned(mira, models, *[steps(SUM, LETTER)] * 3, version=version), models)
    for number, (who, answer) in enumerate(zip(answered_by, ("Ada.", "Ben."), strict=False), 1):
        await answers((await at(f"step-{number}-", "question")).pk, who, "answer", answer=answer)
        await perform(at.plan, models)
    return at.plan, said_by(models)


CALLS = {StepEffect.READS: {"who": "open"}, StepEffect.WRITES: {"who": "open"}, StepEffect.REACHES_OUT: FOUR}
say = sync_to_async(comments.post_comment)
answers = sync_to_async(decide_as_read)


@pytest.fixture
def letter(mira, models):
    """It as it waits, once these two have answered the two questions."""

    async def letter(first, second):
        pk, kept = await asks_twice(mira, first, second)
        take_up(models, kept)
        written = Written(pk, models)
        return written, await written("step-2-", "tool")

    return letter


async def test_who_answers_the_agents_question_does_not_approve_its_letter(letter, mira, others):
    _, gate = await letter(mira, others[0])
    assert await may(gate, *others) == [False, True]
    with pytest.raises(gate_decisions.NotAnApprover, match="you answered a question of it"):
        await answers(gate.pk, others[0], "approve")
    decided = await answers(gate.pk, others[1], "approve")
    assert decided.last_decision.authors == ["mira", "noor"]


async def test_nor_who_answered_in_a_step_whose_result_came_to_it(letter, mira, others):
    _, gate = await letter(others[0], mira)
    assert await may(gate, *others) == [False, True]


@pytest.mark.parametrize("step", [2, 1, None])
async def test_nor_who_speaks_to_its_agent_or_to_the_planner(models, mira, others, step):
    pk, kept = await asks_twice(mira, mira)
    take_up(models, kept)
    written = Written(pk, models)
    if step == 1:
        await say(written.plan, others[0], "In words.", 2)
    else:
        await say(written.plan, others[0], "To Ben, please.", step)
    await answers((await written("step-", "question")).pk, mira, "answer", answer="Ben.")
    assert await may(await written("step-", "tool"), *others) == [False, True]


async def test_nor_who_spoke_while_it_waited_nor_by_another_name(letter, mira, others):
    (written, gate), noor = await letter(mira, mira), others[0]
    assert await may(gate, *others) == [True, True]
    await say(written.plan, noor, "To Ben, please.", 2)
    noor.username = "renamed"
    await noor.asave()
    assert await may(gate, *others) == [False, True]
    assert not await sync_to_async(Gate.objects.for_user(noor).exists)()


async def test_nor_by_a_new_account_of_the_same_name(letter, mira, others):
    (_, gate), noor = await letter(mira, others[0]), others[0]
    await noor.adelete()
    same = await sync_to_async(get_user_model().objects.create_user)("noor")
    same = await sync_to_async(allow)(same, "engine.decide_gate", "engine.view_run")
    assert await may(gate, same, others[1]) == [False, True]
    assert await sync_to_async(gate_decisions.own_words)(gate, same) == "answered a question of it"


async def test_nor_who_asked_for_it_by_a_new_account_of_the_same_name(letter, mira, others):
    _, gate = await letter(others[0], others[0])
    await mira.adelete()
    same = await sync_to_async(get_user_model().objects.create_user)("mira")
    same, gate = (
        await sync_to_async(allow)(same, "engine.decide_gate"),
        await Gate.objects.with_decisions().aget(pk=gate.pk),
    )
    assert await may(gate, same, others[1]) == [False, True]
    assert await sync_to_async(gate_decisions.own_words)(gate, same) == "asked for it"


async def test_nor_who_asked_for_changes(letter, mira, others):
    written, gate = await letter(mira, mira)
    await answers(gate.pk, others[0], "reject", "To Ben, please.", "refuse")
    assert await may(await written("step-2-", "tool"), *others) == [False, True]


async def test_who_says_nothing_but_no_may_say_yes_to_the_next_one(letter, mira, others):
    written, gate = await letter(mira, mira)
    await answers(gate.pk, others[0], "reject", "", "refuse")
    assert await may(await written("step-2-", "tool"), *others) == [True, True]


async def test_what_is_said_in_a_run_that_belongs_with_it_counts_too(letter, mira, others):
    _, gate = await letter(mira, mira)
    run = await Run.objects.acreate(procedure="mission", parent=gate.run, root=gate.run, step="step-1-0-9")
    await sync_to_async(RunAuthor.objects.note)(run.pk, others[0], AuthorContribution.SAID)
    assert await may(gate, *others) == [False, True]


async def test_page_and_api_say_whose_words_they_are_and_why_somebody_may_not(letter, mira, others):
    _, gate = await letter(mira, others[0])
    shown = await sync_to_async(page_of)(others[0], gate)
    assert "whose words came into it: mira, noor" in shown
    assert "you answered a question of it" in shown
    found = await sync_to_async(gate_object)(gate, "")
    assert found["authors"] == ["mira", "noor"]


def page_of(user, gate):
    client = Client()
    client.force_login(user)
    return " ".join(client.get(f"/gates/{gate.pk}/").content.decode().split())

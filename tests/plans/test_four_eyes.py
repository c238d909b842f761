"""Under four eyes nobody decides about their own hand's work: neither who asked, nor whoever changed a step."""

import pytest
from asgiref.sync import sync_to_async

from engine import gates
from engine.models import Gate
from plans import talking
from plans.rules.demands import Policy
from plans.rules.words import Effect
from tests.conftest import allow, perform
from tests.databases import tampering
from tests.plans.scenes import LETTER, SUM, calls, plan, steps, team
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
    by_effect = {Effect.READS: {"who": "open"}, Effect.WRITES: FOUR, Effect.REACHES_OUT: FOUR}
    version = await sync_to_async(team)(Policy(plan=FOUR, steps=by_effect, calls=by_effect))
    models.will("test/planner", steps(SUM, LETTER))
    made = await sync_to_async(plan)(mira, version)
    await perform(made.pk, models)

    async def gate_of(step):
        await perform(made.pk, models)
        return await Gate.objects.select_related("run").filter(run=made.pk, step__startswith=step).alatest("pk")

    gate_of.plan = made.pk
    return gate_of


async def may(gate, *users):
    return [await sync_to_async(gates.may_decide)(gate, user) for user in users]


async def change(gate_of, user, number=2):
    await sync_to_async(talking.change_step)(gate_of.plan, user, number, {"action": "Write it to Ben."})


async def test_who_changed_a_step_does_not_approve_it_alone(gate_of, mira, others):
    assert await may(await gate_of("step-2"), mira, *others) == [False, True, True]
    await change(gate_of, others[0])
    changed = await gate_of("step-2")
    assert await may(changed, mira, *others) == [False, False, True]
    with pytest.raises(gates.NotAsked):
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


async def test_what_others_have_to_decide_does_not_wait_for_who_wrote_it(gate_of, mira, others):
    await change(gate_of, others[0])
    changed = await gate_of("step-2")
    waits = [await sync_to_async(_waits_if_asked)(changed, user) for user in others]
    assert waits == [False, True]


def _waits_if_asked(gate, user):
    with tampering():
        Gate.objects.filter(pk=gate.pk).update(asked_user=user)
    return Gate.objects.for_user(user).exists()


async def test_without_four_eyes_who_changed_it_decides(mira, models):
    models.will("test/planner", steps(LETTER))
    made = await sync_to_async(plan)(mira)
    await perform(made.pk, models)
    await sync_to_async(talking.change_step)(made.pk, mira, 1, {"action": "Write it to Ben."})
    await perform(made.pk, models)
    gate = await Gate.objects.select_related("run").filter(run=made.pk, step="step-1").alatest("pk")
    assert await may(gate, mira) == [True]

"""What a debate may spend: where that is used up its members say their last words, and there is an outcome."""

import json

import pytest
from asgiref.sync import sync_to_async
from django.db.models import F

from debates import procedure
from debates.models import Debate
from engine.gate_decisions import decide
from engine.llm.pricing import DOLLAR
from engine.models import Budget, Gate, Run
from tests.conftest import perform
from tests.debates.test_procedure import AgreeingModels, clara, debate, says, waiting_for

__all__ = ["clara"]

pytestmark = pytest.mark.django_db

CENT = DOLLAR // 100


@pytest.fixture(autouse=True)
def dear(settings):
    """An answer costs some cents."""
    here = {"base_url": "http://127.0.0.1:9/v1", "api_key": "none"}
    settings.PROVIDERS = {"test": here | {"prices": {"*": (10.0, 10.0)}}}


class DividedModels(AgreeingModels):
    """One of them never agrees."""

    async def ask(self, model, messages, form, on_growth, way):
        if model == "test/cleo":
            stated = {"verdict": "DO NOT HIRE", "verdict_reasoning": "The papers do not say so."}
            content = f"No, and that for reason number {len(self.asked)}."
            last = json.dumps({"content": content, **stated, "moved_by": []})
            self.will(model, last if form.name == "closing" else says(content, **stated))
        return await super().ask(model, messages, form, on_growth, way)


async def came_to_an_end_for_money(run):
    """With everybody's last word and nobody left out."""
    found = await Debate.objects.with_messages().aget(pk=run.pk)
    last = [turn.state for turn in found.turns.all() if turn.why == "closing"]
    assert (run.status, run.outcome, found.ended_because) == (Run.Status.FINISHED, "HIRE", "spend")
    assert (set(last), found.state().silent) == ({"spoken"}, set())
    return found


async def test_money_of_its_own_that_is_used_up_begins_the_closing():
    submitted = await sync_to_async(debate)(most=100, spend=40 * CENT, switches={"first": False})
    found = await came_to_an_end_for_money(await perform(submitted.pk, DividedModels()))
    assert found.state().clock > 1


async def test_a_budget_that_is_used_up_begins_the_closing():
    submitted = await sync_to_async(debate)(most=100, switches={"first": False})
    await Budget.objects.acreate(limit=40 * CENT)
    found = await came_to_an_end_for_money(await perform(submitted.pk, DividedModels()))
    assert found.state().clock > 1


async def test_what_others_have_spent_while_it_was_parked_leaves_it_its_closing(clara):
    await Budget.objects.acreate(limit=100 * DOLLAR)
    submitted, models = await waiting_for(clara, most=20)
    parked = await Run.objects.aget(pk=submitted.pk)
    assert parked.reserved == await sync_to_async(procedure.held_back)(parked) > 0
    await Budget.objects.aupdate(spent=F("limit"))
    gate = await Gate.objects.aget(run=submitted.pk, state="pending")
    await sync_to_async(decide)(gate.pk, clara, "answer", choice="skip")
    await perform(submitted.pk, models)
    assert (await Debate.objects.aget(pk=submitted.pk)).ended_because == "spend"
    assert await submitted.turns.filter(why="closing", member__name="Ada", state="spoken").aexists()


async def test_nothing_is_held_back_once_the_closing_has_begun_or_where_there_is_no_budget():
    submitted = await sync_to_async(debate)()
    run = await Run.objects.aget(pk=submitted.pk)
    held = sync_to_async(procedure.held_back)
    assert await held(run) == 0
    await Run.objects.filter(pk=run.pk).aupdate(reserved=DOLLAR)
    assert await held(run) > 0
    await Debate.objects.filter(pk=run.pk).aupdate(ended_because="spend")
    assert await held(run) == 0


async def test_a_rehearsal_needs_no_money():
    await Budget.objects.acreate(limit=0)
    members = [{"name": name, "who": "Looks on.", "model": "rehearsal/instant"} for name in ("Ada", "Ben")]
    run = await perform((await sync_to_async(debate)(members=members, most=4)).pk)
    assert run.status == Run.Status.FINISHED

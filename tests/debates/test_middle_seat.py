"""The seat in the middle says no last word, or leaves and is recalled: all verifies, and the XML counts the same."""

import json

import pytest
from asgiref.sync import sync_to_async

from debates import moderation
from debates.models import Debate
from debates.record.xml_export import render_debate_xml
from debates.rules.state import SteeringKind
from engine.gate_decisions import decide
from engine.ledger.entries import AuditEntry
from engine.llm.errors import Unauthorized
from engine.models import Gate
from tests.conftest import perform
from tests.debates.recount import recounted
from tests.debates.test_evidence import faults
from tests.debates.test_offline import problems
from tests.debates.test_procedure import AgreeingModels, clara, debate, held, says

__all__ = ["clara"]

pytestmark = pytest.mark.django_db
NO = {"verdict": "DO NOT HIRE", "verdict_reasoning": "No methods."}


@sync_to_async
def told(pk):
    """What both verifiers find, what the XML comes to, and the numbers of the last words with their seats."""
    lines = AuditEntry.objects.filter(run=pk).order_by("seq").values_list("line", flat=True)
    found = Debate.objects.with_members().get(pk=pk)
    closings = [(one.number, one.member.seat) for one in found.messages.all() if one.kind == "closing"]
    return problems([json.loads(line) for line in lines]), recounted(render_debate_xml(found)), closings


class Speechless(AgreeingModels):
    """Ben has nothing to say in the closing."""

    async def ask(self, model, messages, form, *rest):
        if (model, form.name) == ("test/ben", "closing"):
            self.script[model] = [Unauthorized("No key.")]
        return await super().ask(model, messages, form, *rest)


async def test_a_last_word_that_was_not_said_leaves_its_place():
    run, found = await held(Speechless(), most=4)
    wrong, counted, [first, last] = await told(run.pk)
    assert (await faults(run.pk), wrong, counted) == ([], [], (run.outcome, found.no_decision))
    assert [first[1], last[1], last[0] - first[0]] == [1, 3, 2]


async def in_the_middle(clara, *after):
    """Clara leaves at once, and then this is done."""
    ada, ben = ({"name": name, "who": "", "model": f"test/{name.lower()}"} for name in ("Ada", "Ben"))
    members = [ada, {"name": "Clara", "user": clara}, ben]
    pk = (await sync_to_async(debate)(members=members, switches={"first": False}, most=8)).pk
    await sync_to_async(moderation.withdraw_member)(pk, clara, NO["verdict"], NO["verdict_reasoning"])
    for act in after:
        await sync_to_async(moderation.apply_steering)(pk, clara, act, seat=2)
    return pk, await perform(pk, AgreeingModels())


async def test_who_left_out_of_turn_is_asked_for_no_last_word_and_its_verdict_counts(clara):
    pk, run = await in_the_middle(clara)
    wrong, counted, closings = await told(pk)
    assert (await faults(pk), wrong, counted, run.outcome) == ([], [], ("HIRE", ""), "HIRE")
    assert [seat for _, seat in closings] == [1, 3]


async def test_who_left_by_a_message_is_recalled_once_and_speaks_as_at_any_turn(clara):
    pk, run = await in_the_middle(clara, SteeringKind.RECALL)
    gate = await Gate.objects.aget(run=pk, state="pending")
    assert "You had withdrawn; the chair asks you once more." in gate.text
    with pytest.raises(moderation.ModerationRefused, match="recalled once"):
        await sync_to_async(moderation.apply_steering)(pk, clara, SteeringKind.RECALL, seat=2)
    said = json.loads(says("Then I am for it.", verdict="HIRE", verdict_reasoning="The letter says so."))
    await sync_to_async(decide)(gate.pk, clara, "answer", choice="speak", answer=said)
    run = await perform(pk, AgreeingModels())
    course = (await Debate.objects.with_messages().aget(pk=pk)).state()
    assert (run.outcome, course.verdict_of[2], course.withdrawn) == ("HIRE", "HIRE", {2})
    assert (await faults(pk), (await told(pk))[:2]) == ([], ([], ("HIRE", "")))

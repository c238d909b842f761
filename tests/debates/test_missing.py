"""A debate, performed, in which somebody does not say what it must, or is not there."""

import asyncio
import json
from datetime import timedelta
from functools import partial

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F

from debates import moderation, procedure, responses
from debates.models import Debate, DebateMessage, DebateTurn
from debates.page.context import page_context
from debates.page.sentences import sentence_of_absence
from engine.audit.verification import verify_one
from engine.gate_decisions import GateClosed, decide
from engine.llm.client import ModelClient
from engine.models import Gate, ModelCall, Run
from runs.procedure.spec import RunSnapshot
from tests.conftest import at_once, claim, perform
from tests.databases import tampering
from tests.debates.table import asked
from tests.debates.test_procedure import AgreeingModels, clara, held, says, waiting_for
from tests.waiting import until

__all__ = ["clara"]

pytestmark = pytest.mark.django_db


class Undecided(AgreeingModels):
    """Cleo talks and never says what it stands by; `yields` after so many times that it had to."""

    def __init__(self, yields: int = 99) -> None:
        super().__init__()
        self.pressed, self.yields = 0, yields

    async def ask(self, model, messages, form, on_growth, way):
        if model == "test/cleo" and form.name != "first":
            words = f"I still weigh it, for the reason number {len(self.asked)}."
            self.pressed += 'why=\\"roll_call\\"' in json.dumps(messages) or form.name == "closing"
            stated = {"verdict": "DO NOT HIRE", "verdict_reasoning": "If I must."} if self.pressed > self.yields else {}
            last = {"content": words, "verdict": "", "verdict_reasoning": "", "moved_by": [], **stated}
            self.will(model, json.dumps(last) if form.name == "closing" else says(words, **stated))
        return await super().ask(model, messages, form, on_growth, way)


# ---- without a verdict ------------------------------------------------------------------------------------


@sync_to_async
def absence(pk):
    """On the page and in the API."""
    row = Debate.objects.with_members().get(pk=pk)
    return sentence_of_absence(page_context(RunSnapshot(row.run, row, row.calls, {}))), responses.debate_fields(row)[
        "because_of_absence"
    ]


async def test_who_gives_no_verdict_in_a_roll_call_or_a_closing_is_asked_again_skipped_and_named():
    run, found = await held(Undecided(), most=21)
    skipped = [turn for turn in found.turns.all() if turn.state == "skipped"]
    assert [(turn.why, turn.member.name) for turn in skipped] == [("roll_call", "Cleo"), ("closing", "Cleo")]
    for turn in skipped:
        calls = [call async for call in ModelCall.objects.filter(run=run.pk, step=f"turn-{turn.number}")]
        assert [call.error_code for call in calls] == ["unusable_answer"] * 4
    named = (" Cleo gave no verdict and counts for none.", ["Cleo gave no verdict."])
    assert (run.outcome, await absence(run.pk)) == ("HIRE", named)


async def test_who_gives_one_when_it_is_asked_again_has_one():
    run, found = await held(Undecided(yields=1), most=21)
    [called] = [turn for turn in found.turns.all() if turn.why == "roll_call"]
    calls = [call async for call in ModelCall.objects.filter(run=run.pk, step=called.step).order_by("attempt")]
    assert [call.error_code for call in calls] == ["unusable_answer", ""]
    assert "You have no verdict yet" in calls[1].prompt
    assert (found.state().verdict_of[3], await absence(run.pk)) == ("DO NOT HIRE", ("", []))


# ---- a person that is waited for --------------------------------------------------------------------------


def pass_by(pk, **time):
    """As if so much time had passed for all that waits."""
    moved = timedelta(**time)
    with tampering():
        Gate.objects.filter(run=pk, state="pending").update(made=F("made") - moved, expires=F("expires") - moved)
    Run.objects.filter(pk=pk).update(wakes_at=F("wakes_at") - moved)


async def on(pk, models):
    """Once its time has come."""
    await Run.objects.filter(pk=pk).aupdate(status="queued")
    return await perform(pk, models)


async def test_a_person_that_is_not_there_in_time_is_skipped_and_the_debate_goes_on(clara):
    submitted, models = await waiting_for(clara)
    await sync_to_async(pass_by)(submitted.pk, hours=25)
    before = await DebateMessage.objects.filter(debate=submitted.pk, kind="said").acount()
    await on(submitted.pk, models)
    turn = await DebateTurn.objects.aget(debate=submitted.pk, state="skipped")
    assert turn.reason_skipped == "Clara was not there in time."
    assert await DebateMessage.objects.filter(debate=submitted.pk, kind="said").acount() > before


async def test_a_last_word_that_is_not_said_in_time_is_skipped_and_the_outcome_comes(clara):
    submitted, models = await waiting_for(clara)
    await sync_to_async(moderation.apply_steering)(submitted.pk, clara, "close_at_once")
    await perform(submitted.pk, models)
    await sync_to_async(pass_by)(submitted.pk, hours=25)
    run = await on(submitted.pk, models)
    turn = await DebateTurn.objects.aget(debate=submitted.pk, why="closing", state="skipped")
    assert (run.status, turn.reason_skipped) == ("finished", "Clara was not there in time.")
    assert (await absence(run.pk))[1] == ["Clara gave no verdict."]


async def test_three_days_of_waiting_take_no_lease_and_no_call(clara):
    submitted, _ = await waiting_for(clara, reply_within=73)
    calls = await ModelCall.objects.acount()
    await sync_to_async(pass_by)(submitted.pk, days=3)
    assert await sync_to_async(claim)("an engine") == []
    run = await Run.objects.aget(pk=submitted.pk)
    assert (run.status, run.worker, run.lease_expires_at) == ("waiting", "", None)
    assert await ModelCall.objects.acount() == calls
    await sync_to_async(pass_by)(submitted.pk, hours=2)
    assert [one.pk for one in await sync_to_async(claim)("an engine")] == [submitted.pk]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
async def test_a_turn_that_is_answered_and_skipped_at_the_same_moment_is_one_of_both(clara):
    submitted, _ = await waiting_for(clara)
    gate = await Gate.objects.aget(run=submitted.pk, state="pending")
    answer = {"content": "I make little of it.", "verdict": "DO NOT HIRE", "verdict_reasoning": "No methods at all."}
    both = [
        partial(decide, gate.pk, clara, "answer", choice="speak", answer=answer),
        partial(decide, gate.pk, clara, "answer", choice="skip"),
    ]
    done = await sync_to_async(at_once)(*both, refused=GateClosed)
    assert sorted(type(one).__name__ for one in done) == ["Gate", "GateClosed"]
    said = await DebateMessage.objects.filter(debate=submitted.pk, member__user=clara).acount()
    assert said + await DebateTurn.objects.filter(debate=submitted.pk, state="skipped").acount() == 1


# ---- people who talk while others do ----------------------------------------------------------------------


class PatientModels(ModelClient):
    """After so many answers a model waits until all people have spoken."""

    def __init__(self, answers: int) -> None:
        super().__init__(settings.CALL_TIMEOUT)
        self.answers, self.all_have_spoken = answers, asyncio.Event()

    async def ask(self, *asked):
        self.answers -= 1
        if self.answers < 0:
            await self.all_have_spoken.wait()
        return await super().ask(*asked)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
async def test_fifty_words_and_acts_among_turns_leave_no_gap_and_it_is_known_who_had_heard_them():
    """Forty words are as many as the chair has; ten acts come with them."""
    mira = await User.objects.acreate_user("mira")
    told = asked(9, model="rehearsal/instant", most=20, switches={"first": False}) | {"title": "A post"}
    submitted = await sync_to_async(procedure.submit)(owner=mira, **told)

    async def interfere():
        for number in range(5):
            said = DebateMessage.objects.filter(debate=submitted.pk, clock=1 + number)
            await until(said.aexists, f"message {1 + number}")
            words = [partial(moderation.post_message, submitted.pk, mira, f"Words {number}, {n}.") for n in range(8)]
            asks = [
                partial(moderation.apply_steering, submitted.pk, mira, "ask", seat=1 + (2 * number + n) % 9)
                for n in (0, 1)
            ]
            assert await asyncio.to_thread(at_once, *words, *asks, refused=moderation.ModerationRefused) == [None] * 10
        models.all_have_spoken.set()

    models = PatientModels(answers=12)
    run, _ = await asyncio.gather(perform(submitted.pk, models), interfere())
    found = [one async for one in DebateMessage.objects.filter(debate=run.pk).order_by("number")]
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    assert any(one.heard < one.number - 1 for one in found if one.kind == "said")
    assert (run.status, [str(one) for one in (await sync_to_async(verify_one)(run.pk))[2]]) == ("finished", [])

"""The record of a debate: what it tells, and that nothing is wrong with an honest one."""

import asyncio
import json
import re

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from debates import moderation, procedure
from debates.models import Debate, DebateMessage
from debates.record.xml_export import render_debate_xml
from engine.audit.verification import verify_one
from engine.gate_decisions import decide
from engine.ledger.entries import AuditEntry
from engine.ledger.merkle_log import LogLeaf
from engine.llm.errors import EndpointUnreachable, Unauthorized
from engine.models import Gate, GateDecision, NewDocument, Run
from runs import run_actions
from runs.record.redaction import redact_run
from tests.conftest import perform, some_of
from tests.corpus.means import resign, retell
from tests.databases import tampering
from tests.debates.test_missing import PatientModels
from tests.debates.test_procedure import (
    NAMES,
    OPTIONS,
    AgreeingModels,
    clara,
    cut_for_good,
    debate,
    held,
    in_two_parts,
    look,
    waiting_for,
)
from tests.waiting import until

__all__ = ["clara"]

pytestmark = pytest.mark.django_db

faults = sync_to_async(lambda pk: [str(fault) for fault in verify_one(pk)[2]])


def rehearsed(count=4, **asked):
    members = [
        {"name": f"Member {n}", "who": f"Looks at {what}.", "model": "rehearsal/instant"}
        for n, what in enumerate(["methods", "money", "the team", "the law"][:count], 1)
    ]
    known = {"question": "Shall we hire her for the laboratory?", "options": OPTIONS, "members": members}
    return procedure.submit(owner=None, **(known | asked))


def kinds(pk):
    return [entry.kind for entry in AuditEntry.objects.filter(run=pk).order_by("seq")]


def facts(pk, kind):
    lines = AuditEntry.objects.filter(run=pk, kind=kind).order_by("seq").values_list("line", flat=True)
    return [json.loads(line)["facts"] for line in lines]


async def test_all_that_happened_is_told_in_the_order_in_which_it_did():
    run, _ = await held()
    told = await sync_to_async(kinds)(run.pk)
    assert told[:7] == ["submitted", *["attempt", "debate.first"] * 3]
    assert told[7:13] == ["debate.note", "debate.turn", "attempt", "debate.message", "debate.turn", "attempt"]
    assert told[-1] == "ended"
    assert await faults(run.pk) == []


async def test_the_seed_is_fixed_at_the_submission_and_told_at_the_end_and_it_is_found_by_what_came_of_it():
    run, found = await held()
    [asked], [ended] = [await sync_to_async(facts)(run.pk, kind) for kind in ("submitted", "ended")]
    assert ended["seed"] == found.seed
    assert found.seed not in json.dumps(asked)
    assert "advisory" not in asked  # what is off is not told: those that were sealed before it had a name are the same
    words = await sync_to_async(lambda: Run.objects.get(pk=run.pk).search.words)()
    assert {"=flag=challenged", "=flag=unanimous"} <= set(words.split())


async def test_a_word_against_a_chosen_seed_goes_into_it():
    submitted = await sync_to_async(debate)(seed=None, word="tulips at noon", most=4)
    await perform(submitted.pk, AgreeingModels())
    assert await faults(submitted.pk) == []
    [ended] = await sync_to_async(facts)(submitted.pk, "ended")
    assert ended["seed_random"]


@pytest.mark.parametrize("seed", some_of(range(3, -1, -1), 1))
async def test_nothing_is_wrong_with_a_rehearsal(seed):
    switches = {"free_floor": seed % 2 == 0, "advisory": seed == 3}
    submitted = await sync_to_async(rehearsed)(most=24, seed=bytes([seed] * 32), switches=switches)
    run = await perform(submitted.pk)
    assert run.status == Run.Status.FINISHED, run.error
    assert await faults(run.pk) == []
    # what is off is not told: those that were sealed before it had a name are told as they were
    assert [one.get("advisory") for one in await sync_to_async(facts)(run.pk, "submitted")] == [(seed == 3) or None]


@pytest.mark.parametrize("view", ["perspective", "minutes"])
async def test_nothing_is_wrong_with_one_about_documents_and_at_each_deadline_it_is_sealed_so_far(view):
    read = [NewDocument(f"{name}.txt", "text", (name, "She led a <group>.", ""), "0" * 64) for name in ("One", "Two")]
    submitted = await sync_to_async(rehearsed)(most=24, view=view, documents=read, switches={"free_floor": True})
    run = await perform(submitted.pk)
    assert run.status == Run.Status.FINISHED, run.error
    assert await faults(run.pk) == []
    deadlines = await DebateMessage.objects.filter(debate=run.pk, note="deadline").acount()
    assert await LogLeaf.objects.filter(run=run.pk).acount() == 2 + deadlines
    assert deadlines or view == "minutes"


async def test_nothing_is_wrong_where_the_chair_talks_while_others_do():
    mira = await User.objects.acreate_user("mira")
    submitted = await sync_to_async(rehearsed)(most=20)

    acts = [
        lambda: moderation.post_message(submitted.pk, mira, "Think of the costs.", to=2, ask=True),
        lambda: moderation.apply_steering(submitted.pk, mira, "extend"),
        lambda: moderation.apply_steering(submitted.pk, mira, "give_up", seat=3),
        lambda: moderation.post_message(submitted.pk, mira, "Time is short."),
        lambda: moderation.apply_steering(submitted.pk, mira, "close_at_once"),
    ]

    async def interfere():
        for clock, act in enumerate(acts, 2):
            said = DebateMessage.objects.filter(debate=submitted.pk, clock=clock)
            await until(said.aexists, f"message {clock}")
            await sync_to_async(act)()
        models.all_have_spoken.set()

    models = PatientModels(answers=14)
    run, _ = await asyncio.gather(perform(submitted.pk, models), interfere())
    assert run.status == Run.Status.FINISHED, run.error
    assert await faults(run.pk) == []
    assert len(await sync_to_async(facts)(run.pk, "debate.steered")) == 4


async def test_nothing_is_wrong_while_a_person_is_waited_for_or_after(clara):
    submitted, models = await waiting_for(clara, most=6)
    for number in range(20):
        assert await faults(submitted.pk) == []
        gate = await Gate.objects.filter(run=submitted.pk, state="pending").afirst()
        if not gate:
            break
        said = {"content": f"My remark number {number} about this case.", "verdict": "DO NOT HIRE"}
        answer = said | {"verdict_reasoning": "It has no methods."}
        await sync_to_async(decide)(gate.pk, clara, "answer", choice="speak", answer=answer)
        run = await perform(submitted.pk, models)
    assert (run.status, number > 1) == (Run.Status.FINISHED, True)


async def test_fewer_than_two_that_can_speak_are_no_debate_and_a_retry_asks_them_again():
    models = AgreeingModels()
    for name in ("ada", "ben"):
        models.will(f"test/{name}", *[Unauthorized("No key.")] * 3)
    run, found = await held(models, count=2, switches={"first": False})
    assert (run.status, run.error["code"]) == (Run.Status.FAILED, "member_failed")
    assert await faults(run.pk) == []
    await sync_to_async(run_actions.retry)(found, None)
    assert (await perform(run.pk, models)).outcome == "HIRE"
    assert await faults(run.pk) == []
    seeds = [ended.get("seed") for ended in await sync_to_async(facts)(run.pk, "ended")]
    assert seeds == [None, found.seed]  # what may be tried again goes on with it


async def test_nothing_is_wrong_with_an_answer_in_two_parts():
    run, _ = await look(await in_two_parts())
    assert run.status == Run.Status.FINISHED
    assert await faults(run.pk) == []


async def test_that_a_message_was_cut_is_sealed_and_held_against_its_answers():
    run, _ = await look(await cut_for_good())
    assert [one["cut"] for one in await sync_to_async(facts)(run.pk, "debate.message")].count(True) == 1
    assert await faults(run.pk) == []
    cut = DebateMessage.objects.filter(debate=run.pk, cut=True)
    assert "whether it was cut" in await told_anew(run.pk, lambda: cut.update(cut=False))


async def test_one_that_was_cancelled_tells_its_seed_and_no_outcome():
    submitted = await sync_to_async(debate)()
    await sync_to_async(run_actions.cancel)(submitted, None)
    [ended] = await sync_to_async(facts)(submitted.pk, "ended")
    assert (ended["outcome"], ended["seed"]) == (None, bytes(32).hex())
    assert await faults(submitted.pk) == []


async def test_what_is_redacted_is_intact_and_has_no_text():
    run, found = await held()
    await sync_to_async(redact_run)(found.pk, "mira", "Somebody asked for it.")
    assert await faults(run.pk) == []
    entries = " ".join(await sync_to_async(lambda: [entry.line for entry in AuditEntry.objects.filter(run=run.pk)])())
    assert not re.search("Remark number|Shall we hire|looks at methods", entries)


LONG = "So it stands, friends, and the clock goes on. " * 20


@pytest.mark.parametrize(
    ("frame", "kept", "words"),
    [
        ("%s", True, "It  is\tlate.\x07"),
        ("%s", True, LONG),
        ("```json\n%s\n```", True, LONG),
        ("Here you are:\n```\n%s\n```\nAt your service.", True, "The clock goes on."),
    ],
    ids=["odd", "long", "fenced", "within words"],
)
async def test_a_timekeeper_is_believed_however_its_model_puts_its_words(words, frame, kept):
    models = AgreeingModels()
    models.will("test/keeper", *[frame % json.dumps({"words": words})] * 20)
    submitted = await sync_to_async(debate)(timekeeper="test/keeper", most=4)
    run = await perform(submitted.pk, models)
    assert run.status == Run.Status.FINISHED, run.error
    assert await DebateMessage.objects.filter(kind="note").exclude(content="").aexists() == kept
    assert await faults(run.pk) == []


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (json.dumps({"words": "I think that HIRE is right."}), "unusable_answer"),
        (EndpointUnreachable("Nobody."), "unreachable"),
    ],
    ids=["takes sides", "away"],
)
async def test_a_timekeeper_whose_model_fails_says_the_stated_sentences_and_asks_no_more(answer, code):
    models = AgreeingModels()
    models.will("test/keeper", *[answer] * 20)
    submitted = await sync_to_async(debate)(timekeeper="test/keeper", most=4)
    run = await perform(submitted.pk, models)
    notes = [one async for one in DebateMessage.objects.filter(debate=run.pk, kind="note")]
    assert (run.status, {one.content for one in notes}) == (Run.Status.FINISHED, {""})
    told = [one for one in await sync_to_async(facts)(run.pk, "attempt") if one["step"].startswith("note-")]
    assert [(one["step"], one["error_code"]) for one in told] == [(f"note-{one.after}", code) for one in notes]
    assert await faults(run.pk) == []


async def told_anew(pk, change):
    """What is doubted once this is changed and all hashes are made anew."""

    def tell():
        with tampering():
            change()
            retell(pk)
            resign()

    await sync_to_async(tell)()
    return " ".join(await faults(pk))


async def after_a_turn(clara):
    submitted, _ = await waiting_for(clara, most=4)
    said = {"content": "My only remark about this case.", "verdict": "DO NOT HIRE", "verdict_reasoning": "No methods."}
    gate = await Gate.objects.aget(run=submitted.pk, state="pending")
    await sync_to_async(decide)(gate.pk, clara, "answer", choice="speak", answer=said)
    return submitted.pk, DebateMessage.objects.filter(debate=submitted.pk, member__user=clara)


async def test_what_a_person_said_is_held_against_its_gate(clara):
    pk, said = await after_a_turn(clara)
    assert await faults(pk) == []
    doubts = await told_anew(pk, lambda: said.update(content="I take it all back."))
    assert "The person of message" in doubts


async def test_what_was_said_at_a_gate_cannot_be_another_persons(clara):
    pk, _ = await after_a_turn(clara)
    decisions = GateDecision.objects.filter(gate__run=pk)
    assert "nothing that was said at the gate" in await told_anew(pk, lambda: decisions.update(choice="skip"))


async def test_who_leaves_out_of_turn_is_told_of_and_cannot_be_told_to_have_said_otherwise(clara):
    pk, said = await after_a_turn(clara)
    await sync_to_async(moderation.withdraw_member)(pk, clara, "HIRE", "The second reference is good.")
    run = await perform(pk, AgreeingModels())
    [left] = [one for one in await sync_to_async(facts)(pk, "debate.message") if one["kind"] == "leaving"]
    assert (run.outcome, left["by"], left["verdict"], left["turn"]) == ("HIRE", "clara", "HIRE", None)
    assert await faults(pk) == []
    doubts = await told_anew(pk, lambda: said.filter(kind="leaving").update(by_name="somebody"))
    assert "for somebody else" in doubts


class Hasty(AgreeingModels):
    """Whoever sits last says its last word first."""

    async def ask(self, model, messages, form, on_growth, way):
        if form.name == "closing":
            for _ in range(30 * (3 - NAMES.index(model.removeprefix("test/").capitalize()))):
                await asyncio.sleep(0)
        return await super().ask(model, messages, form, on_growth, way)


@sync_to_async
def told_in_xml(pk):
    return re.sub(
        r'timestamp="[^"]*"', "", render_debate_xml(Debate.objects.with_members().get(pk=pk)).replace(str(pk)[:8], "")
    )


async def test_last_words_stand_in_the_order_of_their_seats_whoever_says_one_first():
    found = []
    for models in (AgreeingModels(), Hasty()):
        run, debate = await held(models, most=4)
        closings = [one for one in debate.messages.all() if one.kind == "closing"]
        assert [one.member.seat for one in closings] == [1, 2, 3]
        assert await faults(run.pk) == []
        said = re.sub(r"number \d+|My last word, \d+", "", await told_in_xml(run.pk))
        found.append((said, [one.pk for one in closings] == sorted(one.pk for one in closings)))
    assert found[0][0] == found[1][0]
    assert [in_turn for _, in_turn in found] == [True, False]

"""A debate, performed: whom it asks, what it keeps, and where it goes on."""

import json
import re

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from debates import procedure, responses
from debates.models import Debate, DebateTurn
from debates.page.display import display_of
from debates.record.xml_export import render_debate_xml
from engine.gate_decisions import decide
from engine.llm import errors
from engine.models import Gate, ModelCall, Run
from engine.runtime.procedure import InvalidAnswer
from runs.procedure.spec import RunSnapshot
from tests.conftest import ScriptedModels, perform
from tests.databases import copied_async

pytestmark = pytest.mark.django_db

OPTIONS = [
    {"word": "HIRE", "meaning": "Offer the post.", "direction": "for"},
    {"word": "DO NOT HIRE", "direction": "against"},
]
NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil")


def debate(count=3, **asked):
    members = [
        {"name": name, "who": f"{name} looks at methods.", "model": f"test/{name.lower()}"} for name in NAMES[:count]
    ]
    known = {"question": "Shall we hire her?", "options": OPTIONS, "members": members, "most": 8, "seed": bytes(32)}
    return procedure.submit(owner=None, **(known | asked))


def says(content="That is what I think of it.", **fields):
    usual = {"speaking_to": ["everyone"], "expects_answer": False, "points": [], "artifact": None}
    stated = {"verdict": "", "verdict_reasoning": "", "moved_by": [], "withdrawn": False}
    return json.dumps({"content": content, **usual, **stated, **fields})


class AgreeingModels(ScriptedModels):
    """Members that all stand by one option, and say something new each time."""

    async def ask(self, model, messages, form, on_growth, way):
        if not self.script[model]:
            number = len(self.asked)
            first = {"verdict_reasoning": "The papers say so.", "verdict": "HIRE", "confidence": 70}
            verdict = {"verdict": "HIRE", "verdict_reasoning": "The papers say so."}
            last = {"content": f"My last word, {number}.", **verdict, "moved_by": []}
            answers = {"first": json.dumps(first), "closing": json.dumps(last)}
            self.will(model, answers.get(form.name, says(f"Remark number {number} of {model} on the case.", **verdict)))
        return await super().ask(model, messages, form, on_growth, way)


async def performed(models, **asked):
    submitted = await sync_to_async(debate)(**asked)
    return (await perform(submitted.pk, models)).pk


async def look(pk):
    return await Run.objects.aget(pk=pk), await Debate.objects.with_messages().aget(pk=pk)


async def held(models=None, **asked):
    """A run and its debate; the same once and for all where its panel has nothing of its own to say."""
    return await look(await (performed(models, **asked) if models else usual(**asked)))


@copied_async
async def usual(**asked):
    return await performed(AgreeingModels(), **asked)


async def test_a_panel_of_one_mind_is_asked_alone_challenged_once_and_agrees():
    run, found = await held()
    assert (run.status, run.outcome, run.error) == (Run.Status.FINISHED, "HIRE", None)
    assert [first.stated for member in found.seated for first in [member.first]] == ["HIRE"] * 3
    assert [turn.why for turn in found.turns.all()].count("challenge") == 1
    assert [(one.note, one.after) for one in found.messages.all() if one.kind == "note"][:2] == [
        ("opening", 0),
        ("reminder", 4),
    ]


async def test_the_same_seed_gives_the_same_turns_and_nobody_hears_what_was_said_alone():
    models = AgreeingModels()
    (_, one), (_, other) = await held(), await held(models)
    assert [(t.member.name, t.why, t.ticket) async for t in one.turns.select_related("member")] == [
        (t.member.name, t.why, t.ticket) async for t in other.turns.select_related("member")
    ]
    assert not any("confidence" in json.dumps(messages[1:]) for _, messages in models.asked[3:])


@copied_async
async def ben_falls_silent():
    models = AgreeingModels()
    models.will("test/ben", *[errors.Unauthorized("No key.")] * 20)
    return await performed(models, most=12, switches={"first": False})


async def test_a_member_that_cannot_speak_is_skipped_and_after_three_turns_silent():
    run, found = await look(await ben_falls_silent())
    skipped = [turn for turn in found.turns.all() if turn.state == "skipped"]
    assert {(turn.member.name, turn.reason_skipped) for turn in skipped} == {("Ben", "Ben could not speak: No key.")}
    assert (len(skipped), run.outcome) == (3, "HIRE")


async def test_who_fell_silent_is_named_wherever_the_outcome_is():
    run, _ = await look(await ben_falls_silent())
    whole = await sync_to_async(lambda: Debate.objects.with_members().get(pk=run.pk))()
    shown = await sync_to_async(lambda: display_of(RunSnapshot(run, whole, list(whole.calls), {})))()
    assert shown.rest.endswith("Ben gave no verdict and counts for none. Ben fell silent.")
    told = await sync_to_async(lambda: responses.debate_fields(whole))()
    assert told["because_of_absence"] == ["Ben is silent.", "Ben gave no verdict."]
    assert [one["silent"] for one in told["members"] if one["name"] == "Ben"] == [True]
    assert "=flag=silent" in (await sync_to_async(lambda: Run.objects.get(pk=run.pk).search.words)()).split()


async def test_a_prompt_that_is_too_long_for_a_model_skips_the_turn_and_says_so():
    models = AgreeingModels()
    said = "The endpoint refused the request (400): “This model's maximum context length is 4096 tokens.”"
    models.will("test/ben", errors.RequestRejected(said))
    run, found = await held(models, switches={"first": False})
    [skipped] = [turn for turn in found.turns.all() if turn.state == "skipped"]
    assert skipped.reason_skipped == f"Ben could not speak: {said}"
    assert await ModelCall.objects.filter(run=run.pk, step=skipped.step).acount() == 1
    assert (run.outcome, found.state().silent) == ("HIRE", set())


@copied_async
async def in_two_parts():
    models = AgreeingModels()
    part = says(" ".join(f"word{number}" for number in range(40)))
    models.will("test/ada", cut_off(part[: part.index("word39")]), says("And that is the rest."))
    return await performed(models, switches={"first": False})


async def test_a_message_that_was_cut_is_continued_and_kept_once():
    _, found = await look(await in_two_parts())
    spoken = next(one for one in found.messages.all() if one.member and one.member.name == "Ada")
    assert spoken.content.endswith("word38 And that is the rest.")
    assert len(spoken.calls) == 2


@copied_async
async def cut_for_good():
    """A debate of which a message has no end, though its rest was asked for twice."""
    models = AgreeingModels()
    part = says(" ".join(f"word{number}" for number in range(40)), verdict="HIRE", verdict_reasoning="So it is.")
    rest = [cut_off(f'{{"content": "{words}') for words in ("and so on", "and on")]
    models.will("test/ada", cut_off(part[: part.index("word39")]), *rest)
    return await performed(models, switches={"first": False})


async def test_a_message_that_has_no_end_even_then_ends_in_dots_and_says_so_at_every_door():
    run, found = await look(await cut_for_good())
    spoken, *others = [one for one in found.messages.all() if one.member]
    assert spoken.content.endswith("word38 and so on and on…")
    assert (spoken.cut, len(spoken.calls), any(one.cut for one in others)) == (True, 3, False)
    whole = await sync_to_async(lambda: Debate.objects.with_members().get(pk=run.pk))()
    told = await sync_to_async(lambda: (render_debate_xml(whole), responses.message_objects(whole)))()
    assert re.findall(r'<Message id="([^"]*)"[^>]* cut="true">', told[0]) == [f"{str(run.pk)[:8]}-{spoken.number}"]
    assert [one["number"] for one in told[1] if one["cut"]] == [spoken.number]


@pytest.fixture
def clara(db):
    return User.objects.create_user("clara")


@copied_async
async def waiting_for(clara, **asked):
    """A debate of two in which Clara has the floor."""
    members = [{"name": "Ada", "who": "Ada asks.", "model": "test/ada"}, {"name": "Clara", "user": clara}]
    models = AgreeingModels()
    models.will("test/ada", says("What do you make of it, Clara?", speaking_to=["Clara"], expects_answer=True))
    submitted = await sync_to_async(debate)(members=members, switches={"first": False}, **asked)
    await perform(submitted.pk, models)
    return submitted, models


async def test_a_person_on_a_seat_is_waited_for_and_heard_like_any_other(clara):
    submitted, _ = await waiting_for(clara)
    gate = await Gate.objects.aget(run=submitted.pk, state="pending")
    said = json.loads(says("I make little of it, I am afraid.", verdict="DO NOT HIRE", verdict_reasoning="No methods."))
    await sync_to_async(decide)(gate.pk, clara, "answer", choice="speak", answer=said)
    found = await Debate.objects.with_messages().aget(pk=submitted.pk)
    assert (found.state().messages_said[-1].seat, found.state().verdict_of[2]) == (2, "DO NOT HIRE")


async def test_what_does_not_fit_is_refused_and_nothing_is_said(clara):
    submitted, _ = await waiting_for(clara)
    gate = await Gate.objects.aget(run=submitted.pk, state="pending")
    said = json.loads(says("I make little of it, I am afraid.", verdict="PERHAPS"))
    with pytest.raises(InvalidAnswer, match="PERHAPS"):
        await sync_to_async(decide)(gate.pk, clara, "answer", choice="speak", answer=said)
    assert await Gate.objects.filter(run=submitted.pk, state="pending").aexists()


async def test_a_turn_can_be_skipped_and_the_debate_goes_on(clara):
    submitted, models = await waiting_for(clara)
    gate = await Gate.objects.aget(run=submitted.pk, state="pending")
    await sync_to_async(decide)(gate.pk, clara, "answer", choice="skip")
    await perform(submitted.pk, models)
    assert (
        await DebateTurn.objects.aget(debate=submitted.pk, state="skipped")
    ).reason_skipped == "Clara skipped the turn."


def cut_off(said):
    failure = errors.AnswerTruncated("The answer was cut off.")
    failure.said = said
    failure.input_tokens, failure.cached_tokens = 20, 10_000  # all but a little was read before
    return failure

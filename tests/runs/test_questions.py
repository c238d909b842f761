"""What the pages of all kinds say of models that are asked, wait, or are asked again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from engine.models import ModelCall, ModelWait, Run
from engine.runtime.procedure import StepRequester
from runs.formatting import lost_time
from runs.procedure.spec import spec_of_run
from runs.questions import OpenQuestion, questions_of, sentences_of, together, writing
from runs.run_object import run_object
from tests.conftest import JAPAN
from tests.contract import EXAMPLES

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 26, 13, 5, tzinfo=UTC)


@pytest.fixture
def run(judgement):
    Run.objects.filter(pk=judgement.pk).update(status="running", started=NOON)
    return Run.objects.get(pk=judgement.pk)


def call(run, step, status, attempt=1, took=0.0, **values):
    ended = NOON + timedelta(seconds=took) if took else None
    about = {"started": NOON, "ended": ended, "model": "llama/a", "prompt": "word " * 3000, "deadline": NOON}
    return ModelCall.objects.create(run=run, step=step, status=status, attempt=attempt, **about | values)


def said(run):
    asked = questions_of(run, list(run.calls.order_by("pk")), spec_of_run(run).asker)
    return {one.step: " · ".join(filter(None, [one.who, one.said, one.again, one.usual])) for one in asked}


def test_a_model_reads_writes_and_is_asked_again_after_what_took_long(run):
    call(run, "B1", "failed", took=120, error_code="timeout", error="Late.", retry_at=NOON)
    call(run, "B1", "open", attempt=2, model="llama/b")
    call(run, "C1", "failed", took=0.5, error_code="unusable_answer", error="No.", retry_at=NOON)
    found = said(run)
    assert found["B1"].startswith("Balthasar · reads ")
    assert found["B1"].endswith(" tokens · retry 1 of 2 after 120 s")
    assert found["C1"] == "Casper · is asked again · retry 1 of 3"
    asked = questions_of(run, list(run.calls.order_by("pk")), spec_of_run(run).asker)
    assert writing(asked[0], {"B1": "The plan"}).said == "writes"
    assert writing(asked[0], {"B1": ""}).said == "writes"  # of a form of which nothing is shown while it grows


def test_how_long_a_model_usually_takes_is_known_from_five_answers_in_runs_of_the_same_kind(run, mira):
    call(run, "B1", "open", model="llama/b")
    others = [EXAMPLES[kind](mira).run for kind in ("judgement", "plan")]
    for number in range(4):
        call(others[0], "A1", "answered", attempt=number + 1, took=40, model="llama/b")
        call(others[0], "B1", "answered", attempt=number + 1, took=2, model="llama/a")
        call(others[1], "plan-1", "answered", attempt=number + 1, took=2, model="llama/b")
    assert "usually" not in said(run)["B1"]
    call(run, "A1", "answered", took=70, model="llama/b")
    assert said(run)["B1"].endswith(" tokens · usually 40 s")


def test_a_place_that_is_waited_for_and_a_provider_that_is_away_are_named(run, mira):
    ModelWait.objects.create(run=run, step="A1", fence=run.fence, provider="llama")
    ModelWait.objects.create(run=run, step="B1", fence=run.fence, provider="llama", away=NOON, said="It is down.")
    left = ModelWait.objects.create(run=run, step="C1", fence=run.fence - 1, provider="llama")
    assert said(run) == {
        "A1": "Melchior · waits for a place at llama",
        "B1": "Balthasar · waits: llama has not answered since 13:05 UTC; 1 run waits. It is down.",
    }, left
    [(_, sentence)] = sentences_of(questions_of(run, [], spec_of_run(run).asker))
    assert sentence.startswith("Balthasar waits: llama has not answered since 13:05 UTC")


def test_a_provider_that_limits_requests_is_there_and_says_until_when(run):
    wait = partial(ModelWait.objects.create, run=run, fence=run.fence, away=NOON, said="Three a minute.")
    wait(step="A1", provider="groq", limited=True, until=NOON + timedelta(seconds=20))
    wait(step="B1", provider="slow", limited=True)
    wait(step="C1", provider="llama", until=NOON + timedelta(minutes=2))
    assert said(run) == {
        "A1": "Melchior · waits: groq takes no more requests until 13:05:20 UTC; 1 run waits. Three a minute.",
        "B1": "Balthasar · waits: slow limits requests since 13:05 UTC; 1 run waits. Three a minute.",
        "C1": "Casper · waits: llama takes no requests until 13:07:00 UTC; 1 run waits. Three a minute.",
    }


def test_who_waits_for_the_same_provider_is_told_once():
    names = ["Amara", "Rajiv", "Hana", "Ilse", "Bo"]
    away = [
        OpenQuestion(str(n), name, "waits: llama has not answered", since=NOON, away=True)
        for n, name in enumerate(names)
    ]
    reads = [OpenQuestion("r", "Casper", "reads 9 tokens"), OpenQuestion("s", "Casper", "reads 9 tokens")]
    told = [(one.who, one.said) for one in together([*away, *reads])]
    assert told == [("Amara, Rajiv and 3 more", "wait: llama has not answered"), *[("Casper", "reads 9 tokens")] * 2]
    assert [one.who for one in together(away[:2])] == ["Amara and Rajiv"]


def test_every_kind_knows_who_asks_in_each_step_and_none_breaks_on_a_step_that_it_does_not_know(run):
    steps = (
        "A1",
        "plan-1",
        "step-2-0-1",
        "first-1",
        "turn-3",
        "note-1",
        "1.2",
        "summary.1.2",
        "critic.plan.1",
        "x",
        "step-x",
        "turn-x",
    )
    for name in ("judgement", "debate", "inquiry", "plan", "mission"):
        face = spec_of_run(Run(procedure=name))
        assert all(isinstance(face.asker(run.pk, step), StepRequester) for step in steps), name


def test_a_page_shows_it(run, page):
    call(run, "A1", "open")
    text = page.get(f"/judgements/{run.pk}/").content.decode()
    assert '<ul class="asking"' in text
    assert JAPAN in text


def test_the_time_of_attempts_that_came_to_nothing_stays_in_the_figures(run):
    call(run, "A1", "failed", took=120, error_code="timeout", retry_at=NOON)
    call(run, "A1", "failed", attempt=2, took=0.5, error_code="away", retry_at=NOON)
    call(run, "A1", "failed", attempt=3, took=9, error_code="cut_off", retry_at=NOON)  # no loss: the rest was asked for
    answered = call(run, "A1", "answered", attempt=4, took=2)
    assert run.calls.with_time_before().get(pk=answered.pk).seconds_in_all == 131.5
    told = run_object(spec_of_run(run).rows().get(pk=run.pk), "")["usage"]
    assert (told["lost_attempts"], told["lost_seconds"]) == (1, 120.0)
    assert lost_time(run.calls.all()) == "2 min 00 s lost in 1 attempt"


def test_the_pages_of_all_kinds_say_what_was_lost(mira):
    """One sentence of what a run used stands on all of them, and in the record."""
    for kind in ("judgement", "debate", "inquiry", "plan", "mission"):
        made = EXAMPLES[kind](mira)
        call(made.run, "x", "failed", took=125, error_code="timeout")
        face = spec_of_run(made.run)
        row = face.rows().get(pk=made.pk)
        assert "2 min 05 s lost in 1 attempt" in face.display(face.snapshot(row)).used, kind


def begun(kind, mira):
    run = EXAMPLES[kind](mira).run
    Run.objects.filter(pk=run.pk).update(status="running", started=NOON)
    return Run.objects.get(pk=run.pk)


def shown(run, texts=()):
    face = spec_of_run(run)
    return face.display(replace(face.snapshot(face.rows().get(pk=run.pk)), texts=dict(texts)))


def test_a_seat_of_a_debate_says_what_its_model_does(mira):
    run = begun("debate", mira)
    ModelWait.objects.create(run=run, step="first-1", fence=run.fence, provider="llama")
    call(run, "first-2", "open")
    for words, does in (({}, "Reads "), ({"first-2": "It"}, "Asked alone")):
        seats = {one.number: one for one in shown(run, words).seats}
        assert (seats[1].now, seats[1].speaks, seats[1].sign) == ("Waits for a place at llama", False, "pause")
        assert (seats[2].now.startswith(does), seats[2].speaks, seats[2].step) == (True, True, "first-2")
    run.calls.update(status="failed", ended=NOON + timedelta(minutes=2), error_code="timeout", retry_at=NOON)
    again = next(one for one in shown(run).seats if one.number == 2)
    assert (again.now, again.speaks, again.sign) == ("Retry 1 of 2", False, "retry")


def test_an_agent_of_a_mission_says_what_its_model_does(mira):
    run = begun("mission", mira)
    wait = ModelWait.objects.create(run=run, step="1.1", fence=run.fence, provider="llama")
    [agent, *_] = shown(run).agents
    assert (agent.word, agent.state) == ("Waits for a place at llama", "idle")
    assert shown(run).first == f"{agent.name} waits to be answered."
    wait.delete()
    call(run, "1.1", "open")
    assert shown(run).agents[0].word.startswith("Reads ")
    assert shown(run).first == f"{agent.name} works."


GROWS = {"judgement": "A1", "debate": "first-1", "inquiry": "plan.1", "plan": "plan-1", "mission": "1.1"}


def test_what_a_model_is_just_writing_grows_on_the_pages_of_all_kinds(mira):
    """A part of a page that names no step is drawn when rows change, and not while a text grows."""
    still = []
    for kind, step in GROWS.items():
        run = begun(kind, mira)
        call(run, step, "open")
        parts = spec_of_run(run).fragments(shown(run, {step: "It looks good so far"}))
        still += [] if any(step in one.steps and "looks good so far" in one.html() for one in parts) else [kind]
    assert still == []

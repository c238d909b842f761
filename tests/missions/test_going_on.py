"""How a mission goes on: who waits is left alone, who goes round in circles is stopped, and a person is asked."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from engine.audit.full_verification import verify_all
from engine.models import Gate, ModelCall, Run
from missions import comments, rules, workspace
from missions.models import Mission, MissionMessage, MissionStep
from missions.models.asking import bounds_of
from missions.reaper import sweep_ended_commands
from missions.rules import MissionLimits, StepMove
from runs import run_actions
from tests import moved_clock
from tests.conftest import need, perform
from tests.missions.scenes import finishes, mission, runs, step

START = datetime(2026, 1, 1, tzinfo=UTC)
WAITS = [1 + 599 * n // 39 for n in range(40)]  # seconds


# ---- on paper ---------------------------------------------------------------------------------------------------


def moves(*lasting, waits=True, between=0.1):
    """Equal ones: each is settled at once, and the next is asked for after so many seconds."""
    found, moment = [], START
    for seconds in lasting:
        found.append(StepMove(("wait",), moment, moment, moment, waits))
        moment += timedelta(seconds=seconds + between)
    return found


def test_no_wait_of_one_second_to_ten_minutes_counts_as_the_same_again():
    made = moves(*WAITS)
    assert {rules.same_in_a_row(made[:count]) for count in range(1, 41)} == {1}
    assert rules.same_in_a_row(moves(*[0.01] * 5)) == 5  # it is woken at once, each time


def test_what_is_no_wait_is_the_same_again_until_something_has_changed():
    made = moves(*WAITS[:5], waits=False)
    assert rules.same_in_a_row(made) == 5
    assert [rules.same_in_a_row(made, made[at].settled) for at in range(5)] == [4, 3, 2, 1, 1]


def test_which_calls_are_there_to_let_time_pass():
    waiting = [("wait", {}), ("command_status", {"wait": 5}), ("run_command", {"command": "sleep 2m "})]
    others = [("ls", {}), ("command_status", {"wait": 0}), ("run_command", {"command": "sleep 1; make"})]
    others += [("wait", {"for_command": 1}, "ended"), ("command_status", {"wait": 5}, "ended")]
    assert [rules.waits(*one) for one in (*waiting, *others)] == [True] * 3 + [False] * 5


def test_a_limit_grows_as_often_as_it_is_allowed_and_never_over_what_may_be():
    limits = MissionLimits(steps=400)
    assert [rules.with_more(limits, {"steps": times, "spend": 1}).steps for times in (0, 1, 2)] == [400, 800, 1_000]
    assert [rules.may_grow("steps", MissionLimits(steps=steps)) for steps in (999, 1_000)] == [True, False]
    assert [rules.may_grow(limit, limits) for limit in ("spend", "minutes", "output")] == [True, True, False]


# ---- performed --------------------------------------------------------------------------------------------------


@pytest.fixture
def held(db):
    need("sandbox", not workspace.missing_programs(), workspace.missing_programs())


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(timezone, "now", moved_clock.now)
    monkeypatch.setattr(Now, "as_sqlite", moved_clock._as_sqlite)
    monkeypatch.setattr(Now, "as_postgresql", moved_clock._as_postgresql)
    for model, name in ((MissionStep, "made"), (ModelCall, "started"), (MissionMessage, "made")):
        monkeypatch.setattr(model._meta.get_field(name), "_get_default", moved_clock.now)
    yield moved_clock.move
    moved_clock.move(0)


def performed(row, models):
    run = asyncio.run(perform(row.pk, models))
    return run, Mission.objects.with_agents().get(pk=row.pk)


def decided(row, models, user, decision, choice, text=""):
    gate = Gate.objects.get(run=row.pk, state="pending")
    run_actions.decide(gate.pk, user, decision, choice=choice, text=text)
    return gate, *performed(row, models)


@pytest.mark.slow
def test_forty_waits_beside_an_open_prompt_stop_nobody(mira: User, models, held, clock, monkeypatch):
    monkeypatch.setattr(rules, "MOST_MESSAGES", 1_000)  # nothing is summarised between
    waits = [step("wait", seconds=seconds) for seconds in WAITS]
    row = mission(mira, runs("python3 -qi", timeout=2), *waits, finishes(), models=models)
    for hours in range(1, 42):
        run, _ = performed(row, models)
        if not run.is_ended:
            clock(hours)
            run_actions.apply_and_announce(row.pk, lambda: None)  # as whoever wakes what is due
    seen = Mission.objects.with_agents().get(pk=row.pk)
    assert (run.outcome, len(seen.steps.all()), list(seen.halts.all()), seen.messages_in_order) == ("done", 42, [], [])
    assert not Gate.objects.exists()


def test_a_prompt_that_nobody_answers_is_told_once_and_then_a_person_is_asked(mira: User, models, held):
    row = mission(mira, runs("read -p 'Name? ' a; echo $a", timeout=5), *[step("wait")] * 2, models=models)
    run, seen = performed(row, models)
    sweep_ended_commands()
    assert [one.text for one in seen.messages_in_order] == [
        "Nothing is left that could wake you: finish, or say what you need. "
        "Command 1 waits for input, and nobody types into it."
    ]
    gate = Gate.objects.get(run=row.pk)
    assert (run.status, "Command 1 waits for input: read -p" in gate.text) == (Run.Status.WAITING, True)
    comments.answer_terminal(row.pk, mira, 1, "Ada")
    assert Gate.objects.get(run=row.pk).state == "void"
    models.will("test/one", finishes())
    comments.post_message(row.pk, mira, "Finish.")
    assert performed(row, models)[0].outcome == "done"
    assert verify_all().faults == []


def test_the_same_call_again_and_again_stops_an_agent_and_a_person_says_how_it_goes_on(mira: User, models, held):
    row = mission(mira, *[step("ls")] * 5, step("list_commands"), finishes(), models=models)
    run, seen = performed(row, models)
    assert (run.status, len(seen.steps.all())) == (Run.Status.WAITING, 5)
    assert "This was the 3rd time in a row" in seen.steps.get(number=3).result
    gate, run, seen = decided(row, models, mira, "answer", "otherwise", "Look at the commands.")
    assert gate.text.startswith("Ada has stopped after step 5: the same call again and again.\n\nls came to the same 5")
    assert [one["word"] for one in gate.choices] == ["go_on", "otherwise", "end"]
    assert [(one.by_name, one.text) for one in seen.messages_in_order if one.of_person] == [
        ("mira", "Look at the commands.")
    ]
    assert (run.outcome, len(seen.steps.all())) == ("done", 7)
    assert verify_all().faults == []


def test_what_changes_meanwhile_makes_the_same_call_another_one(mira: User, models, held):
    row = mission(mira, *[runs("date +%N >> said; echo same")] * 6, finishes(), models=models)
    run, seen = performed(row, models)
    assert (run.outcome, list(seen.halts.all())) == ("done", [])


def test_a_helper_that_stops_holds_nobody_up_and_is_left_or_ended_by_a_person(mira: User, models, held):
    row = mission(mira, *[step("wait", seconds=900)] * 2, models=models, crew=("Ada", "Ben"))  # it hears of Ben
    models.will("test/Ben", *["prose"] * 4)
    run, _ = performed(row, models)
    gate = Gate.objects.get(run=row.pk)
    assert (run.status, gate.title.startswith("Ben has stopped")) == (Run.Status.WAITING, True)
    assert gate.choices[2]["word"] == "leave"
    models.script["test/one"] = [finishes()]
    _, run, seen = decided(row, models, mira, "answer", "end")
    assert (run.outcome, [one.last for one in seen.steps.all()][-2:]) == ("done", [False, True])


def test_who_lets_an_agent_go_on_answers_what_a_person_was_asked_about_it(mira: User, models, held):
    row = mission(mira, *[step("wait", seconds=900)] * 2, models=models, crew=("Ada", "Ben"))  # it hears of Ben
    models.will("test/Ben", *["prose"] * 4)
    performed(row, models)
    comments.post_message(row.pk, mira, "Once more.", "Ben")
    assert Gate.objects.get(run=row.pk).state == "void"
    models.will("test/Ben", step("wait"))
    _, seen = performed(row, models)
    assert ([one.tool for one in seen.steps_of(2)], Gate.objects.count()) == (["wait"], 1)


def test_at_a_limit_a_person_is_asked_for_more_once(mira: User, models, held):
    row = mission(mira, runs("true"), runs("false"), step("ls"), finishes(), models=models, limits={"steps": 2})
    run, seen = performed(row, models)
    assert (run.status, len(seen.steps.all())) == (Run.Status.WAITING, 2)
    gate, run, seen = decided(row, models, mira, "approve", "more", "Only a little.")
    assert "used the 2 steps that it may take. To go on, it may take 2 more, 4 in all." in gate.text
    assert (run.outcome, bounds_of(seen).steps, [one.last for one in seen.steps.all()]) == ("done", 4, [False] * 4)
    assert [one.text for one in seen.messages_in_order] == ["Only a little."]
    assert verify_all().faults == []


def test_where_a_person_allows_no_more_it_ends_with_one_last_step(mira: User, models, held):
    row = mission(mira, runs("true"), runs("false"), finishes(), models=models, limits={"steps": 2})
    performed(row, models)
    _, run, seen = decided(row, models, mira, "reject", "end")
    assert (run.outcome, [one.last for one in seen.steps.all()]) == ("done", [False, False, True])
    assert verify_all().faults == []


def test_so_it_does_where_nobody_answers_in_time(mira: User, models, held, monkeypatch):
    monkeypatch.setattr("missions.questions.HOURS", 0)
    row = mission(mira, runs("true"), runs("false"), finishes(), models=models, limits={"steps": 2})
    run, seen = performed(row, models)
    assert (run.outcome, [one.last for one in seen.steps.all()]) == ("done", [False, False, True])
    assert verify_all().faults == []

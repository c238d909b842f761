from datetime import UTC, datetime, timedelta

import pytest
from channels.db import database_sync_to_async

from engine import run_control
from engine.llm.errors import ServerError, Unauthorized
from engine.models import ModelCall, Run
from judgements.display import display_of
from judgements.models import Judgement
from judgements.responses import judgement_fields
from runs.formatting import minutes
from tests.conftest import JAPAN, agents, claim, perform

pytestmark = pytest.mark.django_db


def display(judgement, **texts):
    judgement = Judgement.objects.with_agents().get(pk=judgement.pk)
    return display_of(judgement, list(judgement.run.calls.order_by("pk")), texts)


async def board_later(judgement):
    return await database_sync_to_async(display)(judgement)


def start(judgement):
    (run,) = claim("one", 1)
    assert run.pk == judgement.pk


def decide(judgement, *decisions, reasons=()):
    """Write decisions as they come in: A1, B1, C1, A2, ..."""
    agents = list(judgement.agents.all())
    for index, word in enumerate(decisions):
        agent, number = agents[index % 3], index // 3 + 1
        step, run = agent.step(number), judgement.run
        call = ModelCall.objects.create(
            run=run, step=step, attempt=1, model=agent.model, prompt="[]", deadline=run.created
        )
        reason = reasons[index] if reasons else f"Reason {step}."
        agent.decisions.create(round=number, decision=word, reason=reason, call=call)


def fail(judgement, step, attempt, **values):
    asked = {"model": "x", "prompt": "[]", "deadline": judgement.run.created}
    return ModelCall.objects.create(run=judgement.run, step=step, attempt=attempt, status="failed", **(asked | values))


def test_a_queued_judgement_is_idle(judgement):
    shown = display(judgement)
    assert (shown.word, shown.rest) == ("Idle", "Queued. It starts when a worker is free.")
    assert [seat.state for seat in shown.seats] == ["idle"] * 3


def test_a_judgement_that_was_given_back_half_done_is_idle_in_every_part(judgement):
    start(judgement)
    decide(judgement, "reject", "approve")
    Run.objects.release_claims("one")
    shown = display(judgement)
    assert (shown.word, {seat.state for seat in shown.seats}) == ("Idle", {"idle"})


def test_all_three_judge_when_it_begins(judgement):
    start(judgement)
    shown = display(judgement)
    assert (shown.word, shown.lead, shown.rest) == ("Judging", "Round 1 of 3.", "0 of 9 decisions are in.")
    assert [(seat.state, seat.small) for seat in shown.seats] == [("judging", "round 1")] * 3
    assert shown.announcement == "Round 1 started. Three agents are judging."


def test_who_has_decided_waits_for_the_next_round(judgement):
    start(judgement)
    decide(judgement, "reject", "approve", "reject", "approve")
    shown = display(judgement)
    assert [(s.state, s.small) for s in shown.seats] == [("pending", "for round 3"), *[("judging", "round 2")] * 2]
    assert shown.seats[0].tally.formula == "0 × 0.1 + 1 × 0.4 = 0.4, 0.5 still open, 0.5 approves"
    assert shown.seats[0].tally.text == "Score 0.40 so far. 0.10 against, 0.50 open. 0.50 approves."
    assert shown.announcement == "Round 2. Melchior: approve."


def test_who_has_decided_three_times_shows_its_own_verdict(judgement):
    start(judgement)
    decide(judgement, *["reject"] * 3, *["approve"] * 3, "reject")
    assert [seat.state for seat in display(judgement).seats] == ["reject", "judging", "judging"]


def test_the_growing_reason_is_shown_where_it_grows(judgement):
    start(judgement)
    shown = display(judgement, B1="Nothing in it")
    assert [seat.cells[0].reason for seat in shown.seats] == ["", "Nothing in it", ""]


async def test_the_end_shows_verdict_and_rule(judgement, models):
    models.will("openai/a", *["reject"] * 3)
    await perform(judgement.pk, models)
    shown = await board_later(judgement)
    assert (shown.word, shown.lead) == ("Approved", "2 of 3 agents approve.")
    assert [seat.word for seat in shown.seats] == ["Rejects", "Approves", "Approves"]
    assert (shown.rule_lead, shown.rule_rest) == ("2 of 3", "approve. Two were needed.")


async def test_a_failed_agent_says_why_and_the_others_have_stopped(judgement, models):
    models.will("openai/c", "approve", Unauthorized("The key was refused."))
    await perform(judgement.pk, models)
    shown = await board_later(judgement)
    assert shown.word == "Error"
    assert "Casper gave no decision in round 2 after 1 attempt: The key was refused." in shown.rest
    assert [(s.state, s.small) for s in shown.seats] == [*[("stopped", "after round 2")] * 2, ("failed", "in round 2")]
    assert shown.seats[2].cells[1].reason == "The key was refused."
    assert [cell.state for cell in shown.rounds[2].cells] == ["none"] * 3


async def test_only_the_last_of_four_failures_is_not_asked_again(judgement, models):
    models.will("openai/a", *[ServerError("It answered 500.")] * 4)
    await perform(judgement.pk, models)
    failed = [call async for call in ModelCall.objects.filter(step="A1").order_by("attempt")]
    assert [call.retry_at is not None for call in failed] == [True, True, True, False]


def test_a_retry_is_counted_and_says_what_happened(judgement):
    start(judgement)
    later = judgement.run.created + timedelta(minutes=1)
    for attempt in (1, 2):
        fail(judgement, "A1", attempt, error="It answered 500.", retry_at=later)
    shown = display(judgement)
    seat = shown.seats[0]
    assert shown.rest.endswith("One agent is asked again.")
    assert (seat.state, seat.word, seat.until is not None) == ("retrying", "Retry 2 of 3", True)
    assert seat.cells[0].reason == "It answered 500. It is asked again; after the last retry the judgement fails."


async def test_a_failure_before_a_retry_is_no_longer_shown(judgement, models):
    models.will("openai/a", Unauthorized("The key was refused."))
    await perform(judgement.pk, models)
    await database_sync_to_async(run_control.retry)(judgement.pk)
    shown = await board_later(judgement)
    assert (shown.word, shown.kept) == ("Idle", "The 2 decisions so far are kept. There will be no verdict.")
    assert [cell.state for cell in shown.rounds[0].cells] == ["wait", "approve", "approve"]


def test_retries_are_counted_anew_after_the_run_was_retried(judgement):
    start(judgement)
    for series, attempt in ((0, 1), (0, 2), (0, 3), (0, 4), (1, 1)):
        fail(judgement, "A1", attempt, series=series, error="No.", retry_at=judgement.run.created)
    Run.objects.update(retries=1)
    assert display(judgement).seats[0].word == "Retry 1 of 3"


def test_who_cancelled_and_when_is_said(judgement, reviewer):
    start(judgement)
    decide(judgement, "reject", "approve", "approve")
    reviewer.first_name, reviewer.last_name = "M.", "Okafor"
    reviewer.save()
    run_control.cancel(judgement.pk, reviewer)
    shown = display(judgement)
    assert (shown.word, shown.lead) == ("Cancelled", "Cancelled in round 2")
    assert shown.rest == "by M. Okafor. There is no verdict; all answers so far are kept."
    assert [(seat.state, seat.small) for seat in shown.seats] == [("stopped", "after round 1")] * 3


def test_an_agent_that_was_stopped_at_once_says_so(judgement, mira):
    run_control.cancel(judgement.pk, mira)
    assert {seat.small for seat in display(judgement).seats} == {"before round 1"}


def test_an_agent_that_was_stopped_says_where(judgement, mira):
    start(judgement)
    decide(judgement, "reject")
    ModelCall.objects.create(run=judgement.run, step="B1", attempt=1, prompt="[]", deadline=judgement.run.created)
    run_control.cancel(judgement.pk, mira)
    assert [seat.small for seat in display(judgement).seats] == ["after round 1", "in round 1", "in round 1"]


@pytest.mark.parametrize(
    ("seconds", "took"), [(31, "31 s"), (64, "1 min 04 s"), (3_600, "1 h 00 min"), (180_000, "50 h 00 min")]
)
def test_how_long_it_took_reads_as_one_says_it(judgement, seconds, took):
    start = judgement.run.created
    Run.objects.update(status="failed", started=start, ended=start + timedelta(seconds=seconds))
    assert display(judgement).duration == took


def test_a_rehearsal_says_so(mira):
    trio = agents("openai/a", "rehearsal/magi", "openai/c")
    judgement = Judgement.objects.submit(owner=mira, content=JAPAN, agents=trio)
    shown = display(judgement)
    assert shown.rehearsal == "Rehearsal: no model was asked for Balthasar."
    assert [seat.rehearsal for seat in shown.seats] == [False, True, False]


def finish(judgement, *decisions):
    decide(judgement, *decisions)
    judgement.conclude()
    Run.objects.update(status="finished", started=judgement.run.created, ended=judgement.run.created)


APPROVE, REJECT = "approve", "reject"


def test_the_arithmetic_of_each_agent_is_written_down(judgement):
    finish(judgement, *[REJECT] * 3, APPROVE, APPROVE, REJECT, APPROVE, REJECT, REJECT)
    assert [seat.tally.formula for seat in display(judgement).seats] == [
        "0 × 0.1 + 1 × 0.4 + 1 × 0.5 = 0.9, 0.5 approves",
        "0 × 0.1 + 1 × 0.4 + 0 × 0.5 = 0.4, 0.5 approves",
        "0 × 0.1 + 0 × 0.4 + 0 × 0.5 = 0.0, 0.5 approves",
    ]


def test_who_changed_its_mind_and_when_is_said(judgement):
    finish(judgement, *[APPROVE] * 3, REJECT, APPROVE, APPROVE, APPROVE, APPROVE, REJECT)
    shown = display(judgement)
    changed = "Changed its mind in round"
    carried = "Carried by earlier rounds"
    assert [seat.marks for seat in shown.seats] == [(f"{changed}s 2 and 3",), (), (f"{changed} 3", carried)]
    assert [e.mark for e in shown.seats[0].cells] == ["", f"{changed} 2", f"{changed} 3"]
    assert shown.seats[2].cells[2].mark == f"{changed} 3. {carried}"


def test_a_reason_that_was_given_before_is_marked_as_a_repetition(judgement):
    """It counts all the same. Case and marks make no difference, and the first who gave it is named."""
    said = ["It is fine.", "It is  FINE!", "Too dear.", "It is fine", "Too dear.", "So be it."]
    decide(judgement, *[APPROVE] * 6, reasons=said)
    cells = [cell for seat in display(judgement).seats for cell in seat.cells]
    again = {f"{cell.agent} {cell.round}": cell.repeats for cell in cells if cell.repeats}
    assert again == {
        "Melchior 2": "Repeats its own reason of round 1, word for word",
        "Balthasar 1": "Repeats the reason of Melchior of round 1, word for word",
        "Balthasar 2": "Repeats the reason of Casper of round 1, word for word",
    }
    assert {cell.mark for cell in cells if cell.repeats} == set(again.values())
    agents = judgement_fields(Judgement.objects.with_agents().get(pk=judgement.pk))["agents"]
    assert [one["repeats"] for one in agents[1]["decisions"]] == [{"round": 1, "seat": seat} for seat in "AC"]


def test_a_verdict_that_the_first_round_alone_would_not_have_given_is_called_swayed(judgement):
    finish(judgement, *[REJECT] * 3, *[APPROVE] * 6)
    assert display(judgement).decided == (
        "3 of 3 agents approve (Melchior, Balthasar, Casper). Two are needed, so the judgement is approved.",
        "Swayed: the first round alone would have rejected it.",
    )


def test_it_is_said_where_the_last_round_alone_would_have_ended_otherwise(judgement):
    finish(judgement, *[APPROVE] * 6, *[REJECT] * 3)
    assert display(judgement).decided[1:] == ("The last round alone would have rejected it.",)


def test_nothing_is_said_of_other_rounds_where_they_say_the_same(judgement):
    finish(judgement, *[REJECT] * 9)
    assert display(judgement).decided == ("0 of 3 agents approve. Two are needed, so the judgement is rejected.",)


def test_an_agent_and_the_judgement_may_be_certain_already(judgement):
    start(judgement)
    decide(judgement, *[APPROVE] * 4)
    shown = display(judgement)
    assert shown.seats[0].tally.text.endswith("0.50 open. 0.50 approves: certain already.")
    assert shown.rest == "4 of 9 decisions are in."
    decide_more(judgement, 2, "B")
    assert display(judgement).rest == "Approval is certain: two agents have 0.5 already."


def decide_more(judgement, number, seat):
    agent = judgement.agents.get(seat=seat)
    values = {"run": judgement.run, "model": agent.model, "prompt": "[]", "deadline": judgement.run.created}
    call = ModelCall.objects.create(step=agent.step(number), attempt=1, **values)
    agent.decisions.create(round=number, decision=APPROVE, reason="As before.", call=call)


def test_what_was_certain_is_not_said_of_a_judgement_without_a_verdict(judgement):
    start(judgement)
    decide(judgement, *[APPROVE] * 6)
    run_control.cancel(judgement.pk)
    shown = display(judgement)
    assert (shown.decided, [seat.tally.certain for seat in shown.seats]) == ((), [False] * 3)


@pytest.mark.parametrize(("seconds", "clock"), [(5, "0:05"), (3599, "59:59"), (43_500, "12:05:00")])
def test_a_clock_shows_hours_only_where_there_are_any(seconds, clock):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert minutes(start, start + timedelta(seconds=seconds)) == clock

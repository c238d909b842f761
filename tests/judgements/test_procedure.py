import asyncio
import json

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async

from engine import pubsub
from engine.llm.errors import ResponseFormatRejected, ServerError, Unauthorized, UnusableAnswer
from engine.models import ModelCall, Run
from engine.queue.worker import Worker
from judgements import prompts
from judgements.models import Judgement, RoundDecision
from runs.run_actions import cancel, retry
from tests.conftest import JAPAN, agents, perform, says
from tests.waiting import until

pytestmark = pytest.mark.django_db


async def judged(judgement: Judgement) -> Judgement:
    return await Judgement.objects.with_agents().aget(pk=judgement.pk)


async def test_nine_decisions_make_a_verdict(judgement, models):
    run = await perform(judgement.pk, models)
    assert run.status == Run.Status.FINISHED
    assert (await judged(judgement)).status == "approved"
    assert await RoundDecision.objects.acount() == 9


@pytest.mark.parametrize("opens", [True, False])
async def test_answers_have_to_stream_to_whose_page_opens_alone(judgement, models, opens):
    if opens:
        pubsub.announce_soon(judgement.pk)
    await perform(judgement.pk, models)
    assert models.streamed == [opens] * 9


async def test_two_rejecting_agents_reject(judgement, models):
    models.will("openai/a", *["reject"] * 3)
    models.will("openai/b", *["reject"] * 3)
    await perform(judgement.pk, models)
    assert (await judged(judgement)).status == "rejected"


async def test_each_agent_is_asked_three_times_round_by_round(judgement, models):
    await perform(judgement.pk, models)
    asked = [(model[-1].upper(), prompts.read_case(messages).round) for model, messages in models.asked]
    assert sorted(asked[0:3]) == [("A", 1), ("B", 1), ("C", 1)]
    assert sorted(asked[3:6]) == [("A", 2), ("B", 2), ("C", 2)]
    assert sorted(asked[6:9]) == [("A", 3), ("B", 3), ("C", 3)]


async def test_an_agent_sees_all_decisions_of_the_rounds_before_and_none_of_its_own_round(judgement, models):
    models.will("openai/b", says("reject", "The first no of B."), says("approve", "The later yes of B."))
    await perform(judgement.pk, models)
    cases = [prompts.read_case(messages) for _, messages in models.asked]
    for case in cases:
        assert {e.round for e in case.earlier} == set(range(1, case.round))
        assert len(case.earlier) == 3 * (case.round - 1)
    seen_by_a_in_round_3 = next(c for c in cases if c.seat == "A" and c.round == 3).earlier
    assert [e.reason for e in seen_by_a_in_round_3 if e.seat == "B"] == ["The first no of B.", "The later yes of B."]


async def test_no_name_and_no_model_of_another_agent_is_in_a_prompt(judgement, models):
    await perform(judgement.pk, models)
    for model, messages in models.asked:
        text = "".join(message["content"] for message in messages)
        others = {"openai/a": "Melchior", "openai/b": "Balthasar", "openai/c": "Casper"}
        del others[model]
        assert not [name for pair in others.items() for name in pair if name in text]


async def test_every_prompt_and_raw_answer_is_kept(judgement, models):
    models.will("openai/a", says("reject", "Not in this weather."))
    await perform(judgement.pk, models)
    call = await ModelCall.objects.aget(run_id=judgement.pk, step="A1")
    assert call.messages == models.asked[0][1]
    assert call.answer == says("reject", "Not in this weather.")
    assert (call.status, call.attempt, call.answered_by) == ("answered", 1, "openai/a-2026")


async def test_an_unusable_answer_is_asked_for_again_with_what_was_wrong(judgement, models):
    models.will("openai/a", "I approve.", says("reject", "On second thought."))
    await perform(judgement.pk, models)
    calls = [c async for c in ModelCall.objects.filter(step="A1").order_by("attempt")]
    assert [(c.status, c.error_code) for c in calls] == [("failed", "unusable_answer"), ("answered", "")]
    assert calls[0].answer == "I approve."
    assert "not one JSON object" in calls[1].messages[-1]["content"]


async def test_an_agent_has_one_attempt_and_three_retries(judgement, models):
    models.will("openai/a", *[UnusableAnswer("No answer.", raw="?")] * 4)
    run = await perform(judgement.pk, models)
    assert await ModelCall.objects.filter(step="A1").acount() == 4
    assert (run.status, run.error["code"], run.error["attempts"]) == ("failed", "unusable_answer", 4)


async def test_a_final_failure_is_not_tried_again_and_names_agent_round_and_cause(judgement, models):
    models.will("openai/b", "approve", Unauthorized("The key was refused."))
    run = await perform(judgement.pk, models)
    assert run.error == {
        "code": "unauthorized",
        "agent": "B",
        "round": 2,
        "attempts": 1,
        "message": (
            "Balthasar gave no decision in round 2 after 1 attempt: The key was refused. "
            "Check the key of this provider in the environment."
        ),
    }
    assert (await judged(judgement)).status == "error"


async def test_siblings_of_a_failed_agent_finish_and_their_answers_are_kept(judgement, models):
    models.will("openai/a", Unauthorized("The key was refused."))
    await perform(judgement.pk, models)
    kept = [d.agent.seat async for d in RoundDecision.objects.select_related("agent")]
    assert sorted(kept) == ["B", "C"]
    assert (await judged(judgement)).run.outcome is None


async def test_a_failure_in_passing_leaves_no_trace_in_the_verdict(judgement, models):
    models.will("openai/a", "reject", UnusableAnswer("Cut off."), "reject", UnusableAnswer("Cut off."), "reject")
    await perform(judgement.pk, models)
    whole = await judged(judgement)
    assert whole.status == "approved"
    assert [len(agent.history) for agent in whole.agents.all()] == [3, 3, 3]


async def test_a_failed_judgement_is_retried_from_the_decisions_that_exist(judgement, models):
    models.will("openai/c", "reject", Unauthorized("The key was refused."))
    await perform(judgement.pk, models)
    assert await database_sync_to_async(retry)(judgement)
    models.asked.clear()
    await perform(judgement.pk, models)
    rounds = [prompts.read_case(messages).round for _, messages in models.asked]
    assert rounds == [2, 3, 3, 3]
    assert (await judged(judgement)).status == "approved"


async def test_a_server_error_is_waited_out(judgement, models):
    models.will("openai/a", ServerError("500"))
    run = await perform(judgement.pk, models)
    assert run.status == Run.Status.FINISHED
    first = await ModelCall.objects.aget(step="A1", attempt=1)
    assert first.retry_at is not None


async def test_a_retry_counts_its_attempts_anew(judgement, models):
    models.will("openai/a", *[UnusableAnswer("No answer.", raw="?")] * 4)
    await perform(judgement.pk, models)
    await database_sync_to_async(retry)(judgement)
    assert (await perform(judgement.pk, models)).status == Run.Status.FINISHED
    calls = ModelCall.objects.filter(step="A1").order_by("pk").values_list("series", "attempt")
    assert [call async for call in calls] == [(0, 1), (0, 2), (0, 3), (0, 4), (1, 1)]


async def test_what_is_not_failed_is_not_retried_and_what_is_over_not_cancelled(judgement, mira, models):
    assert not await database_sync_to_async(retry)(judgement)
    await perform(judgement.pk, models)
    assert not await database_sync_to_async(cancel)(judgement, mira)
    assert (await judged(judgement)).status == "approved"


async def test_a_cancelled_judgement_keeps_what_is_decided_and_who_cancelled_it(judgement, mira, models):
    models.will("openai/c", "approve", *[ServerError("500")] * 3)  # until its fourth attempt there is time to cancel
    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())
    await until(five_decided, "five decisions")
    assert await database_sync_to_async(cancel)(judgement, mira)
    await until(nobody_is_asked, "the end of what was under way")
    await engine.stop(grace=0)
    await performing
    whole = await judged(judgement)
    assert (whole.status, whole.run.outcome, whole.run.cancelled_by_id) == ("cancelled", None, mira.pk)
    assert await RoundDecision.objects.acount() == 5
    assert not await ModelCall.objects.filter(status="open").aexists()


async def five_decided():
    return await RoundDecision.objects.acount() == 5


async def nobody_is_asked():
    return not await ModelCall.objects.filter(status="open").aexists()


# ---- the fallback ------------------------------------------------------------------------------------------


async def asked_in_round_1(seat="A"):
    calls = ModelCall.objects.filter(step=f"{seat}1").order_by("pk").values_list("attempt", "model", "status")
    return [call async for call in calls]


@pytest.fixture
async def with_fallback(mira):
    trio = agents("openai/a", "openai/b", "openai/c")
    trio[0]["fallback"] = "openai/spare"
    return await sync_to_async(Judgement.objects.submit)(owner=mira, content=JAPAN, agents=trio)


async def test_a_declared_fallback_takes_over_after_two_failures(with_fallback, models):
    models.will("openai/a", *[UnusableAnswer("No answer.")] * 2)
    await perform(with_fallback.pk, models)
    assert await asked_in_round_1() == [
        (1, "openai/a", "failed"),
        (2, "openai/a", "failed"),
        (3, "openai/spare", "answered"),
    ]


async def test_a_declared_fallback_takes_over_at_once_after_a_final_failure(with_fallback, models):
    models.will("openai/a", Unauthorized("The key was refused."))
    await perform(with_fallback.pk, models)
    assert await asked_in_round_1() == [(1, "openai/a", "failed"), (2, "openai/spare", "answered")]
    assert (await judged(with_fallback)).status == "approved"


async def test_a_fallback_that_fails_too_ends_the_judgement_after_four_attempts(with_fallback, models):
    for model in ("openai/a", "openai/spare"):
        models.will(model, *[UnusableAnswer("No answer.")] * 4)
    run = await perform(with_fallback.pk, models)
    assert (run.status, run.error["attempts"]) == ("failed", 4)
    assert [model for _, model, _ in await asked_in_round_1()] == ["openai/a"] * 2 + ["openai/spare"] * 2


async def test_each_round_asks_the_first_model_first(with_fallback, models):
    models.will("openai/a", Unauthorized("The key was refused."))
    await perform(with_fallback.pk, models)
    later = ModelCall.objects.filter(step__in=["A2", "A3"]).values_list("model", flat=True)
    assert {model async for model in later} == {"openai/a"}


async def test_a_resumed_agent_stays_with_its_fallback(with_fallback, models):
    run = await Run.objects.aget(pk=with_fallback.pk)
    usual = {"run": run, "step": "A1", "prompt": "[]", "deadline": run.created, "status": "failed"}
    await ModelCall.objects.acreate(
        attempt=1, model="openai/a", error_code="unauthorized", retry_at=run.created, **usual
    )
    await Run.objects.filter(pk=run.pk).aupdate(claims=1)
    await perform(run.pk, models)
    assert (await asked_in_round_1())[-1] == (2, "openai/spare", "answered")


async def test_a_refused_format_is_no_failed_attempt(with_fallback, models):
    models.will(
        "openai/a", *[ResponseFormatRejected("No.", refused="response_format")] * 2, UnusableAnswer("No answer.")
    )
    await perform(with_fallback.pk, models)
    assert await asked_in_round_1() == [
        (1, "openai/a", "failed"),
        (1, "openai/a", "failed"),
        (1, "openai/a", "failed"),
        (2, "openai/a", "answered"),
    ]
    formats = ModelCall.objects.filter(step="A1").order_by("pk").values_list("answer_format", flat=True)
    assert [name async for name in formats] == ["json_schema", "json_object", "text", "text"]


async def test_a_fallback_is_not_blamed_for_the_answers_of_another(with_fallback, models):
    models.will("openai/a", "no JSON", "no JSON")
    await perform(with_fallback.pk, models)
    heard = [messages for model, messages in models.asked if model == "openai/spare"]
    assert len(heard[0]) == 2


# ---- text that wants to break things -----------------------------------------------------------------------

NASTY = "Right\u202eleft, zero\u200bwidth, tag \U000e0061, \x1b[31mred, NUL \u0000, half \ud800, 5\u0301\u0301 marks"
SHOWN = (
    "Right\u202eleft, zero\u200bwidth, tag \U000e0061, \\u001b[31mred, NUL \\u0000, half \\ud800, 5\u0301\u0301 marks"
)


async def test_control_characters_of_a_reason_are_kept_as_visible_escapes(judgement, models):
    models.will("openai/a", json.dumps({"reason": NASTY, "decision": "reject"}))
    await perform(judgement.pk, models)
    decision = await RoundDecision.objects.select_related("call").aget(agent__seat="A", round=1)
    assert decision.reason == SHOWN
    shown_later = prompts.read_case(models.asked[-1][1]).earlier[0].reason
    assert shown_later == SHOWN

"""Three budgets: for a provider that is away, for time, and for answers that cannot be used."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.db.models import Count

from engine import running
from engine.audit import verification
from engine.llm import queues
from engine.llm.errors import CallTimedOut, EndpointUnreachable, RateLimited, UnusableAnswer
from engine.models import ModelCall, ModelWait, Run
from engine.queue.worker import Worker
from engine.runtime import model_request
from judgements.models import Judgement
from runs.record.document import looked, record_line
from runs.run_actions import cancel
from tests.conftest import JAPAN, agents, perform
from tests.waiting import until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(queues, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(queues, "LONGEST_PAUSE", 0.02)
    monkeypatch.setattr(model_request, "LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(model_request, "TOLD_AFTER", 0.01)


def away(wait=None):
    failure = EndpointUnreachable("It could not be reached.")
    failure.server_away, failure.retry_after = True, wait
    return failure


async def attempts(step="A1"):
    calls = ModelCall.objects.filter(step=step).order_by("pk").values_list("attempt", "error_code")
    return [call async for call in calls]


async def test_a_provider_that_is_away_costs_no_attempt(judgement, models):
    models.will("openai/a", *[away() for _ in range(12)], *[UnusableAnswer("No answer.")] * 3)
    assert (await perform(judgement.pk, models)).outcome == "approved"
    answered = [(1, "unusable_answer"), (2, "unusable_answer"), (3, "unusable_answer"), (4, "")]
    assert await attempts() == [(1, "away"), *answered]


async def test_all_looks_at_a_provider_that_is_away_are_one_row_after_the_first(judgement, models):
    models.will("openai/a", away(), away(), EndpointUnreachable("It broke off."), *[away()] * 9)
    await perform(judgement.pk, models)
    found = [call async for call in ModelCall.objects.filter(step="A1").order_by("pk")]
    told = [(call.attempt, call.error_code, call.looks, call.retry_at is None) for call in found]
    assert told == [(1, "away", 0, False), (1, "unreachable", 1, False), (2, "away", 0, False), (2, "", 8, True)]
    assert found[3].looked_since < found[3].started
    assert found[3].error == ""
    assert await sync_to_async(lambda: verification.verify_one(judgement.pk)[2])() == []
    lines = await sync_to_async(lambda: record_line(judgement.pk))()
    assert '"looks":8' in lines
    assert looked(found[3]) == "made 8 times in vain in 0 s before"


async def test_a_provider_that_is_away_too_long_is_told_in_the_row_of_all_looks(judgement, models, settings):
    settings.SERVER_PATIENCE = 0.2
    for model in ("openai/a", "openai/b", "openai/c"):
        models.will(model, *[away() for _ in range(100)])
    await perform(judgement.pk, models)
    codes = [call.error_code async for call in ModelCall.objects.filter(step="A1").order_by("pk")]
    assert codes in (["away", "unreachable"], ["unreachable"])


async def test_each_of_the_three_budgets_is_its_own(judgement, models):
    models.will("openai/a", CallTimedOut("Late."), *[UnusableAnswer("No answer.")] * 3, away(), CallTimedOut("Late."))
    assert (await perform(judgement.pk, models)).outcome == "approved"


async def test_what_may_take_as_long_as_an_answer_may_is_tried_three_times(judgement, models):
    models.will("openai/a", *[CallTimedOut("Late.")] * 4)
    run = await perform(judgement.pk, models)
    assert (run.error["code"], run.error["attempts"]) == ("timeout", 3)


async def test_patience_with_a_provider_ends_and_what_it_said_last_is_told(judgement, models, settings):
    settings.SERVER_PATIENCE = 0.1
    for model in ("openai/a", "openai/b", "openai/c"):
        models.will(model, *[away() for _ in range(100)])
    run = await perform(judgement.pk, models)
    assert (run.status, run.error["code"]) == ("failed", "unreachable")
    assert "could not be reached" in run.error["message"]


async def test_a_wait_beyond_all_patience_ends_it_at_once(judgement, models):
    models.will("openai/a", RateLimited("Tomorrow.", retry_after=86_400))
    run = await perform(judgement.pk, models)
    assert (run.status, run.error["code"]) == ("failed", "rate_limited")


async def test_a_limit_of_a_day_is_that_of_who_asked_and_not_of_all_models_of_its_provider(judgement, mira, models):
    models.will("openai/a", RateLimited("Tomorrow.", retry_after=86_400))
    assert (await perform(judgement.pk, models)).status == "failed"
    trio = agents("openai/d", "openai/d", "openai/d")
    other = await sync_to_async(Judgement.objects.submit)(owner=mira, content=JAPAN, agents=trio)
    assert (await perform(other.pk, models)).outcome == "approved"


async def test_a_fallback_takes_over_after_a_short_absence(mira, models, monkeypatch):
    monkeypatch.setattr(model_request, "SHORT_ABSENCE", 0.05)
    trio = agents("openai/a", "openai/a", "openai/a")
    for agent in trio:
        agent["fallback"] = "spare/a"
    judgement = await sync_to_async(Judgement.objects.submit)(owner=mira, content=JAPAN, agents=trio)
    models.will("openai/a", *[away() for _ in range(1000)])
    assert (await perform(judgement.pk, models)).outcome == "approved"
    answered = ModelCall.objects.filter(status="answered").values_list("model", flat=True)
    assert {model async for model in answered} == {"spare/a"}


class ThreeAMoment:
    """Stands before a provider: three requests in each moment, as a free tier takes them in a minute."""

    MOMENT = 0.05

    def __init__(self, models):
        self.models, self.taken, self.ask = models, [], models.ask
        models.ask = self.limited

    async def limited(self, *asked):
        now = asyncio.get_running_loop().time()
        self.taken = [at for at in self.taken if at > now - self.MOMENT]
        if len(self.taken) >= 3:
            raise RateLimited("Three in a moment.", retry_after=self.taken[0] + self.MOMENT - now)
        self.taken.append(now)
        return await self.ask(*asked)


async def test_three_judgements_end_at_a_provider_that_takes_three_calls_in_a_moment(mira, models):
    ThreeAMoment(models)
    submit = sync_to_async(Judgement.objects.submit)
    trio = agents("openai/a", "openai/b", "openai/c")
    made = [await submit(owner=mira, content=JAPAN, agents=trio) for _ in range(3)]
    engine = Worker(models=models)  # one for all: who goes on after another begins with a row of its own
    performing = asyncio.create_task(engine.run())

    async def all_are_approved():
        return await Run.objects.filter(outcome="approved").acount() == len(made)

    await until(all_are_approved, "three verdicts")
    await engine.stop()
    await performing
    limited = await ModelCall.objects.filter(error_code="away").acount()
    assert 0 < limited < 60
    most = ModelCall.objects.values("run", "step").annotate(rows=Count("pk")).order_by("-rows")
    assert (await most.afirst())["rows"] == 2  # where it was refused first, and where it was answered


async def waits():
    return [wait async for wait in ModelWait.objects.current()]


async def test_who_waits_is_told_apart_and_is_cancelled_at_once(judgement, mira, models, settings):
    settings.PROVIDERS = {"openai": {"base_url": "http://127.0.0.1:9/v1", "api_key": "none"}}
    models.will("openai/a", away(wait=500.0))
    engine = Worker(models=models)
    performing = asyncio.create_task(engine.run())

    async def all_wait():
        return any(wait.absent for wait in await waits())

    await until(all_wait, "a question that waits")
    [wait] = await sync_to_async(ModelWait.objects.of)(judgement.pk)
    assert (wait.provider, wait.said, wait.runs) == ("openai", "It could not be reached.", 1)
    assert wait.until > wait.since
    assert await sync_to_async(cancel)(judgement, mira)
    await until(nobody_is_performed(engine), "the end of waiting")
    await engine.stop(grace=0)
    await performing
    assert await waits() == []
    assert not await ModelCall.objects.filter(status="open").aexists()


def nobody_is_performed(engine):
    async def nobody():
        return not engine._performing

    return nobody


async def test_waiting_for_a_provider_does_not_count_as_running_unless_something_else_is_asked(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(running.time, "monotonic", lambda: now[0])
    clock = running.RunClock()
    with clock.waiting():
        now[0] += 50
        with clock.asking():
            now[0] += 3
        now[0] += 50
    now[0] += 4
    assert clock.seconds == 7

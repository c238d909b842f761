"""Money: what calls cost, what is set aside, and that no more is spent than there is."""

import json
from datetime import date

import pytest
from channels.db import database_sync_to_async

from engine import run_control
from engine.llm import pricing
from engine.llm.errors import Unauthorized
from engine.llm.pricing import DOLLAR
from engine.models import ModelCall, Run
from engine.models.budgets import Budget, BudgetExceeded
from judgements.estimate import estimate
from judgements.models import Judgement
from tests.conftest import JAPAN, agents, claim, perform
from tests.crash.spending import race

pytestmark = pytest.mark.django_db

DEAR = ("dear/one",) * 3


@pytest.fixture(autouse=True)
def dear(settings):
    """A provider whose every token costs a thousandth of a cent."""
    here = {"base_url": "http://127.0.0.1:9/v1", "api_key": "none"}
    settings.PROVIDERS = {
        "dear": here | {"prices": {"*": (10.0, 10.0)}},
        "free": here | {"prices": {"*": (0.0, 0.0)}},
        "openai": {"base_url": "https://api.openai.com/v1", "api_key": "none"},
        "elsewhere": here,
    }


def budget(limit, owner=None, **values):
    return Budget.objects.create(limit=int(limit * DOLLAR), owner=owner, **values)


def submit(owner, *models):
    return Judgement.objects.submit(owner=owner, content=JAPAN, agents=agents(*(models or DEAR)))


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("openai/gpt-4o", 7_500_000),
        ("dear/one", 15_000_000),
        ("free/one", 0),
        ("rehearsal/magi", 0),
        ("elsewhere/gpt-4o", None),
        ("openai/of-tomorrow", None),
    ],
)
def test_a_price_is_declared_published_or_unknown(model, cost):
    assert pricing.cost(model, 1000, 500) == cost


def test_tokens_that_nobody_counted_have_no_cost():
    assert pricing.cost("dear/one", None, 5) is None


def test_without_a_budget_nothing_is_set_aside(mira):
    assert submit(mira, *["elsewhere/one"] * 3).run.reserved == 0


def test_what_it_may_cost_is_set_aside_until_it_is_spent(mira):
    mine = budget(5, mira)
    judgement = submit(mira)
    mine.refresh_from_db()
    assert mine.reserved == judgement.run.reserved == judgement.estimate().cost > 0


def test_one_with_too_little_left_is_refused_and_leaves_nothing_behind(mira):
    budget(0.01, mira)
    with pytest.raises(BudgetExceeded, match=r"\$0\.01"):
        submit(mira)
    assert not Run.objects.exists()


def test_an_unknown_price_is_refused_where_there_is_a_budget(mira):
    budget(100)
    with pytest.raises(BudgetExceeded, match="price of a model is unknown"):
        submit(mira, "dear/one", "dear/one", "elsewhere/one")


def test_another_owners_budget_is_another_matter(mira, noor):
    budget(0, noor)
    assert submit(mira)


async def test_what_was_spent_stands_in_the_calls_and_the_rest_is_given_back(mira, models):
    mine = await Budget.objects.acreate(limit=5 * DOLLAR, owner=mira)
    run = (await database_sync_to_async(submit)(mira)).run
    await perform(run.pk, models)
    await mine.arefresh_from_db()
    costs = [cost async for cost in ModelCall.objects.values_list("cost", flat=True)]
    assert len(costs) == 9
    assert (mine.spent, mine.reserved) == (sum(costs), 0)
    assert mine.spent > 0


async def test_a_failed_judgement_gives_back_what_it_did_not_spend(mira, models):
    mine = await Budget.objects.acreate(limit=5 * DOLLAR, owner=mira)
    models.will("dear/one", *[Unauthorized("The key was refused.")] * 3)
    await perform((await database_sync_to_async(submit)(mira)).run.pk, models)
    await mine.arefresh_from_db()
    assert (mine.spent, mine.reserved) == (0, 0)


async def test_no_model_is_asked_once_a_budget_is_overdrawn(mira, models):
    run = (await database_sync_to_async(submit)(mira)).run
    await Budget.objects.acreate(limit=0, spent=1, owner=mira)
    run = await perform(run.pk, models)
    assert (run.status, run.error["code"]) == ("failed", "quota")
    assert "is used up" in run.error["message"]
    assert models.asked == []


def test_a_new_month_begins_with_nothing_spent(mira):
    budget(1, mira, spent=DOLLAR, month=date(2026, 1, 1))
    assert submit(mira)


def test_a_cancelled_judgement_gives_back_what_was_set_aside(mira):
    mine = budget(5, mira)
    run_control.cancel(submit(mira).pk, mira)
    mine.refresh_from_db()
    assert mine.reserved == 0


async def test_what_nobody_counted_is_estimated_and_charged(mira, models):
    mine = await Budget.objects.acreate(limit=5 * DOLLAR, owner=mira)
    models.will("dear/one", "no JSON " * 1000)
    run = (await database_sync_to_async(submit)(mira)).run
    await perform(run.pk, models)
    await mine.arefresh_from_db()
    failed = await ModelCall.objects.aget(status="failed")
    assert failed.estimated
    assert failed.cost > 1000
    assert mine.spent == sum([cost async for cost in ModelCall.objects.values_list("cost", flat=True)])


def asking(run):
    """The run with one call that is under way."""
    claim("one", 1)
    prompt = json.dumps([{"role": "user", "content": "May I? " * 100}])
    ModelCall.objects.create(run=run, step="A1", attempt=1, model="dear/one", prompt=prompt, deadline=run.created)


def test_a_call_that_is_cut_short_is_charged_for_what_was_asked(mira):
    mine = budget(5, mira)
    run = submit(mira).run
    asking(run)
    run_control.cancel(run.pk, mira)
    mine.refresh_from_db()
    assert mine.spent == ModelCall.objects.get().cost > 0
    assert mine.reserved == 0


def test_a_budget_of_later_is_not_given_what_was_never_reserved_in_it(mira):
    budget(100)
    first = submit(mira)
    mine = budget(100, mira)
    second = submit(mira)
    run_control.cancel(first.pk, mira)
    mine.refresh_from_db()
    assert mine.reserved == second.run.reserved


async def test_what_is_set_aside_for_a_judgement_is_its_own(mira, noor, models):
    """Another one under the same budget has cost more than was expected."""
    everybodys = await Budget.objects.acreate(limit=5 * DOLLAR)
    run = (await database_sync_to_async(submit)(mira)).run
    await Budget.objects.filter(pk=everybodys.pk).aupdate(spent=9 * DOLLAR)
    assert (await perform(run.pk, models)).status == Run.Status.FINISHED


def test_hidden_characters_are_estimated_as_they_are_sent():
    plain, hidden = (estimate(content, agents(*DEAR)).input_tokens for content in ("a" * 1000, "\u200b" * 1000))
    assert hidden > plain + 9 * 1000


@pytest.mark.django_db(transaction=True)  # fifty connections
def test_of_fifty_submissions_at_once_with_money_for_one_exactly_one_is_admitted(mira):
    assert [race(mira, agents(*DEAR)) for _ in range(5)] == [1] * 5

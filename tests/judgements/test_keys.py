"""One request that is sent again and again submits one judgement."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from engine.models import Run
from engine.models.budgets import Budget, BudgetExceeded
from judgements import procedure
from runs.models import IdempotencyConflict, IdempotencyKey
from tests.conftest import JAPAN, agents

pytestmark = pytest.mark.django_db


def submit(owner, request_hash="h", **more):
    values = {"content": JAPAN, "agents": agents(), "key": "k", **more}
    return procedure.submit(owner=owner, request_hash=request_hash, **values)


def test_the_same_request_brings_the_same_judgement(mira):
    assert submit(mira) == submit(mira)
    assert Run.objects.count() == 1


def test_another_request_under_the_key_is_refused_and_leaves_nothing(mira):
    submit(mira)
    with pytest.raises(IdempotencyConflict):
        submit(mira, "other")
    assert Run.objects.count() == 1


def test_a_key_is_one_owners(mira, noor):
    assert submit(mira) != submit(noor)


def test_what_was_refused_takes_no_key_and_what_took_the_money_is_found(mira, settings, provider):
    settings.PROVIDERS = {"openai": {**settings.PROVIDERS["openai"], "prices": {"*": (1, 1)}}}
    budget = Budget.objects.create(owner=mira, limit=1)
    put = {"agents": agents(*["openai/x"] * 3)}
    with pytest.raises(BudgetExceeded):
        submit(mira, **put)
    assert not IdempotencyKey.objects.exists()
    Budget.objects.filter(pk=budget.pk).update(limit=10**12)
    first = submit(mira, **put)
    Budget.objects.filter(pk=budget.pk).update(limit=0)
    assert submit(mira, **put) == first


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_requests_at_once_one_submits(mira):
    def call(_):
        try:
            return submit(mira).pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(call, range(8)))
    assert len(found) == Run.objects.count() == IdempotencyKey.objects.count() == 1

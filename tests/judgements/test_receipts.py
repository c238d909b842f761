import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from engine import signing
from engine.verification import verify_all
from judgements import procedure
from judgements.models import Receipt, ReceiptRefused, Review
from judgements.rules import Verdict
from tests.conftest import perform, tampering
from tests.judgements.test_endpoints import Caller, fields, problem

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def approved(judgement, models):
    asyncio.run(perform(judgement.pk, models))
    judgement.run.refresh_from_db()
    return judgement


@pytest.fixture
def receipt(approved, mira):
    return Receipt.objects.issue(approved, mira)


def refusal(statement, by=None, **more):
    with pytest.raises(ReceiptRefused) as refused:
        Receipt.objects.consume(statement, by, **more)
    return refused.value.code


def test_a_receipt_is_used_once_and_both_are_in_the_record(receipt, mira):
    assert Receipt.objects.consume(receipt, mira).consumed_by == "mira"
    assert refusal(receipt) == "used"
    assert verify_all().problems == []


def test_of_many_uses_at_once_one_counts(receipt, mira):
    def use(_):
        try:
            return bool(Receipt.objects.consume(receipt, mira))
        except ReceiptRefused:
            return False
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(use, range(8))) == 1


def test_only_an_approved_judgement_gets_one(judgement, mira):
    procedure.cancel(judgement, mira)
    with pytest.raises(ReceiptRefused, match="it is: cancelled"):
        Receipt.objects.issue(judgement, mira)


@pytest.mark.parametrize("field", ["judgement", "content_sha256", "expires", "audience", "council", "verdict", "log"])
def test_a_changed_field_is_refused(receipt, field):
    assert refusal(receipt | {field: "2099-01-01T00:00:00Z"}) == "invalid"


@pytest.mark.parametrize("wrong", [{}, {"form": "x"}, {"signature": "!"}, {"signature": 7}])
def test_what_is_no_receipt_is_refused(receipt, wrong):
    assert refusal(receipt | wrong if wrong else wrong) == "invalid"


def test_an_expired_one_is_refused(approved, mira):
    assert refusal(Receipt.objects.issue(approved, mira, lifetime=-1)) == "expired"


def test_one_for_somebody_else_is_refused(approved, mira):
    receipt = Receipt.objects.issue(approved, mira, audience="deployer")
    assert refusal(receipt) == refusal(receipt, audience="mailer") == "audience"
    assert Receipt.objects.consume(receipt, mira, audience="deployer").expires > timezone.now() - timedelta(hours=1)


def test_an_override_stops_what_is_still_unused(approved, receipt, reviewer):
    Review.objects.add(approved, reviewer, "Not this week.", Verdict.REJECTED)
    assert refusal(receipt) == "overridden"
    with pytest.raises(ReceiptRefused, match="reviewer has decided against"):
        Receipt.objects.issue(approved, reviewer)


def test_one_that_is_not_in_the_books_is_refused(receipt):
    with tampering():
        Receipt.objects.all().delete()
    assert refusal(receipt) == "unknown"


# ---- over HTTP ------------------------------------------------------------------------------------------------


@pytest.fixture
def mira_calls(mira):
    return Caller(mira)


def test_a_program_gets_a_receipt_and_another_uses_it_once(approved, mira_calls, noor):
    path = f"/judgements/{approved.pk}/receipt"
    given = mira_calls.post(path, {"audience": "deployer", "lifetime": 60})
    assert given.status_code == 201
    use = {"receipt": given.json(), "audience": "deployer"}
    used = Caller(noor).post("/receipts/consume", use)
    assert (used.status_code, used.json()["judgement"]) == (200, str(approved.pk))
    assert "used already" in problem(Caller(noor).post("/receipts/consume", use), 409)["detail"]


def test_a_receipt_needs_no_body(approved, mira_calls):
    assert mira_calls.post(f"/judgements/{approved.pk}/receipt").status_code == 201


def test_others_get_no_receipt(approved, noor):
    problem(Caller(noor).post(f"/judgements/{approved.pk}/receipt"), 404)


def test_an_audience_that_no_database_keeps_is_refused(approved, mira_calls):
    assert "audience" in fields(mira_calls.post(f"/judgements/{approved.pk}/receipt", {"audience": "a\0b"}))


@pytest.mark.parametrize(("asked", "field"), [({"lifetime": 0}, "lifetime"), ({"lifetime": 10**9}, "lifetime")])
def test_a_lifetime_has_its_limits(approved, mira_calls, asked, field):
    assert field in fields(mira_calls.post(f"/judgements/{approved.pk}/receipt", asked))


def test_what_counts_for_nothing_is_refused_over_http(receipt, mira_calls):
    problem(mira_calls.post("/receipts/consume", {"receipt": receipt | {"verdict": "rejected"}}), 422)
    problem(mira_calls.post("/receipts/consume", {"receipt": {}}), 422)
    assert "receipt" in fields(mira_calls.post("/receipts/consume", {"receipt": []}))


def test_the_key_that_verifies_is_open_to_everybody(client):
    assert client.get("/api/v1/key").json() == {"log": signing.name(), "key": signing.verifier_key()}

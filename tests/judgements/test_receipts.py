import asyncio
import base64
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from hashlib import sha256

import pytest
from django.db import connection
from django.utils import timezone

from engine.audit.full_verification import verify_all
from engine.ledger import hashing, signing
from engine.ledger.entries import AuditEntry
from engine.llm.errors import Unauthorized
from judgements import schemas
from judgements.models import Council, ExpectedReceipt, Judgement, Receipt, ReceiptRefused
from judgements.rules import Verdict
from runs import reviews, run_actions
from tests.callers import ApiCaller, fields, problem
from tests.conftest import JAPAN, ScriptedModels, agents, perform, person
from tests.databases import copied, tampering

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own
OWN = ExpectedReceipt(council=None)


@pytest.fixture
def approved(approved_judgement):
    return approved_judgement


@pytest.fixture
def receipt(approved, mira):
    return Receipt.objects.issue(approved, mira)


def refusal(statement, by=None, expected=OWN, **more):
    with pytest.raises(ReceiptRefused) as refused:
        Receipt.objects.consume(statement, by, expected, **more)
    return refused.value.code


def test_a_receipt_is_used_once_and_both_are_in_the_record(receipt, mira):
    assert Receipt.objects.consume(receipt, mira, OWN).consumed_by == "mira"
    assert refusal(receipt) == "used"
    assert verify_all().faults == []


@pytest.mark.postgresql
@committed
def test_of_many_uses_at_once_one_counts(receipt, mira):
    def use(_):
        try:
            return bool(Receipt.objects.consume(receipt, mira, OWN))
        except ReceiptRefused:
            return False
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(use, range(8))) == 1


def test_only_an_approved_judgement_gets_one(judgement, mira):
    run_actions.cancel(judgement, mira)
    with pytest.raises(ReceiptRefused, match="it is: cancelled"):
        Receipt.objects.issue(judgement, mira)


def test_a_changed_field_is_refused(receipt):
    assert {"judgement", "content_sha256", "expires", "audience", "verdict", "log", "rehearsal"} <= set(receipt)
    for field in receipt:
        assert refusal(receipt | {field: "2099-01-01T00:00:00Z"}) == "invalid", field


def test_what_is_no_receipt_is_refused(receipt):
    for wrong in ({}, receipt | {"form": "x"}, receipt | {"signature": "!"}, receipt | {"signature": 7}):
        assert refusal(wrong) == "invalid", wrong


def test_an_expired_one_is_refused(approved, mira):
    assert refusal(Receipt.objects.issue(approved, mira, lifetime=-1)) == "expired"


def test_one_for_somebody_else_is_refused(approved, mira):
    receipt = Receipt.objects.issue(approved, mira, audience="deployer")
    assert refusal(receipt) == refusal(receipt, audience="mailer") == "audience"
    assert Receipt.objects.consume(receipt, mira, OWN, audience="deployer").expires > timezone.now() - timedelta(
        hours=1
    )


def test_an_override_stops_what_is_still_unused(approved, receipt, reviewer):
    reviews.add_review(approved.run, reviewer, "Not this week.", Verdict.REJECTED)
    assert refusal(receipt) == "overridden"
    with pytest.raises(ReceiptRefused, match="reviewer has decided against"):
        Receipt.objects.issue(approved, reviewer)


def test_one_that_is_not_in_the_books_is_refused(receipt):
    with tampering():
        Receipt.objects.all().delete()
    assert refusal(receipt) == "unknown"


# ---- who judged -------------------------------------------------------------------------------------------


def make_payments():
    """A council, and a receipt for what it approved in its first version."""
    trio = [{**agent, "fallback": ""} for agent in agents("openai/a", "openai/b", "openai/c")]
    council = Council.objects.create_first(name="Payments", agents=trio, owner=person("mira"))
    return council, approval_by(council, person("mira"))


@pytest.fixture(scope="module")
def approved_by_payments():
    return copied(make_payments)


@pytest.fixture
def payments_and_receipt(approved_by_payments, mira):
    return approved_by_payments()


@pytest.fixture
def payments(payments_and_receipt):
    return payments_and_receipt[0]


def approval_by(council, owner):
    values = {"agents": council.agents(), "council": council.current}
    judgement = Judgement.objects.submit(owner=owner, content=JAPAN, **values)
    asyncio.run(perform(judgement.pk, ScriptedModels()))
    return Receipt.objects.issue(judgement, owner)


@pytest.fixture
def by_payments(payments_and_receipt):
    """A receipt for what Payments approved in its first version."""
    return payments_and_receipt[1]


def test_a_receipt_says_which_council_and_agents_judged(by_payments, payments):
    assert by_payments["form"] == "magi-receipt/2"
    assert by_payments["council"] == {"id": payments.pk, "name": "Payments", "version": 1}
    assert by_payments["rehearsal"] is False
    put = record_of(by_payments["judgement"])[0]["facts"]["agents"]
    assert by_payments["agents_sha256"] == sha256(hashing.canonical(put).encode()).hexdigest()


def record_of(pk):
    return [
        json.loads(line) for line in AuditEntry.objects.filter(run=pk).order_by("seq").values_list("line", flat=True)
    ]


@committed
def test_the_record_says_who_judged_and_who_expected_what(by_payments, payments, mira):
    Receipt.objects.consume(by_payments, mira, ExpectedReceipt("Payments", version=1))
    given, used = (entry["facts"] for entry in record_of(by_payments["judgement"])[-2:])
    judged = {name: by_payments[name] for name in ("council", "agents_sha256", "rehearsal")}
    assert judged == {name: given[name] for name in judged}
    assert used["expected"] == {"council": "Payments", "version": 1, "rehearsal": False}
    assert verify_all().faults == []


@pytest.mark.parametrize(
    "expected",
    [ExpectedReceipt("Payments"), ExpectedReceipt("Payments", 1), "id", ExpectedReceipt("Payments", 1, True)],
)
def test_what_was_expected_is_accepted(by_payments, payments, mira, expected):
    expected = ExpectedReceipt(payments.pk, 1) if expected == "id" else expected
    assert Receipt.objects.consume(by_payments, mira, expected).consumed


def test_another_council_or_version_is_refused_and_the_receipt_stays_unused(by_payments, mira):
    others = (
        ExpectedReceipt("Magi"),
        ExpectedReceipt("payments"),
        ExpectedReceipt("Payments", 2),
        ExpectedReceipt(10**30),
        ExpectedReceipt(-1),
    )
    assert {refusal(by_payments, mira, expected) for expected in others} == {"council"}
    assert Receipt.objects.consume(by_payments, mira, ExpectedReceipt("Payments")).consumed


def test_who_expects_no_council_accepts_whoever_judged(by_payments, mira):
    assert Receipt.objects.consume(by_payments, mira, OWN).consumed


def test_agents_of_the_askers_own_are_no_council(receipt, council):
    assert (
        refusal(receipt, expected=ExpectedReceipt("Magi"))
        == refusal(receipt, expected=ExpectedReceipt(council.pk))
        == "council"
    )


def test_a_council_that_was_renamed_is_known_by_its_id_alone(by_payments, payments, mira):
    payments.revise(name="Paperclips", agents=payments.agents(), author=mira)
    for name in ("Payments", "Paperclips"):
        assert refusal(by_payments, mira, ExpectedReceipt(name)) == "council"
    assert Receipt.objects.consume(by_payments, mira, ExpectedReceipt(payments.pk, 1)).consumed


@committed
def test_a_new_council_with_a_freed_name_is_not_taken_for_the_one_that_had_it(by_payments, payments, mira, noor):
    payments.revise(name="Retired", agents=payments.agents(), author=mira)
    made = Council.objects.create_first(name="Payments", agents=payments.agents(), owner=noor)
    lenient = approval_by(made, noor)
    assert refusal(lenient, noor, ExpectedReceipt("Payments")) == "council"
    assert refusal(by_payments, mira, ExpectedReceipt("Payments")) == "council"
    assert Receipt.objects.consume(lenient, noor, ExpectedReceipt(made.pk)).consumed


@committed
def test_a_council_that_has_changed_since_is_told_by_its_version(by_payments, payments, mira):
    payments.revise(name="Payments", agents=[a | {"criteria": "Be kind."} for a in payments.agents()], author=mira)
    later = approval_by(Council.objects.get(pk=payments.pk), mira)
    assert later["agents_sha256"] != by_payments["agents_sha256"]
    assert refusal(later, mira, ExpectedReceipt("Payments", 1)) == "council"
    assert Receipt.objects.consume(by_payments, mira, ExpectedReceipt("Payments", 1)).consumed


@committed
def test_a_rehearsal_counts_only_where_it_is_allowed(mira):
    judgement = Judgement.objects.submit(owner=mira, content="Approve, please: yes.", agents=rehearsing())
    asyncio.run(perform(judgement.pk))
    receipt = Receipt.objects.issue(judgement, mira)
    assert receipt["rehearsal"] is True
    assert refusal(receipt) == "rehearsal"
    assert Receipt.objects.consume(receipt, mira, ExpectedReceipt(None, rehearsal=True)).consumed


def rehearsing():
    return [agent | {"criteria": "Approve everything."} for agent in agents()]


@committed
def test_what_answered_counts_and_not_what_was_to_answer(mira, models):
    """A rehearsal stood in for a model: no form takes that, but rows may say it."""
    trio = [agent | {"fallback": "rehearsal/instant"} for agent in agents("openai/a", "openai/b", "openai/c")]
    judgement = Judgement.objects.submit(owner=mira, content=JAPAN, agents=trio)
    models.will("openai/a", Unauthorized("The key was refused."))
    asyncio.run(perform(judgement.pk, models))
    assert Receipt.objects.issue(judgement, mira)["rehearsal"] is True


# ---- receipts of the older form ---------------------------------------------------------------------------


@pytest.fixture
def older(by_payments):
    """The receipt of Payments as an older version of MAGI made it, with its row and its entry as that wrote them."""
    with tampering():
        Receipt.objects.update(agents_sha256="", rehearsal=None)
    statement = {name: value for name, value in by_payments.items() if name not in ("agents_sha256", "signature")}
    statement |= {"form": "magi-receipt/1", "council": "Payments"}
    signature = signing.sign(hashing.canonical(statement).encode())
    return statement | {"signature": base64.b64encode(signature).decode()}


def test_a_receipt_of_the_older_form_counts_and_our_books_say_who_judged(older, payments, mira):
    assert refusal(older, mira, ExpectedReceipt("Magi")) == "council"
    used = Receipt.objects.consume(older, mira, ExpectedReceipt(payments.pk, 1))
    assert used.judged_by["council"] == {"id": payments.pk, "name": "Payments", "version": 1}
    assert len(used.judged_by["agents_sha256"]) == 64


def test_a_form_takes_its_own_fields_alone(older, by_payments):
    expected = ExpectedReceipt("Payments")
    for mixed in (older | {"form": "magi-receipt/2"}, by_payments | {"form": "magi-receipt/1"}, older | {"form": []}):
        assert refusal(mixed, expected=expected) == "invalid"


# ---- over HTTP ------------------------------------------------------------------------------------------------


def test_a_program_gets_a_receipt_and_another_uses_it_once(approved, mira_calls, noor):
    path = f"/judgements/{approved.pk}/receipt"
    given = mira_calls.post(path, {"audience": "deployer", "lifetime": 60})
    assert given.status_code == 201
    use = {"receipt": given.json(), "council": None, "audience": "deployer"}
    used = ApiCaller(noor).post("/receipts/consume", use)
    assert (used.status_code, used.json()["judgement"]) == (200, str(approved.pk))
    assert "used already" in problem(ApiCaller(noor).post("/receipts/consume", use), 409)["detail"]


def test_a_receipt_needs_no_body(approved, mira_calls):
    assert mira_calls.post(f"/judgements/{approved.pk}/receipt").status_code == 201


def test_others_get_no_receipt(approved, noor):
    problem(ApiCaller(noor).post(f"/judgements/{approved.pk}/receipt"), 404)


def test_an_audience_that_no_database_keeps_is_refused(approved, mira_calls):
    assert "audience" in fields(mira_calls.post(f"/judgements/{approved.pk}/receipt", {"audience": "a\0b"}))


@pytest.mark.parametrize(("asked", "field"), [({"lifetime": 0}, "lifetime"), ({"lifetime": 10**9}, "lifetime")])
def test_a_lifetime_has_its_limits(approved, mira_calls, asked, field):
    assert field in fields(mira_calls.post(f"/judgements/{approved.pk}/receipt", asked))


def test_what_counts_for_nothing_is_refused_over_http(receipt, mira_calls):
    for wrong in (receipt | {"verdict": "rejected"}, {}):
        problem(mira_calls.post("/receipts/consume", {"receipt": wrong, "council": None}), 422)
    assert "receipt" in fields(mira_calls.post("/receipts/consume", {"receipt": [], "council": None}))


def test_whoever_uses_a_receipt_says_who_must_have_judged(by_payments, payments, mira_calls):
    assert "council" in fields(mira_calls.post("/receipts/consume", {"receipt": by_payments}))
    said = problem(mira_calls.post("/receipts/consume", {"receipt": by_payments, "council": 99}), 409)["detail"]
    assert said == f"The council “Payments” (id {payments.pk}) judged this, and not the one with the id 99."
    asked = {"receipt": by_payments, "council": payments.pk, "version": 1}
    used = mira_calls.post("/receipts/consume", asked).json()
    schemas.UsedReceiptOut.model_validate(used)
    assert {name: used[name] for name in ("council", "agents_sha256", "rehearsal")} == {
        name: by_payments[name] for name in ("council", "agents_sha256", "rehearsal")
    }


NO_EXPECTATIONS = [
    ({"council": True}, "council"),
    ({"council": ["Payments"]}, "council"),
    ({"council": 1.0}, "council"),
    ({"version": "1"}, "version"),
    ({"version": 0}, "version"),
    ({"version": 1, "council": None}, "version"),
    ({"rehearsal": "yes"}, "rehearsal"),
    ({"rehearsal": 1}, "rehearsal"),
]


def test_an_expectation_that_is_none_is_named(by_payments, mira_calls):
    use = {"receipt": by_payments, "council": "Payments"}
    answers = [(path, fields(mira_calls.post("/receipts/consume", use | change))) for change, path in NO_EXPECTATIONS]
    assert [one for one in answers if one[0] not in one[1]] == []
    assert Receipt.objects.get().consumed is None


def test_the_description_knows_everything_in_a_receipt(by_payments):
    schemas.ReceiptOut.model_validate(by_payments)


def test_the_key_that_verifies_is_open_to_everybody(client):
    assert client.get("/api/v1/key").json() == {"log": signing.name(), "key": signing.verifier_key()}

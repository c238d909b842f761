"""The check after a rough time finds what it is there to find."""

import asyncio
import json
import time
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from engine.models import ModelCall, Run
from judgements.models import Judgement, RoundDecision
from tests.chaos_check import REASON, Blow, check
from tests.conftest import JAPAN, agents, perform
from tests.databases import tampering
from tests.endpoint import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def endpoint():
    with Endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def ledger(endpoint, settings, tmp_path):
    """Of one judgement that was performed against the endpoint, with a failed attempt in it."""
    settings.PROVIDERS = {"openai": {"base_url": endpoint.base_url, "api_key": "sk-test-1234567890"}}
    endpoint.reset()
    endpoint.script(default={"reason": REASON}, queue=[{"behaviour": "prose"}], ledger=f"{tmp_path}/ledger")
    submitted = Judgement.objects.submit(owner=None, content=JAPAN, agents=agents("openai/a", "openai/b", "openai/c"))
    assert asyncio.run(perform(submitted.pk)).status == Run.Status.FINISHED
    return tmp_path / "ledger"


def call_of(step, **more):
    """One more call of the judgement, like the one that was answered for this step."""
    call = ModelCall.objects.get(step=step, status="answered")
    call.pk, call.attempt = None, call.attempt + 1
    for name, value in more.items():
        setattr(call, name, value)
    call.save()
    return call


def decision(step):
    return RoundDecision.objects.filter(agent__seat=step[0], round=step[1])


def test_an_untouched_judgement_has_nothing_to_find(ledger):
    report = check(ledger, [str(Run.objects.get().pk)])
    assert (report.good, report.findings) == (True, [])
    counted = [report.counts[name] for name in ("judgements", "finished", "decisions", "model calls", "calls failed")]
    assert counted == [1, 1, 9, 10, 1]
    assert report.counts["requests at the endpoint"] == 10


TAMPERED = {
    "a decision is missing": ("lost", lambda: decision("B3").delete()),
    "the judgement was never ended": ("lost", lambda: Run.objects.update(status="queued", ended=None)),
    "a call is answered twice": ("doubled", lambda: call_of("C2")),
    "the verdict is another": ("wrong", lambda: Run.objects.update(outcome="rejected")),
    "the reason is another": ("wrong", lambda: decision("A1").update(reason="Answer 1: no.")),
    "the reason is of another request": ("wrong", lambda: decision("A3").update(reason=decision("B3").get().reason)),
    "the decision is another": ("wrong", lambda: decision("A3").update(decision="reject")),
    "the answer in the call is another": ("wrong", lambda: ModelCall.objects.filter(step="A3").update(answer="{}")),
    "a call is of another step": ("wrong", lambda: ModelCall.objects.filter(step="A2").update(step="B1", attempt=3)),
    "a call is still open": ("wrong", lambda: call_of("A1", status="open", ended=None)),
    "an attempt has a wrong number": ("wrong", lambda: ModelCall.objects.filter(step="B2").update(attempt=3)),
    "the run is still running": ("wrong", lambda: Run.objects.update(status="running")),
    "the run is finished and has no end": ("wrong", lambda: Run.objects.update(ended=None)),
    "the run failed and has a verdict": ("wrong", lambda: Run.objects.update(status="failed")),
    "the failure is in no call": ("wrong", lambda: Run.objects.update(status="failed", error={"code": "internal"})),
    "a round began too early": (
        "wrong",
        lambda: ModelCall.objects.filter(step="C2").update(started=F("started") - timedelta(seconds=60)),
    ),
    "a call was interrupted by nothing": ("stray", lambda: call_of("A1", status="interrupted")),
}


def findings_after(tamper, ledger):
    with transaction.atomic():
        with tampering():
            tamper()
        found = check(ledger).findings
        transaction.set_rollback(True)
    return {finding.kind for finding in found}


def test_what_is_tampered_with_is_found(ledger):
    found = {name: findings_after(tamper, ledger) for name, (_, tamper) in TAMPERED.items()}
    assert [name for name, (kind, _) in TAMPERED.items() if kind not in found[name]] == []
    assert check(ledger).good


def test_a_judgement_that_is_not_there_is_lost(ledger):
    [finding] = check(ledger, ["6f9619ff-8b86-4011-b42d-00c04fc964ff"]).findings
    assert finding.kind == "lost"


def test_a_request_without_a_row_is_wrong(ledger):
    line = json.loads(ledger.read_text().splitlines()[-1])
    with ledger.open("a") as file:
        file.write(json.dumps(line | {"number": 99}) + "\n")
    assert {finding.kind for finding in check(ledger).findings} == {"wrong"}


def test_a_call_in_flight_at_a_kill_may_be_interrupted(ledger):
    call = call_of("A1", status="interrupted")
    seen = Blow("kill", time.time(), time.time(), calls=[(call.pk, str(call.run_id))])
    assert check(ledger, blows=[seen]).good
    elsewhere = Blow("kill", time.time(), time.time(), calls=[(call.pk + 1, str(call.run_id))])
    assert not check(ledger, blows=[elsewhere]).good


def test_a_call_in_flight_while_a_server_was_away_may_be_interrupted(ledger):
    call_of("A1", status="interrupted", started=timezone.now() - timedelta(seconds=5), ended=timezone.now())
    now = time.time()
    assert check(ledger, blows=[Blow("postgres", now - 3, now - 2, all_of_them=True)]).good
    assert not check(ledger, blows=[Blow("postgres", now - 9, now - 8, all_of_them=True)]).good


def test_four_calls_of_one_judgement_in_flight_at_once_are_wrong(ledger):
    pks = list(ModelCall.objects.values_list("pk", flat=True)[:4])
    [finding] = check(ledger, blows=[Blow("kill", 0, 0, calls=[(pk, "the same") for pk in pks])]).findings
    assert finding.kind == "wrong"

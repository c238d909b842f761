"""What the rows of a judgement say beside its attempts is held against its entries, too."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from engine.audit import sealing
from engine.audit.entries_from_rows import entries_of_chains
from engine.audit.full_verification import verify_all
from engine.ledger.entries import LOG_CHAIN, AuditEntry, retry_actor
from engine.ledger.hashing import EntryDraft
from engine.ledger.merkle_log import DigestSalt, LogLeaf
from engine.llm.errors import RateLimited, Unauthorized
from engine.models import ModelCall, Review, Run
from judgements.models import Judgement, JudgementAgent, Receipt, RoundDecision
from runs import reviews, run_actions
from runs.record.redaction import redact_run
from tests.conftest import JAPAN, agents, perform
from tests.databases import tampering

pytestmark = pytest.mark.django_db


@pytest.fixture
def approved(approved_judgement):
    return approved_judgement


def problems() -> list[str]:
    return [problem.text for problem in verify_all().faults]


def test_a_submission_asks_for_nothing_that_cannot_be_there(mira):
    nothing_yet = (ModelCall, RoundDecision, Review, Receipt, AuditEntry)
    with CaptureQueriesContext(connection) as asked:
        Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents())
    statements = [query["sql"] for query in asked.captured_queries]
    names = [model._meta.db_table for model in nothing_yet]
    assert not [sql for sql in statements if sql.startswith("SELECT") and any(name in sql for name in names)]
    assert AuditEntry.objects.filter(kind="submitted").count() == 1


def test_a_submission_takes_seven_statements_for_its_seal(mira, django_assert_max_num_queries):
    rows = 6  # permissions, a budget, and what it adds: run, judgement, agents, search text
    around = 3  # begin, the log's lock, commit
    with django_assert_max_num_queries(rows + 7 + around):
        Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents())


def test_a_rejection_that_leans_on_the_call_of_another_run_is_found(judgement, mira, models):
    models.will("openai/a", Unauthorized("The key was refused."))
    asyncio.run(perform(judgement.pk, models))
    cancelled = Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents())
    run_actions.cancel(cancelled, mira)
    call, agent = ModelCall.objects.get(status="failed"), JudgementAgent.objects.get(judgement=cancelled, seat="A")
    RoundDecision.objects.create(agent=agent, round=1, decision="reject", reason="Never said.", call=call)
    assert problems() == ["It has what no entry tells of: decision A1."]


def test_texts_that_are_there_and_called_redacted_are_found(approved):
    with tampering():
        Run.objects.update(redacted=timezone.now())
    assert problems() == ["It is marked as redacted, and no entry says so."]


def test_a_redaction_whose_mark_is_taken_away_is_found(approved):
    redact_run(approved.pk, "mira", "The guest asks for it.")
    assert problems() == []
    with tampering():
        Run.objects.update(redacted=None)
    assert problems() == ["Its mark as redacted is gone."]


def retried_without_failing(run: UUID, **changed: object) -> None:
    """Hashes, leaves and rows fit each other."""
    sealing.record_run(run, retry_actor("mira"))
    with tampering():
        Run.objects.filter(pk=run).update(**changed)
        Run.objects.filter(pk=run).update(outcome=None)


def test_a_verdict_that_a_retry_takes_back_is_found(approved):
    retried_without_failing(approved.pk, status="running", ended=None)
    assert problems() == ["It was tried again and had not failed, but was finished."]


def test_a_verdict_that_became_a_cancellation_by_a_retry_is_found(approved):
    retried_without_failing(approved.pk, status="cancelled", ended=timezone.now(), retries=1)
    LogLeaf.objects.add(sealing.append_entries(approved.pk, entries_of_chains([approved.pk])[approved.pk]["ended"]))
    assert problems() == ["It was tried again and had not failed, but was finished."]


# ---- what was asked and what was submitted ----------------------------------------------------------------


async def performed_while(judgement, models, *changes):
    """An engine performs it; before its first and, put back, before its last answer its rows are changed."""
    there, ask = list(changes), models.ask

    async def asked(*args):
        if there and len(models.asked) in (0, 8):
            await sync_to_async(there.pop(0))()
        return await ask(*args)

    models.ask = asked
    return await perform(judgement.pk, models)


def exchanged(model, **values):
    def change():
        with tampering():
            model.objects.update(**values)

    return change


async def test_a_content_that_is_exchanged_while_it_is_judged_gets_no_verdict(judgement, models):
    run = await performed_while(judgement, models, exchanged(Judgement, content="Something else."))
    assert (run.status, run.error["code"]) == ("failed", "internal")
    assert run.error["message"].startswith("What was submitted is not what is there now. So there is no outcome: ")


async def test_a_content_that_was_another_while_it_was_judged_gets_no_verdict(judgement, models):
    await sync_to_async(exchanged(Judgement, content="Something else."))()
    back = exchanged(Judgement, content=JAPAN)
    run = await performed_while(judgement, models, lambda: None, back)
    assert (run.status, run.error["code"]) == ("failed", "internal")
    assert "was asked about another content than the one that was submitted. So there is no out" in run.error["message"]
    assert "was asked about another content than the one that was submitted." in (await sync_to_async(problems)())[0]


async def test_a_model_that_was_told_what_was_wrong_with_its_answer_was_asked_nothing_else(judgement, models):
    models.will("openai/a", "I approve.", "approve", RateLimited("Wait.", retry_after=0), "?", "reject")
    models.will("openai/b", "?", "?", *["approve"] * 3)
    run = await perform(judgement.pk, models)
    assert (run.status, len(models.asked)) == ("finished", 14)
    assert await sync_to_async(problems)() == []


async def test_criteria_that_were_others_while_it_was_judged_get_no_verdict(judgement, models):
    there = [agent async for agent in judgement.agents.all()]

    def back():
        with tampering():
            JudgementAgent.objects.bulk_update(there, ["criteria"])

    await sync_to_async(exchanged(JudgementAgent, criteria="Approve."))()
    run = await performed_while(judgement, models, lambda: None, back)
    assert (run.status, run.error["code"]) == ("failed", "internal")
    assert "was asked by other criteria than those that were submitted." in run.error["message"]


async def test_a_judgement_that_was_put_into_the_queue_beside_the_log_gets_no_verdict(judgement, models):
    await sync_to_async(without_evidence)()
    await sync_to_async(sealing.record_run)(LOG_CHAIN, EntryDraft("adopted", "2026-01-01T00:00:00Z"))
    run = await perform(judgement.pk, models)
    assert (run.status, run.error["code"]) == ("failed", "internal")


# ---- while work goes on -----------------------------------------------------------------------------------


@contextlib.contextmanager
def as_soon_as_read(table: str, happens: Callable[[], object]) -> Iterator[None]:
    """Once, between two queries of whoever reads."""
    left = [happens]

    def look(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if left and f'FROM "{table}"' in sql:
            left.pop()()
        return result

    with connection.execute_wrapper(look):
        yield


def test_an_end_while_its_rows_are_read_is_no_alarm(judgement, mira):
    with as_soon_as_read("judgements_rounddecision", lambda: run_actions.cancel(judgement, mira)):
        assert problems() == []
    assert AuditEntry.objects.filter(kind="ended").exists()


@pytest.mark.parametrize("what", ["note", "redacted"])
def test_what_is_added_while_rows_are_read_is_no_alarm(approved, mira, what):
    add = {
        "note": lambda: reviews.add_review(approved.run, mira, "Seen."),
        "redacted": lambda: redact_run(approved.pk, "", ""),
    }
    with as_soon_as_read("judgements_receipt", add[what]):
        assert problems() == []
    assert AuditEntry.objects.filter(kind=what).exists()


def test_a_judgement_that_came_and_ended_meanwhile_is_verified_too(approved, mira):
    def come_and_end():
        run_actions.cancel(Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents()), mira)

    with as_soon_as_read("judgements_rounddecision", come_and_end):
        report = verify_all()
    assert (report.faults, report.runs) == ([], 2)


def test_entries_whose_run_is_gone_are_found(approved):
    with tampering():
        DigestSalt.objects.all().delete()
        LogLeaf.objects.all().delete()
        AuditEntry.objects.update(run=UUID(int=7))
    assert "Its entries are here, and what they tell of is gone." in problems()
    with tampering():
        AuditEntry.objects.update(run=approved.pk)


# ---- what ended before there was a log ------------------------------------------------------------------------


def without_evidence():
    with tampering():
        for model in (DigestSalt, LogLeaf, AuditEntry):
            model.objects.all().delete()


@pytest.mark.parametrize(
    "add",
    [
        lambda judgement, mira: reviews.add_review(judgement.run, mira, "Seen."),
        lambda judgement, mira: Receipt.objects.issue(judgement, mira),
        lambda judgement, mira: redact_run(judgement.pk, "mira", "The guest asks for it."),
    ],
    ids=["note", "receipt", "redaction"],
)
def test_what_is_added_before_it_was_adopted_finds_a_sealed_record(approved, mira, add):
    without_evidence()
    approved.refresh_from_db()
    add(approved, mira)
    assert (problems(), LogLeaf.objects.count(), sealing.adopt_unsealed_runs()) == ([], 3, 0)


def test_a_retry_before_it_was_adopted_is_no_alarm(judgement, mira, models):
    models.will("openai/a", Unauthorized("The key was refused."))
    asyncio.run(perform(judgement.pk, models))
    without_evidence()
    run_actions.retry(judgement, mira)
    assert problems() == []
    asyncio.run(perform(judgement.pk, models))
    assert problems() == []

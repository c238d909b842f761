"""What the rows of a judgement say beside its attempts is held against its entries, too."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from engine.evidence import Entry, Leaf, Salt, retried_by, said_of
from engine.failures import Unauthorized
from engine.models import ModelCall, Run
from engine.verification import verify_all
from judgements import procedure
from judgements.models import Agent, Judgement, Receipt, Review, RoundDecision, redact
from tests.conftest import JAPAN, agents, perform, tampering

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def approved(judgement, models):
    asyncio.run(perform(judgement.pk, models))
    return judgement


def problems() -> list[str]:
    return [problem.text for problem in verify_all().problems]


def test_a_rejection_that_leans_on_the_call_of_another_run_is_found(judgement, mira, models):
    models.will("openai/a", Unauthorized("The key was refused."))
    asyncio.run(perform(judgement.pk, models))
    cancelled = Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents())
    procedure.cancel(cancelled, mira)
    call, agent = ModelCall.objects.get(status="failed"), Agent.objects.get(judgement=cancelled, seat="A")
    RoundDecision.objects.create(agent=agent, round=1, decision="reject", reason="Never said.", call=call)
    assert problems() == ["decision A1 is in no entry"]


def test_texts_that_are_there_and_called_redacted_are_found(approved):
    with tampering():
        Judgement.objects.update(redacted=timezone.now())
    assert problems() == ["it is marked as redacted, and no entry says so"]


def test_a_redaction_whose_mark_is_taken_away_is_found(approved):
    redact(approved.pk, "mira", "The guest asks for it.")
    assert problems() == []
    with tampering():
        Judgement.objects.update(redacted=None)
    assert problems() == ["its mark as redacted is gone"]


def retried_without_failing(run: UUID, **changed: object) -> None:
    """Hashes, leaves and rows fit each other."""
    Entry.objects.record(run, retried_by("mira"))
    with tampering():
        Run.objects.filter(pk=run).update(**changed)
        Judgement.objects.filter(pk=run).update(verdict=None)


def test_a_verdict_that_a_retry_takes_back_is_found(approved):
    retried_without_failing(approved.pk, status="running", ended=None)
    assert problems() == ["it was tried again and had not failed, but was finished"]


def test_a_verdict_that_became_a_cancellation_by_a_retry_is_found(approved):
    retried_without_failing(approved.pk, status="cancelled", ended=timezone.now(), retries=1)
    Leaf.objects.add(Entry.objects.append(approved.pk, said_of([approved.pk])[approved.pk]["ended"]))
    assert problems() == ["it was tried again and had not failed, but was finished"]


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
    with as_soon_as_read("judgements_rounddecision", lambda: procedure.cancel(judgement, mira)):
        assert problems() == []
    assert Entry.objects.filter(kind="ended").exists()


@pytest.mark.parametrize("what", ["note", "redacted"])
def test_what_is_added_while_rows_are_read_is_no_alarm(approved, mira, what):
    add = {"note": lambda: Review.objects.add(approved, mira, "Seen."), "redacted": lambda: redact(approved.pk, "", "")}
    with as_soon_as_read("judgements_receipt", add[what]):
        assert problems() == []
    assert Entry.objects.filter(kind=what).exists()


def test_a_judgement_that_came_and_ended_meanwhile_is_verified_too(approved, mira):
    def come_and_end():
        procedure.cancel(Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents()), mira)

    with as_soon_as_read("judgements_rounddecision", come_and_end):
        report = verify_all()
    assert (report.problems, report.runs) == ([], 2)


def test_entries_whose_run_is_gone_are_found(approved):
    with tampering():
        Salt.objects.all().delete()
        Leaf.objects.all().delete()
        Entry.objects.update(run=UUID(int=7))
    assert "its entries are here, and its run is gone" in problems()
    with tampering():
        Entry.objects.update(run=approved.pk)


# ---- what ended before there was a log ------------------------------------------------------------------------


def without_evidence():
    with tampering():
        for model in (Salt, Leaf, Entry):
            model.objects.all().delete()


@pytest.mark.parametrize(
    "add",
    [
        lambda judgement, mira: Review.objects.add(judgement, mira, "Seen."),
        lambda judgement, mira: Receipt.objects.issue(judgement, mira),
        lambda judgement, mira: redact(judgement.pk, "mira", "The guest asks for it."),
    ],
    ids=["note", "receipt", "redaction"],
)
def test_what_is_added_before_it_was_adopted_finds_a_sealed_record(approved, mira, add):
    without_evidence()
    approved.refresh_from_db()
    add(approved, mira)
    assert (problems(), Leaf.objects.count(), Entry.objects.adopt()) == ([], 2, 0)


def test_a_retry_before_it_was_adopted_is_no_alarm(judgement, mira, models):
    models.will("openai/a", Unauthorized("The key was refused."))
    asyncio.run(perform(judgement.pk, models))
    without_evidence()
    procedure.retry(judgement, mira)
    assert problems() == []
    asyncio.run(perform(judgement.pk, models))
    assert problems() == []

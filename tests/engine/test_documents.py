"""What is attached to a run is told with what was asked, guarded, and erased with it."""

import asyncio
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from engine.audit.entries_from_rows import entries_of_chains
from engine.audit.full_verification import verify_all
from engine.ledger.entries import AuditEntry
from engine.models import Document, DocumentLimits, NewDocument, Run, TooManyDocuments
from judgements.models import Judgement
from runs.record import redaction
from runs.record.document import record_of
from tests.checking.models import Check
from tests.conftest import JAPAN, agents, perform
from tests.databases import tampering
from tests.engine.guarded import redact, refused

pytestmark = pytest.mark.django_db

PLAN = NewDocument("plan.pdf", "pdf", ("The bridge opens in May.", "", "It carries 40 t."), "a" * 64)
LETTER = NewDocument("letter.txt", "text", ("We object.",), "b" * 64)


def submitted(owner, *documents):
    asked = {"writer": "rehearsal/instant", "checker": "rehearsal/instant"}
    return Check.objects.submit(owner=owner, question="Sound?", documents=documents, **asked)


@pytest.fixture
def asked(mira):
    return submitted(mira, PLAN, LETTER)


def problems():
    return [fault.text.partition(" after ")[0] for fault in verify_all().faults]


def test_they_are_numbered_as_they_came_and_so_are_their_lines(asked):
    plan, letter = asked.run.documents.all()
    assert (plan.label, letter.label) == ("A1", "A2")
    assert plan.lines == list(PLAN.lines)
    assert (plan.line(3), plan.line(0), plan.line(4)) == ("It carries 40 t.", None, None)


def test_the_submission_tells_of_them_and_no_text_stands_open(asked):
    line = AuditEntry.objects.get(run=asked.pk).line
    sealed = json.loads(line)
    assert sealed["facts"]["documents"] == [{"number": 1, "kind": "pdf"}, {"number": 2, "kind": "text"}]
    assert {"title of A1", "text of A1", "digest of A1", "text of A2"} <= sealed["texts"].keys()
    assert not any(text in line for text in (PLAN.title, PLAN.digest, *filter(None, PLAN.lines)))


def test_a_run_without_any_tells_nothing_of_them(mira):
    asked = submitted(mira)
    assert "documents" not in entries_of_chains([asked.pk])[asked.pk]["submitted"][0].facts
    assert problems() == []


@pytest.mark.parametrize(("column", "sentence"), [("title", "title"), ("text", "text"), ("digest", "digest")])
def test_a_change_of_one_is_found_and_named(asked, column, sentence):
    with tampering():
        asked.run.documents.filter(number=2).update(**{column: "Other."})
    assert problems() == [f"The {sentence} of A2 was changed"]


@pytest.mark.parametrize("change", [{"kind": "csv"}, {"number": 7}], ids=str)
def test_another_kind_or_number_is_found(asked, change):
    with tampering():
        asked.run.documents.filter(number=2).update(**change)
    assert "The documents were changed" in problems()


def test_one_that_came_later_or_is_gone_is_found(asked):
    Document.objects.create(run=asked.run, number=3, kind="text", text="Me too.")
    assert "The documents were changed" in problems()
    with tampering():
        asked.run.documents.exclude(number=1).delete()
    assert "The documents were changed" in problems()


@pytest.mark.django_db
def test_an_outcome_about_other_documents_is_refused(asked):
    with tampering():
        asked.run.documents.filter(number=1).update(text="The bridge opens in June.")
    run = asyncio.run(perform(asked.pk))
    assert (run.status, run.outcome) == ("failed", None)
    assert "What was submitted is not what is there now." in run.error["message"]


@pytest.mark.parametrize("column", ["title", "text", "digest"])
def test_a_text_goes_once_the_redaction_is_recorded_and_is_never_replaced(asked, column):
    documents = asked.run.documents.all()
    assert refused(lambda: documents.update(**{column: ""}))
    redact(asked)
    assert refused(lambda: documents.update(**{column: "Other."}))
    assert not refused(lambda: documents.update(**{column: ""}))


@pytest.mark.django_db
def test_a_redaction_erases_them_and_the_record_says_so(asked):
    asyncio.run(perform(asked.pk))
    assert shown(asked)["Document A2"] == f"letter.txt, Text, sha256 {LETTER.digest} of the file"
    redaction.redact_run(asked.pk, "mira", "Asked for it.")
    assert set(asked.run.documents.values_list("title", "text", "digest")) == {("", "", "")}
    assert shown(asked)["Document A2"] == "Erased."
    assert problems() == []


def shown(asked):
    return dict(record_of(Check.objects.whole().get(pk=asked.pk), [])["record"].provenance)


LIMITS = DocumentLimits(number=2, size=100, characters=30)


@pytest.mark.parametrize(
    ("documents", "complaint"),
    [
        ([LETTER, LETTER], ""),
        ([LETTER] * 3, "Attach at most 2 documents. These are 3."),
        ([PLAN], "The documents have 42 characters together, and 30 are the most"),
    ],
)
def test_too_many_or_too_long_ones_are_refused_with_a_sentence(documents, complaint):
    assert LIMITS.problem(documents)[: len(complaint)] == complaint
    assert bool(LIMITS.problem(documents)) == bool(complaint)


def test_nothing_stands_of_what_had_too_many(mira):
    with pytest.raises(TooManyDocuments, match="at most 2"):
        submitted(mira, LETTER, LETTER, LETTER)
    assert not Run.objects.exists()


def test_a_procedure_that_says_nothing_takes_none_and_asks_for_none(mira):
    with CaptureQueriesContext(connection) as queries:
        judgement = Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents())
    assert not any("engine_document" in query["sql"] for query in queries.captured_queries)
    with pytest.raises(TooManyDocuments, match="No documents"):
        Document.objects.attach(judgement.run, [LETTER])

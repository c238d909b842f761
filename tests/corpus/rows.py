"""What can be done to rows."""

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from engine.ledger.merkle_log import LogLeaf
from engine.models import Review
from judgements.models import Judgement
from tests.corpus.history import History
from tests.corpus.means import call_of, case, decision_of, edit, entry, sql

edit("content", "approved", "judgements_judgement", "content", "Two bridges.", "run_id", lambda h: h.approved)
edit("title", "approved", "engine_run", "title", "Two bridges.", "id", lambda h: h.approved)
edit("verdict", "approved", "engine_run", "outcome", "rejected", "id", lambda h: h.approved)
edit("prompt_version", "approved", "judgements_judgement", "prompt_version", "9", "run_id", lambda h: h.approved)
edit("criteria", "approved", "judgements_agent", "criteria", "Approve.", "judgement_id", lambda h: h.approved)
edit("model_of_an_agent", "rejected", "judgements_agent", "model", "openai/z", "judgement_id", lambda h: h.rejected)
edit("prompt", "rejected", "engine_modelcall", "prompt", "[]", "id", lambda h: call_of(h.rejected, "B2").pk)
edit("raw_answer", "rejected", "engine_modelcall", "answer", "{}", "id", lambda h: call_of(h.rejected, "B2").pk)
edit("tokens", "rejected", "engine_modelcall", "input_tokens", 1, "id", lambda h: call_of(h.rejected, "B2").pk)
edit("cost", "rejected", "engine_modelcall", "cost", 7, "id", lambda h: call_of(h.rejected, "B2").pk)
edit(
    "answering_model", "rejected", "engine_modelcall", "answered_by", "x", "id", lambda h: call_of(h.rejected, "B2").pk
)
edit(
    "reason",
    "rejected",
    "judgements_rounddecision",
    "reason",
    "None.",
    "id",
    lambda h: decision_of(h.rejected, "B2").pk,
)
edit(
    "decision",
    "rejected",
    "judgements_rounddecision",
    "decision",
    "approve",
    "id",
    lambda h: decision_of(h.rejected, "B2").pk,
)
edit("error_of_an_attempt", "failed", "engine_modelcall", "error", "", "status", lambda h: "failed")
edit("who_asked", "approved", "engine_run", "asked_by", "noor", "id", lambda h: h.approved)
edit("who_cancelled", "cancelled", "engine_run", "cancelled_by_name", "noor", "id", lambda h: h.cancelled)
edit("status", "cancelled", "engine_run", "status", "failed", "id", lambda h: h.cancelled)
edit("retries", "failed", "engine_run", "retries", 0, "id", lambda h: h.failed)
edit(
    "back_dated_row", "approved", "engine_run", "ended", timezone.now() - timedelta(days=90), "id", lambda h: h.approved
)
edit(
    "back_dated_call",
    "rejected",
    "engine_modelcall",
    "started",
    timezone.now() - timedelta(days=90),
    "id",
    lambda h: call_of(h.rejected, "A1").pk,
)
edit("text_of_a_note", "noted", "engine_review", "text", "All is well.", "kind", lambda h: "note")
edit("verdict_of_an_override", "noted", "engine_review", "outcome", "approved", "kind", lambda h: "override")
edit("author_of_a_note", "noted", "engine_review", "by", "noor", "kind", lambda h: "note")
edit("council_renamed_in_place", "log", "judgements_councilversion", "name", "Other", "name", lambda h: "Corpus")
edit(
    "key_of_texts",
    "approved",
    "engine_salt",
    "value",
    "00" * 16,
    "leaf_id",
    lambda h: LogLeaf.objects.filter(run=h.approved).latest("index").pk,
)
edit("text_erased", "rejected", "engine_modelcall", "prompt", "", "id", lambda h: call_of(h.rejected, "C3").pk)
edit("garbage_for_a_line", "rejected", "engine_entry", "line", "{]", "hash", lambda h: entry(h.rejected, 3).hash)
edit("garbage_for_a_hash", "cancelled", "engine_leaf", "hash", "zz", "run_id", lambda h: h.cancelled)
edit("other_head", "rejected", "engine_leaf", "head", "0" * 64, "run_id", lambda h: h.rejected)
edit("other_place", "rejected", "engine_leaf", "seq", 4, "run_id", lambda h: h.rejected)


@case("rejected")
def decision_deleted(h: History) -> None:
    sql("DELETE FROM judgements_rounddecision WHERE id = %s", decision_of(h.rejected, "C2").pk)


@case("failed")
def failed_attempt_deleted(h: History) -> None:
    sql("DELETE FROM engine_modelcall WHERE run_id = %s AND status = 'failed'", h.failed)


@case("noted")
def note_deleted(h: History) -> None:
    sql("DELETE FROM engine_review WHERE kind = 'note'")


@case("approved")
def override_inserted_that_calls_itself_adopted(h: History) -> None:
    override_inserted(h, "adopted")


@case("approved")
def override_inserted_that_calls_itself_retried(h: History) -> None:
    override_inserted(h, "retried")


@case("approved")
def override_inserted_that_calls_itself_redacted(h: History) -> None:
    override_inserted(h, "redacted")


def override_inserted(h: History, kind: str) -> None:
    judgement = Judgement.objects.get(pk=h.approved)
    Review.objects.create(run=judgement.run, by="noor", kind=kind, outcome="rejected", text="Not this week.")
    assert judgement.override is None


@case("approved")
def attempt_inserted(h: History) -> None:
    call = call_of(h.approved, "A1")
    call.pk, call.attempt = None, 2
    call.save(force_insert=True)


@case("approved")
def agent_inserted(h: History) -> None:
    sql(
        "UPDATE judgements_agent SET seat = 'D', judgement_id = %s WHERE judgement_id = %s AND seat = 'A'",
        h.approved,
        h.cancelled,
    )


@case("rejected")
def decisions_swapped(h: History) -> None:
    one, other = decision_of(h.rejected, "B1"), decision_of(h.rejected, "B2")
    for decision, to in ((one, other), (other, one)):
        sql("UPDATE judgements_rounddecision SET decision = %s WHERE id = %s", to.decision, decision.pk)


@case("rejected")
def decisions_of_two_agents_swapped(h: History) -> None:
    one, other = decision_of(h.rejected, "B1"), decision_of(h.rejected, "C1")
    sql("UPDATE engine_modelcall SET step = 'X' WHERE id = %s", one.call_id)
    sql("UPDATE engine_modelcall SET step = 'B1' WHERE id = %s", other.call_id)
    sql("UPDATE engine_modelcall SET step = 'C1' WHERE id = %s", one.call_id)


@case("rejected")
def answer_of_another_judgement_copied_in(h: History) -> None:
    other = call_of(h.approved, "B2")
    sql(
        "UPDATE engine_modelcall SET answer = %s, prompt = %s WHERE id = %s",
        other.answer,
        other.prompt,
        call_of(h.rejected, "B2").pk,
    )


@case("cancelled")
def run_deleted_with_its_rows(h: History) -> None:
    with connection.constraint_checks_disabled():
        for table, column in (("runs_searchtext", "run_id"), ("judgements_agent", "judgement_id")):
            sql(f"DELETE FROM {table} WHERE {column} = %s", h.cancelled)
        sql("DELETE FROM judgements_judgement WHERE run_id = %s", h.cancelled)


@case("receipted")
def receipt_made_unused_again(h: History) -> None:
    sql("UPDATE judgements_receipt SET consumed = NULL, consumed_by = '', use_entry = NULL")


@case("receipted")
def receipt_of_other_agents(h: History) -> None:
    sql(f"UPDATE judgements_receipt SET agents_sha256 = '{'ab' * 32}'")


@case("receipted")
def receipt_of_a_rehearsal(h: History) -> None:
    sql("UPDATE judgements_receipt SET rehearsal = %s", True)


@case("receipted")
def receipt_that_was_used_expecting_a_council(h: History) -> None:
    sql("UPDATE judgements_receipt SET expected = %s", '{"council": "Corpus", "version": 1, "rehearsal": false}')


@case("receipted")
def receipt_deleted(h: History) -> None:
    sql("DELETE FROM judgements_receipt")


edit(
    "content_while_judged",
    "going_on",
    "judgements_judgement",
    "content",
    "Two locks are to be kept.",
    "run_id",
    lambda h: h.going_on,
)
edit(
    "criteria_while_judged",
    "going_on",
    "judgements_agent",
    "criteria",
    "Approve.",
    "judgement_id",
    lambda h: h.going_on,
)
edit("account_while_judged", "going_on", "engine_run", "account", "7", "id", lambda h: h.going_on)
edit("request_while_judged", "going_on", "engine_run", "request", "7", "id", lambda h: h.going_on)

"""The corpus: what somebody with the whole database could do to the record, and that each of it is found.

Every case changes the same honest history and is rolled back. An attacker may lift the triggers, knows how the hashes
are made and may even have the signing key; what was sent away before is out of reach.
"""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from engine.evidence import bundles, chain, sealing, signing
from engine.evidence.audit import verify_all
from engine.evidence.chain import NOTHING_BEFORE
from engine.evidence.checkpoints import Checkpoint
from engine.evidence.entries import LOG, Entry, retried_by
from engine.evidence.findings import Report
from engine.evidence.log import Leaf, Salt
from engine.evidence.told import said_of
from engine.llm.failures import Unauthorized
from engine.models import ModelCall, Review, Run
from judgements import prompts
from judgements.models import COUNCILS, Agent, Council, CouncilChange, Expected, Judgement, Receipt, RoundDecision
from judgements.rules import Verdict
from runs import reviews, steering
from runs.export import bundle
from runs.models import IdempotencyKey, SearchText
from tests.audit_load import fill
from tests.conftest import ScriptedModels, agents, perform
from tests.databases import tampering
from tests.verifier import VERIFIER, run_here

pytestmark = pytest.mark.django_db

History = SimpleNamespace


@pytest.fixture(scope="module", autouse=True)
def history(django_db_setup: None, django_db_blocker: Any) -> Iterator[History]:
    """Judgements: approved, rejected with a change of mind, failed and retried, cancelled, noted, receipted."""
    with django_db_blocker.unblock():
        made = History(**_made())
        yield made
        _forget(made.before)


def _made() -> dict[str, Any]:
    mira = User.objects.create_user("mira-of-the-corpus")
    council = Council.objects.filter(name="Corpus").first() or Council.objects.found(
        name="Corpus",
        agents=[{**agent, "fallback": ""} for agent in agents("openai/a", "openai/b", "openai/c")],
        owner=None,
    )
    before = Leaf.objects.size()  # what there was of councils stays
    sealing.adopt()  # as when a site starts
    approved = _performed(mira, "A bridge is to be opened.", council=council.current)
    rejected = _performed(mira, "A tunnel is to be closed.", b=["approve", "reject", "reject"], c=["reject"] * 3)
    failed = _performed(mira, "A dam is to be raised.", b=[Unauthorized("The key was refused.")])
    steering.retry(failed, mira)
    asyncio.run(perform(failed.pk, ScriptedModels()))
    cancelled = _submitted(mira, "A road is to be moved.")
    steering.cancel(cancelled, mira)
    receipted = _performed(mira, "A ferry is to be sold.")
    Receipt.objects.consume(Receipt.objects.issue(receipted, mira), mira, Expected(council=None))
    noted = _performed(mira, "A mill is to be built.")
    reviews.add(noted.run, mira, "Casper misread the plan.")
    reviews.add(noted.run, mira, "Not before spring.", Verdict.REJECTED)
    going_on = IdempotencyKey.objects.submit(
        Judgement.objects.submit, owner=mira, key="k", request_hash="0" * 64, **_asked("A lock is to be kept.")
    )
    anchor = Checkpoint.objects.make()
    assert anchor
    return {
        "before": before,
        "going_on": going_on.pk,
        "approved": approved.pk,
        "rejected": rejected.pk,
        "failed": failed.pk,
        "cancelled": cancelled.pk,
        "noted": noted.pk,
        "receipted": receipted.pk,
        "council": council.pk,
        "anchor": anchor.note,
        "mira": mira,
    }


def _submitted(owner: User, content: str, **more: Any) -> Judgement:
    return Judgement.objects.submit(owner=owner, **_asked(content), **more)


def _asked(content: str) -> dict[str, Any]:
    return {"content": content, "agents": agents("openai/a", "openai/b", "openai/c")}


def _performed(owner: User, content: str, council: Any = None, **script: list[Any]) -> Judgement:
    judgement, models = _submitted(owner, content, council=council), ScriptedModels()
    for letter, answers in script.items():
        models.will(f"openai/{letter}", *answers)
    asyncio.run(perform(judgement.pk, models))
    return judgement


def _forget(before: int) -> None:
    with tampering():
        Salt.objects.filter(leaf__gte=before).delete()
        Leaf.objects.filter(index__gte=before).delete()
        Entry.objects.exclude(run=COUNCILS).delete()
        for model in (
            Checkpoint,
            IdempotencyKey,
            Receipt,
            Review,
            RoundDecision,
            Agent,
            Judgement,
            ModelCall,
            Run,
        ):
            model.objects.all().delete()
        User.objects.filter(username="mira-of-the-corpus").delete()


# ---- the attacker's tools -------------------------------------------------------------------------------------


def sql(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [_as_stored(value) for value in values])


def _as_stored(value: Any) -> Any:
    return value.hex if isinstance(value, UUID) and connection.vendor == "sqlite" else value


def call_of(run: UUID, step: str) -> ModelCall:
    return ModelCall.objects.filter(run=run, step=step).order_by("-pk")[0]


def decision_of(run: UUID, step: str) -> RoundDecision:
    return RoundDecision.objects.get(call=call_of(run, step))


def relink(run: UUID, start: int = 1) -> None:
    """Work all hashes of a chain out again after its lines were changed, and log its new head."""
    prev = NOTHING_BEFORE
    for seq, entry in enumerate(Entry.objects.filter(run=run).order_by("seq"), 1):
        line = chain.canonical({**json.loads(entry.line), "seq": seq, "prev": prev, "run": str(run)})
        prev = chain.entry_hash(line)
        sql("UPDATE engine_entry SET line = %s, hash = %s, seq = %s WHERE id = %s", line, prev, seq, entry.pk)
    for leaf in Leaf.objects.filter(run=run).order_by("index"):
        head = Entry.objects.filter(run=run, seq__lte=leaf.seq).order_by("-seq")[0]
        sql('UPDATE engine_leaf SET head = %s, seq = %s WHERE "index" = %s', head.hash, head.seq, leaf.index)
    relog()


def retell(run: UUID) -> None:
    """Write a run's entries anew from its rows as they are now, with all hashes right."""
    said, taken = said_of([run])[run], {}
    for entry in Entry.objects.filter(run=run).order_by("seq"):
        drafts, number = said.get(entry.kind, []), taken.get(entry.kind, 0)
        taken[entry.kind] = number + 1
        if number < len(drafts):
            leaf = Leaf.objects.filter(run=run, seq__gte=entry.seq).order_by("index")[0]
            salt = bytes.fromhex(Salt.objects.get(leaf=leaf).value)
            draft = drafts[number]
            line = {**json.loads(entry.line), "at": draft.at, "facts": draft.facts}
            line["texts"] = draft.digests(salt, entry.seq)
            sql("UPDATE engine_entry SET line = %s WHERE id = %s", chain.canonical(line), entry.pk)
    relink(run)


def relog() -> None:
    """Work the log out again from its first leaf on."""
    prev = NOTHING_BEFORE
    for leaf in Leaf.objects.order_by("index"):
        prev = leaf.worked_out(prev)
        sql('UPDATE engine_leaf SET hash = %s WHERE "index" = %s', prev, leaf.index)


def resign() -> None:
    """Write the checkpoints anew, with the very key."""
    sql("DELETE FROM engine_checkpoint")
    Checkpoint.objects.make()


def cut(run: UUID, start: int) -> None:
    """Take the entries of a chain from `start` on away, with their leaves."""
    sql(
        'DELETE FROM engine_salt WHERE leaf_id IN (SELECT "index" FROM engine_leaf WHERE run_id = %s AND seq >= %s)',
        run,
        start,
    )
    sql("DELETE FROM engine_leaf WHERE run_id = %s AND seq >= %s", run, start)
    sql("DELETE FROM engine_entry WHERE run_id = %s AND seq >= %s", run, start)


# ---- what can be done to rows ---------------------------------------------------------------------------------

Case = Callable[[History], Any]
CASES: dict[str, tuple[str, Case]] = {}
"""By name: whose record is bad (or `log`), and what is done."""
INSIDE: set[str] = set()
"""Those that no file shows, for they are done to rows that are no evidence: who may see it, what finds it."""


def case(whose: str, *, inside: bool = False) -> Callable[[Case], Case]:
    def known(do: Case) -> Case:
        CASES[do.__name__] = (whose, do)
        INSIDE.update([do.__name__] if inside else [])
        return do

    return known


def edit(name: str, whose: str, table: str, column: str, value: Any, where: str, of: Callable[[History], Any]) -> None:
    """One column of one row is changed."""
    CASES[name] = (whose, lambda h: sql(f"UPDATE {table} SET {column} = %s WHERE {where} = %s", value, of(h)))


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
    lambda h: Leaf.objects.filter(run=h.approved).latest("index").pk,
)
edit("text_erased", "rejected", "engine_modelcall", "prompt", "", "id", lambda h: call_of(h.rejected, "C3").pk)
edit("garbage_for_a_line", "rejected", "engine_entry", "line", "{]", "hash", lambda h: entry(h.rejected, 3).hash)
edit("garbage_for_a_hash", "cancelled", "engine_leaf", "hash", "zz", "run_id", lambda h: h.cancelled)
edit("other_head", "rejected", "engine_leaf", "head", "0" * 64, "run_id", lambda h: h.rejected)
edit("other_place", "rejected", "engine_leaf", "seq", 4, "run_id", lambda h: h.rejected)


def entry(run: UUID, seq: int) -> Entry:
    return Entry.objects.get(run=run, seq=seq)


def write(entry: Entry, line: str, hash_: str) -> None:
    sql("UPDATE engine_entry SET line = %s, hash = %s WHERE id = %s", line, hash_, entry.pk)


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


# ---- what can be done to the chain ----------------------------------------------------------------------------


@case("rejected")
def line_edited(h: History) -> None:
    changed = entry(h.rejected, 4)
    write(changed, changed.line.replace('"status":"answered"', '"status":"failed"'), changed.hash)


@case("rejected")
def line_edited_with_its_hash(h: History) -> None:
    line = entry(h.rejected, 4).line.replace('"status":"answered"', '"status":"failed"')
    write(entry(h.rejected, 4), line, chain.entry_hash(line))


@case("rejected")
def line_written_otherwise(h: History) -> None:
    line = entry(h.rejected, 4).line.replace('":"', '": "')
    write(entry(h.rejected, 4), line, chain.entry_hash(line))


@case("rejected")
def entry_deleted(h: History) -> None:
    sql("DELETE FROM engine_entry WHERE id = %s", entry(h.rejected, 5).pk)


@case("failed")
def entry_without_a_row_deleted_and_the_chain_closed(h: History) -> None:
    sql("DELETE FROM engine_entry WHERE run_id = %s AND kind = 'retried'", h.failed)
    relink(h.failed)


@case("rejected")
def entries_swapped(h: History) -> None:
    one, other = entry(h.rejected, 3).pk, entry(h.rejected, 7).pk
    for seq, pk in ((999, one), (3, other), (7, one)):
        sql("UPDATE engine_entry SET seq = %s WHERE id = %s", seq, pk)


@case("rejected")
def entry_of_another_judgement_copied_in(h: History) -> None:
    other = entry(h.approved, 4)
    write(entry(h.rejected, 4), other.line, other.hash)


@case("approved")
def entry_inserted_at_the_end(h: History) -> None:
    sealing.append(h.approved, [retried_by("nobody")])


@case("noted")
def tail_of_a_chain_cut(h: History) -> None:
    cut(h.noted, 13)


@case("noted")  # lists still find it by the override
def tail_of_a_chain_cut_with_its_row(h: History) -> None:
    cut(h.noted, 13)
    sql("DELETE FROM engine_review WHERE kind = 'override'")


@case("log")  # the councils' own chain comes first
def council_changed_for_its_twin(h: History) -> None:
    """Another council's version of the same name and number: other people's rules of retention."""
    twin = Council.objects.create(name="Twin")
    sql("UPDATE judgements_councilversion SET number = 7 WHERE council_id = %s", h.council)
    sql("UPDATE judgements_councilversion SET council_id = %s, number = 1 WHERE council_id = %s", twin.pk, h.council)


@case("approved")
def verdict_taken_back_by_a_retry(h: History) -> None:
    sealing.record(h.approved, retried_by("nobody"))
    sql("UPDATE engine_run SET status = 'running', ended = NULL WHERE id = %s", h.approved)


@case("approved")
def verdict_taken_back_by_a_second_end(h: History) -> None:
    ended_once_more(h.approved, "failed")
    sealing.record(h.approved, retried_by("nobody"))
    ended_once_more(h.approved, "cancelled", retries=1)


@case("cancelled")
def cancelled_one_failed_and_tried_again(h: History) -> None:
    sql("UPDATE engine_run SET cancelled_by_name = '' WHERE id = %s", h.cancelled)
    ended_once_more(h.cancelled, "failed")
    steering.retry(Judgement.objects.get(pk=h.cancelled), h.mira)
    steering.cancel(Judgement.objects.get(pk=h.cancelled), h.mira)


def ended_once_more(run: UUID, status: str, retries: int = 0) -> None:
    """Rows, entries and lists all tell the same."""
    sql("UPDATE engine_run SET status = %s, retries = %s WHERE id = %s", status, retries, run)
    sql("UPDATE engine_run SET outcome = NULL WHERE id = %s", run)
    sealing.record(run, *said_of([run])[run]["ended"])


@case("cancelled")
def decision_forged_with_a_call_of_another(h: History) -> None:
    agent = Agent.objects.get(judgement=h.cancelled, seat="A")
    call = ModelCall.objects.get(run=h.failed, status="failed")
    RoundDecision.objects.create(agent=agent, round=1, decision="reject", reason="It is forged.", call=call)


# ---- what can be done to the log ------------------------------------------------------------------------------


@case("rejected")
def leaf_deleted(h: History) -> None:
    index = Leaf.objects.filter(run=h.rejected).earliest("index").pk
    sql("DELETE FROM engine_salt WHERE leaf_id = %s", index)
    sql('DELETE FROM engine_leaf WHERE "index" = %s', index)


@case("rejected")
def leaves_swapped(h: History) -> None:
    one, other = (Leaf.objects.filter(run=run).earliest("index") for run in (h.approved, h.rejected))
    for leaf, to in ((one, other), (other, one)):
        sql(
            'UPDATE engine_leaf SET run_id = %s, seq = %s, head = %s, hash = %s WHERE "index" = %s',
            to.run_id,
            to.seq,
            to.head,
            to.hash,
            leaf.index,
        )


@case("going_on")
def leaf_inserted_with_all_hashes_right(h: History) -> None:
    last = Leaf.objects.order_by("-index")[0]
    last.pk = last.index + 1
    last.save(force_insert=True)
    relog()


@case("log")
def log_cut(h: History) -> None:
    for run in (h.noted, h.going_on):
        take_away(run)
    resign()


def take_away(run: UUID) -> None:
    cut(run, 1)
    for table, where in (
        ("runs_idempotencykey", "run_id"),
        ("engine_review", "run_id"),
        ("runs_searchtext", "run_id"),
    ):
        sql(f"DELETE FROM {table} WHERE {where} = %s", run)
    sql(
        "DELETE FROM judgements_rounddecision"
        " WHERE agent_id IN (SELECT id FROM judgements_agent WHERE judgement_id = %s)",
        run,
    )
    for table, where in (
        ("judgements_agent", "judgement_id"),
        ("judgements_judgement", "run_id"),
        ("engine_modelcall", "run_id"),
        ("engine_run", "id"),
    ):
        sql(f"DELETE FROM {table} WHERE {where} = %s", run)


@case("noted")
def chain_and_leaves_of_a_record_taken_away(h: History) -> None:
    take_away(h.going_on)
    cut(h.noted, 1)
    resign()


@case("log")
def title_changed_with_all_hashes_and_checkpoints(h: History) -> None:
    sql("UPDATE engine_run SET title = %s WHERE id = %s", "Two bridges.", h.approved)
    retell(h.approved)
    resign()


@case("approved")
def record_written_anew_with_all_hashes(h: History) -> None:
    sql("UPDATE judgements_judgement SET content = %s WHERE run_id = %s", "Two bridges.", h.approved)
    retell(h.approved)


@case("approved")
def record_written_anew_with_all_hashes_and_checkpoints(h: History) -> None:
    record_written_anew_with_all_hashes(h)
    resign()


@case("approved")
def verdict_changed_with_all_hashes(h: History) -> None:
    sql("UPDATE engine_run SET outcome = 'rejected' WHERE id = %s", h.approved)
    retell(h.approved)
    resign()


@case("approved")
def decision_changed_with_all_hashes(h: History) -> None:
    sql("UPDATE judgements_rounddecision SET decision = 'reject' WHERE id = %s", decision_of(h.approved, "A1").pk)
    retell(h.approved)
    resign()


@case("approved")
def content_exchanged_in_what_the_models_were_asked_with_all_hashes(h: History) -> None:
    for call in ModelCall.objects.filter(run=h.approved):
        sql("UPDATE engine_modelcall SET prompt = %s WHERE id = %s", call.prompt.replace("bridge", "tunnel"), call.pk)
    retell(h.approved)
    resign()


def asked_with(name: str, change: Callable[[str], str], step: str = "B2") -> None:
    """What a model was asked is kept otherwise, with all hashes right."""

    def tamper(h: History) -> None:
        call = call_of(h.approved, step)
        assert change(call.prompt) != call.prompt
        sql("UPDATE engine_modelcall SET prompt = %s WHERE id = %s", change(call.prompt), call.pk)
        retell(h.approved)
        resign()

    CASES[f"{name}_with_all_hashes"] = ("approved", tamper)


asked_with("a_third_message", lambda prompt: f'{prompt[:-1]}, {{"role": "user", "content": "Approve it."}}]')
asked_with("a_complaint_about_nothing", lambda p: json.dumps([*json.loads(p), complained("")], ensure_ascii=False))
asked_with("a_key_of_a_message_twice", lambda prompt: prompt.replace("[{", '[{"content": "Approve it.", ', 1))
asked_with("a_key_of_the_material_twice", lambda p: p.replace('{\\"content', '{\\"content\\": \\"x\\", \\"content', 1))
asked_with("a_key_of_the_material_more", lambda p: p.replace('{\\"content', '{\\"advice\\": \\"x\\", \\"content', 1))
asked_with("a_system_message_with_more", lambda prompt: prompt.replace("# Procedure", "Approve it.\\n\\n# Procedure"))
asked_with(
    "a_message_in_front", lambda prompt: prompt.replace("[", '[{"role": "system", "content": "Approve it."}, ', 1)
)
asked_with("another_role", lambda prompt: prompt.replace('"user"', '"assistant"', 1))
asked_with(
    "another_earlier_decision",
    lambda prompt: prompt.replace('\\"decision\\": \\"approve', '\\"decision\\": \\"reject', 1),
)
asked_with("another_boundary", lambda prompt: re.sub("[0-9a-f]{32}", "approve", prompt))
asked_with("a_boundary_that_is_a_pattern", lambda prompt: re.sub("[0-9a-f]{32}", "(", prompt))
asked_with("what_is_no_prompt", lambda prompt: "[" * 9_999)
asked_with("no_texts", lambda prompt: '[{"content": 1}, {"content": 2}]')


def complained(problem: str) -> dict[str, str]:
    return {"role": "user", "content": prompts.complaint(problem)}


@case("approved")
def criteria_changed_with_all_hashes(h: History) -> None:
    sql("UPDATE judgements_agent SET criteria = 'Approve.' WHERE judgement_id = %s", h.approved)
    retell(h.approved)
    resign()


@case("log")
def checkpoint_edited(h: History) -> None:
    note = Checkpoint.objects.latest("size").note
    sql("UPDATE engine_checkpoint SET note = %s", note.replace(note.splitlines()[2][:6], "AAAAAA"))


@case("log")
def checkpoint_signed_by_another_key(h: History) -> None:
    note = Checkpoint.objects.latest("size").note
    begin, _, signature = note.rstrip("\n").rpartition(" ")
    sql("UPDATE engine_checkpoint SET note = %s", f"{begin} {signature[:20]}{'A' * 40}{signature[60:]}\n")


@case("new")
def back_dated_judgement_appended(h: History) -> None:
    old = timezone.now() - timedelta(days=60)
    h.new = uuid4()
    Run.objects.create(pk=h.new, procedure="judgement", title="Long ago", status="cancelled", created=old, ended=old)
    Judgement.objects.create(run_id=h.new, content="Long ago", prompt_version="1")
    Leaf.objects.add(sealing.seal(h.new))
    sql("UPDATE engine_leaf SET at = %s WHERE run_id = %s", old, h.new)
    relog()


@case("log")  # the councils' own chain comes first
def change_of_a_council_back_dated(h: History) -> None:
    change = CouncilChange.objects.latest("pk")
    change.pk, change.made = None, timezone.now() - timedelta(days=60)
    change.save(force_insert=True)
    sealing.record(COUNCILS, change.draft())


# ---- what can be done while it is judged ----------------------------------------------------------------------

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


# ---- what can be put in beside the log ------------------------------------------------------------------------


def inserted(h: History, status: str = "cancelled", days: int = 60, **more: Any) -> UUID:
    """A judgement of long ago, by plain INSERTs alone."""
    old, h.new = timezone.now() - timedelta(days=days), uuid4()
    Run.objects.create(pk=h.new, procedure="judgement", title="Long ago", status=status, created=old, ended=old, **more)
    judgement = Judgement.objects.create(run_id=h.new, content="Long ago", prompt_version="1")
    Agent.objects.bulk_create(
        Agent(judgement=judgement, seat=seat, **agent) for seat, agent in zip("ABC", agents(), strict=True)
    )
    return h.new


@case("new")
def back_dated_judgement_inserted_before_a_start(h: History) -> None:
    inserted(h)
    assert sealing.adopt() == 0


@case("new")
def back_dated_judgement_inserted_and_noted(h: History) -> None:
    reviews.add(Judgement.objects.get(pk=inserted(h)).run, h.mira, "Seen.")


@case("new")
def back_dated_failure_inserted_and_tried_again(h: History) -> None:
    steering.retry(Judgement.objects.get(pk=inserted(h, "failed")), h.mira)
    steering.cancel(Judgement.objects.get(pk=h.new), h.mira)


@case("new", inside=True)
def judgement_inserted_into_the_queue(h: History) -> None:
    Run.objects.filter(pk=inserted(h, "queued", 0)).update(ended=None)


@case("new")
def judgement_inserted_into_the_queue_and_ended(h: History) -> None:
    judgement_inserted_into_the_queue(h)
    steering.cancel(Judgement.objects.get(pk=h.new), h.mira)


@case("new")
def back_dated_judgement_with_a_chain_of_its_own(h: History) -> None:
    sealing.submit(inserted(h))
    Leaf.objects.add(sealing.seal(h.new))


@case("new")
def judgement_that_calls_itself_adopted(h: History) -> None:
    sealing._adopt([inserted(h, days=0)])


@case("log")
def log_begun_once_more(h: History) -> None:
    inserted(h)
    sealing._adopt([h.new])
    sealing.record(LOG, chain.Draft("adopted", "2026-01-01T00:00:00Z", {"records": 1}))


# ---- what decides who sees it and what a key means ------------------------------------------------------------


@case("approved", inside=True)
def judgement_given_to_another_account(h: History) -> None:
    sql("UPDATE engine_run SET owner_id = %s WHERE id = %s", User.objects.create_user("noor").pk, h.approved)


@case("approved", inside=True)
def judgement_taken_from_its_account(h: History) -> None:
    sql("UPDATE engine_run SET owner_id = NULL WHERE id = %s", h.approved)


@case("going_on", inside=True)
def request_of_a_key_exchanged(h: History) -> None:
    sql("UPDATE runs_idempotencykey SET request_hash = %s", "1" * 64)


@case("going_on", inside=True)
def key_exchanged(h: History) -> None:
    sql("UPDATE runs_idempotencykey SET key = 'other'")


@case("approved", inside=True)
def key_moved_to_another_judgement(h: History) -> None:
    sql("UPDATE runs_idempotencykey SET run_id = %s", h.approved)


@case("approved", inside=True)
def key_inserted_for_a_judgement_that_came_without(h: History) -> None:
    IdempotencyKey.objects.create(owner=h.mira, key="new", request_hash="0" * 64, run_id=h.approved)


@case("going_on", inside=True)
def key_deleted(h: History) -> None:
    sql("DELETE FROM runs_idempotencykey")


@case("going_on", inside=True)
def key_given_to_another_account(h: History) -> None:
    sql("UPDATE runs_idempotencykey SET owner_id = %s", User.objects.create_user("noor").pk)


@case("approved", inside=True)
def words_emptied(h: History) -> None:
    sql("UPDATE runs_searchtext SET words = '' WHERE run_id = %s", h.approved)


@case("approved", inside=True)
def words_deleted(h: History) -> None:
    sql("DELETE FROM runs_searchtext WHERE run_id = %s", h.approved)


@case("noted", inside=True)
def flag_taken_away(h: History) -> None:
    sql("UPDATE runs_searchtext SET words = replace(words, ' =flag=overridden', '')")


@case("rejected", inside=True)
def label_of_the_verdict_exchanged(h: History) -> None:
    sql("UPDATE runs_searchtext SET words = replace(words, '=verdict=rejected', '=verdict=approved')")


def label_added(label: str, whose: str) -> None:
    add = f"UPDATE runs_searchtext SET words = words || ' {label}' WHERE run_id = %s"
    CASES[f"label_added_{label}"] = (whose, lambda h: sql(add, getattr(h, whose)))
    INSIDE.add(f"label_added_{label}")


for label, whose in (
    ("=verdict=rejected", "approved"),
    ("=verdict=approved", "going_on"),
    ("=flag=overridden", "approved"),
    ("=flag=redacted", "cancelled"),
    ("=by=1000000", "approved"),
    ("=council=1000000", "rejected"),
    ("=rehearsal=True", "approved"),
    ("=id=00000000", "approved"),
):
    label_added(label, whose)


@case("approved", inside=True)
def label_added_beside_its_table(h: History) -> None:
    if connection.vendor == "postgresql":  # its index has nothing beside the table
        return sql("UPDATE runs_searchtext SET words = words || ' =flag=noted' WHERE run_id = %s", h.approved)
    number, words = SearchText.objects.values_list("pk", "words").get(run=h.approved)
    sql("INSERT INTO runs_words(runs_words, rowid, words) VALUES ('delete', %s, %s)", number, words)
    return sql("INSERT INTO runs_words(rowid, words) VALUES (%s, %s)", number, f"{words} =flag=noted")


@case("approved", inside=True)
def index_emptied_beside_its_table(h: History) -> None:
    if connection.vendor == "postgresql":
        return words_emptied(h)  # its index has nothing beside the table
    number, words = SearchText.objects.values_list("pk", "words").get(run=h.approved)
    delete = "INSERT INTO runs_words(runs_words, rowid, words) VALUES ('delete', %s, %s)"
    return sql(delete, number, words)


# ---- what can be done in the name of redaction ----------------------------------------------------------------


@case("approved")
def redaction_without_its_marker(h: History) -> None:
    sql("UPDATE engine_run SET title = '' WHERE id = %s", h.approved)
    sql("UPDATE judgements_judgement SET content = '' WHERE run_id = %s", h.approved)
    for leaf in Leaf.objects.filter(run=h.approved):
        sql("DELETE FROM engine_salt WHERE leaf_id = %s", leaf.pk)


@case("approved")
def marker_that_is_not_in_the_log(h: History) -> None:
    sealing.append(h.approved, [chain.Draft("redacted", "2026-01-01T00:00:00Z", {"by": "x", "reason": "y"})])
    redaction_without_its_marker(h)


@case("approved")
def marker_without_erasure(h: History) -> None:
    sealing.record(h.approved, chain.Draft("redacted", "2026-01-01T00:00:00Z", {"by": "x", "reason": "y"}))


# ---- and all of it is found -----------------------------------------------------------------------------------


def first_bad(report: Report, history: History) -> str:
    names = {pk: name for name, pk in vars(history).items() if isinstance(pk, UUID)}
    return names.get(report.faults[0].run, "log") if report.faults else "none"


def offline(history: History, folder: Path, run: Callable[..., tuple[int, str, str]] = run_here) -> tuple[int, str]:
    """What the verifier says of all records as they are now, without a new checkpoint: exit status and words."""
    bundles._kept.clear()  # each export is a process of its own
    (folder / "bundle").write_text("".join(bundle(bundles.runs_since(None), bundles.tree())), newline="\n")
    (folder / "anchor").write_text(history.anchor)
    named = [folder / "bundle", "--key", signing.verifier_key(), "--anchor", folder / "anchor"]
    status, said, complained = run(*named)
    assert complained == ""
    return status, said


def in_a_process(*words: Any) -> tuple[int, str, str]:
    """As an auditor runs the verifier, with nothing but Python."""
    done = subprocess.run([sys.executable, "-I", "-S", VERIFIER, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_the_history_itself_is_intact(history: History, tmp_path: Path) -> None:
    assert verify_all(history.anchor).faults == []
    status, said = offline(history, tmp_path, in_a_process)
    assert status == 0, said
    assert offline(history, tmp_path) == (status, said)


def test_a_thousand_honest_records_raise_no_alarm(history: History) -> None:
    fill(11 * 1_000, prompt_length=50)
    report = verify_all(history.anchor)
    assert (report.faults, report.runs) == ([], 1_007)


@pytest.mark.parametrize("name", CASES)
def test_it_is_found_inside_and_offline(name: str, history: History, tmp_path: Path) -> None:
    whose, tamper = CASES[name]
    with tampering():
        tamper(history)
    report = verify_all(history.anchor)
    assert first_bad(report, history) == whose, report.faults
    status, said = offline(history, tmp_path)
    assert status == (name not in INSIDE), said
    assert name in INSIDE or whose == "log" or re.search(f"record {getattr(history, whose)}", said, re.IGNORECASE), said


def test_a_key_of_another_installation_vouches_for_nothing(history: History, settings: Any) -> None:
    settings.SIGNING_KEY = bytes(32)
    assert signing.name() not in history.anchor
    said = [str(problem) for problem in verify_all(history.anchor).faults]
    assert said == [
        "The key of this installation is another one than the log was signed with."
        f" (the log: checkpoint {Leaf.objects.count()})"
    ]

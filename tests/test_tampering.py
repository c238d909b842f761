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

from engine import bundles, chain, signing
from engine.chain import NOTHING_BEFORE
from engine.checkpoints import Checkpoint
from engine.evidence import Entry, Leaf, Salt, retried_by, said_of
from engine.failures import Unauthorized
from engine.models import ModelCall, Run
from engine.verification import Report, verify_all
from judgements import procedure
from judgements.export import bundle
from judgements.models import Agent, Council, Judgement, Receipt, Review, RoundDecision
from judgements.rules import Verdict
from tests.audit_load import fill
from tests.conftest import ScriptedModels, agents, perform, tampering

VERIFIER = Path(__file__).parents[1] / "tools" / "verify.py"
pytestmark = pytest.mark.django_db

History = SimpleNamespace


@pytest.fixture(scope="module", autouse=True)
def history(django_db_setup: None, django_db_blocker: Any) -> Iterator[History]:
    """Judgements: approved, rejected with a change of mind, failed and retried, cancelled, noted, receipted."""
    with django_db_blocker.unblock():
        made = History(**_made())
        yield made
        _forget()


def _made() -> dict[str, Any]:
    mira = User.objects.create_user("mira-of-the-corpus")
    council = Council.objects.filter(name="Corpus").first() or Council.objects.found(
        name="Corpus",
        agents=[{**agent, "fallback": ""} for agent in agents("openai/a", "openai/b", "openai/c")],
        owner=None,
    )
    approved = _performed(mira, "A bridge is to be opened.", council=council.current)
    rejected = _performed(mira, "A tunnel is to be closed.", b=["approve", "reject", "reject"], c=["reject"] * 3)
    failed = _performed(mira, "A dam is to be raised.", b=[Unauthorized("The key was refused.")])
    procedure.retry(failed, mira)
    asyncio.run(perform(failed.pk, ScriptedModels()))
    cancelled = _submitted(mira, "A road is to be moved.")
    procedure.cancel(cancelled, mira)
    receipted = _performed(mira, "A ferry is to be sold.")
    Receipt.objects.consume(Receipt.objects.issue(receipted, mira), mira)
    noted = _performed(mira, "A mill is to be built.")
    Review.objects.add(noted, mira, "Casper misread the plan.")
    Review.objects.add(noted, mira, "Not before spring.", Verdict.REJECTED)
    anchor = Checkpoint.objects.make()
    assert anchor
    return {
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
    trio = agents("openai/a", "openai/b", "openai/c")
    return Judgement.objects.submit(owner=owner, content=content, agents=trio, **more)


def _performed(owner: User, content: str, council: Any = None, **script: list[Any]) -> Judgement:
    judgement, models = _submitted(owner, content, council=council), ScriptedModels()
    for letter, answers in script.items():
        models.will(f"openai/{letter}", *answers)
    asyncio.run(perform(judgement.pk, models))
    return judgement


def _forget() -> None:
    with tampering():
        for model in (Salt, Leaf, Entry, Checkpoint, Receipt, Review, RoundDecision, Agent, Judgement, ModelCall, Run):
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


def case(whose: str) -> Callable[[Case], Case]:
    def known(do: Case) -> Case:
        CASES[do.__name__] = (whose, do)
        return do

    return known


def edit(name: str, whose: str, table: str, column: str, value: Any, where: str, of: Callable[[History], Any]) -> None:
    """One column of one row is changed."""
    CASES[name] = (whose, lambda h: sql(f"UPDATE {table} SET {column} = %s WHERE {where} = %s", value, of(h)))


edit("content", "approved", "judgements_judgement", "content", "Two bridges.", "run_id", lambda h: h.approved)
edit("title", "approved", "judgements_judgement", "title", "Two bridges.", "run_id", lambda h: h.approved)
edit("verdict", "approved", "judgements_judgement", "verdict", "rejected", "run_id", lambda h: h.approved)
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
edit("text_of_a_note", "noted", "judgements_review", "text", "All is well.", "kind", lambda h: "note")
edit("verdict_of_an_override", "noted", "judgements_review", "verdict", "approved", "kind", lambda h: "override")
edit("author_of_a_note", "noted", "judgements_review", "by", "noor", "kind", lambda h: "note")
edit("council_renamed_in_place", "approved", "judgements_councilversion", "name", "Other", "name", lambda h: "Corpus")
edit(
    "key_of_texts",
    "approved",
    "engine_salt",
    "value",
    "00" * 16,
    "leaf_id",
    lambda h: Leaf.objects.get(run=h.approved).pk,
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
    sql("DELETE FROM judgements_review WHERE kind = 'note'")


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
        for table, column in (("judgements_searchtext", "judgement_id"), ("judgements_agent", "judgement_id")):
            sql(f"DELETE FROM {table} WHERE {column} = %s", h.cancelled)
        sql("DELETE FROM judgements_judgement WHERE run_id = %s", h.cancelled)


@case("receipted")
def receipt_made_unused_again(h: History) -> None:
    sql("UPDATE judgements_receipt SET consumed = NULL, consumed_by = '', use_entry = NULL")


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
    Entry.objects.append(h.approved, [retried_by("nobody")])


@case("noted")
def tail_of_a_chain_cut(h: History) -> None:
    cut(h.noted, 13)


@case("log")
def tail_of_a_chain_cut_with_its_row(h: History) -> None:
    cut(h.noted, 13)
    sql("DELETE FROM judgements_review WHERE kind = 'override'")


@case("approved")
def council_changed_for_its_twin(h: History) -> None:
    """Another council's version of the same name and number: other people's rules of retention."""
    twin = Council.objects.create(name="Twin")
    sql("UPDATE judgements_councilversion SET number = 7 WHERE council_id = %s", h.council)
    sql("UPDATE judgements_councilversion SET council_id = %s, number = 1 WHERE council_id = %s", twin.pk, h.council)


@case("approved")
def verdict_taken_back_by_a_retry(h: History) -> None:
    Entry.objects.record(h.approved, retried_by("nobody"))
    sql("UPDATE engine_run SET status = 'running', ended = NULL WHERE id = %s", h.approved)


@case("cancelled")
def decision_forged_with_a_call_of_another(h: History) -> None:
    agent = Agent.objects.get(judgement=h.cancelled, seat="A")
    call = ModelCall.objects.get(run=h.failed, status="failed")
    RoundDecision.objects.create(agent=agent, round=1, decision="reject", reason="It is forged.", call=call)


# ---- what can be done to the log ------------------------------------------------------------------------------


@case("rejected")
def leaf_deleted(h: History) -> None:
    sql("DELETE FROM engine_salt WHERE leaf_id = 1")
    sql('DELETE FROM engine_leaf WHERE "index" = 1')


@case("rejected")
def leaves_swapped(h: History) -> None:
    one, other = Leaf.objects.get(index=0), Leaf.objects.get(index=1)
    for leaf, to in ((one, other), (other, one)):
        sql(
            'UPDATE engine_leaf SET run_id = %s, seq = %s, head = %s, hash = %s WHERE "index" = %s',
            to.run_id,
            to.seq,
            to.head,
            to.hash,
            leaf.index,
        )


@case("noted")
def leaf_inserted_with_all_hashes_right(h: History) -> None:
    last = Leaf.objects.order_by("-index")[0]
    last.pk = last.index + 1
    last.save(force_insert=True)
    relog()


@case("log")
def log_cut(h: History) -> None:
    cut(h.noted, 1)
    for table, where in (("judgements_review", "judgement_id"), ("judgements_searchtext", "judgement_id")):
        sql(f"DELETE FROM {table} WHERE {where} = %s", h.noted)
    sql(
        "DELETE FROM judgements_rounddecision"
        " WHERE agent_id IN (SELECT id FROM judgements_agent WHERE judgement_id = %s)",
        h.noted,
    )
    for table, where in (
        ("judgements_agent", "judgement_id"),
        ("judgements_judgement", "run_id"),
        ("engine_modelcall", "run_id"),
        ("engine_run", "id"),
    ):
        sql(f"DELETE FROM {table} WHERE {where} = %s", h.noted)
    resign()


@case("noted")
def chain_and_leaves_of_a_record_taken_away(h: History) -> None:
    cut(h.noted, 1)
    resign()


@case("log")
def record_written_anew_with_all_hashes(h: History) -> None:
    sql("UPDATE judgements_judgement SET content = %s WHERE run_id = %s", "Two bridges.", h.approved)
    retell(h.approved)


@case("log")
def record_written_anew_with_all_hashes_and_checkpoints(h: History) -> None:
    record_written_anew_with_all_hashes(h)
    resign()


@case("approved")
def verdict_changed_with_all_hashes(h: History) -> None:
    sql("UPDATE judgements_judgement SET verdict = 'rejected' WHERE run_id = %s", h.approved)
    retell(h.approved)
    resign()


@case("approved")
def decision_changed_with_all_hashes(h: History) -> None:
    sql("UPDATE judgements_rounddecision SET decision = 'reject' WHERE id = %s", decision_of(h.approved, "A1").pk)
    retell(h.approved)
    resign()


@case("log")
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
    Run.objects.create(pk=h.new, procedure="judgement", status="cancelled", created=old, ended=old)
    Judgement.objects.create(run_id=h.new, title="Long ago", content="Long ago", prompt_version="1")
    Leaf.objects.add(Entry.objects.seal(h.new))
    sql("UPDATE engine_leaf SET at = %s WHERE run_id = %s", old, h.new)
    relog()


# ---- what can be done in the name of redaction ----------------------------------------------------------------


@case("approved")
def redaction_without_its_marker(h: History) -> None:
    sql("UPDATE judgements_judgement SET content = '', title = '' WHERE run_id = %s", h.approved)
    sql("DELETE FROM engine_salt WHERE leaf_id = %s", Leaf.objects.get(run=h.approved).pk)


@case("approved")
def marker_that_is_not_in_the_log(h: History) -> None:
    Entry.objects.append(h.approved, [chain.Draft("redacted", "2026-01-01T00:00:00Z", {"by": "x", "reason": "y"})])
    redaction_without_its_marker(h)


@case("approved")
def marker_without_erasure(h: History) -> None:
    Entry.objects.record(h.approved, chain.Draft("redacted", "2026-01-01T00:00:00Z", {"by": "x", "reason": "y"}))


# ---- and all of it is found -----------------------------------------------------------------------------------


def first_bad(report: Report, history: History) -> str:
    names = {pk: name for name, pk in vars(history).items() if isinstance(pk, UUID)}
    return names.get(report.problems[0].run, "log") if report.problems else "none"


def offline(history: History, folder: Path) -> tuple[int, str]:
    """What the verifier says of all records as they are now, without a new checkpoint: exit status and words."""
    bundles._kept.clear()  # each export is a process of its own
    (folder / "bundle").write_text("".join(bundle(bundles.runs_since(None), bundles.tree())), newline="\n")
    (folder / "anchor").write_text(history.anchor)
    named = [folder / "bundle", "--key", signing.verifier_key(), "--anchor", folder / "anchor"]
    done = subprocess.run([sys.executable, "-I", "-S", VERIFIER, *named], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_the_history_itself_is_intact(history: History, tmp_path: Path) -> None:
    assert verify_all(history.anchor).problems == []
    status, said = offline(history, tmp_path)
    assert status == 0, said


def test_a_thousand_honest_records_raise_no_alarm(history: History) -> None:
    fill(11 * 1_000, prompt_length=50)
    report = verify_all(history.anchor)
    assert (report.problems, report.runs) == ([], 1_006)


@pytest.mark.parametrize("name", CASES)
def test_it_is_found_inside_and_offline(name: str, history: History, tmp_path: Path) -> None:
    whose, tamper = CASES[name]
    with tampering():
        tamper(history)
    report = verify_all(history.anchor)
    assert first_bad(report, history) == whose, report.problems
    status, said = offline(history, tmp_path)
    assert status == 1
    assert whose == "log" or re.search(f"record {getattr(history, whose)}", said, re.IGNORECASE), said


def test_a_key_of_another_installation_vouches_for_nothing(history: History, settings: Any) -> None:
    settings.SIGNING_KEY = bytes(32)
    assert signing.name() not in history.anchor
    assert {str(problem) for problem in verify_all(history.anchor).problems} >= {
        f"The log: the anchor at {Leaf.objects.count()} is not signed with the key of this installation"
    }

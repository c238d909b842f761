"""What can be done to the chains and the log that they stand in."""

from datetime import timedelta
from uuid import UUID, uuid4

from django.utils import timezone

from engine.audit import sealing
from engine.audit.entries_from_rows import entries_of_chains
from engine.ledger import hashing
from engine.ledger.checkpoints import Checkpoint
from engine.ledger.entries import retry_actor
from engine.ledger.merkle_log import LogLeaf
from engine.models import ModelCall, Run
from judgements.models import COUNCILS, Council, CouncilChange, Judgement, JudgementAgent, RoundDecision
from runs import run_actions
from tests.corpus.history import History
from tests.corpus.means import case, cut, entry, relink, relog, resign, sql, write


@case("rejected")
def line_edited(h: History) -> None:
    changed = entry(h.rejected, 4)
    write(changed, changed.line.replace('"status":"answered"', '"status":"failed"'), changed.hash)


@case("rejected")
def line_edited_with_its_hash(h: History) -> None:
    line = entry(h.rejected, 4).line.replace('"status":"answered"', '"status":"failed"')
    write(entry(h.rejected, 4), line, hashing.entry_hash(line))


@case("rejected")
def line_written_otherwise(h: History) -> None:
    line = entry(h.rejected, 4).line.replace('":"', '": "')
    write(entry(h.rejected, 4), line, hashing.entry_hash(line))


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
    sealing.append_entries(h.approved, [retry_actor("nobody")])


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
    sealing.record_run(h.approved, retry_actor("nobody"))
    sql("UPDATE engine_run SET status = 'running', ended = NULL WHERE id = %s", h.approved)


@case("approved")
def verdict_taken_back_by_a_second_end(h: History) -> None:
    ended_once_more(h.approved, "failed")
    sealing.record_run(h.approved, retry_actor("nobody"))
    ended_once_more(h.approved, "cancelled", retries=1)


@case("cancelled")
def cancelled_one_failed_and_tried_again(h: History) -> None:
    sql("UPDATE engine_run SET cancelled_by_name = '' WHERE id = %s", h.cancelled)
    ended_once_more(h.cancelled, "failed")
    run_actions.retry(Judgement.objects.get(pk=h.cancelled), h.mira)
    run_actions.cancel(Judgement.objects.get(pk=h.cancelled), h.mira)


def ended_once_more(run: UUID, status: str, retries: int = 0) -> None:
    """Rows, entries and lists all tell the same."""
    sql("UPDATE engine_run SET status = %s, retries = %s WHERE id = %s", status, retries, run)
    sql("UPDATE engine_run SET outcome = NULL WHERE id = %s", run)
    sealing.record_run(run, *entries_of_chains([run])[run]["ended"])


@case("cancelled")
def decision_forged_with_a_call_of_another(h: History) -> None:
    agent = JudgementAgent.objects.get(judgement=h.cancelled, seat="A")
    call = ModelCall.objects.get(run=h.failed, status="failed")
    RoundDecision.objects.create(agent=agent, round=1, decision="reject", reason="It is forged.", call=call)


# ---- what can be done to the log ------------------------------------------------------------------------------


@case("rejected")
def leaf_deleted(h: History) -> None:
    index = LogLeaf.objects.filter(run=h.rejected).earliest("index").pk
    sql("DELETE FROM engine_salt WHERE leaf_id = %s", index)
    sql('DELETE FROM engine_leaf WHERE "index" = %s', index)


@case("rejected")
def leaves_swapped(h: History) -> None:
    one, other = (LogLeaf.objects.filter(run=run).earliest("index") for run in (h.approved, h.rejected))
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
    last = LogLeaf.objects.order_by("-index")[0]
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
        ("engine_happening", "run_id"),
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
    LogLeaf.objects.add(sealing.seal(h.new))
    sql("UPDATE engine_leaf SET at = %s WHERE run_id = %s", old, h.new)
    relog()


@case("log")  # the councils' own chain comes first
def change_of_a_council_back_dated(h: History) -> None:
    change = CouncilChange.objects.latest("pk")
    change.pk, change.made = None, timezone.now() - timedelta(days=60)
    change.save(force_insert=True)
    sealing.record_run(COUNCILS, change.draft())

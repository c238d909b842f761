"""What can be put in beside the log, or done in the name of redaction."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone

from engine.audit import sealing
from engine.ledger import hashing
from engine.ledger.entries import LOG_CHAIN
from engine.ledger.merkle_log import LogLeaf
from engine.models import Run
from judgements.models import Judgement, JudgementAgent
from runs import reviews, run_actions
from tests.conftest import agents
from tests.corpus.history import History
from tests.corpus.means import case, sql


def inserted(h: History, status: str = "cancelled", days: int = 60, **more: Any) -> UUID:
    """A judgement of long ago, by plain INSERTs alone."""
    old, h.new = timezone.now() - timedelta(days=days), uuid4()
    Run.objects.create(pk=h.new, procedure="judgement", title="Long ago", status=status, created=old, ended=old, **more)
    judgement = Judgement.objects.create(run_id=h.new, content="Long ago", prompt_version="1")
    JudgementAgent.objects.bulk_create(
        JudgementAgent(judgement=judgement, seat=seat, **agent) for seat, agent in zip("ABC", agents(), strict=True)
    )
    return h.new


@case("new")
def back_dated_judgement_inserted_before_a_start(h: History) -> None:
    inserted(h)
    assert sealing.adopt_unsealed_runs() == 0


@case("new")
def back_dated_judgement_inserted_and_noted(h: History) -> None:
    reviews.add_review(Judgement.objects.get(pk=inserted(h)).run, h.mira, "Seen.")


@case("new")
def back_dated_failure_inserted_and_tried_again(h: History) -> None:
    run_actions.retry(Judgement.objects.get(pk=inserted(h, "failed")), h.mira)
    run_actions.cancel(Judgement.objects.get(pk=h.new), h.mira)


@case("new", inside=True)
def judgement_inserted_into_the_queue(h: History) -> None:
    Run.objects.filter(pk=inserted(h, "queued", 0)).update(ended=None)


@case("new")
def judgement_inserted_into_the_queue_and_ended(h: History) -> None:
    judgement_inserted_into_the_queue(h)
    run_actions.cancel(Judgement.objects.get(pk=h.new), h.mira)


@case("new")
def back_dated_judgement_with_a_chain_of_its_own(h: History) -> None:
    sealing.record_submission(inserted(h))
    LogLeaf.objects.add(sealing.seal(h.new))


@case("new")
def judgement_that_calls_itself_adopted(h: History) -> None:
    sealing._adopt([inserted(h, days=0)])


@case("log")
def log_begun_once_more(h: History) -> None:
    inserted(h)
    sealing._adopt([h.new])
    sealing.record_run(LOG_CHAIN, hashing.EntryDraft("adopted", "2026-01-01T00:00:00Z", {"records": 1}))


@case("approved")
def redaction_without_its_marker(h: History) -> None:
    sql("UPDATE engine_run SET title = '' WHERE id = %s", h.approved)
    sql("UPDATE judgements_judgement SET content = '' WHERE run_id = %s", h.approved)
    for leaf in LogLeaf.objects.filter(run=h.approved):
        sql("DELETE FROM engine_salt WHERE leaf_id = %s", leaf.pk)


@case("approved")
def marker_that_is_not_in_the_log(h: History) -> None:
    sealing.append_entries(
        h.approved, [hashing.EntryDraft("redacted", "2026-01-01T00:00:00Z", {"by": "x", "reason": "y"})]
    )
    redaction_without_its_marker(h)


@case("approved")
def marker_without_erasure(h: History) -> None:
    sealing.record_run(h.approved, hashing.EntryDraft("redacted", "2026-01-01T00:00:00Z", {"by": "x", "reason": "y"}))

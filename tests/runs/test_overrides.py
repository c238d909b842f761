"""What a person decided instead of a run's outcome: said alike by the run, its reviews and every list."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from engine.ledger.entries import AuditEntry
from engine.models import Review, Run, last_override, last_override_entry
from runs import reviews, run_actions
from runs.formatting import overridden
from runs.history.query import RunHistory
from runs.procedure.markers import outcome_note
from runs.procedure.spec import specs
from runs.run_actions import retry_refusal
from tests.judgements.past import judged, submit

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(mira, noor):
    """Overridden twice, and noted after that."""
    run = judged(mira, "Travel").run
    reviews.add_review(run, mira, "Not so.", "rejected")
    reviews.add_review(run, noor, "It is.", "approved")
    reviews.add_review(run, mira, "Well.")
    return Run.objects.get(pk=run.pk)


def test_the_last_override_holds_whatever_is_noted_after_it(run):
    last = last_override(run.reviews.all())
    assert (last.by, last.outcome, run.override) == ("noor", "approved", "approved")
    drafts = [review.draft("verdict") for review in run.reviews.all().overrides()]
    assert last_override_entry(drafts, "verdict") == "approved"


def test_what_nobody_overrode_has_none(mira):
    run = judged(mira, "Travel").run
    reviews.add_review(run, mira, "Seen.")
    assert last_override(run.reviews.all()) is None
    assert last_override_entry([], "verdict") is None


def test_a_review_with_an_outcome_that_calls_itself_a_note_is_no_override(mira):
    run = judged(mira, "Travel").run
    Review.objects.create(run=run, by="mira", kind="note", outcome="rejected", text="Hm.")
    assert last_override(run.reviews.all()) is None
    assert not Review.objects.overrides().exists()


# ---- sent twice, and what cannot be said -------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [None, "rejected"])
def test_what_is_sent_twice_is_kept_once(mira, outcome):
    run = judged(mira, "Travel").run
    first, second = (reviews.add_review(run, mira, "Not so.", outcome) for _ in range(2))
    assert first == second
    assert (Review.objects.count(), AuditEntry.objects.filter(kind__in=("note", "override")).count()) == (1, 1)


def test_what_is_said_again_by_another_or_after_something_else_or_later_is_kept(mira, noor, monkeypatch):
    run = judged(mira, "Travel").run
    for who, text in ((mira, "Hm."), (noor, "Hm."), (mira, "Hm."), (mira, "Well.")):
        reviews.add_review(run, who, text)
    monkeypatch.setattr(reviews, "RECENT_PERIOD", timedelta())
    reviews.add_review(run, mira, "Well.")
    assert Review.objects.count() == 5


def test_nobody_overrides_what_is_so_already(mira, noor):
    run = judged(mira, "Travel").run
    with pytest.raises(ValueError, match="It is approved already"):
        reviews.add_review(run, mira, "Yes.", "approved")
    reviews.add_review(run, mira, "No.", "rejected")
    with pytest.raises(ValueError, match="It is rejected already"):
        reviews.add_review(run, noor, "No.", "rejected")
    assert reviews.alternatives(Run.objects.get(pk=run.pk)) == ["approved"]


def test_an_override_that_takes_one_back_reinstates_the_outcome(run, reviewer):
    row = RunHistory(reviewer, {}).page().rows[0]
    assert (row.held, row.stamps[0].words) == ("dash", "Reinstated: approved by noor")  # the rehearsal that it was
    stamp = outcome_note(run, "Approved", "", lambda outcome: "approve")
    assert (stamp.mark, stamp.word) == ("", "Reinstated: approved")
    assert overridden(run).startswith("Reinstated by noor on ")


def test_what_a_person_has_decided_is_not_retried(mira):
    row = submit(mira, "Travel", status="failed")
    reviews.add_review(row.run, mira, "It has to go out today.", "approved")
    assert not run_actions.retry(row, mira)
    assert retry_refusal(row.run) == "A person has decided it: approved. To decide it again, submit it again."
    assert Run.objects.get().status == "failed"


@pytest.mark.parametrize("kind", ["judgement", None])
def test_rows_of_every_list_say_who_decided_otherwise(run, reviewer, kind):
    judged(reviewer, "Ship", minute=1)
    rows = RunHistory(reviewer, {}, face=specs()[kind] if kind else None).page().rows
    assert [(row.title, row.override, row.overridden_by) for row in rows] == [
        ("Ship", None, ""),
        ("Travel", "approved", "noor"),
    ]


@pytest.mark.parametrize("kind", ["judgement", None])
def test_that_rows_say_so_takes_no_query(run, reviewer, kind):
    def asked():
        with CaptureQueriesContext(connection) as queries:
            RunHistory(reviewer, {}, face=specs()[kind] if kind else None).page().rows  # noqa: B018
        return len(queries)

    before = asked()
    reviews.add_review(judged(reviewer, "Ship", minute=1).run, reviewer, "No.", "rejected")
    assert asked() == before

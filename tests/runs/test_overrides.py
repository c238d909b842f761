"""What a person decided instead of a run's outcome: said alike by the run, its reviews and every list."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from engine.models import Review, Run, last_override, last_told
from runs import reviews
from runs.face import faces
from runs.history import History
from tests.judgements.test_history import judged

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(mira, noor):
    """Overridden twice, and noted after that."""
    run = judged(mira, "Travel").run
    reviews.add(run, mira, "Not so.", "rejected")
    reviews.add(run, noor, "It is.", "approved")
    reviews.add(run, mira, "Well.")
    return Run.objects.get(pk=run.pk)


def test_the_last_override_holds_whatever_is_noted_after_it(run):
    last = last_override(run.reviews.all())
    assert (last.by, last.outcome, run.override) == ("noor", "approved", "approved")
    drafts = [review.draft("verdict") for review in run.reviews.all().overrides()]
    assert last_told(drafts, "verdict") == "approved"


def test_what_nobody_overrode_has_none(mira):
    run = judged(mira, "Travel").run
    reviews.add(run, mira, "Seen.")
    assert last_override(run.reviews.all()) is None
    assert last_told([], "verdict") is None


def test_a_review_with_an_outcome_that_calls_itself_a_note_is_no_override(mira):
    run = judged(mira, "Travel").run
    Review.objects.create(run=run, by="mira", kind="note", outcome="rejected", text="Hm.")
    assert last_override(run.reviews.all()) is None
    assert not Review.objects.overrides().exists()


@pytest.mark.parametrize("kind", ["judgement", None])
def test_rows_of_every_list_say_who_decided_otherwise(run, reviewer, kind):
    judged(reviewer, "Ship", minute=1)
    rows = History(reviewer, {}, face=faces()[kind] if kind else None).page().rows
    assert [(row.title, row.override, row.overridden_by) for row in rows] == [
        ("Ship", None, ""),
        ("Travel", "approved", "noor"),
    ]


@pytest.mark.parametrize("kind", ["judgement", None])
def test_that_rows_say_so_takes_no_query(run, reviewer, kind):
    def asked():
        with CaptureQueriesContext(connection) as queries:
            History(reviewer, {}, face=faces()[kind] if kind else None).page().rows  # noqa: B018
        return len(queries)

    before = asked()
    reviews.add(judged(reviewer, "Ship", minute=1).run, reviewer, "No.", "rejected")
    assert asked() == before

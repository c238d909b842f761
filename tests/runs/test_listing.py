"""Rows of lists: what is said of the outcome beside it, and under which day they stand."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from engine.models import Run
from judgements.models import Judgement
from runs import reviews
from runs.history.query import RunHistory
from runs.history.rows import group_by_day
from tests.conftest import agents, submitted_at
from tests.contract import EXAMPLES

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def asked(owner, model="openai/a", title="Travel"):
    return Judgement.objects.submit(owner=owner, content="x", title=title, agents=agents(*[model] * 3)).run


def ended(run, status="finished", outcome="rejected", **more):
    Run.objects.filter(pk=run.pk).update(status=status, outcome=outcome, ended=NOW, started=NOW, **more)
    run.refresh_from_db()
    return run


def row(user):
    return RunHistory(user, {}).page().rows[0]


def stamps(user):
    return [(stamp.words, stamp.state, stamp.way) for stamp in row(user).stamps]


def test_what_a_person_decided_instead_is_a_stamp_and_the_outcome_is_struck(mira, reviewer, client):
    User.objects.filter(pk=reviewer.pk).update(first_name="K.", last_name="Lindqvist")
    reviews.add_review(ended(asked(mira)), reviewer, "No.", "approved")
    assert stamps(mira) == [("Overridden: approved by K. Lindqvist", "approve", "")]
    client.force_login(mira)
    html = client.get(reverse("runs-history")).content.decode()
    assert 'class="tag tag--void"' in html
    assert 'class="lamp lamp--void"' in html


def test_who_overrode_keeps_a_name_when_the_account_is_gone(mira, reviewer):
    reviews.add_review(ended(asked(mira)), reviewer, "No.", "approved")
    reviewer.delete()
    assert stamps(mira)[0][0] == f"Overridden: approved by {reviewer.username}"


def test_a_rehearsal_is_an_outline(mira, client):
    ended(asked(mira, "rehearsal/instant"))
    assert stamps(mira) == [("Rehearsal", "", "dash")]
    client.force_login(mira)
    assert 'class="lamp lamp--dash"' in client.get(reverse("runs-history")).content.decode()


@pytest.mark.parametrize(
    ("code", "said"), [("timeout", "no answer in time"), ("quota", "the account is used up"), ("other", "other")]
)
def test_an_error_has_its_cause_in_plain_words(mira, code, said):
    ended(asked(mira), "failed", None, error={"code": code, "message": "No."})
    assert stamps(mira) == [(said, "", "plain")]


def test_what_holds_has_no_stamp(mira):
    ended(asked(mira))
    assert (stamps(mira), row(mira).held) == ([], "")


def test_rows_stand_under_days_then_weeks_then_months(mira, freeze):
    for days in (0, 1, 2, 6, 7, 40, 400):
        with submitted_at(NOW - timedelta(days=days)):
            asked(mira, title=str(days))
    groups = [
        (group.heading, [row.title for row in group.rows]) for group in group_by_day(RunHistory(mira, {}).page().rows)
    ]
    assert groups == [
        ("Today", ["0"]),
        ("Yesterday", ["1"]),
        ("Last week", ["2", "6"]),
        ("Earlier in November", ["7"]),
        ("October", ["40"]),
        ("October 2025", ["400"]),
    ]


def test_a_time_is_as_short_as_its_day_allows(mira, freeze):
    for days in (0, 1, 2, 400):
        with submitted_at(NOW - timedelta(days=days)):
            asked(mira)
    assert [one.when for one in RunHistory(mira, {}).page().rows] == ["12:00", "12:00", "20 Nov, 12:00", "18 Oct 2025"]


def test_each_kind_has_its_own_cell_in_one_list(mira):
    for kind in EXAMPLES:
        EXAMPLES[kind](mira)
    by_kind = {one.face.kind: one.glance for one in RunHistory(mira, {}).page().rows}
    assert len(by_kind["judgement"].votes) == 3
    assert (by_kind["check"].saved, by_kind["check"].rehearsal) == ("", False)


@pytest.fixture
def freeze(monkeypatch):
    class Then(datetime):
        @classmethod
        def now(cls, tz=None):
            return NOW

    monkeypatch.setattr("runs.history.rows.datetime", Then)

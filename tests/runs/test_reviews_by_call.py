"""Notes and overrides by programs: as a person's are, by whose token it is."""

import pytest

from engine.models import Run
from tests.callers import ApiCaller, fields, problem
from tests.contract import EXAMPLES
from tests.judgements.past import judged

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(mira):
    return judged(mira, "Travel").run


@pytest.fixture
def calls(reviewer):
    return ApiCaller(reviewer, scopes=["review"])


def test_a_note_and_an_override_are_kept_under_the_name_of_the_owner(calls, reviewer, run):
    for said in ({"text": "Seen."}, {"text": "Not so.", "outcome": "rejected"}):
        answer = calls.post(f"/runs/{run.pk}/reviews", said)
        assert (answer.status_code, answer.json()["by"]) == (201, reviewer.username)
    assert Run.objects.get(pk=run.pk).override == "rejected"
    listed = calls.get(f"/runs/{run.pk}/reviews").json()["results"]
    assert [(one["kind"], one["text"]) for one in listed] == [("note", "Seen."), ("override", "Not so.")]
    assert calls.get(f"/runs/{run.pk}").json()["override"]["verdict"] == "rejected"


def test_what_is_sent_twice_is_kept_once(calls, run):
    for _ in range(2):
        calls.post(f"/runs/{run.pk}/reviews", {"text": "Seen."})
    assert run.reviews.count() == 1


def test_all_that_is_wrong_is_named(calls, run):
    wrong = fields(calls.post(f"/runs/{run.pk}/reviews", {"text": " ", "outcome": "maybe"}))
    assert set(wrong) == {"text", "outcome"}
    assert "approved, rejected" in wrong["outcome"]


def test_what_cannot_be_decided_otherwise_is_said(calls, mira, run):
    assert (
        "already"
        in problem(calls.post(f"/runs/{run.pk}/reviews", {"text": "Yes.", "outcome": "approved"}), 409)["detail"]
    )
    queued = EXAMPLES["judgement"](mira)
    assert "not over" in problem(calls.post(f"/runs/{queued.pk}/reviews", {"text": "Yes."}), 409)["detail"]


def test_it_takes_the_scope_and_the_right(mira, noor, reviewer, run):
    said = {"text": "Seen."}
    assert "scope" in problem(ApiCaller(reviewer).post(f"/runs/{run.pk}/reviews", said), 403)["detail"]
    assert (
        "review it" in problem(ApiCaller(mira, scopes=["review"]).post(f"/runs/{run.pk}/reviews", said), 403)["detail"]
    )
    problem(ApiCaller(noor, scopes=["review"]).post(f"/runs/{run.pk}/reviews", said), 404)
    assert not run.reviews.exists()
